import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.manifests import Container, Pod, Shape, shape_of
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.quantities import Quantity
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.snapshot import Snapshot
from tests.loadaware.builders import make_pod, nodes_of, snapshot_of

PACKING = TargetLoadPacking()
NOTHING_BY_DEFAULT = TargetLoadPacking(default_requests={})


def one_node(percent: float | None, cores: float = 1.0, statistic: str = "mean") -> Nodes:
    usage = {} if percent is None else {"cpu": {statistic: f"{percent}%"}}
    return nodes_of({"node": {"capacity": {"cpu": cores, "memory": "1Gi"}, "usage": usage}})


def shape(*containers: tuple[float, float], overhead: float = 0.0) -> Shape:
    """Containers as (cpu request, cpu limit); zero is not declared."""
    declared = tuple(
        ((("cpu", request),) if request else (), (("cpu", limit),) if limit else ()) for request, limit in containers
    )
    return shape_of(declared, (), (("cpu", overhead),) if overhead else ())


EMPTY = Pod(shape=Shape())

# -- The peer's own numbers -----------------------------------------------------------------------------------------

PEER = [
    # latest %   pod                       score
    (0.0, EMPTY, 40.0),  # new node: 60 * 0 / 40 + 40
    (50.0, EMPTY, 33.0),  # hot node: 40 * 50 / 60 = 33.3
    (30.0, Pod(shape=shape((1.0, 1.0))), 0.0),  # 30 + 100 > 100
]


@pytest.mark.parametrize(("percent", "pod", "score"), PEER, ids=["new node", "hot node", "excess"])
def test_the_peers_own_cases_give_the_peers_own_numbers(percent: float, pod: Pod, score: float) -> None:
    assert NOTHING_BY_DEFAULT.raw(one_node(percent, statistic="latest"), pod).tolist() == [score]


def test_a_node_that_was_not_measured_has_no_number_where_the_peer_says_zero() -> None:
    nodes = one_node(None)
    assert np.isnan(PACKING.raw(nodes, EMPTY)).all()
    assert np.isnan(PACKING.score(nodes, EMPTY)).all()


def test_the_defaults_are_the_peers() -> None:
    assert PACKING.target_utilization == 40.0
    assert PACKING.default_requests == {"cpu": 1.0}
    assert PACKING.default_requests_multiplier == 1.5


# -- The formula ----------------------------------------------------------------------------------------------------

FORMULA = [
    # mean %, cores, pod cores    U = 100 * (mean + pod) / capacity      score
    (0.0, 1.0, 0.0, 40.0),  # U 0:     60 * 0 / 40 + 40
    (20.0, 1.0, 0.0, 70.0),  # U 20:    60 * 20 / 40 + 40
    (20.0, 4.0, 0.4, 85.0),  # U 30:    60 * 30 / 40 + 40
    (40.0, 1.0, 0.0, 100.0),  # U 40:    the target itself
    (30.0, 4.0, 0.4, 100.0),  # U 40:    reached with the pod
    (40.0, 4.0, 0.4, 100 / 3),  # U 50:    40 * 50 / 60
    (70.0, 4.0, 0.0, 20.0),  # U 70:    40 * 30 / 60
    (100.0, 1.0, 0.0, 0.0),  # U 100
    (90.0, 4.0, 0.8, 0.0),  # U 110
    (150.0, 1.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("percent", "cores", "pod_cores", "score"), FORMULA)
def test_nodes_fill_up_to_the_target_and_then_fall(
    percent: float, cores: float, pod_cores: float, score: float
) -> None:
    pod = Pod(shape=shape((0.0, pod_cores))) if pod_cores else EMPTY
    assert PACKING.score(one_node(percent, cores), pod).tolist() == pytest.approx([score])


def test_just_past_the_target_the_score_falls_from_100_to_the_target() -> None:
    before, after = PACKING.score(nodes_of({"a": used("40%"), "b": used("40.000001%")}), EMPTY)
    assert before == 100.0
    assert after == pytest.approx(40.0, abs=1e-4)


def used(mean: str) -> dict[str, object]:
    return {"usage": {"cpu": {"mean": mean}}}


@pytest.mark.parametrize("cores", [1.0, 1.93, 3.0, 6.0, 7.0, 7.91, 96.0])
def test_a_node_exactly_at_the_target_is_at_the_target_whatever_its_size(cores: float) -> None:
    assert PACKING.score(one_node(40.0, cores), EMPTY).tolist() == [100.0]


@pytest.mark.parametrize(
    ("target", "percent", "score"),
    [
        (60.0, 30.0, 80.0),  # 40 * 30 / 60 + 60
        (60.0, 80.0, 30.0),  # 60 * 20 / 40
        (10.0, 5.0, 55.0),  # 90 * 5 / 10 + 10
        (99.0, 99.5, 49.5),  # 99 * 0.5 / 1
    ],
)
def test_the_target_is_a_setting(target: float, percent: float, score: float) -> None:
    scorer = TargetLoadPacking(target_utilization=target)
    assert scorer.score(one_node(percent), EMPTY).tolist() == pytest.approx([score])


@pytest.mark.parametrize(("percent", "raw"), [(25.0, 78.0), (35.0, 93.0), (55.0, 30.0), (46.0, 36.0), (97.75, 2.0)])
def test_halves_are_rounded_away_from_zero_as_go_does(percent: float, raw: float) -> None:
    # 77.5 -> 78, 92.5 -> 93, 30.0, 36.0, 1.5 -> 2
    for cores in (1.0, 3.0, 7.0):
        assert PACKING.raw(one_node(percent, cores), EMPTY).tolist() == [raw]


def test_the_mean_goes_before_the_latest_value() -> None:
    nodes = nodes_of({"a": {"usage": {"cpu": {"mean": "20%", "latest": "90%"}}}})
    assert PACKING.score(nodes, EMPTY).tolist() == pytest.approx([70.0])


def test_capacity_counts_not_what_is_allocatable() -> None:
    nodes = nodes_of({"a": {"allocatable": {"cpu": "1"}, "usage": {"cpu": {"mean": "800m"}}}})
    assert PACKING.score(nodes, EMPTY).tolist() == pytest.approx([70.0])


def test_a_node_without_cpu_has_no_score_and_no_warning() -> None:
    nodes = nodes_of({"a": {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "0%"}}}, "b": {"capacity": {}}})
    assert np.isnan(PACKING.score(nodes, EMPTY)).all()


# -- What a pod is expected to use ----------------------------------------------------------------------------------

DEMAND = [
    # containers (request, limit), overhead      cores
    (shape(), 0.0),
    (shape((0.0, 0.0)), 1.0),  # nothing declared: the default request
    (shape((0.2, 0.0)), 0.3),  # 1.5 * request
    (shape((0.2, 0.25)), 0.25),  # a limit is taken as it is
    (shape((0.0, 2.0)), 2.0),
    (shape((0.2, 0.0), (0.0, 0.5), (0.0, 0.0)), 1.8),  # 0.3 + 0.5 + 1
    (shape((0.2, 0.0), overhead=0.05), 0.35),
    (shape((0.001, 0.0)), 0.002),  # round(1.5) millicores
    (shape((1.001, 0.0)), 1.502),  # round(1501.5), not 1501 for a lost bit
    (shape((1.003, 0.0)), 1.505),  # round(1504.5)
    (shape((0.0000001, 0.0)), 0.002),  # Kubernetes counts a part of a millicore as one: round(1.5)
]


@pytest.mark.parametrize(("declared", "cores"), DEMAND)
def test_a_pod_is_expected_to_use_its_limits_else_half_again_its_requests_else_the_default(
    declared: Shape, cores: float
) -> None:
    assert PACKING.demand(declared) == {"cpu": pytest.approx(cores)}


@given(st.integers(1, 200_000))
def test_every_request_in_millicores_is_multiplied_and_rounded_as_go_does(millis: int) -> None:
    demand = PACKING.demand(shape((millis / 1000.0, 0.0)))["cpu"]
    assert demand == math.floor(millis * 1.5 + 0.5) / 1000.0


def test_init_containers_are_not_counted() -> None:
    declared = Shape(containers=(Container((("cpu", 0.2),)),), init_containers=(Container((("cpu", 8.0),)),))
    assert PACKING.demand(declared) == {"cpu": pytest.approx(0.3)}


def test_defaults_and_multiplier_are_settings() -> None:
    scorer = TargetLoadPacking(default_requests={"cpu": Quantity(0.1)}, default_requests_multiplier=2.0)
    assert scorer.demand(shape((0.0, 0.0), (0.25, 0.0))) == {"cpu": pytest.approx(0.6)}
    assert NOTHING_BY_DEFAULT.demand(shape((0.0, 0.0))) == {"cpu": 0.0}


# -- In flight ------------------------------------------------------------------------------------------------------


def in_flight(snapshot: Snapshot, scorer: TargetLoadPacking) -> Nodes:
    ledger = InFlight([scorer], "Trimaran")
    ledger.restart(snapshot)
    whole = Nodes.of(snapshot)
    return Nodes(snapshot, whole.rows, ledger.requested, ledger.limits, ledger.pods, ledger.usage_for(scorer))


def test_pods_in_flight_count_at_the_scorers_own_price() -> None:
    def manifest(**declared: dict[str, str]) -> dict[str, object]:
        return {"spec": {"containers": [{"resources": declared}]}}

    pods = [manifest(limits={"cpu": "400m"}), manifest(requests={"cpu": "200m"}), manifest()]
    snapshot = snapshot_of({"a": {"capacity": {"cpu": "10"}, "usage": {"cpu": {"mean": "10%"}}, "inFlight": pods}})
    nodes = in_flight(snapshot, PACKING)
    # 1 + 0.4 + 0.3 + 1 = 2.7 of 10, and the pod itself 0.3: U = 30
    pod = make_pod("web", cpu=0.2)
    assert PACKING.score(nodes, pod).tolist() == pytest.approx([85.0])
    assert PACKING.raw(nodes, pod).tolist() == [85.0]
