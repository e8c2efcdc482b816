"""Names and read-only arrays: the vocabulary of the core.

A `Snapshot` is everything known about the cluster at one refresh, frozen. One writer builds it and swaps one
reference; readers never wait. Filters and scorers see it through `Nodes` (nodes.py).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from collectors.manifests import Shape
from collectors.reading import Floats
from loadaware.expected import Expected
from loadaware.known_names import KnownNames
from loadaware.window import Ints, Statistics

Array = TypeVar("Array", bound=npt.NDArray[Any])
Statistic = Literal["mean", "deviation", "latest", "maximum"]

HOUR = 3600.0
MOST_MADE = 64
OPT_OUT_ANNOTATION = "loadaware.io/ignore"
"""On a pod or a namespace: "true" means that its pods are placed as if loadaware were not there."""


@dataclass(frozen=True, eq=False)
class PlacedPods:
    """Pods bound to nodes, as columns: the node's row, the shape's number, when it was bound (-inf: long ago), and
    what was measured of it (pod, resource), NaN if nothing was.
    """

    rows: Ints
    shapes: Ints
    bound_at: Floats
    usage: Floats | None = None

    @classmethod
    def none(cls) -> "PlacedPods":
        """No pods."""
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Applications:
    """Which nodes the pods of each application are on: `rows[starts[i]:starts[i + 1]]` are those of `names[i]`."""

    names: tuple[str, ...] = ()
    starts: Ints = field(default_factory=lambda: np.zeros(1, np.intp))
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.intp))

    def rows_of(self, name: str) -> Ints:
        """The row of each pod of that application."""
        number = self._index.get(name)
        return self.rows[:0] if number is None else self.rows[self.starts[number] : self.starts[number + 1]]

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.names)}


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
    """Recently bound pods: those that some sample of the main window, or of the last hour, has not seen."""
    shapes: Sequence[Shape] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Nodes whose measurements are not believed, and why."""
    exempt_namespaces: frozenset[str] = frozenset()
    pods_known: bool = True
    """Whether pods can be watched at all."""
    terminating_pods: Floats | None = None
    """Pods being deleted, per node."""
    nominated_pods: Floats | None = None
    """Pending pods that preemption has promised the node, per node."""
    high_priority_from: int = 9000
    """The least priority that counts as high."""
    high_priority_usage: Floats | None = None
    """Measured usage of the node's high-priority pods (node, resource)."""
    applications: Applications = field(default_factory=Applications)
    expected: Expected | None = None
    """What the nodes are expected to use, learned from their pods; None while nothing was ever learned."""
    usage_per_request: Floats | None = None
    """What all measured nodes use of what their pods request (resource,); None: as much as they request."""
    measured_since: float = float("-inf")
    """When the first sample of all was taken; -inf: long ago."""
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
    def oldest_sample(self) -> float:
        """The time of the sample of the node that was not measured for longest; -inf if one never was."""
        return float(self.sampled_at.min(initial=np.inf))

    def rows_of(self, names: Sequence[str]) -> Ints:
        """Row of each name, -1 for a node nobody told of."""
        if isinstance(names, KnownNames) and names.table is self.names:
            return names.rows
        found: Iterable[int]
        try:
            found = itemgetter(*names)(self.index) if len(names) > 1 else [self.index[name] for name in names]
        except KeyError:
            found = [self.index.get(name, -1) for name in names]
        return np.fromiter(found, dtype=np.intp, count=len(names))

    @cached_property
    def resource_index(self) -> Mapping[str, int]:
        """Column of each resource name."""
        return {name: column for column, name in enumerate(self.resources)}

    def label_column(self, label: str) -> npt.NDArray[np.str_]:
        """A label's value on every node, "" where it has none. Made once."""
        column = self._label_columns.get(label)
        if column is None:
            column = np.array([labels.get(label, "") for labels in self.labels], dtype=np.str_)
            self._label_columns[label] = column
        return column

    def label_numbers(self, label: str) -> Floats:
        """A label's value on every node as a number, NaN where it is none. Made once."""
        numbers = self._label_numbers.get(label)
        if numbers is None:
            numbers = np.array([_number(value) for value in self.label_column(label).tolist()], dtype=np.float64)
            self._label_numbers[label] = numbers
        return numbers

    def only(self, rows: Ints) -> "Snapshot":
        """A snapshot of some of the nodes; pods and applications, which refer to all rows, are left out."""
        names = tuple(self.names[row] for row in rows.tolist())
        return replace(
            self,
            names=names,
            capacity=self.capacity[rows],
            allocatable=self.allocatable[rows],
            statistics=self.statistics.only(rows),
            sampled_at=self.sampled_at[rows],
            requested=self.requested[rows],
            limits=self.limits[rows],
            pod_counts=self.pod_counts[rows],
            labels=tuple(self.labels[row] for row in rows.tolist()) if self.labels else (),
            window_starts=None if self.window_starts is None else self.window_starts[rows],
            windows={length: statistics.only(rows) for length, statistics in self.windows.items()},
            placed=PlacedPods.none(),
            shapes=(),
            quarantined={name: why for name, why in self.quarantined.items() if name in names},
            terminating_pods=None if self.terminating_pods is None else self.terminating_pods[rows],
            nominated_pods=None if self.nominated_pods is None else self.nominated_pods[rows],
            high_priority_usage=None if self.high_priority_usage is None else self.high_priority_usage[rows],
            applications=Applications(),
            expected=None,
        )

    def once(self, key: Hashable, make: Callable[[], Array]) -> Array:
        """What depends on this snapshot alone, made once. Bounded: a scorer's args are few."""
        value = self._made.get(key)
        if value is None:
            if len(self._made) >= MOST_MADE:
                self._made.clear()
            value = self._made[key] = make()
        return cast("Array", value)

    @cached_property
    def _made(self) -> dict[Hashable, npt.NDArray[Any]]:
        return {}

    @cached_property
    def _label_columns(self) -> dict[str, npt.NDArray[np.str_]]:
        return {}

    @cached_property
    def _label_numbers(self) -> dict[str, Floats]:
        return {}

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


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
