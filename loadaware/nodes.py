"""The nodes asked about, as columns: what filters and scorers see of a snapshot and of what happened since."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.siblings import Siblings
from loadaware.snapshot import HOUR, Snapshot, Statistic
from loadaware.usage import Usage
from loadaware.window import Bools, Ints, Statistics
from loadaware.workload import workload_of


class ExpectedLoad(NamedTuple):
    """Cumulants (see usage.py) of what is expected: of the nodes, and what the pod would add to each of them."""

    nodes: Floats
    """(node, cumulant, resource)"""
    pod: Floats
    """The same; (1, cumulant, resource) if it adds the same everywhere."""

    @property
    def mean(self) -> Floats:
        """Usage of the nodes (node, resource)."""
        return self.nodes[:, 0]


@dataclass(eq=False, slots=True)
class Seen:
    """What the plugins were shown of things that change, kept for whoever explains the answer later: by reference."""

    expected: tuple[Sequence[str], ExpectedLoad] | None = None
    """Resources, and expected load of the known nodes."""
    in_flight: tuple[object, Floats] | None = None
    """A plugin, and in-flight usage (node, resource) of the known nodes at its prices."""


class LiveExpectations(Protocol):
    """Expected usage as of now (see expectations.py)."""

    cumulants: Floats
    """Of every node (node, cumulant, resource)."""

    @property
    def known(self) -> bool:
        """Whether demand was learned at all."""
        ...

    def siblings(self, workload: str) -> Siblings:
        """Where a workload's pods are."""
        ...

    def of(self, pod: Pod, workload: str) -> Usage:
        """What is expected of a pod."""
        ...


class Nodes(Struct, frozen=True, eq=False):
    """The nodes asked about, as columns. Each method gives one number per node, NaN where it is not known.

    `rows` are rows of the snapshot. `requested_now`, `limits_now` and `pods_now` are the live arrays over all rows of
    the snapshot: what was bound, booked or removed since is counted in them.
    """

    snapshot: Snapshot
    rows: Ints
    requested_now: Floats
    limits_now: Floats
    pods_now: Floats
    in_flight_usage: Floats | None = None
    """Of these nodes (node, resource), at the plugin's prices."""
    workload: str = ""
    """The pod's, if it was worked out already."""
    bindings: Callable[[float], Floats] | None = None
    """Pods bound to (or booked on) every row within that many seconds."""
    expectations: LiveExpectations | None = None
    """Learned demand; None: never learned."""
    standing_in: Bools | None = None
    """Where the requests of the bound pods stand in for usage, because nothing newer is known."""
    seen: Seen | None = None
    """Where to leave what was shown."""

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
            in_flight_usage=self.in_flight_usage,
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
        number = self.snapshot.resource_index.get(resource)
        column = self._nothing() if number is None else self.in_flight_usage[:, number]
        return column if self.standing_in is None else np.where(self.standing_in, 0.0, column)

    def expected(self, pod: Pod, resources: Sequence[str]) -> ExpectedLoad:
        """What the nodes will use, with everything bound and booked by now, and what the pod will.

        NaN for a resource that nobody measures.
        """
        load = self._expected(pod, resources)
        if self.seen is not None:
            self.seen.expected = resources, load
        return load

    def _expected(self, pod: Pod, resources: Sequence[str]) -> ExpectedLoad:
        expectations = self.expectations
        if expectations is None or not expectations.known:
            return self._expected_by_node(pod, resources)
        rows, workload = self.rows, self.workload or workload_of(pod)
        usage = expectations.of(pod, workload)
        cumulants, siblings = expectations.cumulants, expectations.siblings(workload)
        adds = usage.alone[None]
        if len(siblings):
            adds = usage.beside(siblings.spread(len(cumulants)).take(rows, axis=0))
        everything = ExpectedLoad(cumulants.take(rows, axis=0), adds)
        if tuple(resources) == self.snapshot.resources:
            return everything
        return ExpectedLoad._make(self._columns(values, resources) for values in everything)

    def _expected_by_node(self, pod: Pod, resources: Sequence[str]) -> ExpectedLoad:
        """Before anything is learned: the nodes' own mean and deviation over up to an hour, and what is in flight.

        Pods are taken to use of their requests what all pods of the cluster use of theirs.
        """
        columns = [self._mean_and_deviation(resource) for resource in resources]
        known, index = self.snapshot.usage_per_request, self.snapshot.resource_index
        ratios = np.array([1.0 if known is None or r not in index else known[index[r]] for r in resources])
        requests = np.array([pod.shape.request(resource) for resource in resources])
        in_flight = np.stack([self.in_flight(resource) for resource in resources], axis=-1)
        mean = np.stack([mean for mean, _ in columns], axis=-1) + ratios * in_flight
        variance = np.stack([deviation for _, deviation in columns], axis=-1) ** 2
        nothing = np.zeros(len(requests))
        return ExpectedLoad(
            nodes=np.stack([mean, variance, np.zeros(mean.shape)], axis=1),
            pod=Usage(ratios * requests, nothing, nothing).alone[None],
        )

    def _mean_and_deviation(self, resource: str) -> tuple[Floats, Floats]:
        mean, deviation = self.usage("mean", resource, HOUR), self.usage("deviation", resource, HOUR)
        mean = np.where(np.isnan(mean), self.mean_or_latest(resource), mean)
        own = self.usage("deviation", resource)
        return mean, np.nan_to_num(np.where(np.isnan(deviation), own, deviation))

    def once(self, key: Hashable, make: Callable[["Nodes"], Floats]) -> Floats:
        """What depends on the snapshot alone, made once for all nodes: an array (..., node), here of these.

        Nodes come last: arithmetic with numbers of the pod then runs along them, which is what numpy does fastest.
        """
        return self.snapshot.once(key, lambda: make(Nodes.of(self.snapshot))).take(self.rows, axis=-1)

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

    def _columns(self, values: Floats, resources: Sequence[str]) -> Floats:
        """The last axis in the order of these resources, NaN where one is not kept."""
        chosen = np.full((*values.shape[:-1], len(resources)), np.nan)
        for position, resource in enumerate(resources):
            if (column := self.snapshot.resource_index.get(resource)) is not None:
                chosen[..., position] = values[..., column]
        return chosen

    def _nothing(self) -> Floats:
        return np.full(len(self.rows), np.nan)
