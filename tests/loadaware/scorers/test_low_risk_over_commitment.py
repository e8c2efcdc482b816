from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from collectors.manifests import Pod, Shape, pod_from_object
from loadaware.changes import PodBound
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.low_risk_over_commitment import LowRiskOverCommitment
from tests.loadaware.builders import make_pod, make_shape, nodes_of, snapshot_of

RISK = LowRiskOverCommitment()
BEST_EFFORT = Pod(shape=Shape())
LARGE = "1Ti"


def placed(cpu_request: int, cpu_limit: int, memory: str = "0") -> dict[str, Any]:
    """A pod on a node; cpu in millicores."""
    resources = {"requests": {"cpu": f"{cpu_request}m", "memory": memory}, "limits": {"cpu": f"{cpu_limit}m"}}
    return {"spec": {"containers": [{"resources": resources}]}}


def node(mean: float, deviation: float, requested: int, limits: int) -> Nodes:
    """Four cores, used by so many percent, with one pod of these millicores on it."""
    usage = {"cpu": {"mean": f"{mean}%", "deviation": f"{deviation}%"}}
    pods = [placed(requested, limits)] if limits else []
    return nodes_of({"node": {"capacity": {"cpu": "4", "memory": LARGE}, "usage": usage, "pods": pods}})


def asked(request: int, limit: int) -> Pod:
    return Pod(shape=make_shape(cpu=request / 1000.0, cpu_limit=limit / 1000.0))


def cpu_risk(nodes: Nodes, pod: Pod, scorer: LowRiskOverCommitment = RISK) -> float:
    return float(scorer.risk(nodes, pod, "cpu", nodes.capacity("cpu"))[0])


# -- The peer's own numbers -----------------------------------------------------------------------------------------


def test_a_pod_that_declares_nothing_gets_nothing_as_the_peer_has_it() -> None:
    state = {"capacity": {"cpu": "1", "memory": "1Gi"}, "usage": {"cpu": {"mean": "20%"}}}
    assert RISK.raw(nodes_of({"node": state}), BEST_EFFORT).tolist() == [0.0]
    assert RISK.score(nodes_of({"node": state}), BEST_EFFORT).tolist() == [0.0]


def test_what_is_neither_cpu_nor_memory_does_not_count_as_declared() -> None:
    storage = Pod(shape=make_shape(**{"ephemeral-storage": 1e9}))
    assert RISK.score(node(20, 0, 1000, 2000), storage).tolist() == [0.0]


PEER = [
    # mean %, deviation %   R-, L- without the pod   pod's request, limit (millicores of 4000)   risk
    (80, 0, 1000, 2000, 1000, 1000, 0.5),  # L 3000 <= C: 0; 0.8 > R-/C 0.25: P 0           0.5 * 0 + 0.5 * 1
    (80, 0, 3000, 4000, 1000, 1000, 1.0),  # (5000 - 4000) / (5000 - 4000); 0.8 > 0.75      0.5 * 1 + 0.5 * 1
]


@pytest.mark.parametrize("row", PEER)
def test_the_peers_own_risks_are_met(row: tuple[float, ...]) -> None:
    mean, deviation, requested, limits, request, limit, risk = row
    nodes = node(mean, deviation, int(requested), int(limits))
    assert cpu_risk(nodes, asked(int(request), int(limit))) == risk
    assert RISK.raw(nodes, asked(int(request), int(limit))).tolist() == [round(100 * (1 - risk))]


DERIVED = [
    # mean %, deviation %   R-, L-   request, limit    risk limit, P (30 digits)            risk
    (30, 10, 1000, 2000, 500, 1000, 0.1917184601),  # 0, Beta(0.96, 2.24): P(0.25) / P(0.5) = 0.6165630798
    (30, 10, 2000, 5000, 500, 1000, 0.3866853090),  # 2000 / 3500, P(0.5) = 0.7980579534
    (30, 10, 1000, 5000, 1000, 1000, 0.5039734652),  # 2000 / 4000, P(0.25) = 0.4920530696
    (50, 10, 2000, 2000, 1000, 1000, 0.0),  # 0, Beta(2, 2): P(0.5) / P(0.5) = 1
    (50, 50, 1000, 8000, 1000, 4000, 0.6513768365),  # 8000 / 10000, deviation at its most: 0.4972463269
    (0, 10, 1000, 2000, 500, 500, 0.0),  # a mean of zero: 1
    (100, 10, 2000, 5000, 500, 500, 0.75),  # 1500 / 3000, a full node cannot vary: 0
    (100, 10, 4000, 5000, 500, 500, 0.5),  # 1500 / 1500 (requests capped at 4000), 1 <= 4000 / 4000: 1
    (20, 0, 1000, 2000, 500, 500, 0.0),  # 0, 0.20 <= 0.25: 1
    (25, 0, 1000, 2000, 500, 500, 0.0),  # 0, 0.25 <= 0.25: 1
    (26, 0, 1000, 2000, 500, 500, 0.5),  # 0, 0.26 > 0.25: 0
    (40, 5, 0, 0, 500, 500, 0.0),  # nothing on the node: zero over zero is 1
    (40, 5, 6000, 9000, 1000, 2000, 0.5),  # 7000 / 7000 (requests capped), P(1) = 1
]


@pytest.mark.parametrize("row", DERIVED)
def test_risks_are_those_of_the_formula(row: tuple[float, ...]) -> None:
    mean, deviation, requested, limits, request, limit, risk = row
    nodes = node(mean, deviation, int(requested), int(limits))
    pod = asked(int(request), int(limit))
    assert cpu_risk(nodes, pod) == pytest.approx(risk, abs=1e-9)
    assert RISK.score(nodes, pod).tolist() == pytest.approx([100.0 * (1.0 - risk)], abs=1e-6)


SETTINGS = [
    # settings     risk of the row (30, 10, 2000, 5000, 500, 1000), risk limit 0.5714285714
    ({"risk_limit_weights": {"cpu": 0.2}}, 0.2758393516),  # 0.2 * 0.5714 + 0.8 * (1 - 0.7980579534)
    ({"risk_limit_weights": {"cpu": 0.0}}, 0.2019420466),
    ({"risk_limit_weights": {"cpu": 1.0}}, 0.5714285714),
    ({"risk_limit_weights": {"memory": 1.0}}, 0.3866853090),  # what is left out weighs a half
    ({"smoothing_window_size": 1}, 0.3016063145),  # Beta(6, 14): P(0.5) = 0.9682159424
    ({"smoothing_window_size": 20}, 0.4356331632),  # Beta(0.015, 0.035): P(0.5) = 0.700162245
]


@pytest.mark.parametrize(("settings", "risk"), SETTINGS)
def test_weights_and_smoothing_are_settings(settings: dict[str, Any], risk: float) -> None:
    scorer = LowRiskOverCommitment(**settings)
    assert cpu_risk(node(30, 10, 2000, 5000), asked(500, 1000), scorer) == pytest.approx(risk, abs=1e-9)


def test_the_defaults_are_the_peers() -> None:
    assert RISK.smoothing_window_size == 5
    assert RISK.risk_limit_weights == {"cpu": 0.5, "memory": 0.5}
    assert make_scorer("LowRiskOverCommitment", {}) == RISK


# -- Cpu and memory -------------------------------------------------------------------------------------------------


def two_resources(usage: Mapping[str, Any]) -> Nodes:
    pods = [{"spec": {"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}]
    return nodes_of({"node": {"capacity": {"cpu": "4", "memory": "4Gi"}, "usage": usage, "pods": pods}})


def steady(percent: int) -> dict[str, str]:
    return {"mean": f"{percent}%", "deviation": "0%"}


@pytest.mark.parametrize(
    ("cpu", "memory", "score"),
    [
        (20, 20, 100.0),  # both below the quarter that is requested
        (80, 20, 50.0),
        (20, 80, 50.0),
        (80, 80, 50.0),  # the worse counts, not the sum
    ],
)
def test_the_worse_of_cpu_and_memory_counts(cpu: int, memory: int, score: float) -> None:
    nodes = two_resources({"cpu": steady(cpu), "memory": steady(memory)})
    assert RISK.score(nodes, make_pod("web", cpu=0.5)).tolist() == [score]


def test_a_resource_that_was_not_measured_has_no_load_risk_and_a_node_without_any_no_score() -> None:
    pod = make_pod("web", cpu=0.5)
    assert RISK.score(two_resources({"cpu": steady(20)}), pod).tolist() == [100.0]
    assert RISK.score(two_resources({"memory": steady(80)}), pod).tolist() == [50.0]
    for nothing in (two_resources({}), two_resources({"cpu": {"deviation": "10%"}})):
        assert np.isnan(RISK.score(nothing, pod)).all()
        assert np.isnan(RISK.raw(nothing, pod)).all()
        assert np.isnan(RISK.score(nothing, BEST_EFFORT)).all()


def test_a_source_that_tells_the_latest_value_alone_is_taken_at_its_word() -> None:
    assert RISK.score(two_resources({"cpu": {"latest": "80%"}}), make_pod("web", cpu=0.5)).tolist() == [50.0]


def test_limits_below_requests_count_as_the_requests() -> None:
    pods = [placed(3000, 1000)]
    state = {"capacity": {"cpu": "4", "memory": LARGE}, "usage": {"cpu": steady(10)}, "pods": pods}
    nodes = nodes_of({"node": state})
    # R- 3000, L- 3000; with the pod R 4000 (capped), L 6000: (6000 - 4000) / (6000 - 4000) = 1
    assert cpu_risk(nodes, asked(3000, 0)) == 0.5


# -- Exactness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "millis"), [(40, 100), (10, 400), (30, 133), (57, 70), (3, 1333)])
def test_pods_that_fill_a_node_exactly_promise_no_more_than_it_has(count: int, millis: int) -> None:
    total = count * millis
    state = {
        "capacity": {"cpu": f"{total + millis}m", "memory": LARGE},
        "usage": {"cpu": {"mean": f"{total}m", "deviation": "0"}},
        "pods": [placed(millis, millis) for _ in range(count)],
    }
    # With the pod L = R = C, so nothing is promised above it; and the mean is what is requested, so P = 1.
    assert RISK.score(nodes_of({"node": state}), asked(millis, millis)).tolist() == [100.0]


def test_the_score_is_of_what_is_allocatable_and_raw_takes_the_percentage_as_the_peer_does() -> None:
    state = {
        "capacity": {"cpu": "4", "memory": LARGE},
        "allocatable": {"cpu": "2", "memory": LARGE},
        "usage": {"cpu": steady(40)},
        "pods": [placed(1000, 4000)],
    }
    nodes = nodes_of({"node": state})
    pod = asked(100, 100)
    # riskLimit = (4100 - 2000) / (4100 - 1100) = 0.7
    # score: 1.6 of 2 cores = 0.8 > 1000 / 2000      raw: 40 % = 0.4 <= 1000 / 2000
    assert RISK.score(nodes, pod).tolist() == pytest.approx([100 * (1 - (0.35 + 0.5))])
    assert RISK.raw(nodes, pod).tolist() == [65.0]


def test_a_node_that_has_nothing_of_a_resource_disturbs_nobody() -> None:
    pod = make_pod("web", cpu=0.5)
    states: dict[str, dict[str, Any]] = {
        "empty": {"capacity": {"cpu": 0, "memory": "4Gi"}, "usage": {"cpu": {"mean": "1"}, "memory": steady(10)}},
        "other": {"usage": {"cpu": steady(10)}, "pods": [placed(1000, 1000)]},
    }
    assert RISK.score(nodes_of(states), pod).tolist()[1] == 100.0


def test_a_node_that_hardly_varies_is_as_one_that_does_not() -> None:
    # risk limit (5010 - 4000) / (5010 - 1010) = 0.2525; 0.24 <= 1000 / 4000 < 0.26
    for deviation in (0.0, 1e-3, 1e-5, 1e-7):
        assert cpu_risk(node(24, deviation, 1000, 5000), asked(10, 10)) == pytest.approx(0.12625)
        assert cpu_risk(node(26, deviation, 1000, 5000), asked(10, 10)) == pytest.approx(0.62625)


def test_a_distribution_is_found_by_its_moments() -> None:
    # mean 1/2 and variance 1/12 are those of the flat one, Beta(1, 1): P(x) = x
    scorer = LowRiskOverCommitment(smoothing_window_size=1, risk_limit_weights={"cpu": 0.0})
    for requested in (400, 1000, 2000, 3600):
        nodes = node(50, 100 * (1 / 12) ** 0.5, requested, 4000)
        assert cpu_risk(nodes, asked(100, 100), scorer) == pytest.approx(1.0 - requested / 4000, abs=1e-9)


LIMITS = [
    # containers' limits (millicores, bytes)      init container's, overhead      the pod's limits
    ([(1000, 2048), (500, 1024)], (2000, 4096), 10, (2010, 4096)),
    ([(1000, 4096), (2500, 2048)], (2000, 4096), 10, (3510, 6144)),
    ([(0, 0), (0, 2048), (1000, 0)], (2000, 4096), 0, (2000, 4096)),
]


@pytest.mark.parametrize(("containers", "initial", "overhead", "limits"), LIMITS)
def test_a_pods_limits_are_the_larger_of_its_containers_and_any_init_container_plus_overhead(
    containers: list[tuple[int, int]], initial: tuple[int, int], overhead: int, limits: tuple[int, int]
) -> None:
    def declared(amounts: tuple[int, int]) -> dict[str, Any]:
        return {"resources": {"limits": {"cpu": f"{amounts[0]}m", "memory": amounts[1]}}}

    spec = {
        "containers": [declared(c) for c in containers],
        "initContainers": [declared(initial)],
        "overhead": {"cpu": f"{overhead}m"},
    }
    shape = pod_from_object({"spec": spec}).shape
    assert (shape.limit("cpu"), shape.limit("memory")) == pytest.approx((limits[0] / 1000.0, limits[1]))


def test_init_containers_and_overhead_are_in_requests_and_limits() -> None:
    def declared(request: str, limit: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": request}, "limits": {"cpu": limit}}}

    pod = pod_from_object(
        {
            "spec": {
                "containers": [declared("500m", "1"), declared("500m", "1500m")],
                "initContainers": [declared("100m", "3")],
                "overhead": {"cpu": "10m"},
            }
        }
    )
    # request max(1000, 100) + 10, limit max(2500, 3000) + 10; with 1000 and 2000 there: (5010 - 4000) / (5010 - 2010)
    assert cpu_risk(node(10, 0, 1000, 2000), pod) == pytest.approx(0.5 * 1010 / 3000)


# -- Placed but not measured ----------------------------------------------------------------------------------------


def test_pods_bound_since_the_snapshot_are_in_the_sums() -> None:
    usage = {"cpu": steady(10)}
    snapshot = snapshot_of({"node": {"capacity": {"cpu": "4", "memory": LARGE}, "usage": usage}})
    ledger = InFlight([RISK])
    ledger.restart(snapshot)
    ledger.bound(PodBound("x", "node", make_shape(cpu=1.0, cpu_limit=5.0), 1.0))
    nodes = Nodes(snapshot, Nodes.of(snapshot).rows, ledger.requested, ledger.limits, ledger.pods)
    # R- 1000, L- 5000: 0.1 <= 0.25, P = 1; with the pod (6000 - 4000) / (6000 - 2000)
    assert cpu_risk(nodes, asked(1000, 1000)) == pytest.approx(0.25)
