import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.lowest_usage import LowestUsage
from tests.loadaware.builders import GIB, cpu_mean, make_pod, make_shape, nodes_of, snapshot_of

LOWEST = LowestUsage()
POD = make_pod("web", cpu=1.0)


def scores(nodes: Nodes, scorer: LowestUsage = LOWEST) -> list[float]:
    return list(scorer.normalize(scorer.score(nodes, POD)).tolist())


SCORES = [
    # cpu in percent      100 * (highest - u) / (highest - lowest)
    ({"a": 10.0, "b": 50.0, "c": 30.0}, [100.0, 0.0, 50.0]),
    ({"a": 50.0, "b": 50.0}, [100.0, 100.0]),
    ({"a": 50.0}, [100.0]),
    ({"a": 50.0, "b": 51.0}, [100.0, 0.0]),  # a small difference counts as much as a large one
    ({"a": 0.0, "b": 80.0, "c": 20.0, "d": 100.0}, [100.0, 20.0, 80.0, 0.0]),
]


@pytest.mark.parametrize(("usage", "expected"), SCORES)
def test_the_least_loaded_node_wins_over_the_whole_range(usage: Mapping[str, float], expected: list[float]) -> None:
    assert scores(nodes_of({name: cpu_mean(percent) for name, percent in usage.items()})) == pytest.approx(expected)


def test_utilization_counts_and_not_usage() -> None:
    nodes = nodes_of(
        {"small": {"capacity": {"cpu": "2"}, **cpu_mean(50)}, "large": {"capacity": {"cpu": "64"}, **cpu_mean(10)}}
    )
    assert scores(nodes) == [0.0, 100.0]


def test_resources_are_weighted() -> None:
    def used(cpu: int, memory: int) -> dict[str, Any]:
        return {"usage": {"cpu": {"mean": f"{cpu}%"}, "memory": {"mean": f"{memory}%"}}}

    nodes = nodes_of({"a": used(10, 90), "b": used(50, 10), "c": used(30, 30)})
    scorer = LowestUsage(resources={"cpu": 3.0, "memory": 1.0})
    # (3 * 10 + 90) / 4 = 30, (3 * 50 + 10) / 4 = 40, 30
    assert scorer.score(nodes, POD).tolist() == pytest.approx([-0.3, -0.4, -0.3])
    assert scores(nodes, scorer) == pytest.approx([100.0, 0.0, 100.0])


def test_a_node_that_was_not_measured_has_no_score_and_moves_no_other() -> None:
    nodes = nodes_of({"a": cpu_mean(10), "b": {}, "c": cpu_mean(20)})
    np.testing.assert_array_equal(scores(nodes), [100.0, math.nan, 0.0])


def test_a_node_without_cpu_has_no_score_and_spoils_none() -> None:
    empty = {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "1"}}}
    nodes = nodes_of({"a": cpu_mean(10), "empty": empty, "c": cpu_mean(20)})
    np.testing.assert_array_equal(scores(nodes), [100.0, math.nan, 0.0])


def in_flight(scorer: LowestUsage) -> Nodes:
    """Two nodes; the idle one has a pod of two cores in flight."""
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "2"}}}]}}
    snapshot = snapshot_of({"idle": {**cpu_mean(10), "inFlight": [pod]}, "busy": cpu_mean(40)})
    ledger = InFlight([scorer])
    ledger.restart(snapshot)
    whole = Nodes.of(snapshot)
    return Nodes(snapshot, whole.rows, ledger.requested, ledger.limits, ledger.pods, ledger.usage_for(scorer))


def test_pods_in_flight_count_unless_told_otherwise() -> None:
    # idle 10 % and 2 of 4 cores: 60 %
    assert scores(in_flight(LOWEST)) == [0.0, 100.0]
    blind = LowestUsage(count_in_flight=False)
    assert scores(in_flight(blind), blind) == [100.0, 0.0]


def test_a_pod_is_expected_to_use_what_it_requests() -> None:
    assert LOWEST.demand(make_shape(cpu=0.5, memory=GIB, cpu_limit=4.0)) == {"cpu": 0.5, "memory": GIB}


def test_raw_is_the_plain_extenders_number_negative_for_all_but_those_near_the_lowest() -> None:
    nodes = nodes_of({"a": cpu_mean(10), "b": cpu_mean(50), "c": {}, "d": cpu_mean(100)})
    # the lowest is 0.4 cores: 0.4 - 0.4 + 1, 0.4 - 2 + 1, not measured, 0.4 - 4 + 1
    np.testing.assert_allclose(LOWEST.raw(nodes, POD), [1.0, -0.6, math.nan, -2.6])
    assert np.isnan(LOWEST.raw(nodes_of({"a": {}}), POD)).all()


@pytest.mark.parametrize("resources", [{}, {"cpu": 0}, {"cpu": -1}, {"cpu": "much"}])
def test_weights_must_be_there_and_above_zero(resources: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"args\.resources"):
        make_scorer("LowestUsage", {"resources": resources})
