"""A placement of all pods of a scenario at once, made better step by step.

Every pod is looked at in turn. Of the nodes where the cost (see crowding.py) would be lower, the best that has room for
its requests during all of its life is taken. Often a better one has no room: then it may change places with a pod
there, if both fit and the sum of the two costs falls by more.
"""

import numpy as np

from loadaware.simulation.crowding import Crowding
from loadaware.simulation.futures import Futures
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import NOWHERE, Placements
from loadaware.simulation.scenario import Scenario

SURE = 1e-4
"""A change must save this share of a pod's own cost: less may be rounding."""
NEGLIGIBLE = 0.5
"""Pods that cost less than this share of the average per pod stay: half of the pods, one percent of the cost."""
BEST_NODES = 10
"""How many of the better nodes are looked at, the best first."""
FULL_NODES = 3
"""How many better nodes without room are searched for somebody to change places with."""


class LocalSearch:
    """Each pod is taken to be bound on arrival."""

    def __init__(self, scenario: Scenario, futures: Futures) -> None:
        self._machines, self._futures = scenario.machines, futures
        placements = Placements(scenario)
        self.node_of = placements.node_of
        """By pod; NOWHERE for those that had room nowhere on arrival, or that come after the end."""
        self._requests = placements.requests
        self._free = np.repeat(placements.allocatable[:, :, None], futures.steps, axis=2)
        """Not requested. Axes (node, resource, step)."""
        self._from, self._until = self._stays(scenario)
        self._crowding = Crowding(scenario.machines, futures.steps)
        self._negligible = 0.0

    def begin(self) -> None:
        """Place one pod after the other, each where it costs least by then: as a clairvoyant does."""
        for pod in np.flatnonzero(self._from < self._futures.steps).tolist():
            room = (self._free[:, :, self._from[pod]] >= self._requests[pod]).all(axis=1)
            if room.any():
                costs = self._crowding.increase(self._futures.of(pod))
                self._put(pod, int(np.argmin(np.where(room, costs, np.inf))))

    def improve(self, order: Ints) -> None:
        """Look at each of these pods once."""
        for pod in order.tolist():
            if self.node_of[pod] != NOWHERE:
                self._improve(pod)

    def settle(self) -> float:
        """Add all up anew, so that no rounding is left from changes; the cost."""
        self._crowding = Crowding(self._machines, self._futures.steps)
        for pod in np.flatnonzero(self.node_of != NOWHERE).tolist():
            self._crowding.add(int(self.node_of[pod]), self._futures.of(pod))
        cost = self._crowding.total()
        self._negligible = NEGLIGIBLE * cost / max(len(self.node_of), 1)
        return cost

    # -- one pod ----------------------------------------------------------------------------------------------------

    def _improve(self, pod: int) -> None:
        node, future = int(self.node_of[pod]), self._futures.of(pod)
        saved = self._crowding.decrease(node, future)
        if saved <= self._negligible:
            return
        costs = self._crowding.increase(future)
        costs[node] = np.inf
        better = np.flatnonzero(costs < (1.0 - SURE) * saved)
        if not len(better):
            return
        better = better[np.argsort(costs[better])][:BEST_NODES]
        lacking = self._lacking(pod, better)
        room = better[(lacking <= 0).all(axis=1)]
        gain = saved - costs[room[0]] if len(room) else SURE * saved
        if (other := self._partner(pod, better, lacking, gain)) is not None:
            self._change_places(pod, other)
        elif len(room):
            self._take(pod)
            self._put(pod, int(room[0]))

    def _lacking(self, pod: int, nodes: Ints) -> Ints:
        """How much of the pod's requests has no room, at worst. Axes (node, resource); at most 0 where it fits."""
        stay = slice(self._from[pod], self._until[pod])
        return np.array([self._requests[pod] - self._free[node, :, stay].min(axis=1) for node in nodes.tolist()])

    def _partner(self, pod: int, nodes: Ints, lacking: Ints, gain: float) -> int | None:
        """The pod with which changing places gains most, if it gains more than that. Best nodes first."""
        found = None
        full = np.flatnonzero((lacking > 0).any(axis=1))[:FULL_NODES]
        for node, lacks in zip(nodes[full].tolist(), lacking[full], strict=True):
            for other in self._candidates(pod, node, lacks).tolist():
                if (gained := self._gain(pod, other)) > gain:
                    found, gain = other, gained
        return found

    def _candidates(self, pod: int, node: int, lacks: Ints) -> Ints:
        """Pods of a node that would make room for this one, and fit where it is now."""
        free = self._free[node, :, self._from[pod] : self._until[pod]]
        tight = self._from[pod] + np.flatnonzero((free < self._requests[pod][:, None]).any(axis=0))
        there = np.flatnonzero(self.node_of == node)
        there = there[(self._requests[there] >= lacks).all(axis=1)]
        there = there[(self._from[there] <= tight[0]) & (self._until[there] > tight[-1])]
        there = there[(self._requests[there] <= self._left_without(pod, int(tight[0]))).all(axis=1)]
        return np.array([other for other in there.tolist() if self._fits_instead(other, pod)], dtype=np.int64)

    def _left_without(self, pod: int, step: int) -> Ints:
        """What its node would have free then if the pod were not there. A quick look before the thorough one."""
        return np.asarray(self._free[self.node_of[pod], :, step] + self._requests[pod])

    def _fits_instead(self, other: int, pod: int) -> bool:
        """Whether the other pod would have room on this one's node if this one were not there."""
        begin, end = self._from[other], self._until[other]
        free = self._free[self.node_of[pod], :, begin:end].copy()
        both = slice(max(self._from[pod] - begin, 0), max(self._until[pod] - begin, 0))
        free[:, both] += self._requests[pod][:, None]
        return bool((free.min(axis=1) >= self._requests[other]).all())

    def _gain(self, pod: int, other: int) -> float:
        """What the cost would fall by if the two changed places."""
        one, two = self._futures.of(pod), self._futures.of(other)
        here = self._crowding.exchange(int(self.node_of[pod]), one, two)
        return -here - self._crowding.exchange(int(self.node_of[other]), two, one)

    # -- changes ----------------------------------------------------------------------------------------------------

    def _change_places(self, pod: int, other: int) -> None:
        node, its = int(self.node_of[pod]), int(self.node_of[other])
        self._take(pod)
        self._take(other)
        self._put(pod, its)
        self._put(other, node)

    def _put(self, pod: int, node: int) -> None:
        self.node_of[pod] = node
        self._free[node, :, self._from[pod] : self._until[pod]] -= self._requests[pod][:, None]
        self._crowding.add(node, self._futures.of(pod))

    def _take(self, pod: int) -> None:
        node = int(self.node_of[pod])
        self.node_of[pod] = NOWHERE
        self._free[node, :, self._from[pod] : self._until[pod]] += self._requests[pod][:, None]
        self._crowding.remove(node, self._futures.of(pod))

    def _stays(self, scenario: Scenario) -> tuple[Ints, Ints]:
        """The steps in which each pod has its requests, begun ones counted whole, at least one."""
        seconds = scenario.arrivals.arrival - self._futures.start
        came = np.floor(seconds / self._futures.step_seconds).astype(np.int64)
        return came, np.maximum(self._futures.end, came + 1)
