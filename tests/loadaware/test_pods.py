import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.manifests import Pod, Shape
from loadaware.pods import PodTable
from tests.loadaware.builders import GIB, make_pod, make_shape

RESOURCES = ("cpu", "memory")


def held(table: PodTable, identity: str) -> tuple[int, Shape, float]:
    pod = table.get(identity)
    assert pod is not None
    return pod.node_row, pod.shape, pod.bound_at


def test_a_pod_is_held_with_its_node_its_shape_and_when_it_was_bound() -> None:
    table = PodTable()
    pod = make_pod("web-1", cpu=0.5)
    table.put(pod, 3, 120.0)
    assert pod.identity in table
    assert held(table, pod.identity) == (3, pod.shape, 120.0)
    assert list(table.identities()) == [pod.identity]


def test_a_pod_that_is_not_held_is_none() -> None:
    table = PodTable()
    assert table.get("nobody") is None
    assert table.remove("nobody") is None
    assert "nobody" not in table


def test_putting_a_pod_again_replaces_it() -> None:
    table = PodTable()
    table.put(make_pod("web-1", cpu=0.5), 3, 120.0)
    table.put(make_pod("web-1", cpu=0.75), 3, 120.0)
    assert len(table) == 1
    assert held(table, "uid-web-1") == (3, make_shape(cpu=0.75), 120.0)


def test_replicas_share_one_shape() -> None:
    table = PodTable()
    for n in range(100):
        table.put(make_pod(f"web-{n}", cpu=0.5), n % 4, 0.0)
    assert table.shapes == [make_shape(cpu=0.5)]


def test_columns_tell_only_of_pods_that_are_held() -> None:
    table = PodTable()
    for n in range(5):
        table.put(make_pod(f"web-{n}", cpu=0.5 + n), n, float(n))
    table.remove("uid-web-2")
    columns = table.columns()
    assert columns.nodes.tolist() == [0, 1, 3, 4]
    assert columns.bound_at.tolist() == [0.0, 1.0, 3.0, 4.0]
    assert [table.shapes[number].request("cpu") for number in columns.shapes] == [0.5, 1.5, 3.5, 4.5]


def test_amounts_are_requests_and_the_larger_of_limit_and_request() -> None:
    table = PodTable()
    table.put(make_pod("a", shape=make_shape(cpu=0.5, memory=GIB, cpu_limit=2.0)), 0, 0.0)
    table.put(make_pod("b", shape=make_shape(cpu=1.5, memory_limit=3 * GIB, disk=7.0)), 0, 0.0)
    requests, limits = table.amounts(RESOURCES)
    assert requests.tolist() == [[0.5, GIB], [1.5, 0.0]]
    assert limits.tolist() == [[2.0, GIB], [1.5, 3 * GIB]]
    assert table.amounts(("disk",))[0].tolist() == [[0.0], [7.0]]


def test_slots_are_reused_so_churn_does_not_grow_the_table() -> None:
    table = PodTable()
    for n in range(5000):
        table.put(make_pod(f"job-{n}"), 0, float(n))
        table.remove(f"uid-job-{n}")
    assert len(table) == 0
    assert len(table._free) == 1024


def test_shapes_that_no_pod_has_any_more_are_forgotten() -> None:
    table = PodTable()
    for n in range(3000):
        table.put(make_pod(f"web-{n}", cpu=(n + 1) / 1000.0), 0, float(n))
    for n in range(3000):
        if n % 100:
            table.remove(f"uid-web-{n}")
    table.compact()
    assert len(table.shapes) == 30
    for n in range(0, 3000, 100):
        assert held(table, f"uid-web-{n}") == (0, make_shape(cpu=(n + 1) / 1000.0), float(n))
    table.put(make_pod("new", cpu=0.101), 0, 0.0)
    table.put(make_pod("newer", cpu=9.0), 0, 0.0)
    assert len(table.shapes) == 31
    assert held(table, "uid-newer") == (0, make_shape(cpu=9.0), 0.0)


def test_few_unused_shapes_are_kept_because_they_cost_less_than_moving() -> None:
    table = PodTable()
    table.put(make_pod("a", cpu=1.0), 0, 0.0)
    table.remove("uid-a")
    table.compact()
    assert table.shapes == [make_shape(cpu=1.0)]


pods = st.builds(make_pod, st.sampled_from("abcdefgh"), cpu=st.sampled_from([0.0, 0.1, 0.5]))
steps = st.lists(st.tuples(st.booleans(), pods, st.integers(0, 3)), max_size=60)


@given(steps)
def test_sums_per_node_equal_a_plain_count(told: list[tuple[bool, Pod, int]]) -> None:
    table = PodTable()
    plain: dict[str, tuple[int, float]] = {}
    for put, pod, row in told:
        if put:
            table.put(pod, row, 0.0)
            plain[pod.identity] = (row, pod.shape.request("cpu"))
        else:
            assert (table.remove(pod.identity) is None) == (plain.pop(pod.identity, None) is None)
    columns = table.columns()
    requests, _ = table.amounts(RESOURCES)
    amounts = requests[columns.shapes, 0] if len(table) else np.zeros(0)
    sums = np.bincount(columns.nodes, amounts, minlength=4)
    for row in range(4):
        np.testing.assert_allclose(sums[row], sum(cpu for r, cpu in plain.values() if r == row), atol=1e-12)
    assert len(table) == len(plain)
