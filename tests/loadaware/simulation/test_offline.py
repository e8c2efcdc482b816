from dataclasses import replace

import numpy as np
import pytest

from loadaware.simulation.accounting import Report
from loadaware.simulation.clairvoyant import Clairvoyant
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.futures import Futures, foresee
from loadaware.simulation.offline import Offline, Plan, SearchSettings, make_plan
from loadaware.simulation.placements import NOWHERE, Placements
from loadaware.simulation.policies import Chance, Default, Policy
from loadaware.simulation.scenario import Scenario


@pytest.fixture(scope="module")
def short(quiet: Scenario) -> Scenario:
    """Three hours of it: half of the pods come too late."""
    return replace(quiet, settings=replace(quiet.settings, duration_seconds=3 * 3600.0))


@pytest.fixture(scope="module")
def futures(short: Scenario) -> Futures:
    return foresee(short)


@pytest.fixture(scope="module")
def plan(short: Scenario, futures: Futures) -> Plan:
    return make_plan(short, futures, seed=3)


def report(scenario: Scenario, policy: Policy) -> Report:
    return Run(scenario, lambda clock: policy, EngineSettings(warm_up_seconds=1800.0)).report()


def written_out(scenario: Scenario, futures: Futures, plan: Plan) -> float:
    cores = scenario.machines.cores[:, None]
    load = np.repeat(scenario.machines.overhead_cores[:, None], futures.steps, axis=1)
    for pod in np.flatnonzero(plan.node_of != NOWHERE).tolist():
        stretch = futures.of(pod)
        load[plan.node_of[pod], stretch.first : stretch.end] += stretch.usage
    return float((cores * (load / cores) ** 8).sum())


def test_the_cost_falls_from_the_clairvoyants_with_every_pass(plan: Plan) -> None:
    assert len(plan.costs) > 2
    assert list(plan.costs) == sorted(plan.costs, reverse=True)
    assert plan.costs[-1] < 0.95 * plan.costs[0]


def test_the_cost_is_that_of_the_plan(short: Scenario, futures: Futures, plan: Plan) -> None:
    assert plan.costs[-1] == pytest.approx(written_out(short, futures, plan), rel=1e-4)
    at_first = make_plan(short, futures, settings=SearchSettings(most_passes=0))
    assert at_first.costs == pytest.approx([written_out(short, futures, at_first)], rel=1e-4)
    assert at_first.costs[0] == plan.costs[0]


def test_requests_are_never_exceeded(short: Scenario, plan: Plan) -> None:
    """Looked at whenever somebody arrives; who leaves is gone with the next step."""
    placements, arrivals = Placements(short), short.arrivals
    leaves = short.settings.start + 30.0 * np.ceil((arrivals.departure - short.settings.start) / 30.0)
    for pod in range(0, len(arrivals), 7):
        there = np.flatnonzero((arrivals.arrival <= arrivals.arrival[pod]) & (leaves > arrivals.arrival[pod]))
        there = there[plan.node_of[there] != NOWHERE]
        for resource in (0, 1):
            requested = np.bincount(plan.node_of[there], placements.requests[there, resource], 12)
            assert (requested <= placements.allocatable[:, resource]).all()


def test_pods_that_come_after_the_end_are_planned_nowhere(short: Scenario, plan: Plan) -> None:
    late = short.arrivals.arrival >= short.settings.end
    assert late.any()
    assert (plan.node_of[late] == NOWHERE).all()
    assert (plan.node_of[~late] != NOWHERE).all()


def test_a_seed_gives_one_plan_and_another_seed_another(short: Scenario, futures: Futures, plan: Plan) -> None:
    again, other = (make_plan(short, futures, seed) for seed in (3, 4))
    assert again.node_of.tolist() == plan.node_of.tolist()
    assert again.costs == plan.costs
    assert other.node_of.tolist() != plan.node_of.tolist()
    assert other.costs[0] == plan.costs[0]


def test_the_search_ends_when_a_pass_gains_little(short: Scenario, futures: Futures) -> None:
    content = make_plan(short, futures, settings=SearchSettings(least_gain=0.99))
    assert len(content.costs) == 2


def test_progress_rises_to_the_end(short: Scenario, futures: Futures) -> None:
    told: list[float] = []
    make_plan(short, futures, settings=SearchSettings(most_passes=2, least_gain=0.0), progress=told.append)
    assert told == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_a_planned_pod_goes_where_the_plan_says(short: Scenario, futures: Futures, plan: Plan) -> None:
    cluster = SimulatedCluster(short)
    cluster.advance(short.settings.start + 300.0)
    totals = Offline(short, plan, futures).totals(cluster, 0, np.arange(12))
    assert np.flatnonzero(totals).tolist() == [plan.node_of[0]]


def test_a_pod_whose_planned_node_is_full_goes_where_the_clairvoyant_would_put_it(
    short: Scenario, futures: Futures, plan: Plan
) -> None:
    cluster = SimulatedCluster(short)
    cluster.advance(short.settings.start + 300.0)
    others = np.delete(np.arange(12), plan.node_of[0])
    expected = Clairvoyant(short, futures).totals(cluster, 0, others).tolist()
    assert Offline(short, plan, futures).totals(cluster, 0, others).tolist() == expected
    nowhere = replace(plan, node_of=np.full_like(plan.node_of, NOWHERE))
    assert Offline(short, nowhere, futures).totals(cluster, 0, others).tolist() == expected


def test_a_plan_made_without_failures_survives_them(scenario: Scenario) -> None:
    planned = make_plan(scenario, settings=SearchSettings(most_passes=0))
    assert scenario.failures
    followed = report(scenario, Offline(scenario, planned))
    assert followed.seconds == pytest.approx(scenario.settings.duration_seconds - 1800.0, abs=60.0)
    assert 0.0 < followed.utilization < 100.0


def test_following_the_plan_is_better_than_the_default_scores_and_chance(
    short: Scenario, futures: Futures, plan: Plan
) -> None:
    chance, default = report(short, Chance()), report(short, Default())
    planned = report(short, Offline(short, plan, futures))
    assert planned.hot80 < 0.5 * default.hot80
    assert planned.hot80 < 0.5 * chance.hot80
    assert planned.unserved <= default.unserved
    assert planned.spread < default.spread < chance.spread
