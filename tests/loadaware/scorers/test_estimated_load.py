from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Shape, shape_of
from collectors.reading import Measurements
from loadaware.core import Core
from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.observer import ObserverSettings
from loadaware.plugins import make_scorer
from loadaware.quantities import Duration, Quantity
from loadaware.scorers.estimated_load import EstimatedLoad
from tests.loadaware.builders import (
    GIB,
    Clock,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    make_shape,
    nodes_of,
    snapshot_of,
)

ESTIMATED = EstimatedLoad()
MIB = 2.0**20


# -- What a pod is estimated to use ---------------------------------------------------------------------------------

ESTIMATES = [
    # request, limit (cores)      round(max(limit, request) * 85 / 100) millicores, at most the limit
    (0.0, 0.0, 0.25),  # nothing declared
    (1.0, 0.0, 0.85),
    (4.0, 4.0, 3.4),
    (1.0, 4.0, 3.4),  # the limit is the larger
    (4.0, 1.0, 1.0),  # 3.4, at most the limit
    (0.01, 0.0, 0.009),  # 8.5 -> 9
    (0.57, 0.0, 0.485),  # 484.5 -> 485, not 484 for a lost bit
    (0.001, 0.0, 0.001),  # 0.85 -> 1
    (0.0001, 0.0, 0.001),  # Kubernetes counts a part of a millicore as one
]


@pytest.mark.parametrize(("request_of_pod", "limit", "cores"), ESTIMATES)
def test_cpu_is_estimated_at_85_percent_of_what_is_declared(request_of_pod: float, limit: float, cores: float) -> None:
    demand = ESTIMATED.demand(make_shape(cpu=request_of_pod, cpu_limit=limit))
    assert demand["cpu"] == pytest.approx(cores)


MEMORY_ESTIMATES = [
    # request, limit (bytes)      round(max(limit, request) * 70 / 100) bytes, at most the limit
    (0.0, 0.0, 200 * MIB),
    (8 * GIB, 0.0, 6012954214.0),  # 6012954214.4
    (10.0, 0.0, 7.0),
    (5.0, 0.0, 4.0),  # 3.5 -> 4
    (GIB, 2 * GIB, 1503238554.0),  # 1503238553.6
    (2 * GIB, 1024.0, 1024.0),
]


@pytest.mark.parametrize(("request_of_pod", "limit", "amount"), MEMORY_ESTIMATES)
def test_memory_is_estimated_at_70_percent_of_what_is_declared(
    request_of_pod: float, limit: float, amount: float
) -> None:
    demand = ESTIMATED.demand(make_shape(memory=request_of_pod, memory_limit=limit))
    assert demand["memory"] == amount


def test_init_containers_and_overhead_count_as_kubernetes_counts_them() -> None:
    half, whole = (("cpu", 0.5),), (("cpu", 1.0),)
    shape = shape_of(((half, ()),), ((whole, ()),), (("cpu", 0.2),))
    assert ESTIMATED.demand(shape)["cpu"] == pytest.approx(1.02)  # 1200 * 85 / 100


@given(st.integers(1, 200_000), st.integers(1, 100))
def test_every_request_in_millicores_is_scaled_and_rounded_in_whole_millicores(millis: int, factor: int) -> None:
    scorer = EstimatedLoad(estimated_scaling_factors={"cpu": factor})
    demand = scorer.demand(make_shape(cpu=millis / 1000.0))
    assert demand == {"cpu": (2 * millis * factor + 100) // 200 / 1000.0}


def test_factors_and_defaults_are_settings() -> None:
    scorer = EstimatedLoad(
        estimated_scaling_factors={"cpu": 50.0, "gpu": 100.0}, default_requests={"cpu": Quantity(0.1)}
    )
    assert scorer.demand(make_shape(cpu=1.0, gpu=2.0)) == {"cpu": 0.5, "gpu": 2.0}
    assert scorer.demand(Shape()) == {"cpu": 0.1, "gpu": 0.0}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"estimatedScalingFactors": {"cpu": 0}}, r"args.estimatedScalingFactors\[cpu\]: Expected float > 0"),
        ({"estimatedScalingFactors": {"cpu": 101}}, r"args.estimatedScalingFactors\[cpu\]: Expected float <= 100"),
        ({"resourceWeights": {"cpu": -1}}, r"args.resourceWeights\[cpu\]: Expected float >= 0"),
        ({"aggregated": "p42"}, "args.aggregated"),
    ],
)
def test_args_out_of_range_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_scorer("EstimatedLoad", args)


# -- The score ------------------------------------------------------------------------------------------------------

HUNDRED = {"capacity": {"cpu": "100", "memory": "100"}}


def hundred(cpu: str | None, memory: str | None) -> Nodes:
    usage = {r: {"mean": used} for r, used in (("cpu", cpu), ("memory", memory)) if used is not None}
    return nodes_of({"node": {**HUNDRED, "usage": usage}})


SCORES = [
    # used cpu, memory of 100; the pod is estimated at 10 of each      (room cpu + room memory) / 2
    ("0", "0", 90.0),
    ("50", "20", 55.0),  # (40 + 70) / 2
    ("90", "40", 25.0),  # (0 + 50) / 2
    ("95", "40", 25.0),  # used above total is no room, not less than none
    ("100", "100", 0.0),
]
TEN_OF_EACH = EstimatedLoad(estimated_scaling_factors={"cpu": 100.0, "memory": 100.0})


@pytest.mark.parametrize(("cpu", "memory", "score"), SCORES)
def test_the_score_is_the_room_that_would_be_left(cpu: str, memory: str, score: float) -> None:
    pod = make_pod("web", cpu=10.0, memory=10.0)
    assert TEN_OF_EACH.score(hundred(cpu, memory), pod).tolist() == pytest.approx([score])
    assert TEN_OF_EACH.raw(hundred(cpu, memory), pod).tolist() == [score]


@pytest.mark.parametrize(
    ("weights", "score"),
    [
        ({"cpu": 1.0, "memory": 1.0}, 55.0),
        ({"cpu": 3.0, "memory": 1.0}, 47.5),  # (3 * 40 + 70) / 4
        ({"cpu": 1.0, "memory": 0.0}, 40.0),
        ({"memory": 2.0}, 70.0),
    ],
)
def test_resources_are_weighted(weights: Mapping[str, float], score: float) -> None:
    scorer = EstimatedLoad(estimated_scaling_factors={"cpu": 100.0, "memory": 100.0}, resource_weights=weights)
    assert scorer.score(hundred("50", "20"), make_pod("web", cpu=10.0, memory=10.0)).tolist() == pytest.approx([score])


def test_raw_cuts_each_resource_and_their_mean_to_whole_numbers_as_the_peer_does() -> None:
    nodes = nodes_of(
        {"node": {"capacity": {"cpu": "3", "memory": "3"}, "usage": {"cpu": {"mean": "0"}, "memory": {"mean": "0"}}}}
    )
    pod = make_pod("web", cpu=1.0, memory=1.0)
    scorer = EstimatedLoad(estimated_scaling_factors={"cpu": 100.0, "memory": 70.0})
    # cpu (3 - 1) * 100 / 3 = 66.67 -> 66; memory (3 - 1) * 100 / 3 (0.7 -> 1 byte) = 66
    assert scorer.score(nodes, pod).tolist() == pytest.approx([200 / 3])
    assert scorer.raw(nodes, pod).tolist() == [66.0]
    uneven = EstimatedLoad(estimated_scaling_factors={"cpu": 100.0}, resource_weights={"cpu": 1.0, "memory": 1.0})
    # cpu 66, memory 100: 166 / 2 = 83
    assert uneven.raw(nodes, pod).tolist() == [83.0]


def test_a_resource_that_was_not_measured_does_not_count_and_a_node_without_any_has_no_score() -> None:
    pod = make_pod("web", cpu=10.0, memory=10.0)
    assert TEN_OF_EACH.score(hundred("50", None), pod).tolist() == pytest.approx([40.0])
    assert TEN_OF_EACH.raw(hundred(None, "20"), pod).tolist() == [70.0]
    assert np.isnan(TEN_OF_EACH.score(hundred(None, None), pod)).all()
    assert np.isnan(TEN_OF_EACH.raw(hundred(None, None), pod)).all()


def test_a_node_that_has_nothing_has_no_room() -> None:
    nodes = nodes_of({"node": {"capacity": {"cpu": 0, "memory": 0}, "usage": {"cpu": {"mean": "1"}}}})
    assert ESTIMATED.score(nodes, make_pod("web")).tolist() == [0.0]


def test_the_defaults_are_the_peers() -> None:
    assert ESTIMATED.resource_weights == {"cpu": 1.0, "memory": 1.0}
    assert ESTIMATED.estimated_scaling_factors == {"cpu": 85.0, "memory": 70.0}
    assert ESTIMATED.default_requests == {"cpu": 0.25, "memory": 200 * MIB}
    assert make_scorer("EstimatedLoad", {}) == ESTIMATED


# -- Which usage ----------------------------------------------------------------------------------------------------

CPU_ALONE: dict[str, Any] = {"resource_weights": {"cpu": 1.0}, "estimated_scaling_factors": {"cpu": 100.0}}


def cpu_alone(**settings: Any) -> EstimatedLoad:
    return EstimatedLoad(**{**CPU_ALONE, **settings})


def test_the_mean_is_that_of_five_minutes_and_else_that_of_the_main_window() -> None:
    windows = {"cpu": {"5m": {"mean": "20"}, "1h": {"mean": "80"}}}
    state = {**HUNDRED, "usage": {"cpu": {"mean": "50"}}, "windows": windows}
    nodes = nodes_of({"node": state, "new": {**HUNDRED, "usage": {"cpu": {"mean": "50"}}}})
    pod = make_pod("web", cpu=10.0)
    assert cpu_alone().score(nodes, pod).tolist() == pytest.approx([70.0, 40.0])
    assert cpu_alone(usage_window=Duration(3600.0)).score(nodes, pod).tolist() == pytest.approx([10.0, 40.0])
    assert cpu_alone(usage_window=Duration(120.0)).score(nodes, pod).tolist() == pytest.approx([40.0, 40.0])


@pytest.mark.parametrize(("aggregated", "used"), [("mean", 50.0), ("p50", 40.0), ("p95", 70.0), ("p99", 75.0)])
def test_aggregated_takes_a_percentile_of_the_window(aggregated: str, used: float) -> None:
    snapshot = snapshot_of({"node": {**HUNDRED, "usage": {"cpu": {"mean": "50"}}}})
    kept = {50.0: 40.0, 95.0: 70.0, 99.0: 75.0}
    percentiles = {percent: np.array([[value, np.nan]]) for percent, value in kept.items()}
    snapshot = replace(snapshot, statistics=replace(snapshot.statistics, percentiles=percentiles))
    score = cpu_alone(aggregated=aggregated).score(Nodes.of(snapshot), make_pod("web", cpu=10.0))
    assert score.tolist() == pytest.approx([90.0 - used])


def test_a_percentile_that_is_not_kept_scores_nothing() -> None:
    assert np.isnan(cpu_alone(aggregated="p90").score(hundred("50", None), make_pod("web"))).all()


# -- High priority --------------------------------------------------------------------------------------------------


def core_of(clock: Clock, scorer: EstimatedLoad) -> Core:
    core = Core(make_settings(make_profile(scorer)), clock, ObserverSettings(percentiles=(95.0,)))
    core.tell(NodeSeen(make_node("node", cpu=100.0, memory=100 * GIB)))
    return core


def feed(core: Core, clock: Clock, cpu: float, pods: Mapping[str, float] | None = None) -> None:
    reading = make_reading({"node": (cpu, GIB)}, clock())
    if pods is not None:
        usage = np.array([[used, 0.0] for used in pods.values()]).reshape(-1, 2)
        names = tuple(f"default/{name}" for name in pods)
        measured = Measurements(names, usage, np.full(len(pods), clock()), np.full(len(pods), np.nan))
        reading = replace(reading, pods=measured)
    core.feed(reading)


def score_of(core: Core, priority: int = 0, cpu: float = 10.0) -> float:
    ranking = core.rank(make_pod("asked", cpu=cpu, priority=priority), book=False, explain=True)
    return float(ranking.parts[0].own[0])


def test_a_pod_of_high_priority_sees_only_the_usage_of_such_pods() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone(score_according_prod_usage=True))
    for name, priority in (("prod", 9000), ("batch", 100)):
        core.tell(PodSeen(make_pod(name, cpu=30.0, node="node", priority=priority, bound_at=0.0)))
    feed(core, clock, 60.0, {"prod": 20.0, "batch": 40.0})
    assert score_of(core, priority=9000) == pytest.approx(70.0)  # 100 - 20 - 10
    assert score_of(core, priority=8999) == pytest.approx(30.0)  # 100 - 60 - 10


def test_without_the_setting_priority_makes_no_difference() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone())
    core.tell(PodSeen(make_pod("prod", cpu=30.0, node="node", priority=9000, bound_at=0.0)))
    feed(core, clock, 60.0, {"prod": 20.0})
    assert score_of(core, priority=9000) == score_of(core) == pytest.approx(30.0)


def test_where_pods_are_not_measured_nothing_is_known_of_their_usage() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone(score_according_prod_usage=True))
    core.tell(PodSeen(make_pod("prod", cpu=30.0, node="node", priority=9000, bound_at=0.0)))
    feed(core, clock, 60.0)
    assert np.isnan(score_of(core, priority=9000))


# -- In flight ------------------------------------------------------------------------------------------------------

IN_FLIGHT = [
    # seconds between bound and newest sample, measured usage      in flight = max(0, 10 - measured) if younger than 60
    (-5.0, None, 10.0),  # bound after the sample
    (0.0, None, 10.0),
    (30.0, None, 10.0),
    (30.0, 4.0, 6.0),  # the rest of it is in the node's usage already
    (30.0, 10.0, 0.0),
    (30.0, 14.0, 0.0),  # never less than nothing
    (59.0, 4.0, 6.0),
    (60.0, 4.0, 0.0),  # older than the report interval
    (3000.0, None, 0.0),
]


@pytest.mark.parametrize(("age", "measured", "in_flight"), IN_FLIGHT)
def test_in_flight_is_what_is_missing_of_the_estimate_while_a_pod_is_young(
    age: float, measured: float | None, in_flight: float
) -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone())
    core.tell(PodSeen(make_pod("young", cpu=10.0, node="node", bound_at=clock() - age)))
    feed(core, clock, 40.0, {} if measured is None else {"young": measured})
    assert score_of(core) == pytest.approx(100.0 - 40.0 - in_flight - 10.0)


def test_a_pod_bound_since_the_last_reading_counts_wholly_and_one_that_left_no_longer() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone())
    feed(core, clock, 40.0, {})
    clock.advance(5.0)
    core.tell(PodSeen(make_pod("new", cpu=10.0, node="node", bound_at=clock())))
    assert score_of(core) == pytest.approx(40.0)
    core.tell(PodSeen(make_pod("new", cpu=10.0, node="node", phase="Succeeded")))
    assert score_of(core) == pytest.approx(50.0)


def test_a_young_pod_that_leaves_takes_with_it_only_what_was_counted_of_it() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone())
    for name in ("young", "other"):
        core.tell(PodSeen(make_pod(name, cpu=10.0, node="node", bound_at=clock() - 10.0)))
    feed(core, clock, 40.0, {"young": 4.0, "other": 0.0})
    assert score_of(core) == pytest.approx(50.0 - 6.0 - 10.0)
    core.tell(PodSeen(make_pod("young", cpu=10.0, node="node", phase="Failed")))
    assert score_of(core) == pytest.approx(50.0 - 10.0)


def test_a_pod_that_declares_nothing_is_in_flight_at_the_default() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock, cpu_alone())
    core.tell(PodSeen(make_pod("bare", node="node", bound_at=clock())))
    feed(core, clock, 40.0, {})
    assert score_of(core) == pytest.approx(50.0 - 0.25)
