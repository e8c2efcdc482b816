import math
from typing import Any

import numpy as np
import pytest

from loadaware.pod_sums import PodSums, sum_up
from loadaware.pods import PodTable
from tests.loadaware.builders import make_pod, make_shape

RESOURCES = ("cpu", "memory")
NODES = 3


def table_of(*pods: tuple[int, dict[str, Any]]) -> PodTable:
    """Pods p0, p1 ... by the row of their node and their facts; bound at 1000 unless told otherwise."""
    table = PodTable(len(RESOURCES))
    for number, (row, facts) in enumerate(pods):
        bound_at = facts.pop("bound_at", 1000.0)
        table.put(make_pod(f"p{number}", **facts), row, bound_at)
    return table


def summed(
    table: PodTable, seen: float = -math.inf, positions: tuple[int, ...] = (0, 1, 2), high: int = 9000
) -> PodSums:
    """Sums over three nodes, whose windows have seen every pod bound before `seen`."""
    return sum_up(table, np.array(positions, dtype=np.intp), RESOURCES, np.full(NODES, seen), high)


# -- Requests and limits --------------------------------------------------------------------------------------------


def test_requests_limits_and_pods_are_summed_per_node() -> None:
    sums = summed(
        table_of(
            (0, {"cpu": 1.0, "memory": 10.0}),
            (0, {"cpu": 0.5, "cpu_limit": 2.0}),
            (2, {"shape": make_shape(cpu=2.0, memory=5.0, cpu_limit=1.0, memory_limit=8.0)}),
        )
    )
    assert sums.requested.tolist() == [[1.5, 10.0], [0.0, 0.0], [2.0, 5.0]]
    # per pod the larger of limit and request: 1 + 2, 10 + 0; max(1, 2), max(8, 5)
    assert sums.limits.tolist() == [[3.0, 10.0], [0.0, 0.0], [2.0, 8.0]]
    assert sums.counts.tolist() == [2.0, 0.0, 1.0]


def test_resources_that_are_not_kept_are_left_out() -> None:
    sums = summed(table_of((0, {"shape": make_shape(cpu=1.0, gpu=4.0)})))
    assert sums.requested.tolist()[0] == [1.0, 0.0]


def test_without_pods_everything_is_zero_and_of_usage_nothing_is_known() -> None:
    sums = summed(PodTable(len(RESOURCES)))
    assert sums.requested.tolist() == [[0.0, 0.0]] * NODES
    assert sums.counts.tolist() == sums.terminating.tolist() == [0.0] * NODES
    assert np.isnan(sums.high_priority_usage).all()
    assert len(sums.placed.rows) == 0
    assert sums.applications.rows_of("default/web").tolist() == []


def test_pods_of_nodes_without_a_position_do_not_count_and_positions_may_differ_from_rows() -> None:
    table = table_of((0, {"cpu": 1.0, "labels": {"app": "db"}}), (1, {"cpu": 2.0}), (2, {"cpu": 4.0}))
    sums = summed(table, positions=(-1, 2, 0))
    assert sums.requested[:, 0].tolist() == [4.0, 0.0, 2.0]
    assert sums.counts.tolist() == [1.0, 0.0, 1.0]
    assert sums.placed.rows.tolist() == [2, 0]
    assert sums.applications.rows_of("default/db").tolist() == []


def test_a_pod_that_left_no_longer_counts_nor_does_the_one_in_its_place_inherit_from_it() -> None:
    table = table_of((0, {"cpu": 1.0, "priority": 9000, "deleted_at": 5.0, "labels": {"app": "db"}}))
    table.measure(table.measured(("default/p0",)), np.array([[0.7, 1.0]]))
    table.remove("uid-p0")
    table.put(make_pod("next", cpu=2.0), 1, 2000.0)
    sums = summed(table)
    assert sums.requested[:, 0].tolist() == [0.0, 2.0, 0.0]
    assert sums.terminating.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(sums.high_priority_usage).all()
    assert sums.applications.rows_of("default/db").tolist() == []


# -- Terminating and of high priority -------------------------------------------------------------------------------


def test_pods_that_are_being_deleted_are_counted_apart() -> None:
    sums = summed(table_of((0, {"deleted_at": 900.0}), (0, {}), (1, {"deleted_at": 950.0})))
    assert sums.terminating.tolist() == [1.0, 1.0, 0.0]
    assert sums.counts.tolist() == [2.0, 1.0, 0.0]


def test_usage_of_high_priority_pods_is_what_was_measured_of_them() -> None:
    table = table_of((0, {"priority": 9000}), (0, {"priority": 10_000}), (0, {"priority": 8999}), (1, {"priority": 0}))
    names = tuple(f"default/p{n}" for n in range(4))
    table.measure(table.measured(names), np.array([[1.0, 10.0], [2.0, math.nan], [4.0, 40.0], [8.0, 80.0]]))
    assert summed(table).high_priority_usage.tolist() == [[3.0, 10.0], [0.0, 0.0], [0.0, 0.0]]
    assert summed(table, high=0).high_priority_usage.tolist() == [[7.0, 50.0], [8.0, 80.0], [0.0, 0.0]]


def test_where_no_pod_was_ever_measured_nothing_is_known_of_high_priority_usage() -> None:
    assert np.isnan(summed(table_of((0, {"priority": 9000}))).high_priority_usage).all()


# -- Recently bound -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound_at", "recent"), [(99.9, False), (100.0, True), (5000.0, True), (-math.inf, False), (math.nan, True)]
)
def test_a_pod_is_recent_if_some_sample_of_the_window_has_not_seen_it(bound_at: float, recent: bool) -> None:
    placed = summed(table_of((1, {"bound_at": bound_at})), seen=100.0).placed
    assert placed.rows.tolist() == ([1] if recent else [])


def test_on_a_node_that_was_never_measured_every_pod_is_recent() -> None:
    placed = summed(table_of((1, {"bound_at": 1.0}), (1, {"bound_at": -math.inf})), seen=-math.inf).placed
    assert placed.rows.tolist() == [1, 1]


def test_recent_pods_come_with_their_shape_and_what_was_measured_of_them() -> None:
    table = table_of((0, {"cpu": 1.0, "bound_at": 50.0}), (2, {"cpu": 3.0, "bound_at": 200.0}))
    table.measure(table.measured(("default/p1",)), np.array([[0.5, 7.0]]))
    placed = summed(table, seen=100.0).placed
    assert [table.shapes[number].request("cpu") for number in placed.shapes.tolist()] == [3.0]
    assert placed.bound_at.tolist() == [200.0]
    assert placed.usage is not None
    assert placed.usage.tolist() == [[0.5, 7.0]]


# -- Applications ---------------------------------------------------------------------------------------------------


def test_pods_are_found_by_their_application_each_on_its_node() -> None:
    table = table_of(
        (0, {"labels": {"app.kubernetes.io/name": "db", "app": "other"}}),
        (2, {"labels": {"app": "db"}}),
        (2, {"labels": {"k8s-app": "db"}}),
        (1, {"labels": {"app": "web"}}),
        (1, {"labels": {"app": "db"}, "namespace": "shop"}),
        (0, {}),
    )
    applications = summed(table).applications
    assert sorted(applications.rows_of("default/db").tolist()) == [0, 2, 2]
    assert applications.rows_of("default/web").tolist() == [1]
    assert applications.rows_of("shop/db").tolist() == [1]
    assert applications.rows_of("default/other").tolist() == []
    assert applications.rows_of("nobody").tolist() == []
