from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Pod
from collectors.reading import Measurements
from loadaware.core import Core
from loadaware.errors import ConfigError
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.nodes import Nodes
from loadaware.plugins import make_filter
from loadaware.quantities import Duration
from loadaware.scorers.lowest_usage import LowestUsage
from tests.loadaware.builders import (
    GIB,
    Clock,
    daemon_pod,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    nodes_of,
    snapshot_of,
)

THRESHOLD = UsageThreshold()
POD = make_pod("web", cpu=0.4)

STATISTICS = {
    # what        cpu in percent of allocatable
    "mean": 50.0,
    "latest": 60.0,
    "maximum": 90.0,
    "p50": 45.0,
    "p90": 70.0,
    "p95": 80.0,
    "p99": 85.0,
}


def measured() -> Nodes:
    """Four cores, of which every statistic says something else; five minutes say 20, 30 and 40 %."""
    told = {name: f"{STATISTICS[name]}%" for name in ("mean", "latest", "maximum")}
    five = {"mean": "20%", "latest": "30%", "maximum": "40%"}
    snapshot = snapshot_of({"node": {"usage": {"cpu": told}, "windows": {"cpu": {"5m": five}}}})
    percentiles = {
        float(name[1:]): np.array([[share / 100.0 * 4.0, np.nan]])
        for name, share in STATISTICS.items()
        if name.startswith("p")
    }
    return Nodes.of(replace(snapshot, statistics=replace(snapshot.statistics, percentiles=percentiles)))


def rejected(nodes: Nodes, pod: Pod = POD, **settings: Any) -> bool:
    (answer,) = UsageThreshold(**settings).rejects(nodes, pod).tolist()
    return bool(answer)


# -- Which usage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("statistic", "share"), STATISTICS.items())
def test_each_statistic_is_compared_with_the_threshold(statistic: str, share: float) -> None:
    for threshold, busy in ((share - 1.0, True), (share, False), (share + 1.0, False)):
        settings: dict[str, Any] = {"statistic": statistic, "thresholds": {"cpu": threshold}}
        assert rejected(measured(), **settings) is busy
    reasons = UsageThreshold(statistic=statistic, thresholds={"cpu": 1.0}).reasons(measured(), POD)  # type: ignore[arg-type]
    assert reasons == [f"{statistic} cpu usage {share:.0f} % > 1 %"]


@pytest.mark.parametrize(("statistic", "share"), [("mean", 20.0), ("latest", 30.0), ("maximum", 40.0)])
def test_another_window_may_be_asked(statistic: str, share: float) -> None:
    for threshold, busy in ((share - 1.0, True), (share, False)):
        settings: dict[str, Any] = {"statistic": statistic, "thresholds": {"cpu": threshold}}
        assert rejected(measured(), window=Duration(300.0), **settings) is busy
        assert not rejected(measured(), window=Duration(120.0), **settings)  # not kept: nothing is known


ESTIMATED = [
    # used of 100 cores, in flight, request      round(used + in flight + 0.85 * request) > 65
    (50.0, 0.0, 10.0, False),  # 58.5 -> 59
    (56.5, 0.0, 10.0, False),  # 65.0
    (56.9, 0.0, 10.0, False),  # 65.4 -> 65
    (57.0, 0.0, 10.0, True),  # 65.5 -> 66
    (40.0, 10.0, 10.0, False),  # 40 + 8.5 + 8.5 = 57
    (50.0, 10.0, 10.0, True),  # 50 + 8.5 + 8.5 = 67
    (64.0, 0.0, 0.0, False),  # a pod that declares nothing: 64.25 -> 64
    (65.3, 0.0, 0.0, True),  # 65.55 -> 66
]


@pytest.mark.parametrize(("used", "in_flight", "request_of_pod", "busy"), ESTIMATED)
def test_estimated_counts_pods_in_flight_and_the_pod_itself_in_whole_percent(
    used: float, in_flight: float, request_of_pod: float, busy: bool
) -> None:
    clock = Clock(10_000.0)
    rule = UsageThreshold(statistic="estimated")
    core = Core(make_settings(make_profile(LowestUsage(), "x", rule)), clock)
    core.tell(NodeSeen(make_node("node", cpu=100.0)), NodeSeen(make_node("idle", cpu=100.0)))
    core.feed(make_reading({"node": (used, GIB), "idle": (0.0, GIB)}, clock()))
    if in_flight:
        core.tell(PodSeen(make_pod("new", cpu=in_flight, node="node", bound_at=clock())))
    answer = core.filter(make_pod("web", cpu=request_of_pod), book=False)
    assert ("node" in answer.failed) is busy
    assert "idle" in answer.passed


def test_estimated_takes_the_mean_of_another_window_too() -> None:
    settings: dict[str, Any] = {"statistic": "estimated", "thresholds": {"cpu": 40.0}}
    # 50 % + 0.34 of 4 cores = 58.5 -> 59; over five minutes 20 % + 8.5 % = 28.5 -> 29
    assert rejected(measured(), **settings)
    assert not rejected(measured(), window=Duration(300.0), **settings)


def test_a_source_that_tells_no_mean_is_judged_by_its_latest_value() -> None:
    nodes = nodes_of({"node": {"usage": {"cpu": {"latest": "90%"}}}})
    assert rejected(nodes)
    assert rejected(nodes, statistic="estimated")


# -- Thresholds -----------------------------------------------------------------------------------------------------


def test_the_defaults_are_the_peers() -> None:
    assert THRESHOLD.thresholds == {"cpu": 65.0, "memory": 95.0}
    assert make_filter("UsageThreshold", {}) == THRESHOLD


def test_each_resource_has_its_own_threshold_and_the_reason_names_every_one_broken() -> None:
    usage = {"cpu": {"mean": "70%"}, "memory": {"mean": "96%"}}
    nodes = nodes_of(
        {
            "both": {"usage": usage},
            "cpu": {"usage": {"cpu": {"mean": "70%"}}},
            "none": {"usage": {"cpu": {"mean": "65%"}}},
        }
    )
    assert THRESHOLD.rejects(nodes, POD).tolist() == [True, True, False]
    both = Nodes(nodes.snapshot, nodes.rows[:1], nodes.requested_now, nodes.limits_now, nodes.pods_now)
    assert THRESHOLD.reasons(both, POD) == ["mean cpu usage 70 % > 65 %, mean memory usage 96 % > 95 %"]


@pytest.mark.parametrize(
    ("thresholds", "out"),
    [
        ({"cpu": 20.0}, [True, True]),
        ({"cpu": 60.0}, [False, True]),
        ({"memory": 50.0}, [False, False]),
        ({"disk": 1.0}, [False, False]),
        ({}, [False, False]),
    ],
)
def test_a_resource_without_a_threshold_is_not_looked_at(thresholds: dict[str, float], out: list[bool]) -> None:
    def node(cpu: int) -> dict[str, Any]:
        return {"usage": {"cpu": {"mean": f"{cpu}%"}, "memory": {"mean": "40%"}}}

    answer = UsageThreshold(thresholds=thresholds).rejects(nodes_of({"a": node(30), "b": node(70)}), POD)
    assert answer.dtype == np.bool_
    assert answer.tolist() == out


def test_a_node_without_any_cpu_does_not_warn_and_is_full_as_soon_as_it_uses_some() -> None:
    nodes = nodes_of({"a": {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "1"}}}, "b": {"capacity": {"cpu": 0}}})
    assert THRESHOLD.rejects(nodes, POD).tolist() == [True, False]


@pytest.mark.parametrize("cores", [1.0, 1.93, 3.0, 6.0, 7.0, 7.91, 96.0])
def test_a_node_exactly_at_the_threshold_passes_whatever_its_size(cores: float) -> None:
    for percent in (7.0, 35.0, 65.0, 70.0):
        nodes = nodes_of({"node": {"capacity": {"cpu": cores}, "usage": {"cpu": {"mean": f"{percent}%"}}}})
        assert not rejected(nodes, thresholds={"cpu": percent})


def test_a_share_of_what_is_allocatable_counts() -> None:
    nodes = nodes_of({"node": {"allocatable": {"cpu": "2"}, "usage": {"cpu": {"mean": "1500m"}}}})
    assert rejected(nodes)  # 75 % of 2 cores, 37.5 % of 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"thresholds": {"cpu": 0}}, r"args.thresholds\[cpu\]: Expected float > 0"),
        ({"thresholds": {"cpu": 101}}, r"args.thresholds\[cpu\]: Expected float <= 100"),
        ({"highPriorityThresholds": {"cpu": 101}}, r"args.highPriorityThresholds\[cpu\]"),
        ({"statistic": "p42"}, r"args.statistic"),
        ({"window": 300}, "expected a duration"),
    ],
)
def test_args_out_of_range_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_filter("UsageThreshold", args)


# -- Who passes whatever the load -----------------------------------------------------------------------------------

FULL = {"full": {"usage": {"cpu": {"mean": "99%"}}}}

EXEMPT = [
    # pod      rejected
    (make_pod("web"), True),
    (make_pod("web", priority=1_999_999_999), True),
    (make_pod("web", priority=2_000_000_000), False),
    (make_pod("web", priority=2_000_001_000), False),
    (daemon_pod(), False),
]


@pytest.mark.parametrize(("pod", "busy"), EXEMPT)
def test_pods_of_daemon_sets_and_of_system_critical_priority_pass(pod: Pod, busy: bool) -> None:
    assert rejected(nodes_of(FULL), pod) is busy
    assert rejected(nodes_of(FULL), pod, statistic="estimated") is busy


@pytest.mark.parametrize("statistic", [*STATISTICS, "estimated"])
def test_what_was_not_measured_passes(statistic: str) -> None:
    states: dict[str, dict[str, Any]] = {
        "never": {},
        "memory": {"usage": {"memory": {"mean": "10%"}}},
        "empty": {"capacity": {"cpu": 0}},
    }
    rule = make_filter("UsageThreshold", {"statistic": statistic, "thresholds": {"cpu": 1, "disk": 1}})
    assert not rule.rejects(nodes_of(states), make_pod("web", cpu=100.0)).any()


# -- High priority --------------------------------------------------------------------------------------------------


def with_pods(**settings: Any) -> Core:
    """A node of 100 cores: 80 in use, 30 of them by a pod of high priority, which is not new."""
    clock = Clock(10_000.0)
    rule = UsageThreshold(high_priority_thresholds={"cpu": 40.0}, **settings)
    core = Core(make_settings(make_profile(LowestUsage(), "x", rule)), clock)
    core.tell(NodeSeen(make_node("node", cpu=100.0)), NodeSeen(make_node("idle", cpu=100.0)))
    for name, priority in (("prod", 9000), ("batch", 0)):
        core.tell(PodSeen(make_pod(name, cpu=30.0, node="node", priority=priority, bound_at=0.0)))
    pods = Measurements(
        ("default/prod", "default/batch"), np.array([[30.0, 0.0], [50.0, 0.0]]), np.full(2, clock()), np.full(2, np.nan)
    )
    core.feed(replace(make_reading({"node": (80.0, GIB), "idle": (0.0, GIB)}, clock()), pods=pods))
    return core


HIGH_PRIORITY = [
    # statistic, priority, request      compared      rejected
    ("mean", 0, 1.0, True),  # 80 > 65
    ("mean", 8999, 1.0, True),
    ("mean", 9000, 1.0, False),  # 30 <= 40
    ("estimated", 9000, 10.0, False),  # 30 + 8.5 -> 39
    ("estimated", 9000, 12.0, False),  # 30 + 10.2 -> 40
    ("estimated", 9000, 13.0, True),  # 30 + 11.05 -> 41
    ("estimated", 0, 1.0, True),
]


@pytest.mark.parametrize(("statistic", "priority", "request_of_pod", "busy"), HIGH_PRIORITY)
def test_pods_of_high_priority_have_limits_of_their_own_on_what_such_pods_use(
    statistic: str, priority: int, request_of_pod: float, busy: bool
) -> None:
    answer = with_pods(statistic=statistic).filter(make_pod("web", cpu=request_of_pod, priority=priority), book=False)
    assert ("node" in answer.failed) is busy


def test_the_reason_says_that_it_is_the_usage_of_high_priority_pods() -> None:
    core = with_pods()
    rule = UsageThreshold(high_priority_thresholds={"cpu": 20.0})
    nodes = Nodes.of(core.snapshot)
    (reason,) = rule.reasons(
        Nodes(nodes.snapshot, nodes.rows[:1], nodes.requested_now, nodes.limits_now, nodes.pods_now),
        make_pod("web", priority=9000),
    )
    assert reason == "high-priority cpu usage 30 % > 20 %"


def test_where_pods_are_not_measured_pods_of_high_priority_pass() -> None:
    nodes = nodes_of(FULL)
    assert not rejected(nodes, make_pod("web", priority=9000), high_priority_thresholds={"cpu": 1.0})
    assert rejected(nodes, make_pod("web", priority=9000))  # no limits of their own: those of the others
