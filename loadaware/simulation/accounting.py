"""How well a cluster was used: the figures by which placements are judged.

    hot80, hot90   share of node-time above 80 / 90 % of capacity
    unserved       CPU wanted and not had, as a share of what was wanted
    spread         deviation of utilization across nodes, averaged over time, in points
    p99            utilization that 1 % of node-time exceeds, to a tenth of a point
    memory90       share of node-time above 90 % of memory, where evictions begin; as often as memory is sampled

hot80 alone can be bought by saturating a few nodes: look at unserved and p99 beside it. Every step counts alike.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

_BINS = 1_000


@dataclass(frozen=True)
class Report:
    """The figures, in percent (spread in points). NaN before the first step."""

    seconds: float
    hot80: float
    hot90: float
    unserved: float
    spread: float
    p99: float
    utilization: float
    """Mean over node-time."""
    memory90: float = float("nan")


class Ledger:
    """Adds up what happens from `since` on."""

    def __init__(self, since: float) -> None:
        self.since = since
        self._seconds = 0.0
        self._node_steps = 0
        self._hot80 = self._hot90 = 0
        self._wanted = self._missed = 0.0
        self._spread = self._utilization = 0.0
        self._histogram = np.zeros(_BINS + 1, dtype=np.int64)
        self._memory_samples = self._memory90 = 0

    def record(self, time: float, seconds: float, demand: Floats, capacity: Floats) -> None:
        """A step: what the nodes there were asked for, and what they have."""
        if time < self.since or not len(demand):
            return
        utilization = np.minimum(demand / capacity, 1.0)
        self._seconds += seconds
        self._node_steps += len(demand)
        self._hot80 += int((utilization > 0.8).sum())
        self._hot90 += int((utilization > 0.9).sum())
        self._wanted += float(demand.sum()) * seconds
        self._missed += float(np.maximum(demand - capacity, 0.0).sum()) * seconds
        self._spread += float(utilization.std()) * seconds
        self._utilization += float(utilization.sum())
        self._histogram += _histogram(utilization)

    def record_memory(self, time: float, used: Floats, capacity: Floats) -> None:
        """What the nodes there hold of their memory at one moment."""
        if time >= self.since:
            self._memory_samples += len(used)
            self._memory90 += int((used > 0.9 * capacity).sum())

    def report(self) -> Report:
        """The figures so far."""
        if not self._node_steps:
            return Report(0.0, *[float("nan")] * 6)
        return Report(
            seconds=self._seconds,
            hot80=100.0 * self._hot80 / self._node_steps,
            hot90=100.0 * self._hot90 / self._node_steps,
            unserved=100.0 * self._missed / max(self._wanted, 1e-12),
            spread=100.0 * self._spread / self._seconds,
            p99=self._percentile(0.99),
            utilization=100.0 * self._utilization / self._node_steps,
            memory90=100.0 * self._memory90 / self._memory_samples if self._memory_samples else float("nan"),
        )

    def _percentile(self, share: float) -> float:
        reached = np.searchsorted(np.cumsum(self._histogram), share * self._node_steps)
        return 100.0 * float(reached) / _BINS


def _histogram(utilization: Floats) -> npt.NDArray[np.int64]:
    bins = np.ceil(utilization * _BINS - 1e-9).astype(np.int64)
    return np.bincount(np.clip(bins, 0, _BINS), minlength=_BINS + 1)
