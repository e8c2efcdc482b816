import numpy as np
import pytest

from loadaware.demo.side import Pending, Side
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.scenario import Scenario


@pytest.fixture
def cluster(scenario: Scenario) -> SimulatedCluster:
    return SimulatedCluster(scenario)


@pytest.fixture
def side(cluster: SimulatedCluster, scenario: Scenario) -> Side:
    side = Side("loadaware", cluster)
    side.advance(scenario.settings.start + 120.0)
    return side


def test_pods_take_their_turn_in_order_of_arrival_with_the_nodes_they_fit_on(side: Side, scenario: Scenario) -> None:
    first, second = side.next_pending(), side.next_pending()
    assert first is not None
    assert second is not None
    assert (first.pod, second.pod) == (0, 1)
    assert first.nodes == scenario.machines.names
    assert first.manifest["metadata"]["name"] in first.key
    assert first.cores == pytest.approx(scenario.request_millicores[0] / 1000.0)


def test_binding_places_the_pod_and_shows_in_the_view(side: Side, cluster: SimulatedCluster) -> None:
    pending = side.next_pending()
    assert pending is not None
    assert side.bind(pending, "node-3")
    assert cluster.placements.node_of[pending.pod] == 2
    view = side.view()
    assert (view.name, view.running) == ("loadaware", 1)
    assert view.hot_now == 0


def test_a_node_that_filled_meanwhile_sends_the_pod_back_to_the_queue(side: Side, cluster: SimulatedCluster) -> None:
    pending = side.next_pending()
    assert pending is not None
    cluster.placements.requested[2] = cluster.placements.allocatable[2]
    assert not side.bind(pending, "node-3")
    turns = [side.next_pending() for _ in range(cluster.waiting)]
    assert pending.pod in [turn.pod for turn in turns if turn]


def test_a_pod_that_left_meanwhile_is_not_bound(side: Side, scenario: Scenario) -> None:
    def departure(pending: Pending) -> float:
        return float(scenario.arrivals.departure[pending.pod])

    shortest = min(iter(side.next_pending, None), key=departure)
    side.advance(departure(shortest) + 60.0)
    assert not side.bind(shortest, "node-3")


def test_whoever_fits_nowhere_is_tried_again_when_somebody_leaves(
    side: Side, cluster: SimulatedCluster, scenario: Scenario
) -> None:
    keeper = side.next_pending()
    assert keeper is not None
    assert side.bind(keeper, "node-1")
    full = cluster.placements.allocatable - cluster.placements.requested
    cluster.placements.requested += full
    assert side.next_pending() is None
    cluster.placements.requested -= full
    assert side.next_pending() is None
    side.advance(float(scenario.arrivals.departure[keeper.pod]) + 30.0)
    assert side.next_pending() is not None


def test_a_pod_for_which_no_node_was_allowed_waits(side: Side, cluster: SimulatedCluster) -> None:
    pending = side.next_pending()
    assert pending is not None
    side.set_aside(pending)
    assert cluster.waits(pending.pod)
    rest = [turn.pod for turn in iter(side.next_pending, None)]
    assert pending.pod not in rest


def test_default_totals_are_given_in_the_order_of_the_nodes_asked(side: Side) -> None:
    pending = side.next_pending()
    assert pending is not None
    forward = side.default_totals(pending, ["node-1", "node-2", "node-5"])
    backward = side.default_totals(pending, ["node-5", "node-2", "node-1"])
    assert forward.tolist() == backward[::-1].tolist()
    assert np.issubdtype(forward.dtype, np.integer)
