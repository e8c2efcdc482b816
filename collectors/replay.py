"""A recorded history as a collector: readings, and everything else the core was told, at any speed.

Recorded time runs `speed` times as fast as the clock: at 1 a minute takes a minute, at 60 a second, and at infinity
the next record is there at every call. Times are moved to the present (and drawn together by the speed), so that a live
core takes them for its own; with `keep_times` they stay as recorded, and `now` is the clock that fits them: the core
under that clock sees the same windows at every speed.

`read` behaves as a live source: whoever asks late gets the newest reading that is due (what it missed is counted in
`skipped`; never at infinite speed), whoever asks early waits. `records` and `events` leave nothing out. Clock and wait
are arguments: pass an Event's wait to be able to stop.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import get_args

import msgspec

from collectors.cluster import Event, Kind, NodeSeen, PodSeen, Relisted
from collectors.errors import HistoryError
from collectors.history import RECORD_KINDS, Content, HistoryReader, Record, RecordKind, Request
from collectors.manifests import Pod
from collectors.reading import Measurements, Reading


@dataclass(frozen=True)
class _Timeline:
    """recorded time -> present time:    present + (time - recorded) / speed"""

    recorded: float
    present: float
    speed: float

    def move(self, time: float) -> float:
        """When a recorded moment is, or was, now."""
        return self.present + (time - self.recorded) / self.speed

    def back(self, time: float) -> float:
        """Which recorded moment is at this time."""
        return self.recorded + (time - self.present) * self.speed


class Replay:
    """Plays the records of a folder with since <= time < until, once or in a loop.

    Raises HistoryError if the folder cannot be read and, from `read`, when the history has ended.
    """

    def __init__(
        self,
        folder: str | Path,
        speed: float = 1.0,
        clock: Callable[[], float] = time.time,
        wait: Callable[[float], object] = time.sleep,
        *,
        keep_times: bool = False,
        loop: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> None:
        if not speed > 0:
            raise ValueError(f"speed must be above 0, not {speed}")
        if keep_times and loop:
            raise ValueError("a loop cannot keep its times: they would jump back")
        self._folder, self._reader = folder, HistoryReader(folder)
        self._speed, self._clock, self._wait = speed, clock, wait
        self._keep_times, self._loop = keep_times, loop
        self._since, self._until = self._bounds(since, until)
        self._began: float | None = None
        self._played = self._since
        self._lock = Lock()
        self._readings = self._rounds(["readings"])
        self._ahead: tuple[_Timeline, Record] | None = None
        self.skipped = 0
        """Readings that were due but never given, because `read` was called too seldom."""

    def _bounds(self, since: float | None, until: float | None) -> tuple[float, float]:
        """What is played, fixed at the start: a history may grow while it is replayed."""
        span = self._reader.span()
        self._pause = (span.latest - span.earliest) / max(span.readings - 1, 1)
        end = math.nextafter(span.latest, math.inf)
        start = span.earliest if since is None else max(since, span.earliest)
        end = end if until is None else min(until, end)
        if start >= end:
            raise HistoryError(str(self._folder), f"has nothing from {start:.0f} to {end:.0f}: see its summary")
        return start, end

    # -- As a collector ---------------------------------------------------------------------------------------------

    def read(self) -> Reading:
        """The newest reading that is due; waits for the next one if there is none."""
        return _reading_of(self._play(*self._next_reading()))

    def history(self, since: float) -> Iterator[Reading]:
        """Readings from before the part that is played (given `since`), to fill a window at the start."""
        timeline = self._timeline(0) if math.isfinite(self._speed) else self._present(self._since)
        recorded = since if self._keep_times else timeline.back(since)
        for record in self._reader.records(recorded, self._since, kinds=["readings"]):
            yield _reading_of(record if self._keep_times else _moved(timeline, record))

    # -- As everything the core is told -----------------------------------------------------------------------------

    def records(self) -> Iterator[Record]:
        """Every record in order, each when it is due. States of checkpoints are as recorded."""
        return self._paced(RECORD_KINDS)

    def events(self) -> Iterator[Event]:
        """The cluster's events, each when it is due. A loop begins by forgetting everything."""
        for record in self._paced(["events"]):
            if isinstance(record.content, Event):
                yield record.content

    def now(self) -> float:
        """The recorded moment that is being played: the clock of a core that is fed with kept times."""
        return self._played if math.isinf(self._speed) else self._timeline(0).back(self._clock())

    # -- Pace -------------------------------------------------------------------------------------------------------

    def _timeline(self, round_: int) -> _Timeline:
        """The time of one round; the first begins when it is first asked for."""
        with self._lock:
            if self._began is None:
                self._began = self._clock()
        length = self._until - self._since + self._pause
        return _Timeline(self._since, self._began + round_ * length / self._speed, self._speed)

    def _rounds(self, kinds: Collection[RecordKind]) -> Iterator[tuple[_Timeline, Record]]:
        """Records with the timeline they are played on, round after round."""
        for round_ in count():
            timeline, played = self._timeline(round_), False
            if round_ and "events" in kinds:
                yield from ((timeline, Record(0, self._since, Relisted(k, frozenset()))) for k in get_args(Kind))
            for record in self._reader.records(self._since, self._until, kinds=kinds):
                played = True
                yield timeline, record
            if not (self._loop and played):
                return

    def _next_reading(self) -> tuple[_Timeline, Record]:
        """The last of those that are due, or the next."""
        current = self._ahead or next(self._readings, None)
        if current is None:
            raise HistoryError(str(self._folder), "has ended: every reading was played (loop to begin again)")
        self._ahead = next(self._readings, None) if math.isfinite(self._speed) else None
        while self._ahead is not None and _due(*self._ahead) <= self._clock():
            current, self._ahead = self._ahead, next(self._readings, None)
            self.skipped += 1
        return current

    def _paced(self, kinds: Collection[RecordKind]) -> Iterator[Record]:
        for timeline, record in self._rounds(kinds):
            yield self._play(timeline, record)

    def _play(self, timeline: _Timeline, record: Record) -> Record:
        """Wait until it is due, then give it the times it should have."""
        remaining = _due(timeline, record) - self._clock()
        if remaining > 0:
            self._wait(remaining)
        self._played = record.time
        if self._keep_times:
            return record
        return _moved(timeline if math.isfinite(self._speed) else self._present(record.time), record)

    def _present(self, recorded: float) -> _Timeline:
        """At infinite speed every record is now, and what lies around it keeps its distance."""
        return _Timeline(recorded, self._clock(), 1.0)


# -- Moving what was recorded to another time -----------------------------------------------------------------------


def _due(timeline: _Timeline, record: Record) -> float:
    return timeline.move(record.time)


def _moved(timeline: _Timeline, record: Record) -> Record:
    return Record(record.sequence, timeline.move(record.time), _moved_content(timeline, record.content))


def _moved_content(timeline: _Timeline, content: Content) -> Content:
    match content:
        case Reading():
            return _moved_reading(timeline, content)
        case PodSeen(pod=pod):
            return PodSeen(_moved_pod(timeline, pod))
        case NodeSeen(node=node):
            return NodeSeen(msgspec.structs.replace(node, created_at=_moved_time(timeline, node.created_at)))
        case Request(pod=pod):
            return msgspec.structs.replace(content, pod=_moved_pod(timeline, pod))
    return content


def _moved_reading(timeline: _Timeline, reading: Reading) -> Reading:
    pods = None if reading.pods is None else _moved_rows(timeline, reading.pods)
    return replace(reading, time=timeline.move(reading.time), nodes=_moved_rows(timeline, reading.nodes), pods=pods)


def _moved_rows(timeline: _Timeline, rows: Measurements) -> Measurements:
    times = timeline.present + (rows.times - timeline.recorded) / timeline.speed
    return Measurements(rows.names, rows.usage, times, rows.windows / timeline.speed)


def _moved_pod(timeline: _Timeline, pod: Pod) -> Pod:
    return msgspec.structs.replace(
        pod,
        created_at=_moved_time(timeline, pod.created_at),
        bound_at=_moved_time(timeline, pod.bound_at),
        deleted_at=_moved_time(timeline, pod.deleted_at),
    )


def _moved_time(timeline: _Timeline, moment: float | None) -> float | None:
    return None if moment is None else timeline.move(moment)


def _reading_of(record: Record) -> Reading:
    if not isinstance(record.content, Reading):
        raise TypeError(f"record {record.sequence} is no reading")
    return record.content
