import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loadaware.demo.extender_client import NoAdvice
from loadaware.demo.scheduler import Scheduler, run_schedulers
from loadaware.demo.side import Side
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario
from tests.parts.processes import wait_for


class Favouring:
    """Passes these nodes, gives one of them points."""

    def __init__(self, nodes: Sequence[str], favourite: str = "", points: int = 0) -> None:
        self.nodes, self.favourite, self.points = nodes, favourite, points
        self.asked = 0

    def filter(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Sequence[str]:
        return [node for node in nodes if node in self.nodes]

    def prioritize(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Ints:
        self.asked += 1
        return np.array([self.points if node == self.favourite else 0 for node in nodes], dtype=np.int64)


@pytest.fixture
def cluster(scenario: Scenario) -> SimulatedCluster:
    return SimulatedCluster(scenario)


@pytest.fixture
def side(cluster: SimulatedCluster, scenario: Scenario) -> Side:
    side = Side("loadaware", cluster)
    side.advance(scenario.settings.start + 120.0)
    return side


def dice() -> np.random.Generator:
    return np.random.default_rng(1)


def test_an_extender_with_enough_points_decides(side: Side, cluster: SimulatedCluster, scenario: Scenario) -> None:
    scheduler = Scheduler(side, Favouring(scenario.machines.names, "node-6", 1000), dice())
    assert scheduler.cycle()
    assert cluster.placements.node_of[0] == 5
    decision = scheduler.decisions[-1]
    assert decision.first == "node-6"
    assert decision.second not in (None, "node-6")
    assert decision.lead > 500


def test_an_extender_without_points_leaves_the_choice_to_the_default_scores(side: Side, scenario: Scenario) -> None:
    scheduler = Scheduler(side, Favouring(scenario.machines.names), dice())
    for _ in range(20):
        assert scheduler.cycle()
    assert all(decision.default_choice == decision.first for decision in scheduler.decisions)


def test_points_are_added_to_the_sum_of_the_default_plugins(side: Side, scenario: Scenario) -> None:
    scheduler = Scheduler(side, Favouring(scenario.machines.names, "node-6", 1000), dice())
    twin = Side("twin", SimulatedCluster(scenario))
    twin.advance(scenario.settings.start + 120.0)
    pending = twin.next_pending()
    assert pending is not None
    totals = twin.default_totals(pending, pending.nodes)
    scheduler.cycle()
    assert scheduler.decisions[-1].lead == totals[5] + 1000 - np.delete(totals, 5).max()


def test_scores_are_not_asked_for_when_one_node_is_left(side: Side, cluster: SimulatedCluster) -> None:
    advice = Favouring(["node-2"])
    scheduler = Scheduler(side, advice, dice())
    scheduler.cycle()
    assert advice.asked == 0
    assert cluster.placements.node_of[0] == 1
    assert scheduler.decisions[-1].second is None


def test_a_pod_that_no_node_may_take_waits_and_the_next_gets_its_turn(side: Side, cluster: SimulatedCluster) -> None:
    scheduler = Scheduler(side, Favouring([]), dice())
    assert scheduler.cycle()
    assert scheduler.placed == 0
    assert cluster.waits(0)
    scheduler.drain()
    assert not scheduler.cycle()


def test_equal_seeds_place_equally_and_everything_is_placed(scenario: Scenario) -> None:
    clusters = [SimulatedCluster(scenario) for _ in range(2)]
    for each in clusters:
        side = Side("default", each)
        side.advance(scenario.settings.start + 300.0)
        scheduler = Scheduler(side, NoAdvice(), dice())
        scheduler.drain()
        assert each.waiting == 0
        assert scheduler.placed == each.running
    assert (clusters[0].placements.node_of == clusters[1].placements.node_of).all()


def test_the_scheduling_thread_serves_both_sides_and_ends_when_told(scenario: Scenario) -> None:
    stopping = threading.Event()
    sides = [Side(name, SimulatedCluster(scenario)) for name in ("loadaware", "default")]
    schedulers = [Scheduler(side, NoAdvice(), dice()) for side in sides]
    thread = threading.Thread(target=run_schedulers, args=(schedulers, stopping))
    thread.start()
    for side in sides:
        side.advance(scenario.settings.start + 300.0)
    wait_for(lambda: all(side.view().waiting == 0 for side in sides), "every pod to be placed")
    stopping.set()
    thread.join()
    assert schedulers[0].placed == schedulers[1].placed > 0
