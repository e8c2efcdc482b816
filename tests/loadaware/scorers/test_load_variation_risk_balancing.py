import numpy as np
import pytest

from collectors.manifests import Pod, Shape, pod_from_object, shape_of
from loadaware.changes import PodBound
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from tests.loadaware.builders import GIB, make_pod, make_shape, nodes_of, snapshot_of

BALANCING = LoadVariationRiskBalancing()
EMPTY = Pod(shape=Shape())
MIB = 2.0**20

Usage = dict[str, dict[str, str]]


def small_node(usage: Usage) -> Nodes:
    return nodes_of({"node": {"capacity": {"cpu": "1", "memory": "1Gi"}, "usage": usage}})


def percent(mean: float, deviation: float | None = None) -> dict[str, str]:
    told = {"mean": f"{mean}%"}
    return told if deviation is None else {**told, "deviation": f"{deviation}%"}


# -- The peer's own numbers -----------------------------------------------------------------------------------------

PEER = [
    # name, usage in percent, pod's request (cores, bytes), score
    ("new node", {"cpu": percent(50)}, (0.0, 0.0), 75.0),  # 1 - 0.5 / 2
    ("hot node", {"cpu": percent(100)}, (0.0, 0.0), 50.0),  # 1 - 1 / 2
    ("average and deviation", {"cpu": percent(30, 16)}, (0.2, 256 * MIB), 67.0),  # 1 - (0.5 + 0.16) / 2
    (
        "cpu and memory",
        {"cpu": percent(40, 16), "memory": percent(50, 10)},
        (0.1, 512 * MIB),
        45.0,  # cpu 1 - (0.5 + 0.16) / 2 = 0.67, memory 1 - (1 + 0.1) / 2 = 0.45
    ),
    (
        "the worse of cpu and memory",
        {"cpu": percent(80, 20), "memory": percent(25, 15)},
        (0.1, 512 * MIB),
        45.0,  # cpu 1 - (0.9 + 0.2) / 2 = 0.45, memory 1 - (0.75 + 0.15) / 2 = 0.55
    ),
]


@pytest.mark.parametrize(("usage", "request_of_pod", "score"), [row[1:] for row in PEER], ids=[row[0] for row in PEER])
def test_the_peers_own_cases_give_the_peers_own_numbers(
    usage: Usage, request_of_pod: tuple[float, float], score: float
) -> None:
    pod = make_pod("web", cpu=request_of_pod[0], memory=request_of_pod[1])
    assert BALANCING.raw(small_node(usage), pod).tolist() == [score]


def test_a_node_that_was_not_measured_has_no_number_where_the_peer_says_zero() -> None:
    assert np.isnan(BALANCING.raw(small_node({}), EMPTY)).all()
    assert np.isnan(BALANCING.score(small_node({}), EMPTY)).all()


ANALYSIS = [
    # mean, deviation, request of a capacity of 100; margin, sensitivity; score
    (40.0, 36.0, 10.0, 1.0, 1.0, 57.0),  # 1 - (0.5 + 0.36) / 2
    (-40.0, 36.0, 10.0, 1.0, 2.0, 65.0),  # a mean below zero is none: 1 - (0.1 + 0.6) / 2
    (40.0, -36.0, 10.0, 1.0, 2.0, 75.0),  # a deviation below zero is none: 1 - 0.5 / 2
    (200.0, 36.0, 10.0, 1.0, 2.0, 20.0),  # 1 - (1 + 0.6) / 2
    (40.0, 36.0, 10.0, 1.0, -1.0, 57.0),  # a sensitivity below zero takes no root
]


@pytest.mark.parametrize("row", ANALYSIS)
def test_the_peers_analysis_of_one_resource_gives_the_peers_own_numbers(row: tuple[float, ...]) -> None:
    mean, deviation, request_of_pod, margin, sensitivity, score = row
    scorer = LoadVariationRiskBalancing(safe_variance_margin=margin, safe_variance_sensitivity=sensitivity)
    nodes = nodes_of({"node": {"capacity": {"cpu": 100}, "usage": {"cpu": percent(mean, deviation)}}})
    assert scorer.raw(nodes, make_pod("web", cpu=request_of_pod)).tolist() == [score]


MU_SIGMA = [
    # request, mean, deviation of a capacity of 1000      mu, sigma
    (100.0, 400.0, 360.0, 0.5, 0.36),
    (100.0, 1400.0, 300.0, 1.0, 0.3),
    (100.0, 400.0, 1600.0, 0.5, 1.0),
    (0.0, 1400.0, 1600.0, 1.0, 1.0),
    (0.0, -100.0, 200.0, 0.0, 0.2),
    (400.0, 0.0, -200.0, 0.4, 0.0),
]


@pytest.mark.parametrize(("request_of_pod", "mean", "deviation", "mu", "sigma"), MU_SIGMA)
def test_mu_and_sigma_are_clamped_shares_of_the_capacity(
    request_of_pod: float, mean: float, deviation: float, mu: float, sigma: float
) -> None:
    usage = {"cpu": {"mean": str(mean), "deviation": str(deviation)}}
    nodes = nodes_of({"node": {"capacity": {"cpu": 1000}, "usage": usage}})
    pod = make_pod("web", cpu=request_of_pod)
    assert BALANCING.score(nodes, pod).tolist() == pytest.approx([100.0 * (1.0 - (mu + sigma) / 2.0)])
    without = LoadVariationRiskBalancing(safe_variance_margin=0.0).score(nodes, pod)
    assert without.tolist() == pytest.approx([100.0 * (1.0 - mu / 2.0)])


def test_a_node_that_has_nothing_has_no_score_and_no_warning() -> None:
    # The peer's mu and sigma of a capacity of zero are zero, and its score is zero; to us it was not measured.
    nodes = nodes_of({"node": {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "0", "deviation": "0"}}}})
    assert np.isnan(BALANCING.score(nodes, EMPTY)).all()
    assert np.isnan(BALANCING.raw(nodes, EMPTY)).all()


REQUESTED = [
    # containers (cpu, memory), init container, overhead cpu      requested
    ([(1.0, 2048), (0.5, 1024)], (0.1, 512), 0.01, (1.51, 3072)),
    ([(1.0, 2048), (0.5, 1024)], (2.0, 4096), 0.01, (2.01, 4096)),
    ([(0.0, 0), (0.0, 209715200), (1.0, 419430400)], (0.0, 0), 0.0, (1.0, 629145600)),
]


@pytest.mark.parametrize(("containers", "initial", "overhead", "requested"), REQUESTED)
def test_a_pod_requests_the_larger_of_its_containers_and_any_init_container_plus_overhead(
    containers: list[tuple[float, float]],
    initial: tuple[float, float],
    overhead: float,
    requested: tuple[float, float],
) -> None:
    def declared(amounts: tuple[float, float]) -> dict[str, dict[str, dict[str, float]]]:
        return {"resources": {"requests": {"cpu": amounts[0], "memory": amounts[1]}}}

    pod = pod_from_object(
        {
            "spec": {
                "containers": [declared(c) for c in containers],
                "initContainers": [declared(initial)],
                "overhead": {"cpu": overhead},
            }
        }
    )
    demand = BALANCING.demand(pod.shape)
    assert [demand["cpu"], demand["memory"]] == pytest.approx(list(requested))


# -- The formula ----------------------------------------------------------------------------------------------------

SPREAD = [
    # margin and sensitivity, deviation in percent      sigma
    (1.0, 1.0, 25.0, 0.25),
    (1.0, 2.0, 25.0, 0.5),  # 0.25 ^ (1 / 2)
    (2.0, 1.0, 25.0, 0.5),
    (8.0, 1.0, 25.0, 1.0),  # clamped
    (1.0, 0.5, 25.0, 0.0625),  # 0.25 ^ 2
    (1.0, 0.0, 25.0, 0.0),  # 0.25 ^ infinity
    (1.0, 0.0, 100.0, 1.0),
    (1.0, -1.0, 25.0, 0.25),
    (0.0, 1.0, 25.0, 0.0),
]


@pytest.mark.parametrize(("margin", "sensitivity", "deviation", "sigma"), SPREAD)
def test_margin_and_sensitivity_shape_the_deviation(
    margin: float, sensitivity: float, deviation: float, sigma: float
) -> None:
    scorer = LoadVariationRiskBalancing(safe_variance_margin=margin, safe_variance_sensitivity=sensitivity)
    score = scorer.score(small_node({"cpu": percent(0, deviation)}), EMPTY)
    assert score.tolist() == pytest.approx([100.0 * (1.0 - sigma / 2.0)])


@pytest.mark.parametrize(
    ("usage", "score"),
    [
        ({"cpu": percent(50)}, 75.0),
        ({"memory": percent(50)}, 75.0),
        ({"cpu": percent(20), "memory": percent(50)}, 75.0),
        ({"cpu": percent(50), "memory": {"deviation": "10%"}}, 75.0),  # a deviation alone measures nothing
        ({"cpu": {"latest": "50%"}}, 75.0),  # a source that tells no mean
        ({"cpu": {"mean": "50%", "latest": "90%"}}, 75.0),
    ],
)
def test_the_worse_of_the_resources_that_were_measured_counts(usage: Usage, score: float) -> None:
    assert BALANCING.score(small_node(usage), EMPTY).tolist() == pytest.approx([score])


def test_a_deviation_without_a_mean_is_not_idleness() -> None:
    assert np.isnan(BALANCING.score(small_node({"cpu": {"deviation": "10%"}}), EMPTY)).all()


def test_the_score_is_of_what_is_allocatable_and_raw_takes_the_percentage_as_the_peer_does() -> None:
    state = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "2"}, "usage": {"cpu": percent(25, 5)}}
    nodes = nodes_of({"node": state})
    pod = make_pod("web", cpu=0.5)
    # score: used 1.0 + 0.5 of 2 -> 0.75, deviation 0.2 of 2 -> 0.1      raw: 25 % + 0.5 of 2 -> 0.5, deviation 5 %
    assert BALANCING.score(nodes, pod).tolist() == pytest.approx([57.5])
    assert BALANCING.raw(nodes, pod).tolist() == [73.0]  # 72.5, half away from zero


def test_pods_in_flight_count_in_the_score_at_what_they_request_but_not_in_the_peers_number() -> None:
    snapshot = snapshot_of({"node": {"capacity": {"cpu": "4", "memory": "16Gi"}, "usage": {"cpu": percent(25)}}})
    ledger = InFlight([BALANCING])
    ledger.restart(snapshot)
    ledger.bound(PodBound("x", "node", make_shape(cpu=1.0, memory=4 * GIB), 1.0))
    nodes = Nodes(
        snapshot,
        Nodes.of(snapshot).rows,
        ledger.requested,
        ledger.limits,
        ledger.pods,
        ledger.usage_for(BALANCING),
    )
    assert BALANCING.score(nodes, EMPTY).tolist() == pytest.approx([75.0])
    assert BALANCING.raw(nodes, EMPTY).tolist() == [88.0]  # 87.5


def test_a_pod_is_expected_to_use_what_it_requests() -> None:
    shape = shape_of((((("cpu", 0.5),), (("cpu", 2.0),)), ((("memory", GIB),), ())))
    assert BALANCING.demand(shape) == {"cpu": 0.5, "memory": GIB}
