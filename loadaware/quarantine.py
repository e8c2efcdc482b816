"""Which measurements are not believed, and why. Judged when they arrive, value by value; nothing is ever mended.

    nan             no number at all, for any resource
    negative        below zero
    absurd          above what the node can have: more than `ABSURD` times its capacity
    future          a timestamp further ahead of our clock than `FUTURE_SECONDS`
    frozen          the timestamp stopped advancing: `FROZEN_RESOLUTIONS` times longer than it usually takes

A value that is not believed becomes NaN (not measured); a sample from the future, or one of which nothing remains, is
left out whole. A node comes back by itself with its next good sample. Pods are judged by the capacity of their nodes:
one absurd sample would spoil what is learned of everybody.
"""

import numpy as np

from collectors.reading import Floats
from loadaware.window import Bools

ABSURD = 2.0
"""A rate over two scrapes can overshoot the capacity by some tens of percent; twice is no measurement."""
FUTURE_SECONDS = 60.0
"""Clocks of a cluster differ by seconds; a minute is a broken clock."""
FROZEN_RESOLUTIONS = 5.0


def judge_values(usage: Floats, capacity: Floats) -> tuple[Floats, dict[int, str]]:
    """Usage with the unbelievable made NaN, and the reason per row. Infinities are absurd."""
    with np.errstate(invalid="ignore"):
        negative = usage < 0
        absurd = (usage > ABSURD * capacity) | np.isposinf(usage)
    rows = {"absurd": absurd.any(axis=1), "negative": negative.any(axis=1), "nan": np.isnan(usage).all(axis=1)}
    reasons = {row: reason for reason, found in rows.items() for row in np.flatnonzero(found).tolist()}
    return np.where(negative | absurd, np.nan, usage), reasons


def judge_pods(usage: Floats, capacity: Floats) -> Floats:
    """Usage of pods with the unbelievable made NaN; `capacity` is that of each pod's node, NaN if it has none."""
    with np.errstate(invalid="ignore"):
        return np.where((usage < 0) | (usage > ABSURD * capacity) | np.isposinf(usage), np.nan, usage)


def from_the_future(times: Floats, now: float) -> Bools:
    """Which samples claim to be from the future (or from no time at all)."""
    broken: Bools = ~(times <= now + FUTURE_SECONDS)
    return broken


def frozen(newest: Floats, resolution: float, now: float) -> Bools:
    """Which nodes' timestamps stopped advancing. Never measured is not frozen."""
    stopped: Bools = np.isfinite(newest) & (now - newest > FROZEN_RESOLUTIONS * resolution)
    return stopped
