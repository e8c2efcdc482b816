"""Does what was expected come true? A node's expected CPU usage beside what the next reading measures of it.

    error      = (measured - expected mean) / allocatable            above zero: it uses more than was thought
    deviations = (measured - expected mean) / expected deviation     +-1 for two of three if the deviations are right

`expected` is the snapshot's before the reading: learned from the node's pods, and not yet knowing those bound since.
`measured` is the node's newest sample after it. Only nodes count that both snapshots know and that have a new sample.
"""

from typing import NamedTuple

import numpy as np

from collectors.reading import CPU, Floats
from loadaware.snapshot import Snapshot
from loadaware.window import Ints


class Calibration(NamedTuple):
    """One value per node that was measured anew."""

    error: Floats
    deviations: Floats


def calibration(before: Snapshot, after: Snapshot) -> Calibration:
    """How far the expectations of one snapshot are from what the next one measured."""
    expected = before.expected
    if expected is None or CPU not in before.resource_index or CPU not in after.resource_index:
        return Calibration(np.zeros(0), np.zeros(0))
    ours, theirs = _common_rows(before, after)
    newer = after.sampled_at[theirs] > before.sampled_at[ours]
    ours, theirs = ours[newer], theirs[newer]
    then, now = before.resource_index[CPU], after.resource_index[CPU]
    off = after.statistics.latest[theirs, now] - expected.mean[ours, then]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = off / after.allocatable[theirs, now]
        deviations = off / np.sqrt(expected.variance[ours, then])
    return Calibration(error[np.isfinite(error)], deviations[np.isfinite(deviations)])


def _common_rows(before: Snapshot, after: Snapshot) -> tuple[Ints, Ints]:
    """The rows of the nodes that both know, in each."""
    if before.names == after.names:
        every = np.arange(len(before.names), dtype=np.intp)
        return every, every
    pairs = [(row, after.index[name]) for name, row in before.index.items() if name in after.index]
    rows = np.array(pairs, dtype=np.intp).reshape(len(pairs), 2)
    return rows[:, 0], rows[:, 1]
