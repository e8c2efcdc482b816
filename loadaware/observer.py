"""The one who watches: told of nodes and pods, fed with readings, makes snapshots. Pure: no I/O, no thread, no clock.

Everything arrives in one order (`tell`, `feed`), from one thread. `tell` returns the small changes that cannot wait
for the next snapshot (a pod bound, a pod gone); `snapshot` makes the frozen picture of it all. In a server this runs
in a process of its own, so that decoding and arithmetic never stall a request; in a library it runs where it is called.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from collectors.cluster import (
    Event,
    Forbidden,
    Kind,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.manifests import Node, Pod, Resources
from collectors.reading import CPU, MEMORY, Floats, Reading
from loadaware import quarantine
from loadaware.changes import Change, PodBound, PodLeft
from loadaware.demand import DemandSettings
from loadaware.demand_state import DemandState
from loadaware.learning import Learning
from loadaware.node_report import node_report
from loadaware.pod_sums import sum_up
from loadaware.pods import BoundPod, PodTable
from loadaware.queries import PodReply, PodsQuery, Reply
from loadaware.roster import Roster
from loadaware.snapshot import HOUR, OPT_OUT_ANNOTATION, Snapshot
from loadaware.window import Bools, Ints, Statistics, Window

MOST_USAGE_PER_REQUEST = 10.0
"""Pods that request next to nothing tell nothing about those that request something."""


@dataclass(frozen=True)
class ObserverSettings:
    """How much past is kept."""

    resources: tuple[str, ...] = (CPU, MEMORY)
    window_seconds: float = 900.0
    other_windows_seconds: tuple[float, ...] = (300.0, 600.0, 3600.0, 86400.0)
    percentiles: tuple[float, ...] = (95.0,)
    interval_seconds: float = 15.0
    most_samples: int = 240
    high_priority_from: int = 9000
    demand: DemandSettings = field(default_factory=DemandSettings)

    @property
    def longer_windows_seconds(self) -> tuple[float, ...]:
        """Windows that outlast the main one's samples, and so are kept as buckets."""
        return tuple(length for length in self.other_windows_seconds if length > self.window_seconds)

    @property
    def samples(self) -> int:
        """Samples kept per node: the window at one per interval, and one to spare."""
        return min(self.most_samples, int(np.ceil(self.window_seconds / self.interval_seconds)) + 1)


@dataclass
class ObserverCounts:
    """What was left out, for telemetry."""

    readings: int = 0
    quarantined: Counter[str] = field(default_factory=Counter)
    unknown_nodes: int = 0
    """Rows of the last reading that name a node nobody told of."""


class Observer:
    """What is known, kept in arrays."""

    def __init__(self, settings: ObserverSettings | None = None) -> None:
        self._settings = settings or ObserverSettings()
        self._roster = Roster()
        self._nodes: dict[str, Node] = {}
        self._pods = PodTable(len(self._settings.resources))
        self._nominated: dict[str, str] = {}
        self._learning = Learning(self._pods, self._settings.resources, self._settings.demand)
        self._exempt: set[str] = set()
        self._pods_known = True
        s = self._settings
        self._window = Window(len(s.resources), s.window_seconds, s.samples, s.longer_windows_seconds)
        self._capacity: Floats = np.full((0, len(s.resources)), np.nan)
        self._allocatable: Floats = self._capacity
        self._reported_deviation: dict[int, Floats] = {}
        self._distrusted: dict[int, str] = {}
        self._frozen: set[str] = set()
        self._resolution = s.interval_seconds
        self._generation = 0
        self._measured_since = np.inf
        self.counts = ObserverCounts()

    @property
    def node_count(self) -> int:
        """Nodes told of."""
        return len(self._nodes)

    @property
    def pod_count(self) -> int:
        """Bound pods told of."""
        return len(self._pods)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Nodes told of, as facts."""
        return tuple(self._nodes.values())

    def answer(self, query: PodsQuery) -> Reply:
        """What is known of some pods."""
        return Reply(query.number, tuple(filter(None, map(self._pod_reply, query.identities))))

    def _pod_reply(self, identity: str) -> PodReply | None:
        pod = self._pods.get(identity)
        if pod is None:
            return None
        measured = dict(zip(self._settings.resources, pod.usage, strict=False))
        usage = {r: u if np.isfinite(u) else pod.shape.request(r) for r, u in measured.items()}
        return PodReply(identity, self._roster.name(pod.node_row), usage or dict(pod.shape.requests))

    def node_report(self, name: str) -> dict[str, Any] | None:
        """The samples and the pods of a node, for people; None for one that nobody told of."""
        row = self._roster.row(name)
        if name not in self._nodes or row is None:
            return None
        return node_report(row, self._settings.resources, self._window, self._pods, self._learning)

    # -- Told of the cluster ----------------------------------------------------------------------------------------

    def tell(self, event: Event, now: float) -> list[Change]:
        """Take an event in; the changes that cannot wait for the next snapshot."""
        match event:
            case PodSeen(pod=pod):
                return self._pod_seen(pod, now)
            case PodGone(identity=identity):
                return [self._pod_left(identity)]
            case NodeSeen(node=node):
                self._node_seen(node)
            case NodeGone(name=name):
                self._node_gone(name)
            case NamespaceSeen(namespace=namespace):
                self._set_exempt(namespace.name, namespace.annotations.get(OPT_OUT_ANNOTATION) == "true")
            case NamespaceGone(name=name):
                self._set_exempt(name, False)
            case Relisted():
                return self._relisted(event)
            case Forbidden(kind=kind):
                self._pods_known = self._pods_known and kind != "pods"
                self._listed(kind)
        return []

    def _pod_seen(self, pod: Pod, now: float) -> list[Change]:
        self._pods_known, identity, node = True, pod.identity, pod.node
        if pod.finished:
            return [self._pod_left(identity)]
        if node is None:
            self._nominate(pod)
            return []
        self._nominated.pop(identity, None)
        held = self._pods.get(identity)
        if held is not None and held.node_row == self._roster.row(node):
            return self._pod_changed(pod, node, held)
        left = [] if held is None else [self._pod_left(identity)]
        bound_at = _bound_at(pod, now)
        workload, kin = self._learning.begin(self._pods.put(pod, self._roster.hold(node), bound_at), pod)
        return [*left, PodBound(identity, node, pod.shape, bound_at, workload=workload, kin=kin)]

    def _pod_changed(self, pod: Pod, node: str, held: BoundPod) -> list[Change]:
        """A pod that stays where it is: its state may change, or its requests, in place."""
        if held.shape == pod.shape:
            self._pods.update(pod)
            return []
        slot = self._pods.put(pod, held.node_row, held.bound_at)
        workload, expected = self._learning.resize(slot, pod.shape)
        return [
            PodLeft(pod.identity, node, held.shape, held.bound_at, held.usage, workload, expected),
            PodBound(pod.identity, node, pod.shape, held.bound_at, held.usage, workload),
        ]

    def _nominate(self, pod: Pod) -> None:
        if pod.nominated_node is None:
            self._nominated.pop(pod.identity, None)
        else:
            self._nominated[pod.identity] = pod.nominated_node

    def _pod_left(self, identity: str) -> PodLeft:
        self._nominated.pop(identity, None)
        slot = self._pods.slot(identity)
        pod = self._pods.remove(identity)
        if pod is None or slot is None:
            return PodLeft(identity)
        workload, expected = self._learning.end(slot)
        node = self._roster.name(pod.node_row)
        self._release(pod.node_row)
        return PodLeft(identity, node, pod.shape, pod.bound_at, pod.usage, workload, expected)

    def _node_seen(self, node: Node) -> None:
        if node.name not in self._nodes:
            held = self._roster.hold(node.name)
            self._reserve(len(self._roster))
            self._learning.node_seen(node.name, held)
        self._nodes[node.name] = node
        row = self._roster.row(node.name)
        self._capacity[row] = self._amounts(node.capacity)
        self._allocatable[row] = self._amounts(node.allocatable)

    def _reserve(self, rows: int) -> None:
        self._window.reserve(rows)
        self._learning.rest.reserve(rows)
        if rows > len(self._capacity):
            more = np.full((max(rows, 64), len(self._settings.resources)), np.nan)
            self._capacity = np.concatenate([self._capacity, more])
            self._allocatable = np.concatenate([self._allocatable, more])

    def _amounts(self, declared: Resources) -> list[float]:
        amounts = dict(declared)
        return [amounts.get(resource, np.nan) for resource in self._settings.resources]

    def _node_gone(self, name: str) -> None:
        row = self._roster.row(name)
        if self._nodes.pop(name, None) is not None and row is not None:
            self._window.forget(row)
            self._learning.rest.forget(row)
            self._reported_deviation.pop(row, None)
            self._distrusted.pop(row, None)
            self._release(row)

    def _release(self, row: int) -> None:
        if self._roster.release(row):
            self._window.forget(row)

    def _set_exempt(self, namespace: str, exempt: bool) -> None:
        (self._exempt.add if exempt else self._exempt.discard)(namespace)

    def _listed(self, kind: Kind) -> None:
        """Whoever was kept from an earlier life and is not told of by now is gone."""
        if kind == "pods":
            self._learning.pods_listed()
        elif kind == "nodes":
            self._learning.nodes_listed()

    def _relisted(self, event: Relisted) -> list[Change]:
        self._listed(event.kind)
        if event.kind == "pods":
            self._pods_known = True
            gone = [i for i in self._pods.identities() if i not in event.present]
            return [self._pod_left(identity) for identity in gone]
        if event.kind == "nodes":
            for name in [n for n in self._nodes if n not in event.present]:
                self._node_gone(name)
        else:
            self._exempt &= event.present
        return []

    # -- Fed with readings ------------------------------------------------------------------------------------------

    def feed(self, reading: Reading, now: float) -> None:
        """Take a reading in: judge it, and add to the window what advances."""
        self.counts.readings += 1
        known = np.array([name in self._nodes for name in reading.nodes.names], dtype=np.bool_)
        self.counts.unknown_nodes = int((~known).sum())
        known &= ~self._reject_future(reading, known, now)
        rows = np.array(
            [self._roster.row(n) for n, k in zip(reading.nodes.names, known, strict=True) if k], dtype=np.intp
        )
        usage = self._in_base_units(reading.nodes.usage[known], rows, reading)
        usage, reasons = quarantine.judge_values(usage, self._capacity[rows])
        self._distrust(rows, reasons)
        self._append(rows, usage, reading.nodes.times[known])
        if reading.pods is not None:
            slots = self._pods.measured(reading.pods.names)
            measured = quarantine.judge_pods(self._our_columns(reading.pods.usage, reading), self._capacity_of(slots))
            self._pods.measure(slots, measured)
            self._learning.read(slots, measured, reading.pods.times)
            self._learning.read_nodes(rows, usage, reading.nodes.times[known])
        else:
            self._learning.read_nodes_alone(rows, usage, reading.nodes.times[known], reading.nodes.windows[known])
        if reading.node_deviation is not None:
            deviation = self._in_base_units(reading.node_deviation[known], rows, reading)
            deviation, _ = quarantine.judge_values(deviation, self._capacity[rows])
            self._reported_deviation.update(zip(rows.tolist(), deviation, strict=True))

    def _capacity_of(self, slots: Ints) -> Floats:
        """Of the node of the pod in each slot (slot, resource); NaN for a stranger, and where no node is known yet."""
        capacity = np.full((len(slots), self._capacity.shape[1]), np.nan)
        known = np.flatnonzero(slots >= 0)
        rows = self._pods.nodes(slots[known])
        told = (rows >= 0) & (rows < len(self._capacity))
        capacity[known[told]] = self._capacity[rows[told]]
        return capacity

    def _append(self, rows: Ints, usage: Floats, times: Floats) -> None:
        """Add to the window. A row without any value left is no sample: the node's data must go on ageing."""
        measured = ~np.isnan(usage).all(axis=1)
        rows, usage, times = rows[measured], usage[measured], times[measured]
        self._learn_resolution(rows, times)
        self._measured_since = min(self._measured_since, float(times.min(initial=np.inf)))
        self._window.append(rows, usage, times)

    def _reject_future(self, reading: Reading, known: Bools, now: float) -> Bools:
        ahead: Bools = quarantine.from_the_future(reading.nodes.times, now) & known
        for position in np.flatnonzero(ahead):
            row = self._roster.row(reading.nodes.names[position])
            if row is not None:
                self._distrusted[row] = "future"
        self.counts.quarantined["future"] += int(ahead.sum())
        return ahead

    def _distrust(self, rows: Ints, reasons: dict[int, str]) -> None:
        for position, row in enumerate(rows.tolist()):
            reason = reasons.get(position)
            if reason is None:
                self._distrusted.pop(row, None)
            else:
                self._distrusted[row] = reason
                self.counts.quarantined[reason] += 1

    def _in_base_units(self, values: Floats, rows: Ints, reading: Reading) -> Floats:
        """Columns in our order of resources; fractions of capacity made absolute."""
        ours = self._our_columns(values, reading)
        return ours * self._capacity[rows] if reading.base == "capacity" else ours

    def _our_columns(self, values: Floats, reading: Reading) -> Floats:
        """Columns in our order of resources, NaN for those that the reading does not have."""
        if reading.resources == self._settings.resources:
            return values
        ours = np.full((len(values), len(self._settings.resources)), np.nan)
        for column, resource in enumerate(reading.resources):
            if resource in self._settings.resources:
                ours[:, self._settings.resources.index(resource)] = values[:, column]
        return ours

    def _learn_resolution(self, rows: Ints, times: Floats) -> None:
        """How often timestamps advance: the median step, remembered smoothly."""
        steps = times - self._window.newest(rows)
        steps = steps[np.isfinite(steps) & (steps > 0)]
        if len(steps):
            self._resolution += 0.2 * (max(float(np.median(steps)), 1.0) - self._resolution)

    # -- What was learned, kept beyond this process ------------------------------------------------------------------

    @property
    def worth_keeping(self) -> bool:
        """Whether what was learned is all there: not before the cluster was listed, if anything was restored."""
        return self._learning.whole

    def export(self, now: float) -> DemandState:
        """What was learned of pods, workloads and nodes, as a value."""
        names = tuple(self._nodes)
        rows = np.array([self._roster.row(name) for name in names], dtype=np.intp)
        return self._learning.export(names, rows, now)

    def restore(self, state: DemandState) -> None:
        """Take what was learned elsewhere, or before; where both know something, the newer by time is kept."""
        rows = {name: self._roster.row(name) for name in self._nodes}
        self._learning.restore(state, {name: row for name, row in rows.items() if row is not None})

    def feed_past(self, reading: Reading) -> None:
        """Learn from what pods used at a moment before now, oldest first. The window takes nothing of it."""
        if reading.pods is not None:
            self._learning.read_past(reading.pods.names, self._our_columns(reading.pods.usage, reading), reading.time)

    # -- Snapshots --------------------------------------------------------------------------------------------------

    def snapshot(self, now: float) -> Snapshot:
        """The frozen picture of all that was told and fed."""
        s = self._settings
        self._generation += 1
        self._pods.compact()
        names = tuple(self._nodes)
        rows = np.array([self._roster.row(name) for name in names], dtype=np.intp)
        newest = self._window.newest(rows)
        positions = np.full(len(self._roster), -1, dtype=np.intp)
        positions[rows] = np.arange(len(rows))
        statistics = self._statistics(rows)
        missed = newest - max(s.window_seconds, HOUR)
        pods = sum_up(self._pods, positions, s.resources, missed, s.high_priority_from)
        return Snapshot(
            time=now,
            names=names,
            resources=s.resources,
            capacity=self._capacity[rows],
            allocatable=self._allocatable[rows],
            statistics=statistics,
            sampled_at=newest,
            requested=pods.requested,
            limits=pods.limits,
            pod_counts=pods.counts,
            labels=tuple(node.labels for node in self._nodes.values()),
            window_seconds=s.window_seconds,
            window_starts=self._window.oldest(rows),
            windows={length: self._window.statistics_of(length, rows) for length in s.other_windows_seconds},
            placed=pods.placed,
            shapes=tuple(self._pods.shapes),
            quarantined=self._quarantined(names, rows, newest, now),
            exempt_namespaces=frozenset(self._exempt),
            pods_known=self._pods_known,
            terminating_pods=pods.terminating,
            nominated_pods=self._nominated_pods(names),
            high_priority_from=s.high_priority_from,
            high_priority_usage=pods.high_priority_usage,
            applications=pods.applications,
            expected=self._learning.expected(rows, positions, self._capacity[rows], np.isfinite(newest)),
            usage_per_request=_usage_per_request(statistics.mean, pods.requested),
            measured_since=self._measured_since,
            generation=self._generation,
        )

    def _statistics(self, rows: Ints) -> Statistics:
        """Of the main window; a deviation that the source reports itself goes before our own."""
        statistics = self._window.statistics(rows, self._settings.percentiles)
        for position, row in enumerate(rows.tolist() if self._reported_deviation else ()):
            reported = self._reported_deviation.get(row)
            if reported is not None:
                own = statistics.deviation[position]
                statistics.deviation[position] = np.where(np.isnan(reported), own, reported)
        return statistics

    def _nominated_pods(self, names: tuple[str, ...]) -> Floats:
        nominated = Counter(self._nominated.values())
        return np.array([nominated[name] for name in names], dtype=np.float64)

    def _quarantined(self, names: tuple[str, ...], rows: Ints, newest: Floats, now: float) -> dict[str, str]:
        stopped = quarantine.frozen(newest, max(self._resolution, self._settings.interval_seconds), now)
        frozen = {names[position] for position in np.flatnonzero(stopped)}
        self.counts.quarantined["frozen"] += len(frozen - self._frozen)
        self._frozen = frozen
        reasons = dict.fromkeys(sorted(frozen), "frozen")
        for name, row in zip(names, rows.tolist(), strict=True):
            if row in self._distrusted:
                reasons[name] = self._distrusted[row]
        return reasons


def _usage_per_request(usage: Floats, requested: Floats) -> Floats:
    """Over the nodes that are measured; 1 where nothing is measured or requested."""
    asked = np.where(np.isnan(usage), 0.0, requested).sum(axis=0)
    ratios = np.divide(np.nan_to_num(usage).sum(axis=0), asked, out=np.ones(len(asked)), where=asked > 0)
    return np.minimum(ratios, MOST_USAGE_PER_REQUEST)


def _bound_at(pod: Pod, now: float) -> float:
    """When a pod was bound, as far as anybody told."""
    if pod.bound_at is not None:
        return pod.bound_at
    return now if pod.created_at is None else pod.created_at
