"""How well the cluster was used, as it was and as replayed: the simulator's ledger, reading by reading.

A reading stands for the time since the one before it, but no longer than a few usual intervals: a gap is not judged.
Figures are kept for the whole and for blocks of time, because intervals are drawn over blocks: what happens within one
is correlated (load lasts, and a pod moved off one node is on another), so neither readings nor nodes are independent.
"""

from dataclasses import dataclass, field

import numpy as np

from collectors.reading import CPU, MEMORY, Floats, Reading
from loadaware.simulation.accounting import Ledger, Report

BLOCK_LENGTHS = (300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0)
FEWEST_BLOCKS = 24
GAP_INTERVALS = 3.0


def block_length(seconds: float) -> float:
    """The longest block of which there are enough; the shortest if there are never enough."""
    fitting = [length for length in BLOCK_LENGTHS if seconds / length >= FEWEST_BLOCKS]
    return max(fitting, default=BLOCK_LENGTHS[0])


@dataclass
class Ledgers:
    """Of one way to place pods: the whole, and each block."""

    since: float
    block_seconds: float
    whole: Ledger = field(init=False)
    blocks: dict[int, Ledger] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole = Ledger(self.since)

    def record(self, time: float, seconds: float, demand: Floats, capacity: Floats) -> None:
        """What measured nodes are asked for, and what they have: (node, resource), CPU and memory."""
        if time < self.since:
            return
        block = self.blocks.setdefault(int((time - self.since) // self.block_seconds), Ledger(self.since))
        for ledger in (self.whole, block):
            ledger.record(time, seconds, demand[:, 0], capacity[:, 0])
            ledger.record_memory(time, demand[:, 1], capacity[:, 1])

    def reports(self) -> dict[int, Report]:
        """Of each block that has something in it."""
        return {number: ledger.report() for number, ledger in sorted(self.blocks.items())}


@dataclass
class Judge:
    """Two sets of ledgers that see the same nodes at the same moments."""

    since: float
    block_seconds: float
    recorded: Ledgers = field(init=False)
    replayed: Ledgers = field(init=False)
    gaps: int = 0
    jumps: int = 0
    """How often the time went back."""
    _last: float | None = None
    _usual: float | None = None

    def __post_init__(self) -> None:
        self.recorded = Ledgers(self.since, self.block_seconds)
        self.replayed = Ledgers(self.since, self.block_seconds)

    def seconds_until(self, time: float) -> float:
        """For how long the reading of that time stands; 0 for the first, and if the time went back."""
        last, self._last = self._last, time
        if last is None or time <= last:
            self.jumps += last is not None and time < last
            return 0.0
        step = time - last
        usual = step if self._usual is None else self._usual
        self.gaps += step > GAP_INTERVALS * usual
        seconds = min(step, GAP_INTERVALS * usual)
        self._usual = usual + 0.1 * (seconds - usual)
        return seconds if step <= GAP_INTERVALS * usual else usual

    def record(
        self,
        reading: Reading,
        time: float,
        seconds: float,
        *,
        recorded: Floats,
        replayed: Floats,
        allocatable: Floats,
    ) -> tuple[Floats, Floats]:
        """Both utilizations of CPU, of every node of the reading; NaN where it is not known."""
        columns = [reading.resources.index(resource) for resource in (CPU, MEMORY)]
        before, after, there = recorded[:, columns], replayed[:, columns], allocatable[:, columns]
        known = np.isfinite(before[:, 0]) & (there[:, 0] > 0)
        if seconds > 0 and known.any():
            self.recorded.record(time, seconds, before[known], there[known])
            self.replayed.record(time, seconds, after[known], there[known])
        with np.errstate(divide="ignore", invalid="ignore"):
            return before[:, 0] / there[:, 0], after[:, 0] / there[:, 0]
