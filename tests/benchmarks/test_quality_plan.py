"""The plan of the quality benchmark: what is shared may be shared, and every policy exists."""

from dataclasses import replace

import msgspec
import pytest

from loadaware.errors import ConfigError
from loadaware.simulation import sensitivity
from loadaware.simulation.comparison import compare
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.policy_names import parse
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup
from loadaware.simulation.trial import Outcome, Trial
from tests.benchmarks.measure_quality import chosen
from tests.benchmarks.quality_plan import DEAF, FEW, LOADS, OURS, PartOf, Quality, unheard

SETUP = Setup(
    ScenarioSettings(duration_seconds=2400.0, machines=MachineSettings(nodes=6)), EngineSettings(warm_up_seconds=600.0)
)
QUALITY = Quality(SETUP, ("lab",), (0, 1))
DEAFENING = ("stale", "late-watch", "blind-third", "no-pod-metrics", "amnesia", "nameless")


def figures(setup: Setup) -> dict[str, Outcome]:
    """Of those who listen to nothing, without the time that they took."""
    trials = [Trial(setup, "", 1, policy) for policy in DEAF]
    return {trial.policy: msgspec.structs.replace(outcome, seconds=0.0) for trial, outcome in compare(trials, {})}


def test_runs_that_are_shared_between_circumstances_are_the_same_there() -> None:
    changed = sensitivity.apply(SETUP, DEAFENING)
    assert changed != SETUP
    assert unheard(changed) == SETUP
    assert figures(changed) == figures(SETUP)


@pytest.mark.parametrize("name", ["20-nodes", "tight", "failing-nodes", "smoothed", "all-new"])
def test_what_touches_everybody_is_not_shared(name: str) -> None:
    changed = sensitivity.apply(SETUP, [name])
    assert unheard(changed) == changed


def test_only_those_who_listen_run_anew_when_metrics_are_late() -> None:
    usual = {trial for section in [QUALITY.at_load("lab", 0.5)] for trial in section.trials(QUALITY.seeds)}
    (stale,) = [section for section in QUALITY.circumstances({}) if section.setting == "stale"]
    assert {trial.policy for trial in stale.trials(QUALITY.seeds) if trial not in usual} == {OURS}


def test_every_policy_of_the_plan_exists() -> None:
    for load in LOADS:
        for make in (QUALITY.at_load, QUALITY.others, QUALITY.weights, QUALITY.adopted):
            for policy in make("lab", load).policies:
                assert parse(policy).name == policy


def test_those_far_behind_run_less_often() -> None:
    many = replace(QUALITY, seeds=tuple(range(10)))
    runs = {trial.seed for trial in many.others("lab", 0.5).trials(many.seeds)}
    assert runs == set(range(FEW))


def test_the_headline_set_is_where_circumstances_change() -> None:
    both = replace(QUALITY, datasets=("lab", "planetlab"))
    assert {section.dataset for section in both.circumstances({})} == {"planetlab"}
    assert {section.dataset for section in QUALITY.circumstances({})} == {"lab"}


def test_one_data_set_of_a_plan_is_all_that_the_plan_has_for_it() -> None:
    both = Quality(SETUP, ("planetlab", "bitbrains"), (0, 1))
    part = PartOf(both, "bitbrains")
    whole = [section for sections in both.stages({}) for section in sections if section.dataset == "bitbrains"]
    assert [section for sections in part.stages({}) for section in sections] == whole
    assert {section.load for section in whole} == set(LOADS)
    assert part.seeds == both.seeds


def test_a_data_set_that_is_not_in_the_traces_is_told_before_anything_runs() -> None:
    both = Quality(SETUP, ("planetlab", "bitbrains"), (0, 1))
    assert chosen("", both) == both.datasets
    assert chosen("bitbrains", both) == ("bitbrains",)
    with pytest.raises(ConfigError, match=r"no data set called 'bitbrain' in the traces.*bitbrains"):
        chosen("bitbrain", both)
