"""kube-scheduler's default scores for a simulated pod: the sum of its default plugins (see default_plugins.py)."""

from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.default_plugins import (
    BALANCED_ALLOCATION,
    LEAST_ALLOCATED,
    POD_TOPOLOGY_SPREAD,
    balance,
    balanced_allocation,
    least_allocated,
    pod_topology_spread,
)
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements


@dataclass(frozen=True)
class DefaultScores:
    """The weighted sum. The weights are kube-scheduler's own."""

    least_allocated: int = LEAST_ALLOCATED
    balanced_allocation: int = BALANCED_ALLOCATION
    pod_topology_spread: int = POD_TOPOLOGY_SPREAD
    balance_by_change: bool = True
    """As since release 1.36; False: BalancedAllocation is the balance with the pod alone, as before."""

    def total(self, placements: Placements, pod: int, nodes: Ints) -> Ints:
        """The sum for each of these nodes, 0..400. `nodes` are those that passed all filters, at least one."""
        before, allocatable = placements.requested[nodes], placements.allocatable[nodes]
        after = before + placements.requests[pod]
        total = self.least_allocated * least_allocated(after, allocatable)
        total = total + self.balanced_allocation * self._balanced(before, after, allocatable)
        replicas = placements.replicas(pod)
        if replicas is None:
            return total
        return total + self.pod_topology_spread * pod_topology_spread(replicas, placements.zones, nodes)

    def _balanced(self, before: Ints, after: Ints, allocatable: Ints) -> Ints:
        if self.balance_by_change:
            return balanced_allocation(before, after, allocatable)
        return balance(after, allocatable)


def best(totals: Ints | Floats, random: np.random.Generator) -> int:
    """The position of the highest; of several, one at random, as kube-scheduler picks."""
    highest = np.flatnonzero(totals == totals.max())
    return int(highest[0]) if len(highest) == 1 else int(random.choice(highest))
