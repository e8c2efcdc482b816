"""The folder of a history, for the one who may write it: segments are added, merged and deleted here.

A part is added every few seconds; all parts are merged into one segment once they are old or large enough; the oldest
segments are deleted once the whole is too old or too large, but never the segment of the newest checkpoint nor anything
after it: what is left can always be replayed exactly. Age is counted from segment to segment, and one step counts for a
tenth of the greatest age at most: nobody can tell a long pause from a clock that jumped ahead. A lock file holds other
writers off, and a new writer sweeps up what a crash left behind. Failures of the disk are OSError.
"""

import fcntl
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from collectors.errors import HistoryError
from collectors.history.arrow import arrow
from collectors.history.parquet import facts_of, sync_folder, write_files
from collectors.history.records import RECORD_KINDS
from collectors.history.segments import (
    DAMAGED,
    DamagedSegmentError,
    OpenSegment,
    Segment,
    SegmentFacts,
    current_and_merged,
    list_segments,
)
from collectors.history.usage import MEASURED

_WRITING = ".writing-"
_DELETING = ".deleting-"
_DAY = 86_400.0
PAUSE_SHARE = 0.1
"""Of the greatest age: as much as one pause counts for at most."""


@dataclass(frozen=True)
class HistoryLimits:
    """How much is kept, and how soon it is on disk."""

    flush_seconds: float = 5.0
    """What a crash can cost."""
    segment_seconds: float = 3_600.0
    """Age at which parts are merged: names are stored once per segment, so longer is smaller."""
    segment_bytes: int = 128 * 2**20
    """Size in memory at which parts are merged earlier: bounds the memory of a merge and of a reader."""
    buffered_bytes: int = 64 * 2**20
    """Told but not yet written: more is flushed at once, or dropped while the disk refuses."""
    max_bytes: int = 10 * 2**30
    max_age_seconds: float = 14 * _DAY


@dataclass(frozen=True)
class _Stored:
    segment: Segment
    facts: SegmentFacts
    size: int

    @property
    def has_checkpoint(self) -> bool:
        return self.facts.rows.get("checkpoints", 0) > 0


class SegmentStore:
    """The segments of a folder, which is made if it is not there and locked until `close`."""

    def __init__(self, folder: Path, limits: HistoryLimits) -> None:
        self._folder = folder
        self._limits = limits
        self._lock: int | None = _locked(folder)
        self._stored: list[_Stored] = []
        self.last_sequence = 0
        """The highest sequence number on disk; 0 if there is none."""
        try:
            self._take_stock()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def closed(self) -> bool:
        """Whether the folder was let go."""
        return self._lock is None

    @property
    def parts_bytes(self) -> int:
        """What the parts take in memory when they are merged."""
        return sum(part.facts.memory_bytes for part in self._parts())

    def add(self, tables: Mapping[str, Any]) -> None:
        """Keep tables as a new part."""
        self._stored.append(_write_segment(self._folder, tables, merged=False))

    def merge(self) -> None:
        """All parts into one segment."""
        tables = [tables for part in self._parts() if (tables := self._tables_of(part))]
        if not tables:
            return
        parts = self._parts()
        segment = _write_segment(self._folder, _concatenated(tables), merged=True)
        self._stored = [stored for stored in self._stored if stored.segment.merged] + [segment]
        for part in parts:
            with suppress(OSError):  # it lies within the segment now, so it counts no more
                _delete_segment(part.segment)

    def prune(self) -> None:
        """Delete from the oldest on, up to the segment of the newest checkpoint."""
        self._stored.sort(key=lambda stored: stored.segment.first)
        while len(self._stored) > 1 and self._too_much() and self._expendable():
            _delete_segment(self._stored.pop(0).segment)

    def _tables_of(self, part: _Stored) -> dict[str, Any]:
        """The tables of a part; none if it was damaged since, in which case it is set aside."""
        try:
            with OpenSegment(part.segment) as opened:
                return {name: opened.table(name) for name in part.facts.rows}
        except DamagedSegmentError:
            self._stored.remove(part)
            _set_aside(part.segment)
            return {}

    def _parts(self) -> list[_Stored]:
        return [stored for stored in self._stored if not stored.segment.merged]

    def _too_much(self) -> bool:
        size = sum(stored.size for stored in self._stored)
        return self._age() > self._limits.max_age_seconds or size > self._limits.max_bytes

    def _age(self) -> float:
        """Of the oldest, in seconds; a clock that went back adds nothing."""
        longest = max(self._limits.segment_seconds, PAUSE_SHARE * self._limits.max_age_seconds)
        times = [stored.facts.latest for stored in self._stored]
        return sum(min(max(after - before, 0.0), longest) for before, after in pairwise(times))

    def _expendable(self) -> bool:
        checkpoints = sum(stored.has_checkpoint for stored in self._stored)
        return not self._stored[0].has_checkpoint or checkpoints > 1

    def _take_stock(self) -> None:
        _sweep(self._folder)
        for segment in list_segments(self._folder):
            try:
                with OpenSegment(segment) as opened:
                    self._stored.append(_Stored(segment, opened.facts, opened.size))
            except DamagedSegmentError:
                _set_aside(segment)
            self.last_sequence = segment.last


def _locked(folder: Path) -> int:
    """An open descriptor of the folder's lock file. The lock goes when it is closed, or with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "writer.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HistoryError(str(folder), f"is no folder that can be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise HistoryError(str(folder), "is being written by another recorder: give each its own folder") from error
    return descriptor


def _concatenated(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The tables of several parts, one after the other, names unified."""
    pa = arrow()
    names = [name for name in (*RECORD_KINDS, *MEASURED) if any(name in part for part in parts)]
    tables = {name: [part[name] for part in parts if name in part] for name in names}
    joined = {name: pa.concat_tables(pieces, promote_options="default") for name, pieces in tables.items()}
    return {name: table.unify_dictionaries() for name, table in joined.items()}


def _write_segment(folder: Path, tables: Mapping[str, Any], *, merged: bool) -> _Stored:
    """Write tables as one segment that appears at once. Raises OSError, leaving nothing behind that is read."""
    facts = facts_of(tables)
    name = f"{'segment' if merged else 'part'}-{facts.first:016d}-{facts.last:016d}"
    temporary = folder / f"{_WRITING}{name}"
    try:
        write_files(temporary, tables, facts)
        size = sum(file.stat().st_size for file in temporary.iterdir())
        temporary.rename(folder / name)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    with suppress(OSError):  # the segment is there: to write it again would be worse than a name not yet durable
        sync_folder(folder)
    return _Stored(Segment(folder / name, facts.first, facts.last, merged), facts, size)


def _delete_segment(segment: Segment) -> None:
    """Remove a segment; whoever has it open may read on. What cannot be removed now is left to the next sweep."""
    away = segment.path.with_name(f"{_DELETING}{segment.path.name}")
    segment.path.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def _set_aside(segment: Segment) -> None:
    """Keep a damaged segment out of the way, for a person to look at."""
    folder = segment.path.with_name(DAMAGED)
    folder.mkdir(exist_ok=True)
    segment.path.rename(folder / segment.path.name)


def _sweep(folder: Path) -> None:
    """Remove what a crash left behind. Only for the one who holds the writer's lock."""
    for entry in folder.iterdir():
        if entry.name.startswith((_WRITING, _DELETING)):
            shutil.rmtree(entry)
    for segment in current_and_merged(folder)[1]:
        _delete_segment(segment)
