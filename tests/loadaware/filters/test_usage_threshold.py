from typing import Any

import numpy as np
import pytest

from collectors.manifests import SYSTEM_CRITICAL_PRIORITY, Pod
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.snapshot import Nodes
from tests.loadaware.builders import daemon_pod, make_pod, nodes_of

POD = make_pod("web", cpu=1.0)


def node(cpu: float | None = None, memory: float | None = None, **more: Any) -> dict[str, Any]:
    told = {"cpu": cpu, "memory": memory}
    return {"usage": {name: {"mean": f"{value}%"} for name, value in told.items() if value is not None}, **more}


def rejected(nodes: Nodes, rule: UsageThreshold | None = None, pod: Pod = POD) -> list[str]:
    answer = (rule or UsageThreshold()).rejects(nodes, pod)
    return [name for name, out in zip(nodes.names, answer.tolist(), strict=True) if out]


def test_a_node_above_65_percent_of_cpu_or_95_of_memory_is_rejected() -> None:
    nodes = nodes_of(
        {
            "idle": node(1, 1),
            "at-the-border": node(65, 95),
            "busy": node(66, 10),
            "full": node(10, 96),
            "both": node(90, 99),
        }
    )
    assert rejected(nodes) == ["busy", "full", "both"]


def test_what_was_not_measured_passes() -> None:
    nodes = nodes_of({"unknown": {}, "cpu-only": node(cpu=10), "memory-only": node(memory=99)})
    assert rejected(nodes) == ["memory-only"]


def test_the_share_is_of_what_is_allocatable() -> None:
    nodes = nodes_of({"a": node(40, capacity={"cpu": 4}, allocatable={"cpu": 2})})
    assert rejected(nodes) == ["a"]  # 1.6 of 2


def test_a_source_that_tells_no_mean_is_judged_by_its_latest_value() -> None:
    assert rejected(nodes_of({"a": {"usage": {"cpu": {"latest": "90%"}}}})) == ["a"]


@pytest.mark.parametrize(
    ("thresholds", "out"),
    [({"cpu": 20.0}, ["a", "b"]), ({"cpu": 60.0}, ["b"]), ({"memory": 50.0}, []), ({}, []), ({"disk": 1.0}, [])],
)
def test_thresholds_are_settings_and_a_resource_without_one_is_not_looked_at(
    thresholds: dict[str, float], out: list[str]
) -> None:
    nodes = nodes_of({"a": node(30, 40), "b": node(70, 40)})
    assert rejected(nodes, UsageThreshold(thresholds=thresholds)) == out


@pytest.mark.parametrize(
    "pod", [daemon_pod(), make_pod("dns", priority=SYSTEM_CRITICAL_PRIORITY)], ids=["DaemonSet", "system critical"]
)
def test_pods_that_must_run_where_they_must_run_pass_everywhere(pod: Pod) -> None:
    assert rejected(nodes_of({"a": node(99, 99)}), pod=pod) == []


def test_an_important_pod_that_is_not_critical_is_judged_like_any_other() -> None:
    assert rejected(nodes_of({"a": node(99)}), pod=make_pod("x", priority=1_000_000)) == ["a"]


def test_the_reason_names_each_resource_with_what_is_used_and_what_is_allowed() -> None:
    nodes = nodes_of({"a": node(90.4, 99), "b": node(70, 10)})
    first, second = UsageThreshold().reasons(nodes, POD)
    assert "cpu usage 90 % > 65 %" in first
    assert "memory usage 99 % > 95 %" in first
    assert "cpu usage 70 % > 65 %" in second
    assert "memory" not in second


def test_a_node_without_any_cpu_does_not_warn() -> None:
    nodes = nodes_of({"a": {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "1"}}}, "b": {"capacity": {"cpu": 0}}})
    assert rejected(nodes) == ["a"]


STATISTICS = [
    # mean 50, latest 90, maximum 95 percent; one hour: maximum 99
    ({"statistic": "mean"}, False),
    ({"statistic": "latest"}, True),
    ({"statistic": "maximum"}, True),
    ({"statistic": "mean", "window": 3600.0}, False),  # no mean was kept for that window
    ({"statistic": "maximum", "window": 3600.0}, True),
    ({"statistic": "p95"}, False),  # a state file has no percentiles
]


@pytest.mark.parametrize(("settings", "out"), STATISTICS)
def test_any_statistic_of_any_window_can_be_looked_at(settings: dict[str, Any], out: bool) -> None:
    usage = {"cpu": {"mean": "50%", "latest": "90%", "maximum": "95%"}}
    nodes = nodes_of({"a": {"usage": usage, "windows": {"cpu": {"1h": {"maximum": "99%"}}}}})
    assert (rejected(nodes, UsageThreshold(**settings)) == ["a"]) is out


def test_estimated_counts_the_pod_itself_and_rounds_to_whole_percent() -> None:
    nodes = nodes_of({"a": node(44.2), "b": node(44.3)})  # a pod of 1 core is taken for 85 % of it: 21.25 % of 4
    rule = UsageThreshold(statistic="estimated")
    assert rejected(nodes, rule) == ["b"]  # 65.45 is taken for 65, 65.55 for 66


def test_high_priority_pods_can_have_thresholds_of_their_own() -> None:
    nodes = nodes_of({"a": node(90)})
    rule = UsageThreshold(high_priority_thresholds={"cpu": 60.0})
    assert rejected(nodes, rule) == ["a"]
    assert rejected(nodes, rule, make_pod("x", priority=9000)) == []  # usage of such pods was not measured


def test_the_answer_is_bools() -> None:
    assert UsageThreshold().rejects(nodes_of({"a": node(1)}), POD).dtype == np.bool_
