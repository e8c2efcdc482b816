"""What is made small: the mean of one figure over the cases, or of several.

Of several there is no single best: the front holds the trials that no other beats in everything. One of them is chosen:

    least mean over objectives of (value + 0.01) / (value of the configuration to begin with + 0.01)

so that halving one and keeping the other is as good either way; 0.01 points keep a figure of zero from deciding alone.
"""

import math
from collections.abc import Mapping, Sequence

from loadaware.config_problems import nearest
from loadaware.errors import ConfigError
from loadaware.tuning.source import Judged, Source

DEFAULT = ("hot80",)
GRAIN = 0.01

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


def rate(values: Values, base: Values) -> float:
    """One number: below 1 is better than what one began with."""
    if len(values) == 1:
        return values[0]
    ratios = [(value + GRAIN) / (was + GRAIN) for value, was in zip(values, base, strict=True)]
    return sum(ratios) / len(ratios)


def dominates(ours: Values, theirs: Values) -> bool:
    """Nowhere worse, and somewhere better."""
    return ours != theirs and all(a <= b for a, b in zip(ours, theirs, strict=True))


def front(values: Mapping[int, Values]) -> list[int]:
    """Those that no other dominates."""
    return [number for number, own in values.items() if not any(dominates(other, own) for other in values.values())]
