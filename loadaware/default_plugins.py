"""kube-scheduler's default score plugins, digit for digit, as arrays over nodes.

Of those that are on by default, the ones that tell nodes apart by their pods:

    LeastAllocated        per resource 100 * (allocatable - requested) / allocatable, mean of CPU and memory
    BalancedAllocation    balance = 100 * (1 - |CPU share - memory share| / 2), each share at most 1;
                          score = 50 + (50 + balance with the pod - balance without it) / 2
    PodTopologySpread     raw = replicas here * ln(nodes + 2) + 2 + replicas in the zone * ln(zones + 2) + 4;
                          score = 100 * (highest + lowest - raw) / highest

All divisions cut to integers, as Go does; raw is rounded. Requests count the pod itself. LeastAllocated and
BalancedAllocation have weight 1, PodTopologySpread has 2. Its constraints are kube-scheduler's own defaults (hostname
with maxSkew 3, zone with maxSkew 5, ScheduleAnyway) over the pods of the same ReplicaSet or StatefulSet: a Job's pod
has none, and every node gets 0. Before release 1.36 BalancedAllocation was the balance with the pod alone.

The simulator places by them; the adviser foresees by them where kube-scheduler will put the pod that it just ranked.
"""

from math import log

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

Ints = npt.NDArray[np.int64]

POD_TOPOLOGY_SPREAD = 2
"""Its weight; the others have 1."""
POINTS_PER_PRIORITY = 10
"""What one step of an extender's priority, at weight 1, counts in kube-scheduler's sum."""
SPREAD_KINDS = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})
"""Owners by whose selector kube-scheduler spreads."""
HOSTNAME_SKEW = 3
ZONE_SKEW = 5


def least_allocated(requested: Ints, allocatable: Ints) -> Ints:
    """`requested` with the pod. Axes (node, resource); a resource that a node does not have is not counted."""
    if allocatable.all():
        shares = np.maximum(allocatable - requested, 0) * 100 // allocatable
        return np.asarray((shares[:, 0] + shares[:, 1]) // 2)
    shares = np.maximum(allocatable - requested, 0) * 100 // np.maximum(allocatable, 1)
    return np.asarray(shares.sum(axis=1) // np.maximum((allocatable > 0).sum(axis=1), 1))


def balance(requested: Ints, allocatable: Ints) -> Ints:
    """How alike CPU and memory are requested, 50..100. Axes (..., node, resource), two resources."""
    there = allocatable.all()
    shares = np.minimum(requested / (allocatable if there else np.maximum(allocatable, 1)), 1.0)
    apart = np.abs(shares[..., 0] - shares[..., 1]) / 2.0
    if not there:
        apart = np.where((allocatable > 0).all(axis=1), apart, 0.0)
    return ((1.0 - apart) * 100.0).astype(np.int64)


def balanced_allocation(before: Ints, requested: Ints, allocatable: Ints) -> Ints:
    """What the pod does to the balance: 75 for nothing, towards 100 if it mends it, towards 50 if it spoils it."""
    afterwards, beforehand = balance(np.stack([requested, before]), allocatable)
    return 50 + (50 + afterwards - beforehand) // 2


def allocation_scores(before: Floats, requests: tuple[float, float], allocatable: Floats) -> Floats:
    """LeastAllocated + BalancedAllocation of nodes that have both resources, in as few steps as it takes.

    Whole numbers in scheduler units, as floats: a quotient that is not whole is farther from a whole number than
    rounding is wrong, so that cutting it is exact.
    """
    both = before + np.array([[[0.0, 0.0]], [requests]])
    free = allocatable - both[1]
    free *= 100.0
    free /= allocatable
    np.maximum(np.floor(free, out=free), 0.0, out=free)
    both /= allocatable
    np.minimum(both, 1.0, out=both)
    apart = np.abs(both[..., 0] - both[..., 1])
    apart *= 0.5
    balances = np.floor((1.0 - apart) * 100.0)
    least = np.floor((free[:, 0] + free[:, 1]) * 0.5)
    return np.asarray(least + np.floor((balances[1] - balances[0]) * 0.5) + 75.0)


def pod_topology_spread(replicas: Ints | Floats, zones: Ints, nodes: Ints) -> Ints:
    """`replicas` and `zones` of all nodes, `nodes` the numbers of those that are scored."""
    return topology_scores(replicas[nodes], np.bincount(zones, replicas), zones[nodes])


def topology_scores(here: Ints | Floats, in_zone: Ints | Floats, zones: Ints) -> Ints:
    """The same from replicas on each node that is scored, replicas in every zone, and the zone of each node."""
    zone_count = np.count_nonzero(np.bincount(zones))
    by_node = here * log(len(zones) + 2.0) + (HOSTNAME_SKEW - 1)
    by_zone = in_zone * log(zone_count + 2.0) + (ZONE_SKEW - 1)
    rounded = (by_node + by_zone[zones] + 0.5).astype(np.int64)
    highest, lowest = int(rounded.max()), int(rounded.min())
    return np.asarray((100 * (highest + lowest) - 100 * rounded) // highest)
