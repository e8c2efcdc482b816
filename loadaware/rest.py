"""What a node uses that no pod accounts for: daemons, the kubelet, the kernel, pods nobody meters.

    rest <- running mean of max(node usage - usage of its pods, 0), forgetting with a half-life of 4 h

A pod that was bound but is not measured yet counts with what is expected of it. A node that was never compared is
taken to have the median share of capacity of those that were.

Where no pod is measured, the rest is all that its pods were not expected to use, more or less than nothing, and is
forgotten with a half-life of half an hour: then it is what corrects them.
"""

import numpy as np

from collectors.reading import Floats
from loadaware.demand_state import Column
from loadaware.window import Bools, Ints

HALF_LIFE_SECONDS = 4 * 3600.0
CORRECTION_HALF_LIFE_SECONDS = 1800.0


class Rest:
    """Forgetting sums per node row: how often compared, and what was left over."""

    def __init__(self, resources: int) -> None:
        self._count: Floats = np.zeros((0, resources))
        self._sum: Floats = np.zeros((0, resources))
        self._times: Floats = np.zeros(0)

    def reserve(self, rows: int) -> None:
        """Make room for rows 0 .. rows-1."""
        more = rows - len(self._times)
        if more > 0:
            more = max(more, len(self._times), 64)
            resources = self._count.shape[1]
            self._count = np.concatenate([self._count, np.zeros((more, resources))])
            self._sum = np.concatenate([self._sum, np.zeros((more, resources))])
            self._times = np.concatenate([self._times, np.full(more, -np.inf)])

    def forget(self, row: int) -> None:
        """Empty a row, for its next owner."""
        if row < len(self._times):
            self._count[row], self._sum[row], self._times[row] = 0.0, 0.0, -np.inf

    def forget_all(self) -> None:
        """Empty every row."""
        self._count[:], self._sum[:], self._times[:] = 0.0, 0.0, -np.inf

    def learn(self, rows: Ints, left_over: Floats, times: Floats) -> None:
        """Take in what was left over (node, resource); NaN teaches nothing."""
        self._add(rows, np.maximum(left_over, 0.0), times, HALF_LIFE_SECONDS)

    def correct(self, rows: Ints, left_over: Floats, times: Floats) -> None:
        """The same where no pod is measured."""
        self._add(rows, left_over, times, CORRECTION_HALF_LIFE_SECONDS)

    def advances(self, rows: Ints, times: Floats) -> Bools:
        """Which of these rows were last compared before these times."""
        advances: Bools = times > self._times[rows]
        return advances

    def _add(self, rows: Ints, left_over: Floats, times: Floats, half_life_seconds: float) -> None:
        age = np.where(np.isfinite(self._times[rows]), times - self._times[rows], 0.0)
        decay = (0.5 ** (np.maximum(age, 0.0) / half_life_seconds))[:, None]
        measured = ~np.isnan(left_over)
        self._count[rows] = self._count[rows] * decay + measured
        self._sum[rows] = self._sum[rows] * decay + np.where(measured, left_over, 0.0)
        self._times[rows] = times

    def export(self, rows: Ints) -> dict[str, Column]:
        """What was learned of these rows: see demand_state."""
        return {"counts": self._count[rows], "sums": self._sum[rows], "times": self._times[rows]}

    def resume(self, row: int, count: Floats, sums: Floats, time: float) -> None:
        """What was learned of a node elsewhere; kept if it is newer than what is known here."""
        self.reserve(row + 1)
        if time > self._times[row]:
            self._count[row], self._sum[row], self._times[row] = count, sums, time

    def of(self, rows: Ints, capacity: Floats) -> Floats:
        """The rest of each node (node, resource)."""
        count = self._count[rows]
        mean = np.divide(self._sum[rows], count, out=np.full(count.shape, np.nan), where=count > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = mean / capacity
        usual = np.array([median_known(shares[:, column]) for column in range(shares.shape[1])])
        return np.nan_to_num(np.where(np.isnan(mean), usual * capacity, mean))


def median_known(values: Floats) -> float:
    """The median of what is known; 0 if nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0
