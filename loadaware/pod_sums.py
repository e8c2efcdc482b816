"""What the bound pods come to, per node: one pass over the columns of all pods for each snapshot."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats
from loadaware.pods import PodColumns, PodTable
from loadaware.snapshot import Applications, PlacedPods
from loadaware.window import Ints


@dataclass(frozen=True, eq=False)
class PodSums:
    """Per node (and resource): see the same names in Snapshot."""

    requested: Floats
    limits: Floats
    counts: Floats
    terminating: Floats
    high_priority_usage: Floats
    placed: PlacedPods
    applications: Applications


def sum_up(
    table: PodTable, positions: Ints, resources: tuple[str, ...], not_seen_before: Floats, high_priority_from: int
) -> PodSums:
    """Sum over the pods whose node has a position (row -> position of the node, -1 for none).

    `not_seen_before` is, per node, the time from which on a pod bound was missed by some sample of the window.
    """
    count = len(not_seen_before)
    pods = table.columns()
    pods = pods._replace(nodes=positions[pods.nodes])
    pods = pods.where(pods.nodes >= 0)
    requests, limits = table.amounts(resources)
    recent = ~(pods.bound_at < not_seen_before[pods.nodes])
    return PodSums(
        requested=_sums(pods.nodes, requests[pods.shapes], count),
        limits=_sums(pods.nodes, limits[pods.shapes], count),
        counts=_counts(pods.nodes, count),
        terminating=_counts(pods.nodes[pods.terminating], count),
        high_priority_usage=_high_priority_usage(pods, high_priority_from, count),
        placed=PlacedPods(pods.nodes[recent], pods.shapes[recent], pods.bound_at[recent], pods.usage[recent]),
        applications=_applications(table, pods),
    )


def _sums(rows: Ints, amounts: Floats, count: int) -> Floats:
    """Sum of amounts (pod, resource) per row, in an order that makes a column contiguous."""
    sums = np.zeros((count, amounts.shape[1]), order="F")
    for column in range(amounts.shape[1]):
        sums[:, column] = np.bincount(rows, amounts[:, column], minlength=count)
    return sums


def _counts(rows: Ints, count: int) -> Floats:
    counts: npt.NDArray[np.intp] = np.bincount(rows, minlength=count)
    return counts.astype(np.float64)


def _high_priority_usage(pods: PodColumns, high_priority_from: int, count: int) -> Floats:
    """NaN on every node if no pod was measured at all: then nothing is known, not zero."""
    if np.isnan(pods.usage).all():
        return np.full((count, pods.usage.shape[1]), np.nan)
    high = pods.priorities >= high_priority_from
    return _sums(pods.nodes[high], np.nan_to_num(pods.usage[high]), count)


def _applications(table: PodTable, pods: PodColumns) -> Applications:
    names = table.applications
    order = np.argsort(pods.applications, kind="stable")
    starts = np.searchsorted(pods.applications[order], np.arange(len(names) + 1))
    return Applications(tuple(names), starts.astype(np.intp), pods.nodes[order])
