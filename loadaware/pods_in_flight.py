"""Pods that a node's measurements have not seen: bound after its newest sample, or booked since the snapshot."""

from typing import NamedTuple

import numpy as np

from collectors.reading import CPU, Floats
from loadaware.in_flight import InFlight
from loadaware.snapshot import Snapshot


class PodsInFlight(NamedTuple):
    """Of each node, in the order of the snapshot: how many, and what they request. A booking that may go to several
    nodes counts as a share on each.
    """

    pods: Floats
    cores: Floats


def pods_in_flight(snapshot: Snapshot, ledger: InFlight) -> PodsInFlight:
    """As of now."""
    placed, nodes = snapshot.placed, len(snapshot.names)
    column = snapshot.resource_index[CPU]
    newest = snapshot.sampled_at[placed.rows]
    unseen = np.isfinite(newest) & (placed.bound_at > newest)
    requests = np.array([shape.request(CPU) for shape in snapshot.shapes] or [0.0])
    rows = placed.rows[unseen]
    pods = np.bincount(rows, minlength=nodes) + np.maximum(ledger.pods - snapshot.pod_counts, 0.0)
    since = np.maximum(ledger.requested[:, column] - snapshot.requested[:, column], 0.0)
    cores = np.bincount(rows, weights=requests[placed.shapes[unseen]], minlength=nodes) + since
    return PodsInFlight(np.asarray(pods, dtype=np.float64), np.asarray(cores, dtype=np.float64))
