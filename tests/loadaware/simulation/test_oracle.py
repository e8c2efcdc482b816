from functools import cache

import msgspec
import numpy as np
import pytest

from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.oracle import Oracle, _moments
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup, Stage, make_stage
from loadaware.simulation.trial import Outcome, run_trial


@cache
def stage() -> Stage:
    scenario = ScenarioSettings(duration_seconds=3 * 3600.0, load=0.65, machines=MachineSettings(nodes=12))
    return make_stage(Setup(scenario=scenario, engine=EngineSettings(warm_up_seconds=3600.0)), None, 2)


@cache
def outcome(policy: str) -> Outcome:
    return run_trial(stage(), policy)


def test_the_truth_about_a_pod_is_what_it_uses_over_its_life() -> None:
    futures = stage().futures
    known = _moments(futures)
    for pod in (0, 5, 11):
        used = futures.values[futures.offsets[pod] : futures.offsets[pod + 1]]
        mean, deviation = (float(used.mean()), float(used.std())) if len(used) else (0.0, 0.0)
        third = float(((used - mean) ** 3).mean()) if len(used) else 0.0
        assert known.mean[pod, 0] == pytest.approx(mean, rel=1e-5)
        assert known.deviation[pod, 0] == pytest.approx(deviation, rel=1e-3, abs=1e-5)
        assert known.skew[pod, 0] ** 3 == pytest.approx(max(third, 0.0), rel=1e-2, abs=1e-6)


def test_the_oracle_balances_better_than_chance_and_the_default() -> None:
    assert outcome("oracle").std < outcome("default").std < outcome("random").std
    assert outcome("oracle*3+default").std < outcome("default").std


def test_the_oracle_counts_who_is_there_as_if_it_had_counted_anew() -> None:
    """Whatever came and went is taken off again: what is left is the sum over those who are there."""
    made: list[Oracle] = []

    def make(clock: object) -> Oracle:
        made.append(Oracle(stage().scenario, stage().futures, 3.0, beside_default=True))
        return made[0]

    Run(stage().scenario, make, stage().setup.engine, 2, stage().futures).report()
    truth, seen = made[0]._truth, made[0]._seen
    there = np.flatnonzero(seen >= 0)
    means = _moments(stage().futures).mean[:, 0]
    anew = stage().scenario.machines.overhead_cores + np.bincount(seen[there], means[there], 12)
    assert truth.cumulants[:, 0, 0] == pytest.approx(anew)
    assert (truth.cumulants >= -1e-9).all()


def test_the_same_stage_gives_the_same_outcome() -> None:
    again = run_trial(stage(), "oracle")
    assert replace_seconds(again) == replace_seconds(outcome("oracle"))


def replace_seconds(outcome: Outcome) -> Outcome:
    return msgspec.structs.replace(outcome, seconds=0.0)
