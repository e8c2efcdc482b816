"""The reader of a history: everything the core was told, in order, from a folder of Parquet files.

The bargain: what was written comes back exactly and in one total order; the folder can be read while it is written;
nothing needs the whole history in memory (a reader holds some batches of one segment). A damaged or foreign file is
refused by name with what to do; only the newest segment, the one that a copy or a crash cuts short, is left out with a
note. The format is described for readers with other tools in docs/history-format.md.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import TypeVar

import msgspec

from collectors.errors import HistoryError
from collectors.history.arrow import arrow
from collectors.history.records import (
    RECORD_KINDS,
    Record,
    RecordKind,
)
from collectors.history.schema import decode
from collectors.history.segments import (
    DAMAGED,
    DamagedSegmentError,
    OpenSegment,
    Segment,
    SegmentFacts,
    SegmentGoneError,
    damaged,
    list_segments,
)
from collectors.history.summary import HistorySummary, summarize

T = TypeVar("T")


@dataclass(frozen=True)
class HistorySpan:
    """From when to when, and how many readings."""

    earliest: float
    latest: float
    """Of all times, false ones included: a clock may have been ahead for a while."""
    readings: int
    end: float
    """The time of the newest reading (or record, if none is): where it really ends."""

    def bounds(self, since: float | None, until: float | None) -> tuple[float, float]:
        """What of it lies between two times; a clock that was ahead does not lengthen it."""
        end = self.end if self.end > self.earliest else self.latest
        begin = self.earliest if since is None else max(since, self.earliest)
        return begin, end if until is None else min(until, end)


class HistoryReader:
    """Reads a folder that a HistoryWriter wrote, or is writing.

    `skip_damaged` leaves out every damaged segment with a note, not only the newest; of one whose files open and are
    damaged further inside, what lies behind the damage.
    """

    def __init__(self, folder: str | Path, *, skip_damaged: bool = False) -> None:
        arrow()
        self._folder = Path(folder)
        self._skip_damaged = skip_damaged
        self._notes: dict[str, None] = {}
        if not self._folder.is_dir():
            raise HistoryError(str(folder), "is not a folder: name the folder that the recorder wrote")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out so far, and why."""
        return tuple(self._notes)

    def records(
        self,
        since: float | None = None,
        until: float | None = None,
        *,
        after: int = 0,
        kinds: Collection[RecordKind] = RECORD_KINDS,
    ) -> Iterator[Record]:
        """Records in order with since <= time < until and a sequence number above `after`, up to the newest on disk.

        Only the tables of the kinds asked for are read. Raises HistoryError, at once if there is nothing to read.
        """
        self._check_not_empty()
        return self._records(since, until, after, kinds)

    def checkpoint(self, before: float | None = None) -> Record | None:
        """The newest checkpoint (told at or before that time): replay `records(after=its sequence)` from its state."""
        self._check_not_empty()
        while True:
            try:
                return self._newest_checkpoint(before)
            except SegmentGoneError:
                continue

    def span(self) -> HistorySpan:
        """From when to when it reaches. Quick."""
        self._check_not_empty()
        facts = [opened.facts for opened in self._opened(0)]
        if not facts:
            raise HistoryError(str(self._folder), f"nothing in it can be read: {'; '.join(self._notes)}")
        readings = sum(fact.rows.get("readings", 0) for fact in facts)
        end = self._end(facts)
        return HistorySpan(min(f.earliest for f in facts), max(f.latest for f in facts), readings, end)

    def _end(self, facts: Sequence[SegmentFacts]) -> float:
        """The time of the newest reading: one narrow column of one segment."""
        newest = next((fact for fact in reversed(facts) if fact.rows.get("readings")), facts[-1])
        end = newest.latest
        for opened in self._opened(newest.first - 1):
            for batch in self._sound(opened.batches("readings", ["time"])):
                end = float(batch.column("time")[-1].as_py())
            break
        return end

    def summary(self) -> HistorySummary:
        """What is in it. Reads names and times, no usage: some seconds for weeks of a large cluster."""
        self.span()
        return summarize(self._opened(0), self._notes, self._leave_out)

    def files(self, table: str) -> tuple[Path, ...]:
        """The Parquet files of one table now, in order, for other tools."""
        paths = [segment.path / f"{table}.parquet" for segment in list_segments(self._folder)]
        return tuple(path for path in paths if path.exists())

    def _check_not_empty(self) -> None:
        if not list_segments(self._folder):
            problem = "holds no finished segment: record first, or wait some seconds for the recorder's first flush"
            raise HistoryError(str(self._folder), problem)

    def _records(
        self, since: float | None, until: float | None, after: int, kinds: Collection[RecordKind]
    ) -> Iterator[Record]:
        position = after
        for opened in self._opened(after):
            if opened.facts.overlaps(since, until):
                for record in self._sound(_merged(opened, kinds)):
                    in_time = (since is None or record.time >= since) and (until is None or record.time < until)
                    if record.sequence > position and in_time:
                        yield record
            position = opened.segment.last

    def _newest_checkpoint(self, before: float | None) -> Record | None:
        for segment in reversed(list_segments(self._folder)):
            newest = None
            for record in self._checkpoints(segment):
                newest = record if before is None or record.time <= before else newest
            if newest is not None:
                return newest
        return None

    def _checkpoints(self, segment: Segment) -> Iterator[Record]:
        if opened := self._open(segment):
            with opened:
                yield from self._sound(_merged(opened, ["checkpoints"]))

    def _opened(self, position: int) -> Iterator[OpenSegment]:
        """Open segments one after the other. The folder is listed anew each time: parts become segments meanwhile."""
        self._note_set_aside()
        while segments := [s for s in list_segments(self._folder) if s.last > position]:
            try:
                opened = self._open(segments[0])
            except SegmentGoneError:
                continue
            if opened is not None:
                with opened:
                    yield opened
            position = segments[0].last

    def _open(self, segment: Segment) -> OpenSegment | None:
        try:
            return OpenSegment(segment)
        except DamagedSegmentError as error:
            newest = segment.last == list_segments(self._folder)[-1].last
            if not (newest or self._skip_damaged):
                raise
            self._notes[f"left out: {error}"] = None
            return None

    def _sound(self, items: Iterator[T]) -> Iterator[T]:
        """Up to where the segment is damaged, if damage is to be skipped."""
        try:
            yield from items
        except DamagedSegmentError as error:
            self._leave_out(error)

    def _leave_out(self, error: DamagedSegmentError) -> None:
        """What lies behind the damage, in this segment. Raises the error if damage is not to be skipped."""
        if not self._skip_damaged:
            raise error
        self._notes[f"left out, from the damage on: {error}"] = None

    def _note_set_aside(self) -> None:
        for path in sorted(self._folder.glob(f"{DAMAGED}/*")):
            self._notes[f"left out: {path} was damaged and set aside by the recorder"] = None


def _merged(opened: OpenSegment, kinds: Collection[RecordKind]) -> Iterator[Record]:
    """The records of a segment in total order."""
    streams = [decode(kind, opened.batches) for kind in kinds]
    try:
        yield from merge(*streams, key=lambda record: record.sequence)
    except (ValueError, KeyError, msgspec.MsgspecError) as error:
        raise damaged(opened.segment.path, str(error)) from error
