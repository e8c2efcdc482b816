"""What is said of a node that we were not asked about."""

from loadaware.passed_over import passed_over
from tests.loadaware.builders import GIB, make_pod


def words(*cpu: float, free: float) -> str:
    pods = [make_pod(f"web-{n}", cpu=each, namespace="shop") for n, each in enumerate(cpu)]
    told = passed_over("node-1", pods, {"cpu": free, "memory": GIB})
    assert told is not None
    return str(told["words"])


def test_where_the_last_pod_has_no_room_the_amounts_are_told() -> None:
    assert words(0.5, 0.1, free=0.1) == (
        "kube-scheduler did not ask us about node-1 for any of the last 2 pods: by requests it is full; shop/web-0 "
        "requests 500m of cpu where 100m is free now, whatever is really used"
    )


def test_where_there_is_room_nothing_is_made_up() -> None:
    assert words(0.5, free=4.0) == (
        "kube-scheduler did not ask us about node-1 for the last pod: it ruled the node out by itself (room, taints, "
        "affinity), or found enough others first"
    )


def test_less_than_nothing_is_free_counts_as_nothing() -> None:
    assert "where 0m is free" in words(0.5, free=-1.0)


def test_without_a_pod_nothing_is_said() -> None:
    assert passed_over("node-1", [], {"cpu": 1.0}) is None
