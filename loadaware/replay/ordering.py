"""The records of a history in the order in which the core really saw them.

Answers are written some time after they were given, each with the number of the publication that it was made from (see
recorded.py). So they are read apart from everything else, and put behind that publication: two streams, merged. What
is told is looked at a little ahead, so that it is known where each pod really went when it is asked about.

A request of whoever recorded no such number is taken where it stands. One that comes too late for its place (answers
that somebody wanted explained are written before their turn, never after) is given at once, and counted.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.cluster import PodSeen
from collectors.history import Answer, HistoryReader, Record, RecordKind, Request
from loadaware.recorded import BESIDE, AskedDetail, unpack_detail

TOLD: tuple[RecordKind, ...] = ("events", "readings", "checkpoints", "marks")
ASKED: tuple[RecordKind, ...] = ("requests", "answers")
AHEAD_SECONDS = 30.0
AHEAD_REQUESTS = 64
"""Requests that are read beyond the one that is due: some were written before their turn."""


@dataclass(frozen=True)
class AskedRecord:
    """What was asked, what was answered (None: not recorded), and where the pod went within the time looked ahead."""

    time: float
    request: Request
    answer: Answer | None
    detail: AskedDetail
    bound_to: str | None = None


@dataclass(order=True)
class _Waiting:
    heard: int
    number: int
    beside: bool
    """No decision: behind the decision of the same number."""
    sequence: int
    asked: AskedRecord = field(compare=False)


class Ordering:
    """Merges what was told with what was asked; `late` counts what came too late for its place."""

    def __init__(self, reader: HistoryReader, until: float | None = None, after: int = 0) -> None:
        self.late = 0
        self._told = reader.records(until=until, after=after, kinds=TOLD)
        self._asked = pairs(reader.records(until=until, after=after, kinds=ASKED))
        self._after = after
        self._held: deque[Record] = deque()
        self._waiting: list[_Waiting] = []
        self._bound: dict[str, tuple[str, float]] = {}
        self._released = after

    def __iter__(self) -> Iterator[Record | AskedRecord]:
        """Everything but answers, which come with what was asked."""
        for record in self._told:
            self._look(record)
            self._held.append(record)
            while self._held and not record.time - AHEAD_SECONDS < self._held[0].time <= record.time:
                yield from self._release()
        while self._held:
            yield from self._release()
        yield from self._due(2**63)

    def _release(self) -> Iterator[Record | AskedRecord]:
        record = self._held.popleft()
        yield from self._due(record.sequence)
        self._released = record.sequence
        yield record

    def _due(self, sequence: int) -> Iterator[AskedRecord]:
        """Whatever was answered before the record of that number was told."""
        self._fill(sequence)
        while self._waiting and self._waiting[0].heard < sequence:
            waiting = heapq.heappop(self._waiting)
            self.late += waiting.heard < self._released
            asked, bound = waiting.asked, self._bound.get(waiting.asked.request.pod.identity)
            bound_to = None if bound is None else bound[0]
            yield AskedRecord(asked.time, asked.request, asked.answer, asked.detail, bound_to)

    def _fill(self, sequence: int) -> None:
        """Read on until enough are waiting that are not due."""
        later = sum(waiting.heard >= sequence for waiting in self._waiting)
        while later < AHEAD_REQUESTS and (pair := next(self._asked, None)) is not None:
            record, asked = pair
            heard = asked.detail.heard or record.sequence - 1
            if heard >= self._after:
                beside = asked.request.verb in BESIDE
                heapq.heappush(self._waiting, _Waiting(heard, asked.detail.number, beside, record.sequence, asked))
                later += heard >= sequence

    def _look(self, record: Record) -> None:
        """Remember who is bound where, as far ahead as is looked."""
        if isinstance(record.content, PodSeen) and record.content.pod.node is not None:
            pod = record.content.pod
            self._bound.setdefault(pod.identity, (record.content.pod.node, record.time))
        if len(self._bound) > 2 * len(self._held) + 1_000:
            since = record.time - 2 * AHEAD_SECONDS
            self._bound = {identity: bound for identity, bound in self._bound.items() if bound[1] >= since}


def pairs(records: Iterator[Record]) -> Iterator[tuple[Record, AskedRecord]]:
    """Requests with their answers, which are written right behind them."""
    open_record: Record | None = None
    for record in records:
        content = record.content
        if isinstance(content, Answer) and open_record is not None and content.request == open_record.sequence:
            yield _pair(open_record, content)
            open_record = None
        elif isinstance(content, Request):
            if open_record is not None:
                yield _pair(open_record, None)
            open_record = record
    if open_record is not None:
        yield _pair(open_record, None)


def _pair(record: Record, answer: Answer | None) -> tuple[Record, AskedRecord]:
    if not isinstance(record.content, Request):
        raise TypeError(f"record {record.sequence} is no request")
    detail = unpack_detail(record.content.detail) or AskedDetail()
    return record, AskedRecord(record.time, record.content, answer, detail)
