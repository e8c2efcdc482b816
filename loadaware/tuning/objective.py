"""What is made small: the mean of one figure over the cases, or of several.

Of several there is no single best: the front holds those that no other beats in everything. The one nearest to the
ideal is chosen: the ideal has the least of each figure that the front has, and each figure counts by its range there:

    sqrt(sum over objectives of ((value - least) / max(most - least, 0.1))^2)         least, most: on the front

So a figure's size does not matter, nor that it was 0 to begin with, and what is good in one and bad in the other loses
against what lies between. Ranges below a tenth of a point count for less. Of equals the first wins.
"""

import math
from collections.abc import Mapping, Sequence

from loadaware.config_problems import nearest
from loadaware.errors import ConfigError
from loadaware.tuning.source import Judged, Source

DEFAULT = ("hot80",)
GRAIN = 0.1
"""Points: a smaller range on the front is hardly a difference."""

Values = tuple[float, ...]


def check_objectives(names: Sequence[str], source: Source) -> tuple[str, ...]:
    """Raises ConfigError for one that the source does not tell."""
    for name in names:
        if name not in source.figures:
            problem = f"{name!r} is not among the figures of this source"
            raise ConfigError("--objective", "", problem, nearest(name, source.figures))
    return tuple(dict.fromkeys(names)) or DEFAULT


def values_of(judged: Sequence[Judged], objectives: Sequence[str]) -> Values:
    """Means over the cases; infinite where a figure is not known."""
    return tuple(_mean([one.figures.get(name) for one in judged]) for name in objectives)


def _mean(figures: Sequence[float | None]) -> float:
    known = [figure for figure in figures if figure is not None]
    return sum(known) / len(known) if known else math.inf


def choose(values: Mapping[int, Values]) -> int:
    """The best by its number: the lowest value, or of several objectives the nearest to the ideal."""
    ahead = {number: values[number] for number in front(values)}
    ideal = [min(column) for column in zip(*ahead.values(), strict=True)]
    ranges = [_range(column) for column in zip(*ahead.values(), strict=True)]
    return min(ahead, key=lambda number: (_distance(ahead[number], ideal, ranges), number))


def _range(column: Sequence[float]) -> float:
    known = [value for value in column if math.isfinite(value)]
    return max(max(known) - min(known), GRAIN) if known else GRAIN


def _distance(values: Values, ideal: Sequence[float], ranges: Sequence[float]) -> float:
    parts = [(v - i) / r if v > i else 0.0 for v, i, r in zip(values, ideal, ranges, strict=True)]
    return math.hypot(*parts)


def dominates(ours: Values, theirs: Values) -> bool:
    """Nowhere worse, and somewhere better."""
    return ours != theirs and all(a <= b for a, b in zip(ours, theirs, strict=True))


def front(values: Mapping[int, Values]) -> list[int]:
    """Those that no other dominates."""
    return [number for number, own in values.items() if not any(dominates(other, own) for other in values.values())]
