import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.node_resources_allocatable import NodeResourcesAllocatable
from tests.loadaware.builders import make_pod, nodes_of

POD = make_pod("web", cpu=1.0)
LEAST = NodeResourcesAllocatable()
MOST = NodeResourcesAllocatable(mode="Most")
MIB = 2**20


def machines(*sizes: tuple[int, int]) -> Nodes:
    """Nodes of so many millicores and bytes."""
    return nodes_of({f"m{n}": {"capacity": {"cpu": f"{c}m", "memory": m}} for n, (c, m) in enumerate(sizes, 1)})


PEER = [
    # millicores and bytes      least first      most first
    ([(4000, 10000), (4000, 10000)], [0.0, 0.0], [0.0, 0.0]),  # all equal: nothing
    ([(4000, 10000), (6000, 10000)], [100.0, 0.0], [0.0, 100.0]),
    ([(10000, 20000), (10000, 20000)], [0.0, 0.0], [0.0, 0.0]),
    ([(4000, 1000), (5000, 1000)], [100.0, 0.0], [0.0, 100.0]),
    ([(1000, 1000 * MIB), (2000, 2000 * MIB), (3000, 3000 * MIB)], [100.0, 50.0, 0.0], [0.0, 50.0, 100.0]),
]


@pytest.mark.parametrize(("sizes", "least", "most"), PEER)
def test_the_peers_own_cases_give_the_peers_own_numbers(
    sizes: list[tuple[int, int]], least: list[float], most: list[float]
) -> None:
    nodes = machines(*sizes)
    assert LEAST.normalize(LEAST.score(nodes, POD)).tolist() == pytest.approx(least)
    assert MOST.normalize(MOST.score(nodes, POD)).tolist() == pytest.approx(most)


def test_weights_decide_between_cpu_and_memory() -> None:
    nodes = machines((1000, 2000), (1005, 1000))
    by_cpu = {"cpu": float(2**30), "memory": 1.0}
    for mode, expected in (("Least", [100.0, 0.0]), ("Most", [0.0, 100.0])):
        scorer = make_scorer("NodeResourcesAllocatable", {"mode": mode, "resources": by_cpu})
        assert scorer.normalize(scorer.score(nodes, POD)).tolist() == expected
    memory = NodeResourcesAllocatable(resources={"memory": 1.0})
    assert memory.normalize(memory.score(nodes, POD)).tolist() == [0.0, 100.0]


def test_raw_is_the_weighted_mean_cut_to_a_whole_number_and_negative_for_least() -> None:
    nodes = machines((4000, 10000))
    # (2^20 * 4000 + 1 * 10000) / (2^20 + 1) = 3999.99...; the peer's integers give the same
    expected = (2**20 * 4000 + 10000) // (2**20 + 1)
    assert MOST.raw(nodes, POD).tolist() == [expected]
    assert LEAST.raw(nodes, POD).tolist() == [-expected]


def test_what_is_allocatable_counts_not_the_capacity_nor_what_is_requested() -> None:
    pods = [{"spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}}]
    nodes = nodes_of(
        {
            "a": {"allocatable": {"cpu": "1", "memory": "1Gi"}},
            "b": {"allocatable": {"cpu": "2", "memory": "1Gi"}, "pods": pods},
        }
    )
    assert LEAST.normalize(LEAST.score(nodes, POD)).tolist() == [100.0, 0.0]


def test_no_measurement_is_needed_but_the_resources_must_be_declared() -> None:
    nodes = nodes_of({"a": {"capacity": {"cpu": "1"}}, "b": {}, "c": {"capacity": {"cpu": "8", "memory": "64Gi"}}})
    np.testing.assert_array_equal(MOST.normalize(MOST.score(nodes, POD)), [math.nan, 0.0, 100.0])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"resources": {"memory": -1, "cpu": 1}}, r"args.resources\[memory\]: Expected float > 0"),
        ({"resources": {"memory": 1, "cpu": 0}}, r"args.resources\[cpu\]: Expected float > 0"),
        ({"resources": {}}, "args.resources"),
        ({"mode": "Middle"}, "args.mode"),
    ],
)
def test_args_out_of_range_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_scorer("NodeResourcesAllocatable", args)
