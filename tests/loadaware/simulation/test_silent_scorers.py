"""What docs/commands.md says of scorers that read what a simulated cluster does not have: they decide nothing there."""

import msgspec
import pytest

from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup, Stage, make_stage
from loadaware.simulation.trial import Outcome, run_trial

SETUP = Setup(
    ScenarioSettings(duration_seconds=1800.0, machines=MachineSettings(nodes=8)), EngineSettings(warm_up_seconds=600.0)
)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return make_stage(SETUP, None, 1)


def placed(stage: Stage, scorer: str) -> Outcome:
    return msgspec.structs.replace(run_trial(stage, f"{scorer}*3+default"), seconds=0.0)


@pytest.mark.parametrize("scorer", ["LabelNumber{label: x}", "MetricRank{metric: x}", "PodState", "NetworkCost"])
def test_a_scorer_that_finds_nothing_to_read_places_like_one_without_an_opinion(stage: Stage, scorer: str) -> None:
    assert placed(stage, scorer) == placed(stage, "constant")


def test_a_scorer_that_finds_something_does_not(stage: Stage) -> None:
    assert placed(stage, "NodeResourcesAllocatable") != placed(stage, "constant")
