"""How sure one can be of a comparison: gaps with intervals, duels and the signed-rank test, over paired runs.

Run i of one policy and run i of another had the same cluster, arrivals and usage: differences are taken pair by pair,
and a bootstrap draws whole runs, never one policy's alone.

    gap closed = 100 * (default - policy) / (default - reference)      each the mean over the runs

NaN where there is no gap: the reference is not better than the default.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

DRAWS = 4_000
"""Resamples of a bootstrap: the ends of a 95 % interval are then good to about a tenth of its width."""
MOST_EXACT = 60
"""Pairs up to which the signed-rank distribution is counted out; beyond, the normal one is as good."""


class Interval(NamedTuple):
    """A value with the interval that holds it in 95 of 100 resamples."""

    value: float
    low: float
    high: float


class Duel(NamedTuple):
    """Pairs of runs won (lower), drawn and lost."""

    won: int
    drawn: int
    lost: int

    @property
    def share_won(self) -> float:
        """In percent of all pairs; a draw is not won. NaN without pairs."""
        pairs = self.won + self.drawn + self.lost
        return 100.0 * self.won / pairs if pairs else math.nan


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test, two-sided."""

    pairs: int
    """That differ; equal ones say nothing."""
    positive: float
    """Sum of the ranks of positive differences."""
    p_value: float
    """How likely a sum this far from its mean is where signs are a matter of luck."""


def mean_interval(values: Floats, seed: int = 0) -> Interval:
    """The mean over runs."""
    means = values[_resamples(len(values), seed)].mean(axis=1)
    return _interval(float(values.mean()), means)


def gap_closed(default: Floats, policy: Floats, reference: Floats, seed: int = 0) -> Interval:
    """By how much a policy closes the gap between the default and the reference, in percent."""
    value = _gap(default.mean(), policy.mean(), reference.mean())
    if math.isnan(value):
        return Interval(math.nan, math.nan, math.nan)
    drawn = _resamples(len(default), seed)
    gaps = _gap(default[drawn].mean(axis=1), policy[drawn].mean(axis=1), reference[drawn].mean(axis=1))
    return _interval(float(value), gaps)


def duel(ours: Floats, theirs: Floats) -> Duel:
    """Run by run, lower wins."""
    return Duel(int((ours < theirs).sum()), int((ours == theirs).sum()), int((ours > theirs).sum()))


def signed_rank(differences: Floats) -> SignedRank:
    """Whether paired differences lean to one side. Equal sizes share their ranks, zeros are left out."""
    differing = differences[differences != 0.0]
    if not len(differing):
        return SignedRank(0, 0.0, 1.0)
    doubled = _doubled_ranks(np.abs(differing))
    positive = int(doubled[differing > 0].sum())
    exact = len(differing) <= MOST_EXACT
    p_value = _counted_out(doubled, positive) if exact else _by_the_normal(doubled, positive)
    return SignedRank(len(differing), positive / 2.0, min(1.0, p_value))


def _gap(default: npt.ArrayLike, policy: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    room = np.asarray(default) - np.asarray(reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(room > 0, 100.0 * (np.asarray(default) - np.asarray(policy)) / room, np.nan)


def _resamples(runs: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(runs, size=(DRAWS, runs))


def _interval(value: float, drawn: Floats) -> Interval:
    drawn = drawn[~np.isnan(drawn)]
    low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (math.nan, math.nan)
    return Interval(value, float(low), float(high))


def _doubled_ranks(sizes: Floats) -> npt.NDArray[np.int64]:
    """Ranks from 1 on, times two, so that those shared by equals are whole numbers."""
    ordered = np.sort(sizes)
    below, upto = np.searchsorted(ordered, sizes, "left"), np.searchsorted(ordered, sizes, "right")
    return np.asarray(below + 1 + upto, dtype=np.int64)


def _counted_out(doubled: npt.NDArray[np.int64], positive: int) -> float:
    """Of all 2^n ways to give signs, the share with a sum at least this far out, on both sides."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] = (ways[rank:] + ways[: len(ways) - rank]) / 2.0
        ways[:rank] /= 2.0
    return 2.0 * float(min(ways[: positive + 1].sum(), ways[positive:].sum()))


def _by_the_normal(doubled: npt.NDArray[np.int64], positive: int) -> float:
    """With half a rank for continuity; sum of squared ranks / 4 is the variance, ties included."""
    ranks = doubled / 2.0
    away = max(0.0, abs(positive / 2.0 - ranks.sum() / 2.0) - 0.5)
    return math.erfc(away / math.sqrt(2.0 * float((ranks**2).sum()) / 4.0))
