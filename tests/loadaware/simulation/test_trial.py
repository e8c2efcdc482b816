"""One run: its figures, its guards, and that watching changes nothing."""

import math

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Chance, Default
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup, Stage, make_stage
from loadaware.simulation.trial import Trial, Watched, run_trial

SETUP = Setup(
    ScenarioSettings(duration_seconds=3600.0, machines=MachineSettings(nodes=6)), EngineSettings(warm_up_seconds=1800.0)
)


@pytest.fixture(scope="module")
def stage() -> Stage:
    return make_stage(SETUP, None, 3)


def test_an_outcome_has_the_figures_of_the_run_itself(stage: Stage) -> None:
    outcome = run_trial(stage, "default")
    report = Run(stage.scenario, lambda clock: Default(), SETUP.engine, stage.seed, stage.futures).report()
    assert (outcome.hot80, outcome.hot90, outcome.unserved) == (report.hot80, report.hot90, report.unserved)
    assert (outcome.std, outcome.p99, outcome.utilization) == (report.spread, report.p99, report.utilization)
    assert outcome.seconds > 0.0


def test_progress_is_passed_on(stage: Stage) -> None:
    told: list[float] = []
    run_trial(stage, "random", told.append)
    assert told == sorted(told)
    assert len(told) > 10


def test_an_unknown_policy_is_refused(stage: Stage) -> None:
    with pytest.raises(ConfigError, match="there is no policy called 'nobody'"):
        run_trial(stage, "nobody")


def test_trials_of_one_seed_share_a_stage_and_others_do_not() -> None:
    one = Trial(SETUP, "", 1, "default")
    assert one.stage_key == Trial(SETUP, "", 1, "random").stage_key
    assert one.stage_key != Trial(SETUP, "", 2, "default").stage_key
    assert one.stage_key != Trial(SETUP, "lab", 1, "default").stage_key


class Crammer:
    """Puts everything on the first node that can take it."""

    def hear(self, news: object) -> None:
        pass

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        return -nodes


def test_replicas_that_share_nodes_are_counted(stage: Stage) -> None:
    watched = {}
    for name, policy in (("spread", Default()), ("crammed", Crammer())):
        watched[name] = Watched(policy, counted_from=0.0)
        Run(stage.scenario, lambda clock, name=name: watched[name], SETUP.engine).report()  # type: ignore[misc]
    assert 0.0 <= watched["spread"].together < watched["crammed"].together <= 100.0


def test_the_share_of_pairs_is_written_out() -> None:
    # 4 replicas, 3 of them on one node: 3 * 2 of 4 * 3 ordered pairs share a node; one replica has no pair
    watched = Watched(Chance(), counted_from=0.0)
    assert math.isnan(watched.together)
    watched._look(np.array([1, 0, 0]))
    watched._look(None)
    assert math.isnan(watched.together)
    watched._look(np.array([3, 1, 0]))
    assert watched.together == pytest.approx(50.0)


def test_pods_that_never_find_a_node_are_pending(quiet: Scenario) -> None:
    watched = Watched(Chance(), counted_from=0.0)
    assert watched.pending == 0.0
    cluster = SimulatedCluster(quiet)
    arrived = cluster.advance(quiet.settings.start + 600.0).arrived
    watched.totals(cluster, arrived[0], np.arange(3))
    assert cluster.expired > 0  # whose time was over while it waited
    unplaced = len(arrived) + cluster.expired
    assert watched.pending == pytest.approx(100.0 * unplaced / len(quiet.arrivals))
