"""Stages: settled by setup, day and seed; smoothed ones are smoother and meet the same load."""

from dataclasses import replace

import numpy as np
import pytest

from loadaware.simulation.generator import UnreachableLoadError
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup, Stage, day_of, make_stage
from loadaware.simulation.traces import Traces

SETUP = Setup(ScenarioSettings(duration_seconds=4 * 3600.0, machines=MachineSettings(nodes=8)))
RECORDED = Traces("lab-1", np.random.default_rng(1).uniform(0.0, 1.0, size=(40, 288)))


def total(stage: Stage) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Demand of all pods that are there, over three hours."""
    arrivals, start = stage.scenario.arrivals, stage.scenario.settings.start
    totals = []
    for time in start + np.arange(3600.0, 4 * 3600.0, 30.0):
        there = np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))
        totals.append(stage.scenario.usage(there, time).sum())
    return np.array(totals)


def unrest(stage: Stage) -> float:
    """How far thirty curves go up and down in two hours."""
    levels = stage.scenario.curves.level(np.arange(30)[:, None], np.arange(0.0, 7200.0, 60.0))
    return float(np.abs(np.diff(levels)).sum())


@pytest.mark.parametrize("day", [None, RECORDED], ids=["generated", "recorded"])
def test_the_same_seed_gives_the_same_stage_and_another_another(day: Traces | None) -> None:
    one, same, other = (make_stage(SETUP, day, seed) for seed in (1, 1, 2))
    assert np.array_equal(total(one), total(same))
    assert not np.array_equal(one.scenario.arrivals.arrival[:50], other.scenario.arrivals.arrival[:50])


@pytest.mark.parametrize("day", [None, RECORDED], ids=["generated", "recorded"])
def test_a_smoothed_stage_has_the_same_pods_and_load_but_less_unrest(day: Traces | None) -> None:
    rough, smooth = make_stage(SETUP, day, 1), make_stage(replace(SETUP, smoothing_seconds=3600.0), day, 1)
    assert np.array_equal(rough.scenario.arrivals.arrival, smooth.scenario.arrivals.arrival)
    assert total(smooth).mean() == pytest.approx(total(rough).mean(), rel=0.05)
    jumps = [unrest(one) for one in (rough, smooth)]
    assert jumps[1] < 0.75 * jumps[0]


def test_what_the_references_know_is_worked_out_once() -> None:
    stage = make_stage(SETUP, None, 1)
    assert stage.futures is stage.futures
    assert stage.plan is stage.plan


def test_a_load_that_no_scale_meets_is_refused() -> None:
    weak = replace(SETUP.scenario, workloads=replace(SETUP.scenario.workloads, most_cores=0.01))
    with pytest.raises(UnreachableLoadError, match="a load of 50% cannot be met"):
        make_stage(replace(SETUP, scenario=weak), None, 1)


def test_seeds_take_the_days_in_turn() -> None:
    days = (RECORDED, replace(RECORDED, name="lab-2"))
    assert [day.name for seed in range(3) if (day := day_of(days, seed))] == ["lab-1", "lab-2", "lab-1"]
    assert day_of((), 3) is None
