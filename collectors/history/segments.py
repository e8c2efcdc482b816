"""Where a history lies on disk: segments, each a folder of Parquet files that appears whole or not at all.

    history/
      segment-0000000000000001-0000000000048211/    about an hour, merged from parts
        events.parquet  readings.parquet  nodes.parquet  pods.parquet  requests.parquet ...
      part-0000000000048212-0000000000048230/       some seconds, not yet merged
      damaged/                                      what a writer could not read when it began
      writer.lock

The two numbers are the first and the last sequence number inside. A segment is written under a name that starts with a
dot, made durable (fsync), then renamed; it is deleted by renaming it away first. So whoever lists the folder sees
finished segments only. A part that lies within a segment was merged into it and counts no more.
Every file carries the segment's facts in its Parquet metadata: format version, sequence numbers, times, row counts.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from collectors.errors import HistoryError
from collectors.history.arrow import arrow
from collectors.history.schema import VERSION
from collectors.history.usage import Batches

METADATA_KEY = b"loadaware.history"
DAMAGED = "damaged"
"""The subfolder for segments that a writer found damaged."""

_NAME = re.compile(r"(segment|part)-([0-9]{16})-([0-9]{16})\Z")
_BATCH_ROWS = {"nodes": 65_536, "pods": 65_536, "requests": 64, "answers": 64, "checkpoints": 1}


@dataclass
class DamagedSegmentError(HistoryError):
    """A file of a segment is truncated, missing or unreadable."""


class SegmentGoneError(Exception):
    """A segment was merged or deleted since the folder was listed. Look again."""


@dataclass(frozen=True)
class Segment:
    """A finished folder of Parquet files."""

    path: Path
    first: int
    last: int
    merged: bool

    def covers(self, other: "Segment") -> bool:
        """Whether the other was merged into this one."""
        return self.merged and not other.merged and self.first <= other.first and other.last <= self.last


class SegmentFacts(msgspec.Struct, frozen=True):
    """What a segment holds, as each of its files tells."""

    version: int
    first: int
    last: int
    earliest: float
    latest: float
    memory_bytes: int
    """Size of its tables in memory, before encoding and compression."""
    rows: dict[str, int]

    def overlaps(self, since: float | None, until: float | None) -> bool:
        """Whether some record of it may lie in [since, until)."""
        return (since is None or self.latest >= since) and (until is None or self.earliest < until)


class _Version(msgspec.Struct):
    version: int


# -- Reading --------------------------------------------------------------------------------------------------------


def list_segments(folder: Path) -> list[Segment]:
    """Finished segments in order, without parts that were merged. Raises HistoryError if two of them overlap."""
    return current_and_merged(folder)[0]


def current_and_merged(folder: Path) -> tuple[list[Segment], list[Segment]]:
    """Segments in force, and parts that lie within one of them: one pass in order of their first number."""
    current: list[Segment] = []
    merged: list[Segment] = []
    for segment in _finished(folder):
        if not current or segment.first > current[-1].last:
            current.append(segment)
        elif current[-1].covers(segment):
            merged.append(segment)
        else:
            problem = f"overlaps {current[-1].path.name}: are these two histories? Keep each in a folder of its own"
            raise HistoryError(str(segment.path), problem)
    return current, merged


def _finished(folder: Path) -> list[Segment]:
    """All finished segments, the longest first of those that begin together."""
    found = [(folder / m[0], m) for m in map(_NAME.match, _names_in(folder)) if m is not None]
    segments = [Segment(path, int(m[2]), int(m[3]), m[1] == "segment") for path, m in found]
    return sorted(segments, key=lambda segment: (segment.first, -segment.last, not segment.merged))


def _names_in(folder: Path) -> set[str]:
    """Listed until two listings agree: one alone may miss both a new segment and the parts that went into it."""
    try:
        names = {entry.name for entry in folder.iterdir()}
        while (again := {entry.name for entry in folder.iterdir()}) != names:
            names = again
    except OSError as error:
        raise HistoryError(str(folder), f"cannot be listed: {error.strerror}") from error
    return names


class OpenSegment:
    """A segment whose files are open: it can be read to its end even if it is deleted meanwhile.

    Raises SegmentGoneError if it is there no more, DamagedSegmentError if a file cannot be read, HistoryError if it
    has another version.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._files: dict[str, Any] = {}
        self._exits = ExitStack()
        try:
            self.facts = self._open()
            self.size = sum(self._path(name).stat().st_size for name in self._files)
        except (HistoryError, OSError) as error:
            self._exits.close()
            if segment.path.exists():
                raise
            raise SegmentGoneError(segment.path.name) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _open(self) -> SegmentFacts:
        for path in sorted(self.segment.path.glob("*.parquet")):
            self._files[path.stem] = self._exits.enter_context(_open_file(path))
        facts = [_facts(self._path(name), file) for name, file in self._files.items()]
        if not facts:
            raise damaged(self.segment.path, "no Parquet file in it")
        for name, count in facts[0].rows.items():
            if name not in self._files or self._files[name].metadata.num_rows != count:
                raise damaged(self._path(name), f"{count} rows should be in it")
        return facts[0]

    def _path(self, table: str) -> Path:
        return self.segment.path / f"{table}.parquet"

    def table(self, name: str) -> Any:
        """A whole table that the segment has."""
        return arrow().Table.from_batches(list(self.batches(name)), self._files[name].schema_arrow)

    def batches(self, name: str, columns: Sequence[str] | None = None) -> Batches:
        """A table in small pieces; nothing if the segment has none of it."""
        if name not in self._files:
            return
        rows = _BATCH_ROWS.get(name, 1024)
        batches = self._files[name].iter_batches(batch_size=rows, columns=columns, use_threads=False)
        yield from self._guarded(name, batches)

    def _guarded(self, name: str, batches: Iterator[Any]) -> Batches:
        unreadable = (arrow().ArrowException, OSError)
        try:
            yield from batches
        except unreadable as error:
            raise damaged(self._path(name), _line(error)) from error


def _open_file(path: Path) -> Any:
    try:
        return arrow().parquet.ParquetFile(path, page_checksum_verification=True, pre_buffer=False)
    except (arrow().ArrowException, OSError) as error:
        raise damaged(path, _line(error)) from error


def _facts(path: Path, file: Any) -> SegmentFacts:
    text = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
    if text is None:
        raise HistoryError(str(path), "is a Parquet file, but not of a history: move it out of this folder")
    try:
        version = msgspec.json.decode(text, type=_Version).version
        if version == VERSION:
            return msgspec.json.decode(text, type=SegmentFacts)
    except msgspec.MsgspecError as error:
        raise damaged(path, _line(error)) from error
    problem = f"has format version {version}, this release reads {VERSION}: read it with the release that wrote it"
    raise HistoryError(str(path), problem)


def damaged(path: Path, cause: str) -> DamagedSegmentError:
    """The error for a file that cannot be read, with what to do about it."""
    advice = f"copy it anew, or move {path.parent.name if path.suffix else path.name} out of the history"
    return DamagedSegmentError(str(path), f"cannot be read ({cause}); {advice}")


def _line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
