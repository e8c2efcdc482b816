"""A reference: whoever places with knowledge of the future of all pods that are there, and of the one to be placed.

    cost of a node = sum over the pod's life of C * ((U + u) / C)^8 - C * (U / C)^8

with u what the pod will use and U what the node is known to have to give by then, its overhead included. The lowest
cost wins. Of pods still to come it knows nothing: no policy that learns can know more than this one does.
"""

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.crowding import Crowding
from loadaware.simulation.futures import Futures, Stretch, foresee
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import NOWHERE
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News


class Clairvoyant:
    """Knows the futures; looks up in the cluster itself who is where."""

    def __init__(self, scenario: Scenario, futures: Futures | None = None) -> None:
        self._futures = futures or foresee(scenario)
        self._crowding = Crowding(scenario.machines, self._futures.steps)
        self._node_of = np.full(len(scenario.arrivals), NOWHERE, dtype=np.int64)
        self._added: dict[int, Stretch] = {}
        """By pod, as long as its node may be lost."""

    def hear(self, news: tuple[News, ...]) -> None:
        """Has no need to."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Floats:
        """The costs, negative."""
        self._look(cluster)
        return -self._crowding.increase(self._futures.of(pod, cluster.now))[nodes]

    def _look(self, cluster: SimulatedCluster) -> None:
        """Who was bound, left, or was lost with a node since the last look."""
        node_of = cluster.placements.node_of
        for pod in np.flatnonzero(node_of != self._node_of).tolist():
            if self._node_of[pod] != NOWHERE:
                self._forget(pod, cluster.now)
            if node_of[pod] != NOWHERE:
                self._added[pod] = self._futures.of(pod, cluster.pod(pod).bound_at)
                self._crowding.add(int(node_of[pod]), self._added[pod])
            self._node_of[pod] = node_of[pod]

    def _forget(self, pod: int, now: float) -> None:
        """Who left when its time was over has no future that could be taken away."""
        added = self._added.pop(pod)
        if not self._futures.is_over(pod, now):
            self._crowding.remove(int(self._node_of[pod]), added)
