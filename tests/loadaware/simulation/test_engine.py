"""Runs of whole policies: the same every time, told of while they go on, and chance is worse than the default."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.simulation.accounting import Report
from loadaware.simulation.engine import EngineSettings, Run, VirtualClock
from loadaware.simulation.generator import generate
from loadaware.simulation.policies import Advised, Chance, Default, Policy
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ScenarioSettings

HOURS, WARM_UP_HOURS = 8, 4
SETTINGS = EngineSettings(warm_up_seconds=WARM_UP_HOURS * 3600.0)


POLICIES: dict[str, Callable[[VirtualClock], Policy]] = {
    "random": lambda clock: Chance(),
    "default": lambda clock: Default(),
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


def test_progress_is_told_from_the_beginning_to_the_end() -> None:
    told: list[float] = []
    short = replace(scenario(1).settings, duration_seconds=600.0)
    Run(replace(scenario(1), settings=short), POLICIES["random"], SETTINGS).report(told.append)
    assert told[0] == 0.0
    assert told == sorted(told)
    assert 0.9 < told[-1] < 1.0
