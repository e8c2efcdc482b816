"""A profile: how pods of one schedulerName are filtered and ranked."""

from dataclasses import dataclass
from typing import Literal

from loadaware.filters.filter import Filter
from loadaware.scorers.scorer import Scorer

Combine = Literal["Weighted", "Mean", "Minimum"]


@dataclass(frozen=True)
class WeightedScorer:
    """A scorer in a profile."""

    name: str
    scorer: Scorer
    weight: float = 1.0


@dataclass(frozen=True)
class NamedFilter:
    """A filter in a profile."""

    name: str
    filter: Filter


@dataclass(frozen=True)
class Profile:
    """Filters in order, scorers with weights, and the range on the wire."""

    name: str
    scorers: tuple[WeightedScorer, ...]
    filters: tuple[NamedFilter, ...] = ()
    max_score: int = 30
    least_passing: int = 3
    """How many of the least loaded nodes pass when load rules would reject every node."""
    combine: Combine = "Weighted"
    """How the scorers' scores become one."""
