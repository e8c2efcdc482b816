from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from collectors.reading import Floats
from loadaware.simulation.accounting import Report
from loadaware.simulation.arrivals import Arrivals
from loadaware.simulation.clairvoyant import Clairvoyant
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.futures import foresee
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Chance, Default, Policy
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News

HOUR = 3600.0
Look = Callable[[SimulatedCluster, int, Ints, Floats], None]


@pytest.fixture(scope="module")
def short(quiet: Scenario) -> Scenario:
    """Three hours of it."""
    return lasting(quiet, 3 * HOUR)


def lasting(scenario: Scenario, seconds: float) -> Scenario:
    return replace(scenario, settings=replace(scenario.settings, duration_seconds=seconds))


class Watched:
    """A clairvoyant with somebody looking over its shoulder."""

    def __init__(self, scenario: Scenario, look: Look) -> None:
        self._policy, self._look = Clairvoyant(scenario), look

    def hear(self, news: tuple[News, ...]) -> None:
        self._policy.hear(news)

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Floats:
        totals = self._policy.totals(cluster, pod, nodes)
        self._look(cluster, pod, nodes, totals)
        return totals


def report(scenario: Scenario, policy: Policy) -> Report:
    return Run(scenario, lambda clock: policy, EngineSettings(warm_up_seconds=HOUR / 2)).report()


def opinions(scenario: Scenario) -> dict[int, list[float]]:
    """By pod, what the clairvoyant thought of the nodes that could take it."""
    seen: dict[int, list[float]] = {}

    def note(cluster: SimulatedCluster, pod: int, nodes: Ints, totals: Floats) -> None:
        seen[pod] = totals.tolist()

    report(scenario, Watched(scenario, note))
    return seen


def without_later(scenario: Scenario, count: int) -> Scenario:
    """The same scenario, in which only the first pods ever come."""
    them = scenario.arrivals
    first = Arrivals(them.workload[:count], them.burst[:count], them.arrival[:count], them.departure[:count])
    return replace(scenario, arrivals=first, seeds=scenario.seeds[:count])


def test_on_empty_nodes_the_cost_is_the_formula_over_the_pods_life(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    cluster.advance(quiet.settings.start + 300.0)
    totals = Clairvoyant(quiet).totals(cluster, 0, np.array([1, 4, 7]))
    usage = foresee(quiet).of(0, cluster.now).usage.astype(np.float64)
    for node, total in zip((1, 4, 7), totals.tolist(), strict=True):
        cores, overhead = quiet.machines.cores[node], quiet.machines.overhead_cores[node]
        cost = (cores * ((overhead + usage) / cores) ** 8 - cores * (overhead / cores) ** 8).sum()
        assert total == pytest.approx(-cost, rel=1e-3)


def test_a_node_that_will_be_busy_when_the_pod_is_costs_more(quiet: Scenario) -> None:
    cluster, twin = SimulatedCluster(quiet), int(np.argsort(quiet.machines.cores, kind="stable")[1])
    cluster.advance(quiet.settings.start + 300.0)
    clairvoyant, nodes = Clairvoyant(quiet), np.arange(12)
    before = clairvoyant.totals(cluster, 1, nodes)
    cluster.bind(0, twin)
    after = clairvoyant.totals(cluster, 1, nodes)
    assert after[twin] < before[twin]
    assert np.delete(after, twin).tolist() == np.delete(before, twin).tolist()


def test_it_sees_nothing_of_pods_that_have_not_arrived(short: Scenario) -> None:
    whole = opinions(short)
    count = len(whole) // 2
    half = opinions(without_later(short, count))
    assert len(half) == count > 100
    assert all(whole[pod] == half[pod] for pod in range(count))


def test_what_it_remembers_is_what_a_first_look_at_the_cluster_shows_also_when_nodes_fail(scenario: Scenario) -> None:
    compared: list[int] = []

    def compare(cluster: SimulatedCluster, pod: int, nodes: Ints, totals: Floats) -> None:
        if pod % 97 == 0:
            assert totals == pytest.approx(Clairvoyant(scenario, futures).totals(cluster, pod, nodes), rel=1e-2)
            compared.append(pod)

    futures = foresee(scenario)
    assert scenario.failures
    report(scenario, Watched(scenario, compare))
    assert len(compared) > 5


def test_it_places_better_than_the_default_scores_and_those_better_than_chance(short: Scenario) -> None:
    chance, default, known = (report(short, policy) for policy in (Chance(), Default(), Clairvoyant(short)))
    assert known.hot80 < 0.5 * default.hot80 < 0.5 * chance.hot80
    assert known.unserved <= default.unserved <= chance.unserved
    assert known.spread < default.spread < chance.spread
