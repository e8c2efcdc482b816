"""What is in a history, without loading it: times, counts, sizes, and what a person should know before trusting it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from collectors.history.records import RECORD_KINDS
from collectors.history.segments import DamagedSegmentError, OpenSegment
from collectors.history.usage import MEASURED
from collectors.reading import Floats

_GAP_INTERVALS = 3.0
"""A pause between readings longer than this many usual intervals is a gap."""


@dataclass(frozen=True)
class Gap:
    """A time without readings."""

    start: float
    end: float


@dataclass(frozen=True)
class HistorySummary:
    """A history at a glance. Times are seconds since 1970, sizes bytes on disk."""

    earliest: float
    latest: float
    segments: int
    size: int
    records: Mapping[str, int]
    """Count by kind."""
    verbs: Mapping[str, int]
    """Of the requests, count by verb."""
    nodes: int
    pods: int
    """Different names seen in readings."""
    node_samples: int
    pod_samples: int
    resources: tuple[str, ...]
    interval_seconds: float
    """Median time between readings; NaN with fewer than two."""
    gaps: tuple[Gap, ...]
    missing_records: int
    """Sequence numbers that no record has."""
    clock_jumps: int
    """How often the time went back from one record to the next."""
    notes: tuple[str, ...]


@dataclass
class _Totals:
    rows: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    names: dict[str, set[str]] = field(default_factory=lambda: {table: set() for table in MEASURED})
    resources: dict[str, None] = field(default_factory=dict)
    reading_times: list[Floats] = field(default_factory=list)
    ends: list[Floats] = field(default_factory=list)
    sequences: list[tuple[int, int]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    jumps: int = 0
    size: int = 0


def summarize(
    segments: Iterable[OpenSegment], notes: Iterable[str], leave_out: Callable[[DamagedSegmentError], None]
) -> HistorySummary:
    """Read the narrow columns of each segment in turn. `notes` is read at the end: opening may add to it.

    `leave_out` hears of a segment that is damaged inside, and raises if it may not be left out.
    """
    totals = _Totals()
    for segment in segments:
        try:
            _add(totals, segment)
        except DamagedSegmentError as error:
            leave_out(error)
    reading_times = np.concatenate([np.empty(0), *totals.reading_times])
    steps = np.diff(reading_times)
    interval = float(np.median(steps)) if len(steps) else float("nan")
    return HistorySummary(
        earliest=min(totals.times),
        latest=max(totals.times),
        segments=len(totals.sequences),
        size=totals.size,
        records={kind: totals.rows[kind] for kind in RECORD_KINDS},
        verbs=dict(sorted(totals.verbs.items())),
        nodes=len(totals.names["nodes"]),
        pods=len(totals.names["pods"]),
        node_samples=totals.rows["nodes"],
        pod_samples=totals.rows["pods"],
        resources=tuple(totals.resources),
        interval_seconds=interval,
        gaps=_gaps(reading_times, interval),
        missing_records=_missing(totals),
        clock_jumps=totals.jumps,
        notes=tuple(notes),
    )


def _add(totals: _Totals, segment: OpenSegment) -> None:
    facts, times = segment.facts, np.concatenate([*totals.ends[-1:], _times_in_order(segment)])
    totals.rows.update(facts.rows)
    totals.sequences.append((facts.first, facts.last))
    totals.times += [facts.earliest, facts.latest]
    totals.size += segment.size
    for table, names in totals.names.items():
        _add_names(names, segment, table)
    for batch in segment.batches("readings", ["time", "resources"]):
        totals.reading_times.append(batch.column("time").to_numpy())
        for resources in batch.column("resources").to_pylist():
            totals.resources.update(dict.fromkeys(resources))
    for batch in segment.batches("requests", ["verb"]):
        totals.verbs.update(batch.column("verb").to_pylist())
    totals.jumps += int((np.diff(times) < 0).sum())
    totals.ends = [times[-1:]]


def _add_names(names: set[str], segment: OpenSegment, table: str) -> None:
    seen = None
    for batch in segment.batches(table, ["name"]):
        dictionary = batch.column("name").dictionary
        if seen is None or not dictionary.equals(seen):
            names.update(dictionary.to_pylist())
            seen = dictionary


def _times_in_order(segment: OpenSegment) -> Floats:
    batches = [b for kind in RECORD_KINDS for b in segment.batches(kind, ["sequence", "time"])]
    sequences = np.concatenate([batch.column("sequence").to_numpy() for batch in batches])
    times: Floats = np.concatenate([batch.column("time").to_numpy() for batch in batches])
    return times[np.argsort(sequences)]


def _gaps(times: Floats, interval: float) -> tuple[Gap, ...]:
    steps = np.diff(times)
    starts = np.flatnonzero(steps > _GAP_INTERVALS * interval) if len(steps) else ()
    return tuple(Gap(float(times[i]), float(times[i + 1])) for i in starts)


def _missing(totals: _Totals) -> int:
    first, last = totals.sequences[0][0], totals.sequences[-1][1]
    return last - first + 1 - sum(totals.rows[kind] for kind in RECORD_KINDS)
