"""What `make benchmark-quality` compares: loads, policies, circumstances, in the order in which they are worth having.

Every section is a comparison of some policies on the same stages. The scorers that can win are run as often as asked,
alone and beside the default; the others, which are far behind, less often, and so are other weights, circumstances and
further data sets. Who turns out to be ahead of a peer's contenders there is then run as often as those. Peers are as
they are shipped, with their own rules for pods in flight; what our pipeline makes of their formulas is a section of its
own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from loadaware.simulation import sensitivity
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.stage import Setup
from loadaware.simulation.summary import Runs
from loadaware.simulation.trial import Outcome, Trial

LOADS = (0.5, 0.65, 0.35)
MIDDLE = 0.5
OURS = "EntropicRisk*3+default"
CONTENDERS = ("EntropicRisk", "Trimaran/TargetLoadPacking")
"""Ours, and the best of the peers."""
KOORDINATOR = "Koordinator/LoadAwareScheduling"
"""Alone as often as the contenders; otherwise one of the others."""
OTHERS = (
    "Crane/Dynamic",
    KOORDINATOR,
    "LowestUsage",
    "Trimaran/LoadVariationRiskBalancing",
    "Trimaran/LowRiskOverCommitment",
    "Trimaran/Peaks",
)
"""Crane's, Koordinator's, the plainest one, and the rest of Trimaran's."""
ADOPTED = ("EstimatedLoad*3+default", "TargetLoadPacking*3+default", "TargetLoadPacking*10+default")
"""Koordinator's and Trimaran's formulas as scorers of ours, with our booking and our rule for pods in flight."""
FEW, FURTHER_RUNS = 3, 6
"""Runs of the others, of other weights and of circumstances; of a further data set, whose days are three."""
REFERENCES = ("clairvoyant", "offline")
ORACLE = "oracle*3+default"
CONSTANT = "constant*3+default"
RULER = ("default", "random", ORACLE)
DEAF = ("default", "random", *REFERENCES)
"""Policies that know the cluster by themselves: late or missing metrics and restarts do not touch them."""
OTHER_WEIGHTS = (1, 10)
METRICS = ("hot80", "hot90", "unserved", "std", "p99")
"""What policies are compared by, each with a best peer of its own."""
HEADLINE_SET = "planetlab"
"""The data set in which circumstances are changed, if it is there."""

Outcomes = Mapping[Trial, Outcome]


@dataclass(frozen=True)
class Section:
    """Policies to compare under one setup."""

    dataset: str
    setup: Setup
    setting: str
    """The circumstance; empty for the usual ones."""
    policies: tuple[str, ...]
    most_runs: int = 1_000_000

    @property
    def load(self) -> float:
        """Of the setup."""
        return self.setup.scenario.load

    def trials(self, seeds: Sequence[int]) -> list[Trial]:
        """All of them, seed by seed, so that a part of them is a comparison already."""
        return [self._trial(seed, policy) for seed in seeds[: self.most_runs] for policy in self.policies]

    def complete(self, outcomes: Outcomes, seeds: Sequence[int]) -> Runs:
        """The runs of all seeds that every policy has done. Empty lists if there are none."""
        done = [seed for seed in seeds[: self.most_runs] if all(trial in outcomes for trial in self.trials([seed]))]
        return {policy: [outcomes[self._trial(seed, policy)] for seed in done] for policy in self.policies}

    def _trial(self, seed: int, policy: str) -> Trial:
        return Trial(unheard(self.setup) if policy in DEAF else self.setup, self.dataset, seed, policy)


def unheard(setup: Setup) -> Setup:
    """The setup without what makes no difference to policies that listen to nothing: their runs can be shared."""
    usual, engine = EngineSettings(), setup.engine
    timing = replace(
        engine.timing,
        publish_seconds=usual.timing.publish_seconds,
        late_seconds=usual.timing.late_seconds,
        watch_seconds=usual.timing.watch_seconds,
    )
    return replace(
        setup,
        engine=replace(engine, timing=timing, blind=usual.blind, demand=usual.demand, restart=usual.restart),
    )


class Plan(Protocol):
    """What is to be run."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """One for each of the runs that are pairs."""
        ...

    def stages(self, outcomes: Outcomes) -> Iterator[list[Section]]:
        """One part after the other; later parts may need the outcomes of earlier ones."""
        ...


@dataclass(frozen=True)
class Quality:
    """The whole benchmark."""

    setup: Setup
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]

    def at_load(self, dataset: str, load: float) -> Section:
        """The ruler, the contenders alone and at weight 3, the references. The ruler is tried on one data set."""
        contested = (*weighed(CONTENDERS), KOORDINATOR, *REFERENCES)
        if dataset != self.headline:
            return Section(dataset, self._loaded(load), "", (*RULER[:1], *contested), FURTHER_RUNS)
        return Section(dataset, self._loaded(load), "", (*RULER, *contested))

    def others(self, dataset: str, load: float) -> Section:
        """Those who are far behind."""
        policies = ("default", OURS, CONSTANT, *weighed(OTHERS), *REFERENCES)
        return Section(dataset, self._loaded(load), "", policies, FEW)

    def weights(self, dataset: str, load: float) -> Section:
        """The three best at other weights."""
        three = (*CONTENDERS, KOORDINATOR)
        tried = tuple(f"{name}*{weight}+default" for name in three for weight in OTHER_WEIGHTS)
        return Section(dataset, self._loaded(load), "", ("default", OURS, *tried, *REFERENCES), FEW)

    def adopted(self, dataset: str, load: float) -> Section:
        """The contenders' formulas in our pipeline."""
        return Section(dataset, self._loaded(load), "", ("default", OURS, *ADOPTED, *REFERENCES), FEW)

    def finalists(self, dataset: str, load: float, outcomes: Outcomes) -> Section:
        """Others' configurations that were ahead of their contenders by any metric, on the runs they had: in all."""
        contested, ahead = self.at_load(dataset, load), []
        for tried in (self.others(dataset, load), self.weights(dataset, load)):
            shared = replace(tried, policies=(*contested.policies, *tried.policies)).complete(outcomes, self.seeds)
            ahead += [best_peer(shared, metric) for metric in METRICS]
        found = sorted({policy for policy in ahead if policy is not None} - set(contested.policies))
        return replace(contested, policies=("default", OURS, *found, *REFERENCES))

    def circumstances(self, outcomes: Outcomes) -> Iterator[Section]:
        """Every other setting at 50 % load: ours, the default, the best peer and the references."""
        dataset = self.headline
        peer = best_peer(self.at_load(dataset, MIDDLE).complete(outcomes, self.seeds), "hot80")
        policies = ("default", OURS, *((peer,) if peer else ()), *REFERENCES)
        for name in (*sensitivity.SENSITIVITY, *sensitivity.ROBUSTNESS):
            yield Section(dataset, sensitivity.apply(self._loaded(MIDDLE), [name]), name, policies, FEW)

    def stages(self, outcomes: Outcomes) -> Iterator[list[Section]]:
        """What to run, one part after the other; later parts need the outcomes of earlier ones."""
        yield [self.at_load(dataset, load) for dataset in self.datasets for load in LOADS]
        yield [self.weights(self.headline, load) for load in LOADS]
        for section in self.circumstances(outcomes):
            yield [section]
        yield [self.others(self.headline, load) for load in LOADS]
        yield [self.finalists(self.headline, load, outcomes) for load in LOADS]
        yield [self.adopted(self.headline, load) for load in LOADS]
        yield [self.weights(dataset, load) for dataset in self.further for load in LOADS]
        yield [self.others(dataset, load) for dataset in self.further for load in LOADS]
        yield [self.finalists(dataset, load, outcomes) for dataset in self.further for load in LOADS]

    @property
    def headline(self) -> str:
        """The data set on which everything is tried."""
        return HEADLINE_SET if HEADLINE_SET in self.datasets else self.datasets[0]

    @property
    def further(self) -> tuple[str, ...]:
        """The other data sets."""
        return tuple(dataset for dataset in self.datasets if dataset != self.headline)

    def _loaded(self, load: float) -> Setup:
        return replace(self.setup, scenario=replace(self.setup.scenario, load=load))


@dataclass(frozen=True)
class PartOf:
    """What a plan has for one data set: the rest is measured at another time, and has pages of its own."""

    plan: Plan
    dataset: str

    @property
    def seeds(self) -> tuple[int, ...]:
        """The plan's."""
        return self.plan.seeds

    def stages(self, outcomes: Outcomes) -> Iterator[list[Section]]:
        """The plan's, without what is of other data sets."""
        for sections in self.plan.stages(outcomes):
            yield [section for section in sections if section.dataset == self.dataset]


def mean(runs: Runs, policy: str, metric: str) -> float:
    """Of a figure over the runs."""
    return float(np.mean([getattr(outcome, metric) for outcome in runs[policy]]))


def weighed(scorers: Sequence[str]) -> tuple[str, ...]:
    """Alone, then at weight 3 beside the default."""
    return (*scorers, *(f"{name}*3+default" for name in scorers))


def best_peer(runs: Runs, metric: str) -> str | None:
    """The configuration of anybody else's scorer with the lowest mean."""
    return min(peers_of(runs), key=lambda policy: mean(runs, policy, metric), default=None)


def peers_of(runs: Runs) -> list[str]:
    """The configurations of others' scorers that were run."""
    others = [name for name in (*CONTENDERS, *OTHERS) if name != "EntropicRisk"]
    return [policy for policy in runs if runs[policy] and policy.partition("*")[0] in others]
