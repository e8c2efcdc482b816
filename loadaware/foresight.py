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
    POD_TOPOLOGY_SPREAD,
    POINTS_PER_PRIORITY,
    SPREAD_KINDS,
    allocation_scores,
    topology_scores,
)
from loadaware.in_flight import InFlight
from loadaware.ranking import Ranking
from loadaware.siblings import Siblings
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

ZONE_LABEL = "topology.kubernetes.io/zone"
UNITS = np.array([1000.0, 1.0])
"""kube-scheduler counts millicores and bytes."""
MOST_COMPARED = 128
"""Nodes that are looked at: those of the highest priority."""


def likely(ranking: Ranking, snapshot: Snapshot, ledger: InFlight, pod: Pod, workload: str) -> Ints:
    """Positions of the nodes of which one will probably be taken; by our priority alone if too little is known."""
    cpu, memory = snapshot.resource_index.get(CPU), snapshot.resource_index.get(MEMORY)
    if ranking.rows is None or not len(ranking.rows) or cpu is None or memory is None:
        return ranking.best_on_the_wire()
    asked = _best(ranking.priorities)
    rows, priorities = ranking.rows[asked], ranking.priorities[asked]
    columns = slice(cpu, memory + 1, memory - cpu) if cpu < memory else [cpu, memory]
    allocatable = snapshot.once("allocatable in scheduler units", lambda: _whole(snapshot.allocatable[:, columns]))
    before = np.rint(ledger.requested[rows][:, columns] * UNITS)
    requests = dict(pod.shape.requests)
    asked_for = float(round(requests.get(CPU, 0.0) * 1000.0)), float(round(requests.get(MEMORY, 0.0)))
    total = POINTS_PER_PRIORITY * priorities + allocation_scores(before, asked_for, allocatable.take(rows, axis=0))
    if pod.owner is not None and pod.owner.kind in SPREAD_KINDS and ledger.expectations.known:
        siblings = ledger.expectations.siblings(workload)
        if len(siblings):
            total += POD_TOPOLOGY_SPREAD * _spread(snapshot, siblings, rows)
    places = (total == total.max()).nonzero()[0]
    return places if isinstance(asked, slice) else asked[places]


def _best(priorities: Ints) -> Ints | slice:
    """Positions of the nodes that are looked at."""
    if len(priorities) <= MOST_COMPARED:
        return slice(None)
    return np.argpartition(-priorities, MOST_COMPARED)[:MOST_COMPARED]


def _spread(snapshot: Snapshot, siblings: Siblings, rows: Ints) -> Ints:
    """PodTopologySpread. Without siblings anywhere it is the same for all nodes."""
    zones = snapshot.once("zone numbers", lambda: _zones(snapshot))
    in_zone = np.bincount(zones[siblings.rows], siblings.numbers, int(zones.max()) + 1)
    everywhere = np.zeros(len(zones))
    everywhere[siblings.rows] = siblings.numbers
    return topology_scores(everywhere[rows], in_zone, zones[rows])


def _whole(allocatable: Floats) -> Floats:
    """A resource that a node does not have is as good as full."""
    return np.maximum(np.rint(np.nan_to_num(allocatable) * UNITS), 1.0)


def _zones(snapshot: Snapshot) -> Ints:
    return np.unique(snapshot.label_column(ZONE_LABEL), return_inverse=True)[1].astype(np.int64)
