from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from loadaware.simulation.generator import LOAD_SAMPLES, Demand, UnreachableLoadError, fit_load, generate
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ArrivalSettings, MachineSettings, ScenarioSettings, WorkloadSettings

SETTINGS = ScenarioSettings(duration_seconds=3 * 3600.0, machines=MachineSettings(nodes=10))


@cache
def drawn(settings: ScenarioSettings = SETTINGS, seed: int = 1) -> Scenario:
    return generate(settings, np.random.default_rng(seed))


def picture(scenario: Scenario) -> tuple[object, ...]:
    pods = np.arange(min(200, len(scenario.arrivals)))
    return (
        scenario.machines.cores.tolist(),
        scenario.workloads,
        scenario.arrivals.arrival.tolist(),
        scenario.arrivals.departure.tolist(),
        scenario.usage(pods, scenario.settings.start + 5000.0).tolist(),
        scenario.memory(pods, scenario.settings.start + 5000.0).tolist(),
    )


def test_the_same_seed_gives_the_same_scenario_down_to_each_pods_usage() -> None:
    assert picture(drawn()) == picture(generate(SETTINGS, np.random.default_rng(1)))


def test_another_seed_gives_another_scenario() -> None:
    assert picture(drawn())[1:] != picture(drawn(seed=2))[1:]


def test_node_failures_leave_arrivals_and_usage_as_they_were() -> None:
    failing = replace(SETTINGS, failures=replace(SETTINGS.failures, per_day=48.0))
    assert drawn(failing).failures
    assert picture(drawn(failing)) == picture(drawn())


@pytest.mark.parametrize("load", [0.35, 0.5, 0.65])
def test_the_average_demand_meets_the_load_asked_for(load: float) -> None:
    scenario = drawn(replace(SETTINGS, load=load))
    arrivals, machines = scenario.arrivals, scenario.machines
    first, last = scenario.settings.load_between
    wanted = []
    for time in np.arange(first, last, 90.0):
        there = np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))
        wanted.append(scenario.usage(there, float(time)).sum() + machines.overhead_cores.sum())
    assert np.mean(wanted) / machines.cores.sum() == pytest.approx(load, rel=0.02)


def test_the_load_can_be_asked_for_a_part_of_the_time() -> None:
    part = replace(SETTINGS, load_from_seconds=600.0, load_until_seconds=3600.0)
    assert part.load_between == (part.start + 600.0, part.start + 3600.0)
    assert Demand.of(drawn(part)).at(drawn(part).scale) == pytest.approx(0.5, rel=1e-3)


def test_the_load_can_be_counted_before_any_limit_and_without_what_nodes_use() -> None:
    limited = replace(SETTINGS, workloads=WorkloadSettings(most_cores=0.6))
    usual, bare = (drawn(replace(limited, load_before_limits=before)) for before in (False, True))
    demand = Demand.of(bare)
    assert bare.scale * demand.appetite.sum() / LOAD_SAMPLES == pytest.approx(0.5 * demand.cores, rel=1e-3)
    assert bare.scale < usual.scale  # which has to make up for what the limit takes away
    assert bare.usage(np.arange(len(bare.arrivals)), bare.settings.start + 5000.0).max() == 0.6


def test_a_load_that_no_scale_meets_is_refused_with_what_can_be_reached() -> None:
    scenario = drawn()
    idle = replace(scenario, settings=replace(scenario.settings, load=100.0))
    with pytest.raises(UnreachableLoadError, match=r"a load of 10000% cannot be met: these pods use at most \d+%"):
        fit_load(idle)


@pytest.mark.parametrize("load", [0.001, float("nan")])
def test_a_load_below_what_nodes_use_by_themselves_is_refused(load: float) -> None:
    scenario = drawn()
    with pytest.raises(UnreachableLoadError, match=r"cannot be met: nodes without pods use \d\.\d% of the cluster"):
        fit_load(replace(scenario, settings=replace(scenario.settings, load=load)))


def test_usage_over_request_is_as_uneven_as_in_real_clusters() -> None:
    scenario = drawn(replace(SETTINGS, machines=MachineSettings(nodes=60)))
    arrivals, time = scenario.arrivals, scenario.settings.start + 7200.0
    there = np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))
    ratio = scenario.usage(there, time) / (scenario.request_millicores[there] / 1000.0)
    median, ninety, ninety_nine = np.percentile(ratio, [50, 90, 99])
    assert 0.25 < median < 0.5
    assert 1.5 < ninety < 2.6
    assert 3.5 < ninety_nine < 9.0


def test_tight_requests_and_churn_are_settings() -> None:
    tight = replace(SETTINGS, arrivals=ArrivalSettings(requests=0.88, lifetime_median_seconds=1200.0))
    assert len(drawn(tight).arrivals) > 2 * len(drawn().arrivals)
