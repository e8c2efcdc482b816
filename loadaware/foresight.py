"""Where kube-scheduler will put a pod that was just ranked: foreseen, so that it can be booked there.

kube-scheduler adds our priority, ten points a step, to its own plugins' scores, and takes the best node of the sum.
Its default plugins judge by what we know as well (requests, replicas, zones), so their part can be worked out:

    sum = 10 * priority + LeastAllocated + BalancedAllocation + 2 * PodTopologySpread          see default_plugins.py

Nodes that share the highest sum are equally likely. What other plugins say is not known: where they decide, the booking
sits on the wrong node until the watch tells.
"""

import numpy as np

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.default_plugins import (
    BALANCED_ALLOCATION,
    LEAST_ALLOCATED,
    POD_TOPOLOGY_SPREAD,
    POINTS_PER_PRIORITY,
    SPREAD_KINDS,
    balanced_allocation,
    least_allocated,
    pod_topology_spread,
)
from loadaware.in_flight import InFlight
from loadaware.ranking import Ranking
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

ZONE_LABEL = "topology.kubernetes.io/zone"
UNITS = np.array([1000.0, 1.0])
"""kube-scheduler counts millicores and bytes."""
MOST_COMPARED = 128
"""Nodes that are looked at: those of the highest priority."""


def likely(ranking: Ranking, snapshot: Snapshot, ledger: InFlight, pod: Pod, workload: str) -> Ints:
    """Positions of the nodes of which one will probably be taken; by our priority alone if too little is known."""
    columns = [snapshot.resource_index[name] for name in (CPU, MEMORY) if name in snapshot.resource_index]
    if ranking.rows is None or not len(ranking.rows) or len(columns) < len(UNITS):
        return ranking.best_on_the_wire()
    asked = np.arange(len(ranking.rows))
    if len(asked) > MOST_COMPARED:
        asked = np.argpartition(-ranking.priorities, MOST_COMPARED)[:MOST_COMPARED]
    rows = ranking.rows[asked]
    allocatable = snapshot.once("allocatable in scheduler units", lambda: _whole(snapshot.allocatable[:, columns]))
    before = np.rint(ledger.requested.take(rows, axis=0)[:, columns] * UNITS).astype(np.int64)
    after = before + np.array([round(pod.shape.request(r) * u) for r, u in zip((CPU, MEMORY), UNITS, strict=True)])
    total = POINTS_PER_PRIORITY * ranking.priorities[asked]
    total = total + LEAST_ALLOCATED * least_allocated(after, allocatable[rows])
    total = total + BALANCED_ALLOCATION * balanced_allocation(before, after, allocatable[rows])
    if pod.owner is not None and pod.owner.kind in SPREAD_KINDS and ledger.expectations.known:
        zones = snapshot.once("zone numbers", lambda: _zones(snapshot))
        spread = pod_topology_spread(ledger.expectations.replicas(workload), zones, rows)
        total = total + POD_TOPOLOGY_SPREAD * spread
    return np.asarray(asked[total == total.max(initial=0)])


def _whole(allocatable: Floats) -> Ints:
    return np.rint(np.nan_to_num(allocatable) * UNITS).astype(np.int64)


def _zones(snapshot: Snapshot) -> Ints:
    return np.unique(snapshot.label_column(ZONE_LABEL), return_inverse=True)[1].astype(np.int64)
