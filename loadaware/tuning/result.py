"""What a search found: values for programs, data frames for notebooks, and what must be said with them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loadaware.config import Config
from loadaware.tuning.importance import importances
from loadaware.tuning.search import BASE, Finished
from loadaware.tuning.source import MEANINGS, PRICES
from loadaware.tuning.verdict import WORDS, Compared

if TYPE_CHECKING:
    import optuna
    import pandas as pd

GUARDS = ("unserved", "p99", "pending", "together", "memory90")
"""Figures that are named if they got clearly worse, whatever the objective was."""


@dataclass(frozen=True, eq=False)
class TuneResult:
    """A search that is over, or was stopped."""

    title: str
    profile: str
    objectives: tuple[str, ...]
    base_config: Config
    config: Config
    """The winner: what one began with, if nothing was better."""
    base: Finished
    best: Finished
    finished: tuple[Finished, ...]
    parameters: tuple[str, ...]
    """Everything that was searched, by name."""
    compared: tuple[Compared, ...]
    """The winner beside what one began with, on the test; empty if it was not tested."""
    train_cases: tuple[str, ...]
    test_cases: tuple[str, ...]
    remarks: tuple[str, ...]
    seed: int
    stopped: bool
    """By Ctrl-C, before it was over."""
    study: "optuna.Study"

    @property
    def found(self) -> bool:
        """Whether some trial was better than what one began with, on the cases of the search."""
        return self.best.number != BASE

    @cached_property
    def importance(self) -> dict[str, float]:
        """How much each parameter mattered."""
        return importances(self.finished, self.parameters)

    def of(self, figure: str) -> Compared | None:
        """The comparison of one figure."""
        return next((one for one in self.compared if one.figure == figure), None)

    @property
    def better(self) -> bool:
        """Whether the winner is clearly better on the test: in one objective at least, and clearly worse in none.

        A price that was named beside others does not count.
        """
        verdicts = [one.verdict for name in self._aims if (one := self.of(name)) is not None]
        return "better" in verdicts and "worse" not in verdicts

    @property
    def _aims(self) -> tuple[str, ...]:
        """Objectives without prices, unless there are only prices."""
        return tuple(name for name in self.objectives if name not in PRICES) or self.objectives

    @property
    def warnings(self) -> list[str]:
        """What one must know before using the winner."""
        said = []
        if self.stopped:
            said.append("It was stopped: the same command goes on from here.")
        if len(self.finished) > 1 and all(one.values == self.base.values for one in self.finished):
            said.append(
                f"All trials came out equal: nothing that was searched matters here. Are there pods of {self.profile}?"
            )
        if not self.found:
            said.append("No trial was better than the configuration it began with, which is therefore what is written.")
        elif not self.compared:
            said.append("The winner was not judged on cases that the search has not seen.")
        else:
            said += self._of_objectives() + self._of_guards()
        return said

    def _of_objectives(self) -> list[str]:
        said = []
        for name in self.objectives:
            one = self.of(name)
            if one is not None and name not in self._aims:
                said.append(
                    f"The price: {name} ({MEANINGS[name]}) {one.before.mean():.3g} -> {one.after.mean():.3g} %."
                )
            elif one is not None and one.verdict != "better":
                words = {"worse": "got worse", "nothing": "is the same"}.get(one.verdict, WORDS[one.verdict])
                said.append(f"On cases it has not seen, {name} is not shown to be better: {words} ({in_words(one)}).")
        return said

    def _of_guards(self) -> list[str]:
        worse = [one for one in self.compared if one.figure in GUARDS and one.figure not in self.objectives]
        return [
            f"{one.figure} ({MEANINGS[one.figure]}) rises from {one.before.mean():.3g} to {one.after.mean():.3g} %."
            for one in worse
            if one.verdict == "worse"
        ]

    @cached_property
    def trials(self) -> "pd.DataFrame":
        """A row per trial: its number, the objectives, whether it was given up, and every parameter drawn."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {
                "trial": one.number,
                **dict(zip(self.objectives, one.values, strict=True)),
                "given_up": one.given_up,
                "cases": one.cases,
                "seconds": one.seconds,
                **{name: one.drawn.get(name) for name in self.parameters},
            }
            for one in self.finished
        ]
        columns = ["trial", *self.objectives, "given_up", "cases", "seconds", *self.parameters]
        return pd.DataFrame(rows, columns=columns).set_index("trial")

    @cached_property
    def test(self) -> "pd.DataFrame":
        """A row per figure: before, after, gain in percent with its interval, pairs won and lost, the verdict."""
        import pandas as pd

        columns = ["figure", "before", "after", "gain", "low", "high", "pairs", "won", "lost", "verdict"]
        rows = [_row(one) for one in self.compared]
        return pd.DataFrame(rows, columns=columns).set_index("figure")


def _row(one: Compared) -> tuple[Any, ...]:
    gain, duel = one.gain, one.duel
    return (
        one.figure, float(one.before.mean()), float(one.after.mean()), gain.value, gain.low, gain.high,
        len(one.before), duel.won, duel.lost, WORDS[one.verdict],
    )  # fmt: skip


def in_words(one: Compared) -> str:
    """`hot80 5.70 -> 4.10 %, 28 % less (interval 12..40)`."""
    before, after = float(one.before.mean()), float(one.after.mean())
    gain = one.gain
    if math.isnan(gain.value):
        return f"{before:.3g} -> {after:.3g} %"
    word = "less" if gain.value >= 0 else "more"
    low, high = (gain.low, gain.high) if gain.value >= 0 else (-gain.high, -gain.low)
    return f"{before:.3g} -> {after:.3g} %, {abs(gain.value):.0f} % {word}, interval {low:.0f}..{high:.0f}"
