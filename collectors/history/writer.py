"""Writing a history: cheap to tell, durable within seconds, bounded in size and age.

`write_*` only appends to memory; `flush` writes what was told, and merges and deletes what is due (see history_store).
By default a write also flushes when that is due. A server passes flush_on_write=False and calls `flush` every few
seconds from a thread that may wait for the disk; telling and flushing may go on at the same time.
"""

import math
import time as clocks
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from collectors.cluster import Event, Relisted
from collectors.errors import HistoryError
from collectors.history.arrow import arrow
from collectors.history.records import Answer, Checkpoint, Content, Mark, Record, Request
from collectors.history.schema import encode
from collectors.history.store import HistoryLimits, SegmentStore
from collectors.reading import Reading

_NOT_ENCODABLE = (ValueError, TypeError, OverflowError)


class HistoryWriter:
    """Appends records to a folder, made if it is not there. Raises HistoryError if the folder cannot be written."""

    def __init__(
        self,
        folder: str | Path,
        limits: HistoryLimits | None = None,
        clock: Callable[[], float] = clocks.time,
        *,
        flush_on_write: bool = True,
    ) -> None:
        arrow()
        self._folder = Path(folder)
        self._limits = limits or HistoryLimits()
        self._clock = clock
        self._flush_on_write = flush_on_write
        self._telling, self._storing = Lock(), Lock()
        self._pending: list[Record] = []
        self._pending_bytes = 0
        self._flushed_at = self._merged_at = clock()
        self.dropped = 0
        """Records given up because the disk refused them for too long, or no column can hold them."""
        self.checkpoint_wanted = True
        """Whether none was told since the last merge. With one per segment the bounds hold."""
        self._store = SegmentStore(self._folder, self._limits)
        self._last_sequence = self._store.last_sequence

    @property
    def last_sequence(self) -> int:
        """The highest sequence number told so far, that of earlier writers of this folder included; 0 if none."""
        return self._last_sequence

    # -- Telling ----------------------------------------------------------------------------------------------------

    def write_event(self, event: Event, sequence: int | None = None, time: float | None = None) -> int:
        """Tell what the cluster told. All of these return the sequence number (the next one if none is given)."""
        return self.write(event, sequence, time)

    def write_reading(self, reading: Reading, sequence: int | None = None, time: float | None = None) -> int:
        """Tell of a reading that was fed to the core."""
        return self.write(reading, sequence, time)

    def write_request(self, request: Request, sequence: int | None = None, time: float | None = None) -> int:
        """Tell of a question. The number returned is what its answer refers to."""
        return self.write(request, sequence, time)

    def write_answer(self, answer: Answer, sequence: int | None = None, time: float | None = None) -> int:
        """Tell of an answer."""
        return self.write(answer, sequence, time)

    def write_checkpoint(self, state: bytes, sequence: int | None = None, time: float | None = None) -> int:
        """Keep the core's state after everything told before."""
        self.checkpoint_wanted = False
        return self.write(Checkpoint(state), sequence, time)

    def write_mark(self, name: str, detail: bytes = b"", sequence: int | None = None, time: float | None = None) -> int:
        """Tell of anything else that moves the core."""
        return self.write(Mark(name, detail), sequence, time)

    def write(self, content: Content, sequence: int | None = None, time: float | None = None) -> int:
        """Tell of any content. Sequence numbers must rise; times may do as the clock does."""
        now = self._clock()
        told_at = _finite(now if time is None else time)
        with self._telling:
            number = self._accept(sequence)
            self._pending.append(Record(number, told_at, content))
            self._pending_bytes += _weight(content)
            full = self._pending_bytes >= self._limits.buffered_bytes
        if full or (self._flush_on_write and _later(now, self._flushed_at, self._limits.flush_seconds)):
            self.flush()
        return number

    def _accept(self, sequence: int | None) -> int:
        number = self._last_sequence + 1 if sequence is None else sequence
        if number <= self._last_sequence:
            problem = f"record {number} comes after record {self._last_sequence}: sequence numbers must rise"
            raise HistoryError(str(self._folder), problem)
        self._last_sequence = number
        return number

    # -- Storing ----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Make durable what was told; merge and delete what is due. Raises HistoryError if the disk refuses: what
        was told is then kept and tried again, up to `buffered_bytes`.
        """
        with self._storing:
            if self._store.closed:
                raise HistoryError(str(self._folder), "was closed: nothing more can be written with this writer")
            self._flush(merge=False)

    def discard(self) -> None:
        """Forget what was told since the last flush."""
        self._take_pending()

    def close(self) -> None:
        """Flush, merge what is left, and let the folder go."""
        with self._storing:
            if self._store.closed:
                return
            try:
                self._flush(merge=True)
            finally:
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self, *, merge: bool) -> None:
        self._flushed_at = self._clock()
        records = self._take_pending()
        try:
            if tables := self._encoded(records):
                self._store.add(tables)
            records = []
            if merge or self._merge_due():
                self._merge()
            self._store.prune()
        except OSError as error:
            self._keep(records)
            raise HistoryError(str(self._folder), f"cannot be written: {error.strerror or error}") from error

    def _encoded(self, records: list[Record]) -> dict[str, Any]:
        """As tables. A record that no column can hold (a text that is no Unicode, say) does not take others with it."""
        try:
            return encode(records)
        except _NOT_ENCODABLE:
            sound = [record for record in records if _encodable(record)]
            self.dropped += len(records) - len(sound)
            return encode(sound)

    def _merge_due(self) -> bool:
        old = _later(self._clock(), self._merged_at, self._limits.segment_seconds)
        return old or self._store.parts_bytes >= self._limits.segment_bytes

    def _merge(self) -> None:
        self._merged_at = self._clock()
        self.checkpoint_wanted = True
        self._store.merge()

    def _take_pending(self) -> list[Record]:
        with self._telling:
            records, self._pending, self._pending_bytes = self._pending, [], 0
        return records

    def _keep(self, records: list[Record]) -> None:
        """Try these again next time, unless there are too many of them."""
        weight = sum(_weight(record.content) for record in records)
        with self._telling:
            if weight >= self._limits.buffered_bytes:
                self.dropped += len(records)
                return
            self._pending = records + self._pending
            self._pending_bytes += weight


def _encodable(record: Record) -> bool:
    try:
        encode([record])
    except _NOT_ENCODABLE:
        return False
    return True


def _later(now: float, than: float, by: float) -> bool:
    """Whether `by` seconds have passed; a clock that jumped back counts as passed."""
    return not 0.0 <= now - than < by


def _finite(time: float) -> float:
    if not math.isfinite(time):
        raise ValueError(f"a record's time must be a number of seconds, not {time}")
    return time


def _weight(content: Content) -> int:
    """About how many bytes it takes in memory."""
    match content:
        case Reading(nodes=nodes, pods=pods):
            rows = len(nodes.names) + (0 if pods is None else len(pods.names))
            return 200 + rows * 8 * (4 + len(content.resources))
        case Request(node_names=names):
            return 1000 + 32 * len(names)
        case Answer():
            return 200 + 8 * (len(content.priorities) + len(content.scores) + len(content.verdicts))
        case Checkpoint(state=state):
            return 100 + len(state)
        case Relisted(present=present):
            return 200 + 48 * len(present)
    return 1000
