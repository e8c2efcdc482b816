"""Where a configuration is judged: a source has cases to learn on and cases to be tested on, and judges one at a time.

Judging is a pure function of configuration and case, so it can be done in any process and on any machine. Cases of the
test are never looked at during a search: other days of a trace, other seeds, a later time of a history.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import msgspec

from loadaware.config import Config

MEANINGS = {
    "hot80": "node-time above 80 % of CPU",
    "hot90": "node-time above 90 % of CPU",
    "unserved": "CPU wanted and not had",
    "std": "spread of utilization across nodes",
    "p99": "utilization exceeded 1 % of the time",
    "memory90": "node-time above 90 % of memory",
    "pending": "pods that never got a node",
    "together": "pairs of replicas that share a node",
    "moves": "pods placed elsewhere than they were",
}
"""Figures, in percent; lower is better."""
PRICES = ("moves",)
"""Figures that a change costs: what one begins with has little or none of them, so no winner is better in them. They
help to choose among trials; whether the winner is better, the others decide."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration on one case."""

    figures: dict[str, float | None]
    """Of the whole case; None is what is not a number."""
    blocks: dict[str, dict[int, float]] = {}
    """By block of time, where the case has several: what intervals are drawn over. Empty: the case is one block."""
    seconds: float = 0.0
    """That it took."""


class Plan(msgspec.Struct, frozen=True):
    """Cases of a source that grows, by name: from when to when, so that a search goes on with the same ones."""

    train: dict[str, tuple[float, float]]
    test: dict[str, tuple[float, float]]


def known(figures: Mapping[str, float]) -> dict[str, float | None]:
    """NaN as None: JSON has no other word for it."""
    return {name: None if math.isnan(value) else float(value) for name, value in figures.items()}


class Source(Protocol):
    """Judges configurations. It is sent to other processes once, so it must be picklable."""

    @property
    def title(self) -> str:
        """What it is, in words."""
        ...

    @property
    def identity(self) -> str:
        """Everything that settles its judgement, as text: two with the same are the same."""
        ...

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that it tells."""
        ...

    @property
    def train(self) -> tuple[str, ...]:
        """Cases to search on, by name."""
        ...

    @property
    def test(self) -> tuple[str, ...]:
        """Cases that the winner is judged on."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be said with its figures."""
        ...

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        """One configuration, of which one profile is at work, on one case."""
        ...
