"""The sampler: Optuna's tree-structured Parzen estimator, asked in batches; a quarter of each is near the best so far.

The estimator finds the region; steps beside the best find its bottom, and now and then the other side of a choice.

    number' = number + 0.1 * range * normal     (of logarithms where the range is), within the bounds
    choice' = any other one, once in five

Every batch has a sampler of its own, seeded by (seed, number of the batch): what it draws depends on what was told
before and on nothing else, so a search that is begun again draws the same.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from loadaware.errors import ConfigError
from loadaware.tuning.space import Range

if TYPE_CHECKING:
    import optuna

STARTUP_TRIALS = 10
"""Drawn evenly over the space before the estimator has its say."""
NEAR_EVERY = 4
"""Of so many trials of a batch one is near the best."""
STEP_SHARE, TURN_SHARE = 0.1, 0.2


def optuna_module() -> Any:
    """Optuna. Raises ConfigError where it is not installed."""
    try:
        import optuna
    except ImportError:
        problem = "needs the package optuna"
        raise ConfigError("loadaware tune", "", problem, "pip install 'loadaware[tuning]'") from None
    return optuna


class Sampling:
    """A study in memory, asked in batches."""

    def __init__(self, objectives: Sequence[str], seed: int) -> None:
        self._optuna, self._seed, self._batches = optuna_module(), seed, 0
        before = self._optuna.logging.get_verbosity()
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        self.study: optuna.Study = self._optuna.create_study(directions=["minimize"] * len(objectives))
        self._optuna.logging.set_verbosity(before)
        with self._quiet():
            self.study.set_metric_names(list(objectives))

    def ask(self, count: int, best: int | None = None) -> Iterator["Asked"]:
        """The next batch, one by one: draw from each before the next, so that the next is elsewhere. `best` is the
        number of the best trial so far. What comes first does not depend on `count`.
        """
        self.study.sampler = self._sampler(self._batches)
        random = np.random.default_rng([self._seed, self._batches, 1])
        self._batches += 1
        for place in range(count):
            yield Asked(self._ask(place, best, random))

    def _ask(self, place: int, best: int | None, random: np.random.Generator) -> "optuna.Trial":
        told = len(self.study.trials)
        if best is not None and told >= STARTUP_TRIALS and place % NEAR_EVERY == NEAR_EVERY - 1:
            near = self.study.trials[best]
            self.study.enqueue_trial({n: _beside(near.params[n], d, random) for n, d in near.distributions.items()})
        return self.study.ask()

    def tell(self, asked: "Asked", values: Sequence[float], **notes: Any) -> None:
        """What came of a trial, in the order in which they were asked for."""
        for name, value in notes.items():
            asked.trial.set_user_attr(name, value)
        self.study.tell(asked.trial, list(values))

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """What Optuna calls experimental has been so for years."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            yield

    def _sampler(self, batch: int) -> "optuna.samplers.BaseSampler":
        seed = int(np.random.SeedSequence([self._seed, batch]).generate_state(1)[0])
        with self._quiet():
            sampler: optuna.samplers.BaseSampler = self._optuna.samplers.TPESampler(
                seed=seed,
                n_startup_trials=STARTUP_TRIALS,
                multivariate=True,
                group=True,
                constant_liar=True,
            )
        return sampler


def _beside(value: Any, within: Any, random: np.random.Generator) -> Any:
    """A value near another one."""
    choices = getattr(within, "choices", None)
    if choices is not None:
        others = [choice for choice in choices if choice != value]
        return others[int(random.integers(len(others)))] if others and random.random() < TURN_SHARE else value
    low, high = (np.log([within.low, within.high])) if within.log else (within.low, within.high)
    moved = (np.log(value) if within.log else value) + STEP_SHARE * (high - low) * random.standard_normal()
    found = float(np.clip(np.exp(moved) if within.log else moved, within.low, within.high))
    return round(found) if isinstance(value, int) else found


class Asked:
    """A trial whose values are drawn as the space asks for them."""

    def __init__(self, trial: "optuna.Trial") -> None:
        self.trial = trial
        self.drawn: dict[str, Any] = {}

    def number(self, name: str, within: Range) -> float:
        """A number in a range."""
        if within.whole:
            value: float = self.trial.suggest_int(name, int(within.least), int(within.most), log=within.log)
        else:
            value = within.rounded(self.trial.suggest_float(name, within.least, within.most, log=within.log))
        self.drawn[name] = value
        return value

    def choice(self, name: str, values: Sequence[Any]) -> Any:
        """One of some values."""
        value = values[self.trial.suggest_categorical(name, list(range(len(values))))]
        self.drawn[name] = value
        return value
