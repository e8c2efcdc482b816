"""The arithmetic is written out: millicores and bytes as kube-scheduler holds them, divisions cut as Go cuts them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.default_plugins import (
    allocation_scores,
    balance,
    balanced_allocation,
    least_allocated,
    pod_topology_spread,
)
from loadaware.simulation.default_scores import best, default_scores
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements
from loadaware.simulation.scenario import Scenario


def table(*rows: tuple[int, int]) -> Ints:
    return np.array(rows, dtype=np.int64)


@pytest.mark.parametrize(
    ("requested", "allocatable", "expected"),
    [
        # CPU (4000 - 3000) * 100 / 4000 = 25, memory (10000 - 5000) * 100 / 10000 = 50: (25 + 50) / 2 = 37.5
        ((3000, 5000), (4000, 10_000), 37),
        # CPU (6000 - 3000) * 100 / 6000 = 50, memory the same 50
        ((3000, 5000), (6000, 10_000), 50),
        # CPU (3000 - 1000) * 100 / 3000 = 66.67 -> 66, memory 0 requested: 100; (66 + 100) / 2
        ((1000, 0), (3000, 10_000), 83),
        # more requested than there is counts as none left
        ((5000, 5000), (4000, 10_000), 25),
        # full is 0, empty is 100
        ((4000, 10_000), (4000, 10_000), 0),
        ((0, 0), (4000, 10_000), 100),
        # a resource that the node does not have is left out: 25 / 1
        ((3000, 0), (4000, 0), 25),
        ((0, 0), (0, 0), 0),
    ],
)
def test_least_allocated_is_the_free_share_cut_to_integers(
    requested: tuple[int, int], allocatable: tuple[int, int], expected: int
) -> None:
    assert least_allocated(table(requested), table(allocatable)).tolist() == [expected]


@pytest.mark.parametrize(
    ("requested", "allocatable", "expected"),
    [
        # shares 0.75 and 0.5: (1 - 0.25 / 2) * 100 = 87.5
        ((3000, 5000), (4000, 10_000), 87),
        # shares 0.5 and 0.5
        ((3000, 5000), (6000, 10_000), 100),
        # shares 1 and 0: the worst there is
        ((4000, 0), (4000, 10_000), 50),
        # a share is at most 1: 1 and 0.5
        ((9000, 5000), (4000, 10_000), 75),
        # with one resource there is nothing to balance
        ((3000, 0), (4000, 0), 100),
    ],
)
def test_balance_is_how_far_the_shares_of_cpu_and_memory_are_apart(
    requested: tuple[int, int], allocatable: tuple[int, int], expected: int
) -> None:
    assert balance(table(requested), table(allocatable)).tolist() == [expected]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # balance 100 -> 100: 50 + (50 + 0) / 2
        ((0, 0), (1000, 2500), 75),
        # balance 100 -> 87: 50 + (50 - 13) / 2 = 50 + 18.5
        ((0, 0), (1000, 0), 68),
        # balance 87 -> 100: 50 + (50 + 13) / 2 = 50 + 31.5
        ((1000, 0), (1000, 2500), 81),
    ],
)
def test_balanced_allocation_rewards_a_pod_that_mends_the_balance(
    before: tuple[int, int], after: tuple[int, int], expected: int
) -> None:
    assert balanced_allocation(table(before), table(after), table((4000, 10_000))).tolist() == [expected]


def test_topology_spread_is_even_where_there_are_no_replicas() -> None:
    # every raw score is 2 + 4 = 6: 100 * (6 + 6 - 6) / 6
    scores = pod_topology_spread(np.zeros(4, dtype=np.int64), np.array([0, 0, 1, 1]), np.arange(4))
    assert scores.tolist() == [100, 100, 100, 100]


def test_topology_spread_counts_replicas_on_the_node_and_in_its_zone() -> None:
    # four nodes: ln 6 = 1.792; two zones: ln 4 = 1.386; zone 0 has 3 replicas, zone 1 has 1
    # node 0: 2 * 1.792 + 2 + 3 * 1.386 + 4 = 13.74 -> 14      100 * (14 + 7 - 14) / 14 = 50
    # node 1: 1 * 1.792 + 2 + 3 * 1.386 + 4 = 11.95 -> 12      100 * (14 + 7 - 12) / 14 = 64.28
    # node 2: 1 * 1.792 + 2 + 1 * 1.386 + 4 =  9.18 ->  9      100 * (14 + 7 -  9) / 14 = 85.71
    # node 3: 0 * 1.792 + 2 + 1 * 1.386 + 4 =  7.39 ->  7      100 * (14 + 7 -  7) / 14 = 100
    scores = pod_topology_spread(np.array([2, 1, 1, 0]), np.array([0, 0, 1, 1]), np.arange(4))
    assert scores.tolist() == [50, 64, 85, 100]


def test_topology_spread_scores_feasible_nodes_but_counts_replicas_on_all_in_their_zones() -> None:
    # nodes 1 and 2 feasible, zones 0 and 1: both logarithms are ln 4 = 1.386; node 0 is full but in zone 0
    # node 1: 0 + 2 + 3 * 1.386 + 4 = 10.16 -> 10              100 * (10 + 6 - 10) / 10 = 60
    # node 2: 0 + 2 + 0 + 4         =  6                       100 * (10 + 6 -  6) / 10 = 100
    scores = pod_topology_spread(np.array([3, 0, 0]), np.array([0, 0, 1]), np.array([1, 2]))
    assert scores.tolist() == [60, 100]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(0, 12_000), st.integers(0, 30_000)),
        min_size=1,
        max_size=30,
    )
)
def test_every_score_lies_between_nothing_and_a_hundred(rows: list[tuple[int, int, int, int]]) -> None:
    replicas, zones, cpu, memory = np.array(rows, dtype=np.int64).T
    requested, allocatable = np.column_stack([cpu, memory]), np.full((len(rows), 2), 10_000)
    for scores in (
        least_allocated(requested, allocatable),
        balanced_allocation(requested, requested + 500, allocatable),
        pod_topology_spread(replicas, zones, np.arange(len(rows))),
    ):
        assert scores.dtype == np.int64
        assert scores.min() >= 0
        assert scores.max() <= 100


def test_the_total_weighs_topology_spread_twice(scenario: Scenario) -> None:
    placements = Placements(scenario)
    groups = scenario.spread_groups
    first, second = np.flatnonzero(groups == groups[groups >= 0][0])[:2].tolist()
    placements.put(first, 0)
    nodes = np.arange(12)
    after = placements.requested + placements.requests[second]
    replicas = placements.replicas(second)
    assert replicas is not None
    expected = (
        least_allocated(after, placements.allocatable)
        + balanced_allocation(placements.requested, after, placements.allocatable)
        + 2 * pod_topology_spread(replicas, placements.zones, nodes)
    )
    assert default_scores(placements, second, nodes).tolist() == expected.tolist()


def test_a_jobs_pod_is_not_spread(scenario: Scenario) -> None:
    placements = Placements(scenario)
    job = int(np.flatnonzero(scenario.spread_groups < 0)[0])
    assert default_scores(placements, job, np.arange(12)).max() <= 200


def test_of_equal_totals_each_is_picked_now_and_then() -> None:
    random = np.random.default_rng(1)
    picked = {best(np.array([3, 7, 7, 1, 7]), random) for _ in range(100)}
    assert picked == {1, 2, 4}
    assert best(np.array([3, 7, 5]), random) == 1


AMOUNTS = st.tuples(st.integers(1, 256_000), st.integers(1, 2**42))


@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=20),
    st.tuples(st.integers(0, 9000), st.integers(0, 2**36)),
)
def test_both_allocation_scores_at_once_are_the_same_to_the_digit(
    nodes: list[tuple[tuple[int, int], tuple[int, int]]], request: tuple[int, int]
) -> None:
    before, allocatable = (np.array([node[which] for node in nodes], dtype=np.int64) for which in (0, 1))
    after = before + np.array(request)
    one_by_one = least_allocated(after, allocatable) + balanced_allocation(before, after, allocatable)
    wanted = float(request[0]), float(request[1])
    at_once = allocation_scores(before.astype(np.float64), wanted, allocatable.astype(np.float64))
    assert at_once.tolist() == one_by_one.tolist()
