"""Is the winner better on cases it has not seen? Paired, with an interval, and with doubt where doubt is due.

    gain = 100 * (before - after) / before          means over the pairs; the interval draws whole pairs (of blocks of
                                                    time it is that of the difference, in percent of the mean before)
    better: the interval of the mean difference lies above 0;  worse: below;  otherwise it is noise

A pair is a run of both on the same simulated day, or the same block of time of a history. Blocks follow each other and
are alike, so their intervals are wider: see simulation/blocks.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.blocks import block_interval
from loadaware.simulation.statistics import Duel, Interval, duel, gap_closed, mean_interval
from loadaware.tuning.source import Judged

FEWEST_PAIRS = 5
"""With fewer, an interval says little: resamples of four pairs can hardly disagree."""

Verdict = Literal["better", "worse", "noise", "too few", "nothing"]
WORDS: dict[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "noise": "within noise",
    "too few": "too few pairs to tell",
    "nothing": "no difference",
}


@dataclass(frozen=True, eq=False)
class Compared:
    """One figure, before and after."""

    figure: str
    before: Floats
    """Pair by pair."""
    after: Floats
    in_time: bool = False
    """Whether the pairs are blocks of time that follow each other."""

    @property
    def gain(self) -> Interval:
        """In percent of what it was; NaN if it was nothing."""
        gain = gap_closed(self.before, self.after, np.zeros(len(self.before)))
        if not self.in_time or math.isnan(gain.value):
            return gain
        return Interval(*(100.0 * float(value / self.before.mean()) for value in self.difference))

    @property
    def difference(self) -> Interval:
        """In points: how much lower it is now."""
        each = self.before - self.after
        return block_interval(each) if self.in_time else mean_interval(each)

    @property
    def duel(self) -> Duel:
        """Pairs won, drawn, lost."""
        return duel(self.after, self.before)

    @property
    def verdict(self) -> Verdict:
        """What can be said."""
        if not (self.before != self.after).any():
            return "nothing"
        if len(self.before) < FEWEST_PAIRS:
            return "too few"
        _, low, high = self.difference
        return "better" if low > 0 else "worse" if high < 0 else "noise"


def compare(before: Sequence[Judged], after: Sequence[Judged], figures: Sequence[str]) -> list[Compared]:
    """Every figure that has pairs, in the order given."""
    compared = []
    for name in figures:
        pairs = [pair for b, a in zip(before, after, strict=True) for pair in _pairs(b, a, name)]
        if pairs:
            table = np.array(pairs, dtype=np.float64)
            in_time = any(name in one.blocks for one in before)
            compared.append(Compared(name, table[:, 0], table[:, 1], in_time))
    return compared


def _pairs(before: Judged, after: Judged, name: str) -> list[tuple[float, float]]:
    if name in before.blocks and name in after.blocks:
        b, a = before.blocks[name], after.blocks[name]
        return [(b[number], a[number]) for number in sorted(set(b) & set(a))]
    was, now = before.figures.get(name), after.figures.get(name)
    return [] if was is None or now is None else [(was, now)]
