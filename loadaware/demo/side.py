"""One of the two clusters of the demo, with the queue of its scheduler.

The event loop advances it and a scheduling thread places pods in it, so every method takes the lock, for
microseconds; nothing waits for the network inside. A pod that fits nowhere is set aside until room appears, as
kube-scheduler does.
"""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.accounting import Report
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.default_scores import default_scores
from loadaware.simulation.manifest import manifest_of
from loadaware.simulation.noise import Ints
from loadaware.simulation.watch import News


@dataclass(frozen=True)
class Pending:
    """A pod whose turn it is, and the nodes on which it fits."""

    pod: int
    key: str
    cores: float
    manifest: dict[str, Any]
    nodes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SideView:
    """What a person sees of one cluster. Utilization is the true one, NaN for a node that is away."""

    name: str
    utilization: Floats
    report: Report
    running: int
    waiting: int

    @property
    def hot_now(self) -> int:
        """Nodes above 80 % at this moment."""
        return int(np.nansum(self.utilization > 0.8))


class Side:
    """A cluster and those who wait in it."""

    def __init__(self, name: str, cluster: SimulatedCluster) -> None:
        self.name = name
        self._cluster = cluster
        self._numbers = {node: number for number, node in enumerate(cluster.scenario.machines.names)}
        self._queue: deque[int] = deque()
        self._set_aside: list[int] = []
        self._lock = threading.Lock()

    def advance(self, time: float) -> tuple[News, ...]:
        """Let the time pass; returns what the cluster told meanwhile."""
        with self._lock:
            progress = self._cluster.advance(time)
            if progress.freed:
                self._queue.extend(self._set_aside)
                self._set_aside.clear()
            self._queue.extend(progress.arrived)
            return progress.told

    def next_pending(self) -> Pending | None:
        """Whose turn it is; None if nobody waits who fits somewhere."""
        with self._lock:
            while self._queue:
                pod = self._queue.popleft()
                if not self._cluster.waits(pod):
                    continue
                feasible = np.flatnonzero(self._cluster.placements.feasible(pod))
                if len(feasible):
                    return self._pending(pod, feasible)
                self._set_aside.append(pod)
            return None

    def default_totals(self, pending: Pending, nodes: Sequence[str]) -> Ints:
        """What kube-scheduler's default plugins give these nodes, weighted and summed."""
        numbers = np.array([self._numbers[node] for node in nodes], dtype=np.int64)
        with self._lock:
            return default_scores(self._cluster.placements, pending.pod, numbers)

    def bind(self, pending: Pending, node: str) -> bool:
        """Bind it. False, and the pod back in the queue, if the node was lost or filled meanwhile."""
        number = self._numbers[node]
        with self._lock:
            if not self._cluster.waits(pending.pod):
                return False
            if not self._cluster.placements.feasible(pending.pod)[number]:
                self._queue.append(pending.pod)
                return False
            self._cluster.bind(pending.pod, number)
            return True

    def set_aside(self, pending: Pending) -> None:
        """No node was allowed; try again when something leaves."""
        with self._lock:
            self._set_aside.append(pending.pod)

    def account_from(self, time: float) -> None:
        """Count the figures from that time on."""
        with self._lock:
            self._cluster.account_from(time)

    def view(self) -> SideView:
        """What there is to see now."""
        with self._lock:
            cluster = self._cluster
            return SideView(self.name, cluster.utilization, cluster.report(), cluster.running, cluster.waiting)

    def _pending(self, pod: int, feasible: Ints) -> Pending:
        fact = self._cluster.pod(pod)
        names = self._cluster.scenario.machines.names
        return Pending(
            pod=pod,
            key=fact.key,
            cores=fact.shape.request("cpu"),
            manifest=manifest_of(fact),
            nodes=tuple(names[number] for number in feasible),
        )
