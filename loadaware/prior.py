"""What names tell of workloads that were never seen, learned from those that were.

With y_w = ln(0.01 + mean usage / request) of each workload w that was measured, and its traits (see kin.py):

    y_w            ~  level + sum over its traits of effect(word)
    weight         =  samples / (samples + 10)
    m(word), W     =  weighted mean of what level and the other traits leave of y over its workloads, and their weight
    effect(word)   =  m * W / (W + sigma^2 / tau^2)
    sigma^2        =  variance of what is left of y after all traits
    tau^2          =  variance of the words of the trait: (sum of W m^2 - (G + sqrt(2 G)) sigma^2) / sum of W, G words
    relative level =  exp(sum over the traits of effect(word))           1 for a workload of which no name is known

One round over the traits at each of the first readings, then every five minutes. tau^2 is what the words differ by
beyond chance and one deviation of chance: a trait whose words tell nothing is left out by itself. The words are bounded
in number: whoever comes later says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from collectors.reading import Floats
from loadaware.demand_state import Table
from loadaware.kin import TRAITS, Kin
from loadaware.window import Ints

RELIABLE_SAMPLES = 10.0
SMALLEST = 0.01
FIRST_ROUNDS = 20
ROUND_SECONDS = 300.0
MOST_WORDS = 20_000
MOST_TOLD = 3.0
"""Names never move the expectation further than this, as a logarithm: twentyfold."""
SILENT = 0
"""The number of every word that says nothing."""


@dataclass(frozen=True, eq=False)
class Told:
    """What was learned, to be looked up by traits."""

    numbers: Mapping[tuple[int, str], int] = field(default_factory=dict)
    effects: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    """(word, resource); the first is zero."""

    def level(self, kin: Kin) -> Floats:
        """Relative level of a workload with these traits (resource,)."""
        words = [self.numbers.get(item, SILENT) for item in enumerate(kin)]
        return _levels(self.effects, np.array([words], dtype=np.intp))[0]


class Prior:
    """The effects, kept between rounds."""

    def __init__(self, resources: int) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._spoken: dict[Kin, Ints] = {}
        """The numbers of kin met before."""
        self._effects: Floats = np.zeros((1, resources))
        self._freedom: Floats = np.zeros(resources)
        """How many words' worth of freedom the effects took, last round."""
        self._rounds = 0
        self._fitted_at = -np.inf

    def traits(self, kin: Kin) -> Ints:
        """The numbers of a workload's words; new words are given one."""
        known = self._spoken.get(kin)
        if known is None:
            known = np.array([self._number(trait, word) for trait, word in enumerate(kin)], dtype=np.intp)
            if len(self._spoken) >= MOST_WORDS:
                self._spoken.clear()
            self._spoken[kin] = known
        return known

    def _number(self, trait: int, word: str) -> int:
        if not word:
            return SILENT
        number = self._numbers.get((trait, word), SILENT)
        if number == SILENT and len(self._numbers) < MOST_WORDS:
            number = self._numbers[trait, word] = len(self._numbers) + 1
        return number

    def levels(self, traits: Ints) -> Floats:
        """Relative level of each workload (workload, resource)."""
        self._reserve()
        return _levels(self._effects, traits)

    def due(self, now: float) -> bool:
        """Whether it is time for another round."""
        if self._rounds < FIRST_ROUNDS or not 0 <= now - self._fitted_at < ROUND_SECONDS:
            self._rounds += 1
            self._fitted_at = now
            return True
        return False

    def fit(self, traits: Ints, means: Floats, samples: Floats) -> None:
        """One round: traits (workload, trait), means of usage / request and samples (workload, resource)."""
        self._reserve()
        weights = samples / (samples + RELIABLE_SAMPLES)
        total = weights.sum(axis=0)
        if not len(traits) or not total.any():
            return
        y = np.log(SMALLEST + np.where(weights > 0, means, 0.0))
        left = y - (weights * y).sum(axis=0) / np.maximum(total, 1e-12) - self._effects[traits].sum(axis=1)
        noise = (weights * left * left).sum(axis=0) / np.maximum(total - self._freedom, 1.0)
        self._freedom = np.zeros(left.shape[1])
        for trait in range(traits.shape[1]):
            left += self._effects[traits[:, trait]]
            self._refit(traits[:, trait], weights, left, noise)
            left -= self._effects[traits[:, trait]]

    def _refit(self, words: Ints, weights: Floats, left: Floats, noise: Floats) -> None:
        for resource in range(left.shape[1]):
            weight = np.bincount(words, weights[:, resource], len(self._effects))
            total = np.bincount(words, weights[:, resource] * left[:, resource], len(self._effects))
            met = weight > 0
            met[SILENT] = False
            weight, mean = weight[met], total[met] / weight[met]
            count = float(len(weight))
            beyond_chance = (weight * mean * mean).sum() - (count + np.sqrt(2.0 * count)) * noise[resource]
            variance = max(float(beyond_chance), 0.0) / max(float(weight.sum()), 1e-12)
            trust = variance * weight / (variance * weight + noise[resource] + 1e-12)
            self._effects[met, resource] = trust * mean
            self._freedom[resource] += float(trust.sum())

    def told(self) -> Told:
        """What is known now, frozen."""
        self._reserve()
        return Told(dict(self._numbers), self._effects.copy())

    def export(self) -> Table:
        """The words as trait=word with their effects: see demand_state."""
        told = self.told()
        names = tuple(f"{TRAITS[trait]}={word}" for trait, word in told.numbers)
        return Table(names, {"effects": told.effects[1 : len(names) + 1]})

    def restore(self, words: Table, *, newer: bool) -> Ints:
        """Take words learned elsewhere; those known here keep their effect unless theirs is newer. Their numbers."""
        theirs = words.floats("effects", self._effects.shape[1])
        numbers = np.full(len(words.names), SILENT, dtype=np.intp)
        for row, name in enumerate(words.names):
            trait, _, word = name.partition("=")
            if trait in TRAITS:
                known = (TRAITS.index(trait), word) in self._numbers
                numbers[row] = number = self._number(TRAITS.index(trait), word)
                self._reserve()
                if number != SILENT and (newer or not known):
                    self._effects[number] = theirs[row]
        return numbers

    def _reserve(self) -> None:
        missing = len(self._numbers) + 1 - len(self._effects)
        if missing > 0:
            more = max(missing, len(self._effects))
            self._effects = np.concatenate([self._effects, np.zeros((more, self._effects.shape[1]))])


def _levels(effects: Floats, traits: Ints) -> Floats:
    return np.exp(np.clip(effects[traits].sum(axis=1), -MOST_TOLD, MOST_TOLD))


NO_TRAITS = np.full(len(TRAITS), SILENT, dtype=np.intp)
