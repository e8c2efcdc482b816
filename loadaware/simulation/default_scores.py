"""kube-scheduler's default scores for a simulated pod: the sum of its default plugins (see default_plugins.py)."""

import numpy as np

from collectors.reading import Floats
from loadaware.default_plugins import (
    POD_TOPOLOGY_SPREAD,
    allocation_scores,
    balanced_allocation,
    least_allocated,
    pod_topology_spread,
)
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements


def default_scores(placements: Placements, pod: int, nodes: Ints) -> Ints:
    """The weighted sum for each of these nodes, 0..400. `nodes` are those that passed all filters, at least one."""
    total = _allocation(placements.requested[nodes], placements.requests[pod], placements.allocatable[nodes])
    replicas = placements.replicas(pod)
    if replicas is None:
        return total
    return total + POD_TOPOLOGY_SPREAD * pod_topology_spread(replicas, placements.zones, nodes)


def _allocation(before: Ints, requests: Ints, allocatable: Ints) -> Ints:
    """LeastAllocated + BalancedAllocation: at once where every node has both resources."""
    if not allocatable.all():
        after = before + requests
        return least_allocated(after, allocatable) + balanced_allocation(before, after, allocatable)
    cpu, memory = requests.tolist()
    return allocation_scores(before.astype(np.float64), (cpu, memory), allocatable.astype(np.float64)).astype(np.int64)


def best(totals: Ints | Floats, random: np.random.Generator) -> int:
    """The position of the highest; of several, one at random, as kube-scheduler picks."""
    highest = np.flatnonzero(totals == totals.max())
    return int(highest[0]) if len(highest) == 1 else int(random.choice(highest))
