"""Runs of whole policies: the ruler works, and the default scorer is worth having."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.simulation.accounting import Report
from loadaware.simulation.engine import EngineSettings, Run, VirtualClock
from loadaware.simulation.generator import generate
from loadaware.simulation.policies import Advised, Chance, Default, Policy
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ScenarioSettings

HOURS, WARM_UP_HOURS = 8, 4
SEEDS = (1, 2, 3, 4, 5, 6)
SETTINGS = EngineSettings(warm_up_seconds=WARM_UP_HOURS * 3600.0)


class Constant(Scorer, frozen=True, kw_only=True):
    """No opinion."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        return np.full(len(nodes), 50.0)


POLICIES: dict[str, Callable[[VirtualClock], Policy]] = {
    "random": lambda clock: Chance(),
    "default": lambda clock: Default(),
    "constant": lambda clock: Advised(Constant(), clock),
    "TargetLoadPacking": lambda clock: Advised(TargetLoadPacking(), clock),
    "EntropicRisk": lambda clock: Advised(EntropicRisk(), clock),
}


@cache
def scenario(seed: int) -> Scenario:
    settings = ScenarioSettings(duration_seconds=HOURS * 3600.0, load=0.6, load_from_seconds=WARM_UP_HOURS * 3600.0)
    settings = replace(settings, machines=replace(settings.machines, nodes=20))
    return generate(settings, np.random.default_rng(seed))


@cache
def report(name: str, seed: int = 1) -> Report:
    return Run(scenario(seed), POLICIES[name], SETTINGS, seed).report()


def test_a_run_is_the_same_every_time() -> None:
    short = replace(scenario(1), settings=replace(scenario(1).settings, duration_seconds=3600.0))
    settings = EngineSettings(warm_up_seconds=1800.0)
    one, other = (Run(short, POLICIES["EntropicRisk"], settings, 1).report() for _ in range(2))
    assert one == other


def test_chance_is_worse_than_the_default_scores() -> None:
    assert report("random").spread > report("default").spread


@pytest.mark.slow
def test_a_scorer_without_an_opinion_gains_nothing() -> None:
    assert report("constant").hot80 == pytest.approx(report("default").hot80, rel=0.25)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_learned_demand_places_better_than_the_default_scores_and_the_best_peer() -> None:
    """The gate: a change that spoils placements shows here. Means over six scenarios, % of node-time over 80 %.

    A guard, not a claim: the bounds were set from what was measured, and twenty nodes and eight hours are a hard and
    noisy setting. When this was written: default 11.0, TargetLoadPacking 11.1, EntropicRisk 8.6, which was better than
    the default in four of the six scenarios; unserved .70, .66, .38.
    """
    hot = {
        name: float(np.mean([report(name, seed).hot80 for seed in SEEDS]))
        for name in ("default", "TargetLoadPacking", "EntropicRisk")
    }
    assert hot["EntropicRisk"] < 0.8 * hot["default"], hot
    assert hot["EntropicRisk"] < 0.9 * hot["TargetLoadPacking"], hot
    unserved = {name: np.mean([report(name, seed).unserved for seed in SEEDS]) for name in hot}
    assert unserved["EntropicRisk"] < unserved["default"], unserved


def test_progress_is_told_from_the_beginning_to_the_end() -> None:
    told: list[float] = []
    short = replace(scenario(1).settings, duration_seconds=600.0)
    Run(replace(scenario(1), settings=short), POLICIES["random"], SETTINGS).report(told.append)
    assert told[0] == 0.0
    assert told == sorted(told)
    assert 0.9 < told[-1] < 1.0
