"""A cluster under the caller's clock: pods arrive, are bound, work, leave; nodes fail and return.

The caller advances the time and binds pods; the cluster answers with what a real one would tell: watch events a
little late, readings later still, and who waits for a node. What really happens it keeps to itself, for the ledger:
a policy sees only what was told.

Time runs in steps. At the start of each, whoever has to leave leaves, nodes fail or return, and usage is settled for
the length of the step. A node that is asked for more than it has throttles everything on it by the same share.
A failing node is gone at once, with its pods; they come back as new pods to be placed, with the rest of their lives.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from collectors.cluster import NamespaceSeen, NodeGone, NodeSeen, PodGone, PodSeen
from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.simulation.accounting import Ledger, Report
from loadaware.simulation.futures import Futures
from loadaware.simulation.machines import Outages
from loadaware.simulation.metering import Blind, Metering, Names, Sample, Timing
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import NOWHERE, Placements
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News, Watch


@dataclass(frozen=True)
class Progress:
    """What came of advancing the time."""

    told: tuple[News, ...]
    """In the order in which it was told."""
    arrived: tuple[int, ...]
    """Pods that wait for a node since then: new ones, and those lost with theirs."""
    freed: bool
    """Whether there is more room than before: a pod left or a node returned."""


class SimulatedCluster:
    """One policy's copy of a scenario. Pods and nodes are called by their numbers in the scenario."""

    def __init__(
        self,
        scenario: Scenario,
        timing: Timing | None = None,
        *,
        publish: bool = True,
        blind: Blind | None = None,
        futures: Futures | None = None,
    ) -> None:
        """Without `publish` nothing is measured. `futures`, if they are known already, save working out usage."""
        self.scenario = scenario
        self._futures = futures
        self._blind = blind or Blind()
        self._seen = self._blind.seen(len(scenario.machines))
        self.timing = timing or Timing()
        self.now = scenario.settings.start
        self.placements = Placements(scenario)
        self.demand: Floats = scenario.machines.overhead_cores
        """Cores wanted on each node in the current step: what a policy never sees."""
        self.expired = 0
        """Pods whose time was over before a node was found for them."""
        self._ledger = Ledger(self.now)
        self._watch = Watch()
        self._metering = Metering(self.timing, self.now) if publish else None
        self._next_step = self.now
        self._node_names: Names = np.array(scenario.machines.names, dtype=object)
        self._prepare_pods()
        self._outages = Outages(scenario.failures)
        self._watch.tell(self.now, (NamespaceSeen(namespace) for namespace in scenario.namespaces))
        self._watch.tell(self.now, (self._node_seen(node) for node in range(len(scenario.machines))))

    def _prepare_pods(self) -> None:
        count = len(self.scenario.arrivals)
        self._facts: dict[int, Pod] = {}
        """As the API server has them: exactly the pods that are there."""
        self._keys: Names = np.empty(count, dtype=object)
        self._waiting: set[int] = set()
        self._incarnations = np.zeros(count, dtype=np.int64)
        self._start_delays = self.scenario.start_delays(*self.timing.start_seconds)
        self._begins = np.full(count, np.inf)
        self._by_departure = np.argsort(self.scenario.arrivals.departure, kind="stable")
        self._came, self._left = 0, 0

    def advance(self, time: float) -> Progress:
        """Let the time pass. Advance in small steps, or all who arrive within one wait until its end."""
        if time < self.now:
            raise ValueError(f"time runs forward: {time} is before {self.now}")
        arrived: list[int] = []
        freed = False
        while self._next_step <= time:
            self.now, self._next_step = self._next_step, self._next_step + self.timing.step_seconds
            arrived += self._arrive()
            freed |= self._depart()
            for node, away in self._outages.until(self.now):
                arrived += self._fail(node) if away else self._return(node)
                freed |= not away
            self._work()
        self.now = time
        arrived += self._arrive()
        return Progress(tuple(self._watch.until(time)), tuple(p for p in arrived if p in self._waiting), freed)

    def bind(self, pod: int, node: int) -> None:
        """Bind a waiting pod, now. Raises ValueError if it does not wait or does not fit."""
        if pod not in self._waiting:
            raise ValueError(f"pod {pod} does not wait for a node")
        if not self.placements.feasible(pod)[node]:
            raise ValueError(f"pod {pod} does not fit on {self._node_name(node)}")
        self._waiting.discard(pod)
        self.placements.put(pod, node)
        self._begins[pod] = self.now + self._start_delays[pod]
        self._change(pod, node=self._node_name(node), bound_at=self.now)

    def waits(self, pod: int) -> bool:
        """Whether the pod is there and waits for a node."""
        return pod in self._waiting

    @property
    def waiting(self) -> int:
        """How many pods wait for a node."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many pods have a node."""
        return len(self._facts) - len(self._waiting)

    def is_there(self, pod: int) -> bool:
        """Whether the API server has the pod."""
        return pod in self._facts

    def pod(self, pod: int) -> Pod:
        """The pod as the API server has it. Raises KeyError if it is not there."""
        return self._facts[pod]

    @property
    def utilization(self) -> Floats:
        """CPU in use on each node as a share of capacity, throttled; NaN for a node that is away."""
        used = np.minimum(self.demand / self.scenario.machines.cores, 1.0)
        return np.where(self.placements.present, used, np.nan)

    def account_from(self, time: float) -> None:
        """Forget the figures so far; count the steps that begin at that time or later."""
        self._ledger = Ledger(time)

    def report(self) -> Report:
        """The figures since accounting began."""
        return self._ledger.report()

    # -- what happens at the start of a step ------------------------------------------------------------------------

    def _arrive(self) -> list[int]:
        first = self._came
        self._came = int(np.searchsorted(self.scenario.arrivals.arrival, self.now, side="right"))
        for pod in range(first, self._came):
            self._enter(pod, float(self.scenario.arrivals.arrival[pod]))
        return list(range(first, self._came))

    def _enter(self, pod: int, time: float) -> None:
        self._waiting.add(pod)
        self._facts[pod] = self.scenario.pod(pod, int(self._incarnations[pod]))
        self._keys[pod] = self._facts[pod].key
        self._watch.tell(time + self.timing.watch_seconds, [PodSeen(self._facts[pod])])

    def _depart(self) -> bool:
        freed = False
        departure = self.scenario.arrivals.departure
        while self._left < self._came and departure[self._by_departure[self._left]] <= self.now:
            freed |= self._leave(int(self._by_departure[self._left]))
            self._left += 1
        return freed

    def _leave(self, pod: int) -> bool:
        finished = self.scenario.spread_groups[pod] < 0 and pod not in self._waiting
        if finished:
            self._change(pod, phase="Succeeded")
        freed = self._remove(pod, self.timing.finished_seconds if finished else 0.0)
        self.expired += not freed
        return freed

    def _remove(self, pod: int, after_seconds: float = 0.0) -> bool:
        bound = self.placements.node_of[pod] != NOWHERE
        if bound:
            self.placements.take(pod)
        self._waiting.discard(pod)
        self._begins[pod] = np.inf
        gone = PodGone(self._facts.pop(pod).identity)
        self._watch.tell(self.now + self.timing.watch_seconds + after_seconds, [gone])
        return bool(bound)

    def _fail(self, node: int) -> list[int]:
        self.placements.present[node] = False
        self._watch.tell(self.now + self.timing.watch_seconds, [NodeGone(self._node_name(node))])
        lost: list[int] = self.placements.on(node).tolist()
        for pod in lost:
            self._remove(pod)
            self._incarnations[pod] += 1
            self._enter(pod, self.now)
        return lost

    def _return(self, node: int) -> list[int]:
        self.placements.present[node] = True
        self._watch.tell(self.now + self.timing.watch_seconds, [self._node_seen(node)])
        return []

    def _work(self) -> None:
        machines, present = self.scenario.machines, self.placements.present
        working = np.flatnonzero(self._begins <= self.now)
        for pod in working[self._begins[working] > self.now - self.timing.step_seconds].tolist():
            self._change(pod, phase="Running")
        nodes = self.placements.node_of[working]
        wanted = self._usage(working)
        self.demand = machines.overhead_cores + np.bincount(nodes, wanted, len(machines))
        self._ledger.record(self.now, self.timing.step_seconds, self.demand[present], machines.cores[present])
        if self._metering is not None:
            if self._metering.awaits(self._next_step):
                self._metering.add(self._sample(working, nodes, wanted))
            for reading in self._metering.publish(self.now):
                self._watch.tell(reading.time, [reading])

    def _usage(self, working: Ints) -> Floats:
        if self._futures is None:
            return self.scenario.usage(working, self.now)
        step = round((self.now - self.scenario.settings.start) / self.timing.step_seconds)
        return self._futures.at(working, step)

    def _sample(self, working: Ints, nodes: Ints, wanted: Floats) -> Sample:
        machines = self.scenario.machines
        there = np.flatnonzero(self.placements.present & self._seen)
        granted = machines.cores / np.maximum(self.demand, machines.cores)
        memory = self.scenario.memory(working, self.now)
        taken = machines.overhead_bytes + np.bincount(nodes, memory, len(machines))
        here = self.placements.present
        self._ledger.record_memory(self.now, taken[here], machines.bytes[here])
        node_usage = np.column_stack([self.demand * granted, np.minimum(taken, machines.bytes)])
        pod_usage = np.column_stack([wanted * granted[nodes], memory])
        metered = self._seen[nodes]
        return Sample(
            time=self._next_step,
            nodes=self._node_names[there],
            node_usage=node_usage[there],
            pods=None if self._blind.pods else self._keys[working[metered]],
            pod_usage=pod_usage[metered],
        )

    # -- names and news ---------------------------------------------------------------------------------------------

    def _change(self, pod: int, **changes: object) -> None:
        self._facts[pod] = msgspec.structs.replace(self._facts[pod], **changes)
        self._watch.tell(self.now + self.timing.watch_seconds, [PodSeen(self._facts[pod])])

    def _node_name(self, node: int) -> str:
        return self.scenario.machines.names[node]

    def _node_seen(self, node: int) -> NodeSeen:
        return NodeSeen(self.scenario.machines.node(node, created_at=self.now))
