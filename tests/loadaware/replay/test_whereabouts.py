import msgspec

from loadaware.replay.whereabouts import Whereabouts, requests_of
from loadaware.simulation.default_scores import default_scores
from tests.loadaware.recorded_runs import GIBIBYTE, node, pod


def cluster(*names: str) -> Whereabouts:
    where = Whereabouts()
    for name in names:
        where.node_seen(node(name, zone=name))
    return where


def test_requests_are_millicores_bytes_and_one_pod() -> None:
    assert requests_of(pod("x", cpu=0.25).shape).tolist() == [250, 2**30, 1]


def test_a_pod_is_on_one_node_at_a_time_and_leaves_nothing_behind() -> None:
    where = cluster("a", "b")
    where.put(pod("x"), "a")
    where.put(pod("x"), "b")
    assert where.node_of("uid-x") == "b"
    assert where.requested.tolist() == [[0, 0], [1000, int(GIBIBYTE)]]
    where.take("uid-x")
    where.take("uid-x")
    assert not where.requested.any()


def test_nodes_with_room_are_open_unless_they_are_closed() -> None:
    where = cluster("a", "b", "c")
    for number in range(4):
        where.put(pod(f"x-{number}"), "a")
    where.node_seen(msgspec.structs.replace(node("c"), unschedulable=True))
    assert where.open_to(pod("new")) == ("b",)


def test_a_node_that_fitted_in_reality_is_doubted_only_where_moves_added_to_it() -> None:
    where = cluster("a", "b")
    for number in range(5):
        where.put(pod(f"x-{number}"), "a")
    assert where.still_fitting(pod("new"), ("a", "b", "unheard-of")) == ("a", "b", "unheard-of")
    where.move_extra(pod("x-4").shape, "b", "a")
    assert where.still_fitting(pod("new"), ("a", "b", "unheard-of")) == ("b", "unheard-of")
    where.move_extra(pod("x-4").shape, "b", "a", sign=-1)
    assert where.still_fitting(pod("new"), ("a", "b")) == ("a", "b")


def test_replicas_are_counted_per_owner_as_nodes_come() -> None:
    where = cluster("a")
    where.put(pod("web-1", kind="ReplicaSet"), "a")
    where.node_seen(node("b"))
    where.put(pod("web-2", kind="ReplicaSet"), "b")
    where.put(pod("web-3", kind="Job"), "b")
    assert where.replicas(where.ask(pod("web-4", kind="ReplicaSet"))).tolist() == [1, 1]  # type: ignore[union-attr]
    assert where.replicas(where.ask(pod("web-4", kind="Job"))) is None
    where.take("uid-web-1")
    assert where.replicas(where.ask(pod("web-4", kind="ReplicaSet"))).tolist() == [0, 1]  # type: ignore[union-attr]


def test_kube_schedulers_default_scores_prefer_the_emptier_node() -> None:
    where = cluster("a", "b")
    where.put(pod("x"), "a")
    totals = default_scores(where, where.ask(pod("new")), where.rows(("a", "b")))  # type: ignore[arg-type]
    assert totals[1] > totals[0]


def test_a_node_that_goes_tells_who_is_still_on_it_and_returns_under_its_old_number() -> None:
    where = cluster("a", "b")
    where.put(pod("x"), "b")
    assert where.node_gone("b") == ["uid-x"]
    assert where.node_gone("b") == []
    assert list(where.present) == ["a"]
    where.node_seen(node("b"))
    assert where.rows(("b",)).tolist() == [1]


def test_pods_that_a_list_does_not_name_are_absent() -> None:
    where = cluster("a")
    where.put(pod("x"), "a")
    where.put(pod("y"), "a")
    assert where.absent(["uid-y"]) == ["uid-x"]
