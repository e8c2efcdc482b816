"""Names and read-only arrays: the vocabulary of the core.

A `Snapshot` is everything known about the cluster at one refresh, frozen. One writer builds it and swaps one
reference; readers never wait. `Nodes` is the view that filters and scorers get: the nodes a request asks about,
column by column, with what happened since the snapshot (pods bound, booked, gone) already counted in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from collectors.manifests import Shape
from collectors.reading import Floats
from loadaware.window import Ints, Statistics

Statistic = Literal["mean", "deviation", "latest", "maximum"]


@dataclass(frozen=True, eq=False)
class PlacedPods:
    """Pods bound to nodes, as columns: the node's row, the shape's number, when it was bound (-inf: long ago)."""

    rows: Ints
    shapes: Ints
    bound_at: Floats

    @classmethod
    def none(cls) -> "PlacedPods":
        """No pods."""
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The cluster at one refresh. Arrays are (node, resource) or (node,), in base units, read-only."""

    time: float
    names: tuple[str, ...]
    resources: tuple[str, ...]
    capacity: Floats
    allocatable: Floats
    statistics: Statistics
    """Of the main window, `window_seconds` long."""
    sampled_at: Floats
    """Time of each node's newest sample; -inf: never measured, +inf: never ages."""
    requested: Floats
    """Sum of the requests of the pods bound to each node."""
    limits: Floats
    """Sum over bound pods of max(limit, request)."""
    pod_counts: Floats
    labels: tuple[Mapping[str, str], ...] = ()
    window_seconds: float = 900.0
    window_starts: Floats | None = None
    """Time of the oldest sample in each node's window, where the window is not yet full."""
    windows: Mapping[float, Statistics] = field(default_factory=dict)
    """Other lengths in seconds: 3600, 86400 ..."""
    placed: PlacedPods = field(default_factory=PlacedPods.none)
    """Recently bound pods: those that some sample of the main window has not seen."""
    shapes: Sequence[Shape] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Nodes whose measurements are not believed, and why."""
    exempt_namespaces: frozenset[str] = frozenset()
    pods_known: bool = True
    """Whether pods can be watched at all."""
    generation: int = 0

    def __post_init__(self) -> None:
        statistics = (self.statistics, *self.windows.values())
        arrays = [self.capacity, self.allocatable, self.sampled_at, self.requested, self.limits, self.pod_counts]
        arrays += [] if self.window_starts is None else [self.window_starts]
        for s in statistics:
            arrays += [s.mean, s.deviation, s.latest, s.maximum, *s.percentiles.values()]
        for array in (*arrays, self.placed.rows, self.placed.shapes, self.placed.bound_at):
            array.setflags(write=False)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Row of each node name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def resource_index(self) -> Mapping[str, int]:
        """Column of each resource name."""
        return {name: column for column, name in enumerate(self.resources)}

    @classmethod
    def empty(cls, resources: tuple[str, ...] = ("cpu", "memory")) -> "Snapshot":
        """Nothing known yet."""
        nothing = np.zeros((0, len(resources)))
        return cls(
            time=0.0,
            names=(),
            resources=resources,
            capacity=nothing,
            allocatable=nothing,
            statistics=Statistics.unmeasured(0, len(resources)),
            sampled_at=np.zeros(0),
            requested=nothing,
            limits=nothing,
            pod_counts=np.zeros(0),
        )


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes asked about, as columns. Each method gives one number per node, NaN where it is not known.

    `rows` are rows of the snapshot. `requested_now`, `limits_now`, `pods_now` and `in_flight_usage` are the live
    arrays over all rows of the snapshot: what was bound, booked or removed since is counted in them.
    """

    snapshot: Snapshot
    rows: Ints
    requested_now: Floats
    limits_now: Floats
    pods_now: Floats
    in_flight_usage: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Nodes":
        """All nodes of a snapshot, nothing since."""
        rows = np.arange(len(snapshot.names), dtype=np.intp)
        return cls(snapshot, rows, snapshot.requested, snapshot.limits, snapshot.pod_counts)

    @property
    def names(self) -> list[str]:
        """Names in the order of the rows."""
        return [self.snapshot.names[row] for row in self.rows]

    @property
    def labels(self) -> list[Mapping[str, str]]:
        """Labels in the order of the rows."""
        return [self.snapshot.labels[row] for row in self.rows]

    def capacity(self, resource: str) -> Floats:
        """What the node has."""
        return self._column(self.snapshot.capacity, resource)

    def allocatable(self, resource: str) -> Floats:
        """What the node has for pods."""
        return self._column(self.snapshot.allocatable, resource)

    def usage(self, statistic: Statistic, resource: str, window_seconds: float | None = None) -> Floats:
        """A statistic of the main window, or of the window of that length (all NaN if it is not kept)."""
        statistics = self._statistics(window_seconds)
        return self._nothing() if statistics is None else self._column(getattr(statistics, statistic), resource)

    def mean_or_latest(self, resource: str) -> Floats:
        """The mean, or the latest value where a source tells no mean."""
        mean = self.usage("mean", resource)
        return np.where(np.isnan(mean), self.usage("latest", resource), mean)

    def percentile(self, percent: float, resource: str) -> Floats:
        """A percentile of the main window (all NaN if it is not kept)."""
        values = self.snapshot.statistics.percentiles.get(percent)
        return self._nothing() if values is None else self._column(values, resource)

    def in_flight(self, resource: str) -> Floats:
        """Expected usage of pods placed but not measured, by the scorer's own demand rule."""
        if self.in_flight_usage is None:
            return np.zeros(len(self.rows))
        return self._column(self.in_flight_usage, resource)

    def requested(self, resource: str) -> Floats:
        """Sum of the requests of the pods on the node now."""
        return self._column(self.requested_now, resource)

    def limits(self, resource: str) -> Floats:
        """Sum over the pods on the node now of max(limit, request)."""
        return self._column(self.limits_now, resource)

    def pod_count(self) -> Floats:
        """Pods on the node now."""
        return self.pods_now[self.rows]

    def _statistics(self, window_seconds: float | None) -> Statistics | None:
        if window_seconds is None or window_seconds == self.snapshot.window_seconds:
            return self.snapshot.statistics
        return self.snapshot.windows.get(window_seconds)

    def _column(self, values: Floats, resource: str) -> Floats:
        column = self.snapshot.resource_index.get(resource)
        return self._nothing() if column is None else values[self.rows, column]

    def _nothing(self) -> Floats:
        return np.full(len(self.rows), np.nan)
