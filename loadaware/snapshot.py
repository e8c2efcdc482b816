"""Names and read-only arrays: the vocabulary of the core.

A `Snapshot` is everything known about the cluster at one refresh, frozen. One writer builds it and swaps one
reference; readers never wait. `Nodes` is the view that filters and scorers get: the nodes a request asks about,
column by column, with what happened since the snapshot (pods bound, booked, gone) already counted in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.expected import Expected
from loadaware.window import Bools, Ints, Statistics
from loadaware.workload import workload_of

HOUR = 3600.0

Statistic = Literal["mean", "deviation", "latest", "maximum"]

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
    """Recently bound pods: those that some sample of the main window has not seen."""
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
    """What the nodes are expected to use, learned from their pods; None while no pod was ever measured."""
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

    @cached_property
    def _label_columns(self) -> dict[str, npt.NDArray[np.str_]]:
        return {}

    @cached_property
    def _label_numbers(self) -> dict[str, Floats]:
        return {}

    @cached_property
    def mean_allocatable(self) -> Floats:
        """Over all nodes, per resource; NaN where no node has any."""
        known = ~np.isnan(self.allocatable)
        total = np.where(known, self.allocatable, 0.0).sum(axis=0)
        return np.divide(total, known.sum(axis=0), out=np.full(len(total), np.nan), where=known.any(axis=0))

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


class ExpectedLoad(NamedTuple):
    """Of one resource: the nodes' expected usage and its variance, the siblings' deviations there, the pod's own."""

    mean: Floats
    variance: Floats
    shared: Floats
    pod_mean: float
    pod_deviation: float


class LiveExpectations(Protocol):
    """Expected usage as of now (see expectations.py)."""

    mean: Floats
    variance: Floats

    @property
    def known(self) -> bool:
        """Whether demand was learned at all."""
        ...

    def shared(self, workload: str) -> Floats:
        """Deviations of a workload's pods on every node."""
        ...

    def of_pod(self, shape: Shape, workload: str) -> tuple[Floats, Floats]:
        """Expected mean and deviation of a pod."""
        ...


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
    bindings: Callable[[float], Floats] | None = None
    """Pods bound to (or booked on) every row within that many seconds."""
    expectations: LiveExpectations | None = None
    """Learned demand; None: never learned."""
    standing_in: Bools | None = None
    """Where the requests of the bound pods stand in for usage, because nothing newer is known."""

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Nodes":
        """All nodes of a snapshot, nothing since."""
        rows = np.arange(len(snapshot.names), dtype=np.intp)
        return cls(snapshot, rows, snapshot.requested, snapshot.limits, snapshot.pod_counts)

    def detached(self) -> "Nodes":
        """The same nodes in a small snapshot of their own, to be sent elsewhere. It knows of no recent bindings."""
        rows = np.arange(len(self.rows), dtype=np.intp)
        return Nodes(
            snapshot=self.snapshot.only(self.rows),
            rows=rows,
            requested_now=self.requested_now[self.rows],
            limits_now=self.limits_now[self.rows],
            pods_now=self.pods_now[self.rows],
            in_flight_usage=None if self.in_flight_usage is None else self.in_flight_usage[self.rows],
            standing_in=self.standing_in,
        )

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

    def usual_allocatable(self, resource: str) -> float:
        """The mean over all nodes of the cluster, asked about or not."""
        column = self.snapshot.resource_index.get(resource)
        return np.nan if column is None else float(self.snapshot.mean_allocatable[column])

    def usage(self, statistic: Statistic, resource: str, window_seconds: float | None = None) -> Floats:
        """A statistic of the main window, or of the window of that length (all NaN if it is not kept)."""
        statistics = self._statistics(window_seconds)
        column = self._nothing() if statistics is None else self._column(getattr(statistics, statistic), resource)
        return self._stand_in(column, resource, steady=statistic == "deviation")

    def mean_or_latest(self, resource: str) -> Floats:
        """The mean, or the latest value where a source tells no mean."""
        mean = self.usage("mean", resource)
        return np.where(np.isnan(mean), self.usage("latest", resource), mean)

    def percentile(self, percent: float, resource: str) -> Floats:
        """A percentile of the main window (all NaN if it is not kept)."""
        values = self.snapshot.statistics.percentiles.get(percent)
        column = self._nothing() if values is None else self._column(values, resource)
        return self._stand_in(column, resource)

    def in_flight(self, resource: str) -> Floats:
        """Expected usage of pods placed but not measured, by the scorer's own demand rule."""
        if self.in_flight_usage is None:
            return np.zeros(len(self.rows))
        column = self._column(self.in_flight_usage, resource)
        return column if self.standing_in is None else np.where(self.standing_in, 0.0, column)

    def expected(self, pod: Pod, resource: str) -> ExpectedLoad:
        """What the nodes will use, with everything bound and booked by now, and what the pod will."""
        column = self.snapshot.resource_index.get(resource)
        expectations = self.expectations
        if expectations is None or not expectations.known or column is None:
            return self._expected_by_node(pod, resource)
        workload = workload_of(pod)
        mean, deviation = expectations.of_pod(pod.shape, workload)
        return ExpectedLoad(
            mean=expectations.mean[self.rows, column],
            variance=expectations.variance[self.rows, column],
            shared=expectations.shared(workload)[self.rows, column],
            pod_mean=float(mean[column]),
            pod_deviation=float(deviation[column]),
        )

    def _expected_by_node(self, pod: Pod, resource: str) -> ExpectedLoad:
        """Without pod metrics: the node's own mean and deviation over up to an hour, and what is in flight."""
        mean, deviation = self.usage("mean", resource, HOUR), self.usage("deviation", resource, HOUR)
        mean = np.where(np.isnan(mean), self.mean_or_latest(resource), mean)
        own = self.usage("deviation", resource)
        deviation = np.nan_to_num(np.where(np.isnan(deviation), own, deviation))
        return ExpectedLoad(
            mean=mean + self.in_flight(resource),
            variance=deviation**2,
            shared=np.zeros(len(self.rows)),
            pod_mean=pod.shape.request(resource),
            pod_deviation=0.0,
        )

    def requested(self, resource: str) -> Floats:
        """Sum of the requests of the pods on the node now."""
        return self._column(self.requested_now, resource)

    def limits(self, resource: str) -> Floats:
        """Sum over the pods on the node now of max(limit, request)."""
        return self._column(self.limits_now, resource)

    def pod_count(self) -> Floats:
        """Pods on the node now."""
        return self.pods_now[self.rows]

    def bindings_within(self, seconds: float) -> Floats:
        """How many pods were bound to the node within that many seconds."""
        return np.zeros(len(self.rows)) if self.bindings is None else self.bindings(seconds)[self.rows]

    def label_numbers(self, label: str) -> Floats:
        """A label's value as a number, NaN where it is none."""
        return self.snapshot.label_numbers(label)[self.rows]

    def terminating_pods(self) -> Floats:
        """Pods of the node that are being deleted."""
        return self._count(self.snapshot.terminating_pods)

    def nominated_pods(self) -> Floats:
        """Pending pods that preemption has promised the node."""
        return self._count(self.snapshot.nominated_pods)

    def is_high_priority(self, pod: Pod) -> bool:
        """Whether a pod counts as one of high priority."""
        return pod.priority >= self.snapshot.high_priority_from

    def high_priority_usage(self, resource: str) -> Floats:
        """Measured usage of the node's high-priority pods; NaN if pods are not measured."""
        usage = self.snapshot.high_priority_usage
        return self._nothing() if usage is None else self._column(usage, resource)

    def rows_of_applications(self, names: Iterable[str]) -> tuple[Ints, Floats]:
        """The rows (of the snapshot) that pods of these applications are on, and how many on each."""
        found = [self.snapshot.applications.rows_of(name) for name in names]
        rows, counts = np.unique(np.concatenate([*found, np.zeros(0, np.intp)]), return_counts=True)
        return rows, counts.astype(np.float64)

    def _count(self, values: Floats | None) -> Floats:
        return np.zeros(len(self.rows)) if values is None else values[self.rows]

    def _statistics(self, window_seconds: float | None) -> Statistics | None:
        if window_seconds is None or window_seconds == self.snapshot.window_seconds:
            return self.snapshot.statistics
        return self.snapshot.windows.get(window_seconds)

    def _stand_in(self, column: Floats, resource: str, *, steady: bool = False) -> Floats:
        """Requests in place of a measurement that is too old; they do not vary. A metric that no pod can request has
        no stand-in.
        """
        if self.standing_in is None:
            return column
        requests = np.where(np.isnan(self.allocatable(resource)), np.nan, self.requested(resource))
        return np.where(self.standing_in, requests * 0.0 if steady else requests, column)

    def _column(self, values: Floats, resource: str) -> Floats:
        column = self.snapshot.resource_index.get(resource)
        return self._nothing() if column is None else values[self.rows, column]

    def _nothing(self) -> Floats:
        return np.full(len(self.rows), np.nan)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
