import math

import numpy as np
import pytest
from msgspec import structs

from collectors.cluster import PodSeen
from collectors.manifests import Pod
from loadaware.nodes import Nodes
from loadaware.scorers.entropic_risk import EntropicRisk
from tests.loadaware.builders import Clock, make_pod, snapshot_of
from tests.loadaware.test_expectations import running, warm_core

CPU_ONLY = EntropicRisk(k={"cpu": 10.0})


def nodes_of(**cpu: dict[str, str]) -> Nodes:
    return Nodes.of(snapshot_of({name: {"usage": {"cpu": usage}} for name, usage in cpu.items()}))


def log_rise(mean: float, deviation: float, request: float, capacity: float = 8.0, k: float = 10.0) -> float:
    """ln(C/C) - k + g' + ln(1 - exp(g - g')), written out."""
    before = k * mean / capacity + k**2 * deviation**2 / (2 * capacity**2)
    after = before + k * request / capacity
    return after - k + math.log(1 - math.exp(before - after))


def test_without_pod_metrics_the_nodes_own_mean_and_deviation_make_the_rise() -> None:
    nodes = nodes_of(calm={"mean": "2", "deviation": "0"}, wild={"mean": "2", "deviation": "1"})
    capacity = float(nodes.capacity("cpu")[0])
    scores = CPU_ONLY.score(nodes, make_pod(cpu=0.5))
    assert scores.tolist() == pytest.approx([-log_rise(2.0, 0.0, 0.5, capacity), -log_rise(2.0, 1.0, 0.5, capacity)])


def test_the_score_is_the_ratio_to_the_least_rise() -> None:
    # Half of L = 1 worse than the best: 50; all of it or more: 0.
    assert CPU_ONLY.normalize(np.array([-2.0, -2.5, -3.0, -9.0, np.nan])).tolist() == pytest.approx(
        [100.0, 50.0, 0.0, 0.0, np.nan], nan_ok=True
    )


def test_on_unequal_nodes_equal_utilization_is_equally_good_for_a_small_pod() -> None:
    snapshot = snapshot_of(
        {
            "small": {"capacity": {"cpu": "8", "memory": "32Gi"}, "usage": {"cpu": {"mean": "50%"}}},
            "large": {"capacity": {"cpu": "32", "memory": "128Gi"}, "usage": {"cpu": {"mean": "50%"}}},
        }
    )
    small, large = CPU_ONLY.normalize(CPU_ONLY.score(Nodes.of(snapshot), make_pod(cpu=0.001))).tolist()
    assert small == pytest.approx(large, abs=0.5)


def test_memory_near_its_end_outweighs_idle_cpu() -> None:
    snapshot = snapshot_of(
        {
            "full": {"usage": {"cpu": {"mean": "10%"}, "memory": {"mean": "95%"}}},
            "fair": {"usage": {"cpu": {"mean": "40%"}, "memory": {"mean": "40%"}}},
        }
    )
    scorer = EntropicRisk()
    full, fair = scorer.normalize(scorer.score(Nodes.of(snapshot), make_pod(cpu=0.1, memory=2.0**30))).tolist()
    assert fair > full


def test_a_pod_avoids_the_node_where_its_siblings_are() -> None:
    clock = Clock()
    core = warm_core(clock)
    core.tell(PodSeen(running("other-1", "a", clock())), PodSeen(running("web-7", "b", clock())))
    live = core.adviser.in_flight.expectations
    live.cumulants[:, :, 0] = [4.0, 1.0, 0.5]  # the same everywhere, so that only the siblings' common peaks can decide
    rows = np.arange(2)
    nodes = structs.replace(Nodes.of(core.snapshot), rows=rows, expectations=live)
    with_stranger, with_sibling = CPU_ONLY.score(nodes, make_pod("web-8", cpu=1.0)).tolist()
    assert with_stranger > with_sibling


def test_the_third_moment_of_node_and_pod_makes_the_rise_steeper() -> None:
    clock = Clock()
    core = warm_core(clock)
    live = core.adviser.in_flight.expectations
    live.cumulants[:2, :, 0] = [[4.0, 1.0, 0.0], [4.0, 1.0, 2.0]]  # the same mean and variance, rare peaks on b
    nodes = structs.replace(Nodes.of(core.snapshot), rows=np.arange(2), expectations=live)
    pod, capacity, k = make_pod("other-1", cpu=1.0), float(nodes.capacity("cpu")[0]), 10.0
    usage = live.of(pod, "default/Pod/other")
    m, sd, t = (float(values[0]) for values in (usage.mean, usage.deviation, usage.skew))
    assert t > 0.1
    rise = k * m / capacity + (k * sd / capacity) ** 2 / 2 + (k * t / capacity) ** 3 / 6
    level = [k * 4.0 / capacity + k**2 * 1.0 / (2 * capacity**2) + k**3 * third / (6 * capacity**3) for third in (0, 2)]
    expected = [-(before - k + math.log(math.expm1(rise))) for before in level]
    assert CPU_ONLY.score(nodes, pod).tolist() == pytest.approx(expected)


def test_nothing_measured_is_not_scored() -> None:
    assert np.isnan(CPU_ONLY.score(nodes_of(unknown={}), Pod())).all()
