"""The live core through a restart, half blind, and without pod metrics: it goes on, and what was saved is used."""

from dataclasses import replace

import pytest

from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.simulation.engine import EngineSettings, Run, VirtualClock
from loadaware.simulation.metering import Blind
from loadaware.simulation.policies import Advised, Restart
from loadaware.simulation.scenario import Scenario

SECONDS = 5400.0


def advised(quiet: Scenario, settings: EngineSettings) -> Advised:
    """A policy at the end of a run."""
    short = replace(quiet, settings=replace(quiet.settings, duration_seconds=SECONDS))
    made: list[Advised] = []

    def make(clock: VirtualClock) -> Advised:
        made.append(Advised(EntropicRisk(), clock, demand=settings.demand, restart=settings.restart))
        return made[0]

    Run(short, make, settings, seed=1).report()
    return made[0]


@pytest.mark.parametrize("keep", [True, False])
def test_after_a_restart_everybody_is_there_and_only_what_was_saved_is_remembered(quiet: Scenario, keep: bool) -> None:
    settings = EngineSettings(restart=Restart(after_seconds=SECONDS - 60.0, keep_learned=keep))
    core = advised(quiet, settings)._core
    usual = advised(quiet, EngineSettings())._core
    assert core.observer.pod_count == pytest.approx(usual.observer.pod_count, abs=5)
    assert core.observer.node_count == usual.observer.node_count
    learned = len(core.observer.export(0.0).tables["workloads"].names)
    kept = len(usual.observer.export(0.0).tables["workloads"].names)
    assert learned >= kept - 2 if keep else learned < kept


def test_nodes_that_nobody_measures_are_never_measured(quiet: Scenario) -> None:
    core = advised(quiet, EngineSettings(blind=Blind(nodes=1 / 3)))._core
    measured = core.snapshot.sampled_at > 0
    assert int((~measured).sum()) == 4
    assert core.snapshot.expected is not None


def test_without_pod_metrics_everything_is_inferred_and_placing_goes_on(quiet: Scenario) -> None:
    policy = advised(quiet, EngineSettings(blind=Blind(pods=True)))
    workloads = policy._core.observer.export(0.0).tables["workloads"].columns
    assert (workloads["inferred"] == workloads["sums"][:, :, 0]).all()
    assert workloads["inferred"].any()
    assert (policy._core.snapshot.sampled_at > 0).all()
    assert policy._core.observer.pod_count > 0
