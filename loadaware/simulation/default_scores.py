"""kube-scheduler's default scores, digit for digit, as arrays over nodes.

Of its default score plugins, those that tell simulated nodes apart (the others give every node the same):

    LeastAllocated        per resource 100 * (allocatable - requested) / allocatable, mean of CPU and memory
    BalancedAllocation    balance = 100 * (1 - |CPU share - memory share| / 2), each share at most 1;
                          score = 50 + (50 + balance with the pod - balance without it) / 2
    PodTopologySpread     raw = replicas here * ln(nodes + 2) + 2 + replicas in the zone * ln(zones + 2) + 4;
                          score = 100 * (highest + lowest - raw) / highest

All divisions cut to integers, as Go does; raw is rounded. Requests count the pod itself. LeastAllocated and
BalancedAllocation have weight 1, PodTopologySpread has 2. Its constraints are kube-scheduler's own defaults (hostname
with maxSkew 3, zone with maxSkew 5, ScheduleAnyway) over the pods of the same ReplicaSet or StatefulSet: a Job's pod
has none, and every node gets 0. Before release 1.36 BalancedAllocation was the balance with the pod alone.
"""

from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements

HOSTNAME_SKEW = 3
ZONE_SKEW = 5


def least_allocated(requested: Ints, allocatable: Ints) -> Ints:
    """`requested` with the pod. Axes (node, resource); a resource that a node does not have is not counted."""
    shares = np.maximum(allocatable - requested, 0) * 100 // np.maximum(allocatable, 1)
    if allocatable.all():
        return np.asarray((shares[:, 0] + shares[:, 1]) // 2)
    return np.asarray(shares.sum(axis=1) // np.maximum((allocatable > 0).sum(axis=1), 1))


def balance(requested: Ints, allocatable: Ints) -> Ints:
    """How alike CPU and memory are requested, 50..100. Axes (node, resource), two resources."""
    shares = np.minimum(requested / np.maximum(allocatable, 1), 1.0)
    apart = np.abs(shares[:, 0] - shares[:, 1]) / 2.0
    if not allocatable.all():
        apart = np.where((allocatable > 0).all(axis=1), apart, 0.0)
    return ((1.0 - apart) * 100.0).astype(np.int64)


def balanced_allocation(before: Ints, requested: Ints, allocatable: Ints) -> Ints:
    """What the pod does to the balance: 75 for nothing, towards 100 if it mends it, towards 50 if it spoils it."""
    change = balance(requested, allocatable) - balance(before, allocatable)
    return 50 + (50 + change) // 2


def pod_topology_spread(replicas: Ints, zones: Ints, nodes: Ints) -> Ints:
    """`replicas` and `zones` of all nodes, `nodes` the numbers of those that are scored."""
    in_zone = np.bincount(zones, replicas).astype(np.int64)
    zone_count = len(np.unique(zones[nodes]))
    raw = replicas[nodes] * np.log(len(nodes) + 2.0) + (HOSTNAME_SKEW - 1)
    raw = raw + in_zone[zones[nodes]] * np.log(zone_count + 2.0) + (ZONE_SKEW - 1)
    rounded = np.floor(raw + 0.5).astype(np.int64)
    highest, lowest = rounded.max(), rounded.min()
    return np.asarray(100 * (highest + lowest - rounded) // highest)


@dataclass(frozen=True)
class DefaultScores:
    """The weighted sum. The weights are kube-scheduler's own."""

    least_allocated: int = 1
    balanced_allocation: int = 1
    pod_topology_spread: int = 2
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
