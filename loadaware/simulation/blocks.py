"""Intervals over blocks of time that follow each other, and are like their neighbours: load lasts.

Drawing whole blocks takes them for independent, and finds differences where there are none: in four of ten series that
are only noise around 0, if each block is like the next by r = 0.6. So the interval is made wider:

    r      = the correlation of each block with the next, plus (1 + 3 r) / n for what a short series hides, in [0, 0.9]
    n_eff  = n (1 - r) / (1 + r)                                   as many independent blocks tell as much
    wider  = sqrt((1 + r) / (1 - r)) * (1 + 1.2 / (n_eff - 1))     the second factor is that of Student's t

With 24 blocks and r up to 0.6 this errs in fewer than one of ten series; with fewer blocks, or r of 0.8, in up to two.
"""

import math

from collectors.reading import Floats
from loadaware.simulation.statistics import Interval, mean_interval

FEWEST = 4
"""With fewer blocks nothing is known of how alike they are."""
MOST_ALIKE = 0.9
STUDENT = 1.2
"""(1.96^2 + 1) / 4: the first term by which Student's t exceeds the normal at 95 %."""


def block_interval(values: Floats, seed: int = 0) -> Interval:
    """The mean over blocks; NaN without any, and its bounds with one alone: it tells nothing of what chance does."""
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else math.nan, math.nan, math.nan)
    return widened(mean_interval(values, seed), values)


def widened(drawn: Interval, each: Floats) -> Interval:
    """An interval that came of drawing whole blocks, as wide as it must be if `each` is what the blocks say."""
    value, low, high = drawn
    wider = width(each)
    return Interval(value, value - wider * (value - low), value + wider * (high - value))


def width(each: Floats) -> float:
    """By how many times wider."""
    alike = likeness(each)
    effective = len(each) * (1.0 - alike) / (1.0 + alike)
    return math.sqrt((1.0 + alike) / (1.0 - alike)) * (1.0 + STUDENT / max(effective - 1.0, 1.0))


def likeness(each: Floats) -> float:
    """The correlation of each block with the next, in [0, 0.9]; 0 if they are too few or all the same."""
    count = len(each)
    if count < FEWEST:
        return 0.0
    away = each - each.mean()
    square = float(away @ away)
    if square <= 0.0:
        return 0.0
    alike = float(away[:-1] @ away[1:]) / square
    return min(max(alike + (1.0 + 3.0 * alike) / count, 0.0), MOST_ALIKE)
