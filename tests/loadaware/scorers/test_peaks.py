import math
from typing import Any

import numpy as np
import pytest

from collectors.manifests import Container, Pod, Shape, shape_of
from loadaware.errors import ConfigError
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.peaks import Peaks, PowerModel
from tests.loadaware.builders import cpu_mean, make_pod, make_shape, nodes_of, snapshot_of

MODEL = PowerModel(k0=471.7412504314313, k1=-91.50493019588365, k2=-0.07186049052516227)
PEAKS = Peaks(node_power_model={"node-1": MODEL})
EVERYWHERE = Peaks(node_power_model={"*": MODEL})
COMPATIBLE = Peaks(node_power_model={"*": MODEL}, compatible=True)


def one_core(**usage: Any) -> Nodes:
    return nodes_of({"node-1": {"capacity": {"cpu": "1", "memory": "1Gi"}, "usage": usage}})


def rise(before: float, after: float) -> float:
    return MODEL.k1 * (math.exp(MODEL.k2 * after) - math.exp(MODEL.k2 * before))


# -- The peer's own numbers -----------------------------------------------------------------------------------------


def test_a_pod_that_fills_an_idle_core_raises_power_as_the_peer_says() -> None:
    raw = PEAKS.raw(one_core(cpu={"latest": "0%"}), make_pod("web", cpu=1.0))
    # -91.50493 * (e^(-0.07186 * 100) - 1) * 1e15; a float has 16 of these between two of its values
    assert raw.tolist() == [pytest.approx(91435654157549680, abs=64)]


def test_overhead_without_any_request_adds_nothing() -> None:
    bare = Pod(shape=shape_of((), (), (("cpu", 0.5),)))
    assert PEAKS.raw(one_core(cpu={"latest": "0%"}), bare).tolist() == [0.0]


def test_a_node_that_was_not_measured_has_no_number_where_the_peer_says_zero() -> None:
    pod = make_pod("web", cpu_limit=2.0)
    for scorer in (PEAKS, COMPATIBLE):
        assert np.isnan(scorer.raw(one_core(), pod)).all()
        assert np.isnan(scorer.score(one_core(), pod)).all()
    memory_alone = one_core(memory={"mean": "50%"}, cpu={"deviation": "5%"})
    assert np.isnan(PEAKS.score(memory_alone, pod)).all()


PEER_NORMALIZE = [
    # raw      normalized
    ([0.0, 100.0], [100.0, 0.0]),
    ([0.0, 0.0], [0.0, 0.0]),  # all zero: unchanged
    ([100.0, 100.0], [100.0, 100.0]),  # all equal
    ([10.0, 20.0, 40.0], [100.0, 67.0, 0.0]),  # 100 - int(33.3)
    ([-50.0, 0.0], [100.0, 0.0]),
    ([0.0, math.nan, 50.0], [100.0, math.nan, 0.0]),
    ([math.nan], [math.nan]),
]


@pytest.mark.parametrize(("raw", "expected"), PEER_NORMALIZE)
def test_the_compatible_normalization_is_the_peers(raw: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(COMPATIBLE.normalize(np.array(raw)), expected)


# -- What a pod requests --------------------------------------------------------------------------------------------

DEMAND = [
    # containers' requests, init container's, overhead      cores
    ((), 0.0, 0.0, 0.0),
    ((0.2, 0.3), 0.0, 0.0, 0.5),
    ((0.2, 0.3), 0.4, 0.0, 0.5),
    ((0.2, 0.3), 0.8, 0.0, 0.8),  # an init container that needs more
    ((0.2, 0.3), 0.0, 0.1, 0.6),
    ((), 0.2, 0.1, 0.3),
    ((0.0,), 0.0, 0.1, 0.0),  # overhead alone
]


@pytest.mark.parametrize(("containers", "initial", "overhead", "cores"), DEMAND)
def test_a_pod_counts_at_what_kubernetes_says_it_requests(
    containers: tuple[float, ...], initial: float, overhead: float, cores: float
) -> None:
    declared = tuple(((("cpu", request),), ()) for request in containers)
    shape = shape_of(declared, (((("cpu", initial),), ()),) if initial else (), (("cpu", overhead),))
    assert EVERYWHERE.demand(shape) == {"cpu": pytest.approx(cores)}


def test_limits_are_not_requests() -> None:
    assert EVERYWHERE.demand(Shape(containers=(Container((), (("cpu", 2.0),)),))) == {"cpu": 0.0}


# -- The formula ----------------------------------------------------------------------------------------------------


def test_the_node_whose_power_rises_least_wins_and_the_others_stand_between() -> None:
    nodes = nodes_of({"idle": cpu_mean(0), "warm": cpu_mean(20), "hot": cpu_mean(60)})
    pod = make_pod("web", cpu=0.4)  # ten percent of four cores
    rises = [rise(0, 10), rise(20, 30), rise(60, 70)]
    assert EVERYWHERE.score(nodes, pod).tolist() == pytest.approx(rises)
    between = 100.0 * (1.0 - (rises[1] - rises[2]) / (rises[0] - rises[2]))
    # The curve is steep at the bottom, so the busiest node rises least: it packs.
    assert EVERYWHERE.normalize(EVERYWHERE.score(nodes, pod)).tolist() == pytest.approx([0.0, between, 100.0])


def test_each_node_has_its_own_model_and_others_that_of_the_star() -> None:
    steep = PowerModel(k0=0.0, k1=10.0, k2=0.01)
    scorer = Peaks(node_power_model={"own": steep, "*": MODEL})
    nodes = nodes_of({"own": cpu_mean(50), "other": cpu_mean(50)})
    own, other = scorer.score(nodes, make_pod("web", cpu=0.4)).tolist()
    assert own == pytest.approx(10.0 * (math.exp(0.6) - math.exp(0.5)))
    assert other == pytest.approx(rise(50, 60))


def test_a_node_without_a_model_is_not_scored() -> None:
    scorer = Peaks(node_power_model={"own": MODEL})
    nodes = nodes_of({"own": cpu_mean(50), "other": cpu_mean(50)})
    scores = scorer.normalize(scorer.score(nodes, make_pod("web", cpu=0.4)))
    np.testing.assert_array_equal(scores, [100.0, math.nan])
    assert np.isnan(Peaks().score(nodes, make_pod("web"))).all()


OVERLOADED = {"busy": cpu_mean(95), "warm": cpu_mean(20), "idle": cpu_mean(0)}


def test_a_node_that_would_be_overloaded_gets_nothing() -> None:
    scores = EVERYWHERE.normalize(EVERYWHERE.score(nodes_of(OVERLOADED), make_pod("web", cpu=0.4)))
    assert scores.tolist() == [0.0, 100.0, 0.0]


def test_the_peer_gives_an_overloaded_node_its_best_score_and_so_does_the_compatible_switch() -> None:
    pod = make_pod("web", cpu=0.4)
    raw = EVERYWHERE.raw(nodes_of(OVERLOADED), pod)
    assert raw[0] == 0.0
    assert COMPATIBLE.score(nodes_of(OVERLOADED), pod).tolist() == raw.tolist()
    scores = COMPATIBLE.normalize(COMPATIBLE.score(nodes_of(OVERLOADED), pod))
    assert scores[0] == 100.0
    assert scores[2] in {0.0, 1.0}  # 100 * x / x, cut to a whole number, loses a bit at times: there as here
    assert scores.tolist() == np.trunc(scores).tolist()


def test_when_all_would_be_overloaded_none_gets_anything() -> None:
    nodes = nodes_of({"a": cpu_mean(95), "b": cpu_mean(99)})
    assert EVERYWHERE.normalize(EVERYWHERE.score(nodes, make_pod("web", cpu=0.4))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("percent", "cores"), [(40.0, 3.0), (30.0, 7.0), (70.0, 1.93), (10.0, 96.0)])
def test_a_node_that_would_be_just_full_is_not_overloaded(percent: float, cores: float) -> None:
    state = {"capacity": {"cpu": cores}, **cpu_mean(percent)}
    pod = make_pod("web", cpu=cores * (100.0 - percent) / 100.0)
    score = EVERYWHERE.score(nodes_of({"node": state}), pod)
    assert score.tolist() == pytest.approx([rise(percent, 100.0)])


def test_capacity_counts_not_what_is_allocatable() -> None:
    state = {"allocatable": {"cpu": "1"}, **cpu_mean(20)}
    assert EVERYWHERE.score(nodes_of({"node": state}), make_pod("web", cpu=0.4)).tolist() == pytest.approx(
        [rise(20, 30)]
    )


def test_a_node_without_cpu_or_with_a_model_beyond_all_bounds_disturbs_nobody() -> None:
    wild = Peaks(node_power_model={"wild": PowerModel(0.0, 1.0, 50.0), "*": MODEL})
    states = {"empty": {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "1"}}}, "wild": cpu_mean(90)}
    nodes = nodes_of({**states, "a": cpu_mean(10), "b": cpu_mean(50)})
    scores = wild.normalize(wild.score(nodes, make_pod("web", cpu=0.04)))
    assert scores.tolist()[2:] == [0.0, 100.0]


def test_pods_in_flight_count_in_the_score_but_not_in_the_peers_number() -> None:
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "400m"}}}]}}
    snapshot = snapshot_of({"node": {**cpu_mean(20), "inFlight": [pod]}})
    ledger = InFlight([EVERYWHERE])
    ledger.restart(snapshot)
    whole = Nodes.of(snapshot)
    nodes = Nodes(
        snapshot, whole.rows, whole.requested_now, whole.limits_now, whole.pods_now, ledger.usage_for(EVERYWHERE)
    )
    asked = Pod(shape=make_shape(cpu=0.4))
    assert EVERYWHERE.score(nodes, asked).tolist() == pytest.approx([rise(30, 40)])
    assert EVERYWHERE.raw(nodes, asked).tolist() == pytest.approx([rise(20, 30) * 1e15])


def test_a_power_model_is_read_from_the_configuration_and_a_wrong_one_refused_with_its_path() -> None:
    model = {"k0": 1, "k1": 2.5, "k2": -0.1}
    assert make_scorer("Peaks", {"nodePowerModel": {"a": model}}) == Peaks(
        node_power_model={"a": PowerModel(1.0, 2.5, -0.1)}
    )
    with pytest.raises(ConfigError, match=r"args.nodePowerModel\[a\]"):
        make_scorer("Peaks", {"nodePowerModel": {"a": {"k0": 1, "k1": 2}}})
