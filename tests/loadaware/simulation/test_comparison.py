"""Many runs: the same figures in one process or several, and a clean end whatever happens."""

import multiprocessing
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from loadaware.simulation.comparison import Stages, TrialError, Waiting, Worker, compare
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import Outcome, Trial

SETUP = Setup(
    ScenarioSettings(duration_seconds=1800.0, machines=MachineSettings(nodes=6)), EngineSettings(warm_up_seconds=600.0)
)
TRIALS = [Trial(SETUP, "", seed, policy) for seed in (0, 1) for policy in ("random", "default", "constant*3+default")]


def figures(outcome: Outcome) -> str:
    """All but the time that it took, to the last digit."""
    return repr(msgspec.structs.replace(outcome, seconds=0.0))


def test_one_process_and_two_give_the_same_figures() -> None:
    alone = {trial: figures(outcome) for trial, outcome in compare(TRIALS, {}, 1)}
    shared = {trial: figures(outcome) for trial, outcome in compare(TRIALS, {}, 2)}
    assert set(alone) == set(TRIALS)
    assert alone == shared
    assert len(set(alone.values())) > 2


def test_progress_is_told_while_trials_run() -> None:
    told: dict[Trial, list[float]] = {}
    for processes in (1, 2):
        told.clear()
        for _ in compare(TRIALS[:2], {}, processes, lambda trial, share: told.setdefault(trial, []).append(share)):
            pass
        assert set(told) == set(TRIALS[:2])
        assert all(shares == sorted(shares) and len(shares) > 5 for shares in told.values())


def test_recorded_days_reach_the_processes() -> None:
    days = {"lab": (Traces("lab-1", np.random.default_rng(1).uniform(0.0, 1.0, size=(40, 288))),)}
    trials = [Trial(SETUP, "lab", seed, "default") for seed in (0, 1)]
    alone = {trial: figures(outcome) for trial, outcome in compare(trials, days, 1)}
    assert {trial: figures(outcome) for trial, outcome in compare(trials, days, 2)} == alone
    generated = dict(compare([replace(trials[0], dataset="")], days))
    assert figures(*generated.values()) != alone[trials[0]]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_trial_that_cannot_be_run_is_named(processes: int) -> None:
    weak = replace(SETUP.scenario, workloads=replace(SETUP.scenario.workloads, most_cores=0.01))
    wrong = [Trial(replace(SETUP, scenario=weak), "", seed, "default") for seed in (4, 5)]
    with pytest.raises(TrialError, match=r"the run of default with seed [45] failed: a load of 50% cannot be met"):
        list(compare(wrong, {}, processes))
    assert not multiprocessing.active_children()


def test_whoever_stops_listening_ends_the_processes() -> None:
    running = compare(TRIALS, {}, 2)
    next(running)
    assert multiprocessing.active_children()
    running.close()
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_told_with_its_trial() -> None:
    worker = Worker({})
    try:
        worker._process.kill()
        worker.trial = TRIALS[0]
        worker._process.join()
        with pytest.raises(TrialError, match="random with seed 0 failed: its process ended with exit code -9"):
            worker.hear()
    finally:
        worker.stop()


def test_a_worker_without_a_trial_is_not_listened_to() -> None:
    worker = Worker({})
    try:
        with pytest.raises(ValueError, match="nothing to tell"):
            worker.hear()
    finally:
        worker.stop()


def test_nothing_to_run_is_no_problem() -> None:
    assert list(compare([], {}, 4)) == []


def test_trials_of_a_stage_stay_together_and_the_largest_rest_is_shared() -> None:
    a, b = (Trial(SETUP, "", 0, name) for name in "ab")
    c, d, e = (Trial(SETUP, "", 1, name) for name in "cde")
    waiting = Waiting([a, b, c, d, e])
    assert len(waiting) == 5
    first, second = waiting.next(), waiting.next()
    assert (first, second) == (a, c)
    assert waiting.next(second) == d
    assert waiting.next(first) == b
    assert waiting.next(first) == e  # its own stage is done, so it helps with the other
    assert waiting.next(first) is None


def test_the_last_stage_is_kept() -> None:
    stages = Stages({})
    first = stages.of(TRIALS[0])
    assert stages.of(TRIALS[1]) is first
    assert stages.of(TRIALS[-1]) is not first
