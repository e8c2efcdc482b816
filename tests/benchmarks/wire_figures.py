"""Figures of one server under one kind of request, gathered in rounds that alternate between the servers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Figures:
    """Seconds per request, in rounds; CPU seconds; bytes resident at the end."""

    rounds: list[list[float]] = field(default_factory=list)
    cpu_seconds: float = 0.0
    resident_bytes: int = 0

    def add(self, took: list[float], cpu_seconds: float) -> None:
        """One more round."""
        self.rounds.append(took)
        self.cpu_seconds += cpu_seconds

    @property
    def count(self) -> int:
        return sum(len(took) for took in self.rounds)

    def percentile(self, percent: float) -> float:
        """Milliseconds, over all rounds together."""
        return 1000.0 * float(np.percentile(np.concatenate(self.rounds), percent))

    def medians(self) -> list[float]:
        """Milliseconds at the median of each round."""
        return [1000.0 * float(np.median(took)) for took in self.rounds]

    def cpu_milliseconds(self) -> float:
        """Per request."""
        return 1000.0 * self.cpu_seconds / max(self.count, 1)


@dataclass(frozen=True)
class Ratio:
    """How many times more one needs than the other: the median over rounds, and the middle 90 % of them."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} .. {self.high:.2f})"


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Round by round, so that what disturbs the machine for a while disturbs both."""
    low, middle, high = np.percentile(np.array(theirs) / np.array(ours), [5, 50, 95])
    return Ratio(float(middle), float(low), float(high))
