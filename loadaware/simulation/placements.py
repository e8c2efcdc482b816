"""Which pod is on which node, and what that leaves: the part of a cluster's state that a scheduler looks at.

Amounts are integers, millicores and bytes, as kube-scheduler keeps them: sums never drift, and its scores can be
computed to the digit.
"""

import numpy as np
import numpy.typing as npt

from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario

NOWHERE = -1


class Placements:
    """Pods on nodes, both by their numbers in the scenario. Axes: requested and allocatable (node, resource)."""

    def __init__(self, scenario: Scenario) -> None:
        machines, count = scenario.machines, len(scenario.machines)
        self.zones = machines.zones
        self.present = np.ones(count, dtype=np.bool_)
        """Nodes that are there."""
        self.allocatable = np.column_stack([np.rint(machines.cores * 1000), machines.bytes]).astype(np.int64)
        self.requested = np.zeros((count, 2), dtype=np.int64)
        self.requests = np.column_stack([scenario.request_millicores, scenario.request_bytes])
        """Of each pod."""
        self.node_of = np.full(len(scenario.arrivals), NOWHERE, dtype=np.int64)
        self._groups = scenario.spread_groups
        self._replicas: dict[int, Ints] = {}

    def put(self, pod: int, node: int) -> None:
        """A pod was bound to a node."""
        self.node_of[pod] = node
        self.requested[node] += self.requests[pod]
        self._count(pod, node, 1)

    def take(self, pod: int) -> None:
        """A pod left its node."""
        node = int(self.node_of[pod])
        self.node_of[pod] = NOWHERE
        self.requested[node] -= self.requests[pod]
        self._count(pod, node, -1)

    def feasible(self, pod: int) -> npt.NDArray[np.bool_]:
        """On which nodes the pod's requests fit."""
        fits = (self.requested + self.requests[pod] <= self.allocatable).all(axis=1)
        return np.asarray(fits & self.present)

    def replicas(self, pod: int) -> Ints | None:
        """How many pods of the same ReplicaSet or StatefulSet each node has; None for what has no such owner."""
        group = int(self._groups[pod])
        if group < 0:
            return None
        known = self._replicas.get(group)
        return np.zeros(len(self.present), dtype=np.int64) if known is None else known

    def on(self, node: int) -> Ints:
        """The pods bound to a node."""
        return np.flatnonzero(self.node_of == node)

    def _count(self, pod: int, node: int, change: int) -> None:
        group = int(self._groups[pod])
        if group < 0:
            return
        counts = self._replicas.setdefault(group, np.zeros(len(self.present), dtype=np.int64))
        counts[node] += change
        if not counts.any():
            del self._replicas[group]
