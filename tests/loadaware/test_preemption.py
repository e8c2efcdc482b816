from typing import Any

import pytest

from collectors.cluster import NodeSeen
from collectors.manifests import SYSTEM_CRITICAL_PRIORITY, Pod
from loadaware.adviser import Adviser
from loadaware.filters.filter import Filter
from loadaware.filters.labels import LabelPresent
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.observer import Observer
from loadaware.preemption import Freed
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.snapshot import Snapshot
from tests.loadaware.builders import (
    GIB,
    Clock,
    cpu_mean,
    daemon_pod,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    snapshot_of,
)

# Nodes have four cores and 16Gi: one core is 25 %, 160m are 4 %.


def kept(
    snapshot: Snapshot, freed: Freed, *filters: Filter, pod: Pod | None = None, clock: Clock | None = None
) -> list[str]:
    profile = make_profile(TargetLoadPacking(), "default-scheduler", *(filters or (UsageThreshold(),)))
    adviser = Adviser(make_settings(profile), clock or Clock())
    adviser.receive(snapshot)
    return list(adviser.preempt(pod or make_pod(), freed))


def nodes(**cpu_percent: float) -> Snapshot:
    return snapshot_of({name: cpu_mean(percent) for name, percent in cpu_percent.items()})


@pytest.mark.parametrize(
    ("percent", "cores", "stays"),
    [
        (70, 0.0, False),  # 70 > 65
        (70, 0.16, False),  # 70 - 4 = 66 > 65
        (70, 0.2, True),  # 70 - 5 = 65, not above
        (70, 1.0, True),  # 70 - 25 = 45
        (100, 1.0, False),  # 100 - 25 = 75
        (100, 1.5, True),  # 100 - 37.5 = 62.5
        (20, 0.0, True),  # not busy at all
        (20, 4.0, True),  # the victims use more than was measured of the node: not less than nothing
    ],
)
def test_a_node_is_kept_if_it_is_below_the_threshold_without_its_victims(
    percent: float, cores: float, stays: bool
) -> None:
    candidates = kept(nodes(a=percent, other=0), {"a": {"cpu": cores}, "other": {}})
    assert candidates == (["a", "other"] if stays else ["other"])


def test_every_resource_with_a_threshold_counts() -> None:
    busy = {"usage": {"cpu": {"mean": "70%"}, "memory": {"mean": "97%"}}}
    snapshot = snapshot_of({"a": busy, "other": {}})
    # CPU 70 - 25 = 45 %; memory 97 - 100 * 0.16 / 16 = 96 % > 95 %, or 97 - 100 * 1 / 16 = 90.75 %.
    assert kept(snapshot, {"a": {"cpu": 1.0, "memory": 0.16 * GIB}, "other": {}}) == ["other"]
    assert kept(snapshot, {"a": {"cpu": 1.0, "memory": 1.0 * GIB}, "other": {}}) == ["a", "other"]


def test_shares_are_of_what_is_allocatable() -> None:
    state = {"allocatable": {"cpu": "2"}, "usage": {"cpu": {"mean": "1500m"}}}
    # 100 * (1.5 - 0.1) / 2 = 70 %; 100 * (1.5 - 0.2) / 2 = 65 %.
    snapshot = snapshot_of({"a": state, "other": {}})
    assert kept(snapshot, {"a": {"cpu": 0.1}, "other": {}}) == ["other"]
    assert kept(snapshot, {"a": {"cpu": 0.2}, "other": {}}) == ["a", "other"]


def test_if_every_candidate_stays_too_busy_all_are_kept_in_their_order() -> None:
    assert kept(nodes(a=90, b=80), {"b": {"cpu": 0.1}, "a": {"cpu": 0.1}}) == ["b", "a"]


def test_a_node_whose_victims_are_not_known_is_not_judged() -> None:
    assert kept(nodes(a=90, b=90, c=10), {"a": None, "b": {}, "c": {}}) == ["a", "c"]


def test_what_was_not_measured_is_neither_busy_nor_idle() -> None:
    snapshot = snapshot_of({"a": {}, "b": cpu_mean(90)})
    assert kept(snapshot, {"a": {}, "b": {}, "stranger": {}}) == ["a", "stranger"]


def test_a_profile_without_load_rules_drops_nobody() -> None:
    assert kept(nodes(a=90, b=10), {"a": {}, "b": {}}, LabelPresent(label="fast")) == ["a", "b"]


def test_no_candidates_are_none() -> None:
    assert kept(nodes(a=90), {}) == []


def test_several_thresholds_all_count() -> None:
    rules = UsageThreshold(thresholds={"cpu": 80.0}), UsageThreshold(thresholds={"cpu": 60.0})
    # 90 - 25 = 65 %: below 80, above 60.
    assert kept(nodes(a=90, b=10), {"a": {"cpu": 1.0}, "b": {}}, *rules) == ["b"]


# -- As the filter itself would judge ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "percents"), [("latest", (50, 90)), ("maximum", (50, 90)), ("mean", (90, 50)), ("p95", (90, 90))]
)
def test_the_statistic_of_the_rule_is_compared(statistic: Any, percents: tuple[float, float]) -> None:
    mean, other = percents
    usage = {"mean": f"{mean}%", "latest": f"{other}%", "maximum": f"{other}%"}
    snapshot = snapshot_of({"a": {"usage": {"cpu": usage}}, "b": {}})
    candidates = kept(snapshot, {"a": {"cpu": 0.4}, "b": {}}, UsageThreshold(statistic=statistic))
    # 90 - 10 = 80 % > 65 %; no percentile is kept of such a state, so that nothing is known.
    assert candidates == (["a", "b"] if statistic == "p95" else ["b"])


def test_an_estimate_counts_the_pod_itself_once_whether_it_is_booked_or_not() -> None:
    # 60 % + 100 * 0.85 * 1 core / 4 = 81.25 -> 81 %; less 0.8 cores = 20 % -> 61.25 -> 61 %.
    rule = UsageThreshold(statistic="estimated")
    profile = make_profile(TargetLoadPacking(), "default-scheduler", rule)
    adviser = Adviser(make_settings(profile), Clock())
    adviser.receive(nodes(a=60, b=0))
    pod = make_pod(cpu=1.0, cpu_limit=1.0)
    freed: Freed = {"a": {"cpu": 0.8}, "b": {}}
    assert adviser.preempt(pod, freed) == ["a", "b"]
    assert adviser.preempt(pod, {"a": {}, "b": {}}) == ["b"]
    adviser.rank(pod, ["a"])
    assert adviser.preempt(pod, freed) == ["a", "b"]


@pytest.mark.parametrize("pod", [make_pod(priority=SYSTEM_CRITICAL_PRIORITY), daemon_pod()])
def test_pods_that_must_run_lose_no_candidate(pod: Pod) -> None:
    assert kept(nodes(a=90, b=10), {"a": {}, "b": {}}, pod=pod) == ["a", "b"]


def test_pods_of_high_priority_are_judged_by_their_own_thresholds() -> None:
    rule = UsageThreshold(high_priority_thresholds={"cpu": 95.0})
    assert kept(nodes(a=90, b=10), {"a": {}, "b": {}}, rule, pod=make_pod(priority=9500)) == ["a", "b"]
    assert kept(nodes(a=90, b=10), {"a": {}, "b": {}}, rule, pod=make_pod(priority=100)) == ["b"]


def test_data_that_expired_drops_nobody() -> None:
    clock = Clock(10_000.0)
    observer = Observer()
    for name in ("a", "b"):
        observer.tell(NodeSeen(make_node(name)), clock())
    observer.feed(make_reading({"a": (3.9, GIB), "b": (0.1, GIB)}, clock()), clock())
    snapshot = observer.snapshot(clock())
    assert kept(snapshot, {"a": {}, "b": {}}, clock=clock) == ["b"]
    clock.advance(1000.0)
    assert kept(snapshot, {"a": {}, "b": {}}, clock=clock) == ["a", "b"]


def test_nothing_that_is_known_is_changed_by_the_question() -> None:
    snapshot = nodes(a=90, b=10)
    before = snapshot.statistics.mean.copy()
    kept(snapshot, {"a": {"cpu": 1.0}, "b": {}})
    assert (snapshot.statistics.mean == before)[:, 0].all()
