"""A node's usage shared out among its pods, and what workloads learn from that where no pod is measured."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Owner, Pod
from collectors.reading import Measurements
from loadaware.apportioning import apportion
from loadaware.demand_report import report
from loadaware.observer import Observer
from tests.loadaware.builders import GIB, make_node, make_pod, make_reading
from tests.loadaware.learned import rows_of

MINUTE = 60.0
PODS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.floats(0.0, 4.0), st.floats(0.01, 2.0)), min_size=1, max_size=20
)
"""Node, workload, mean and deviation of each."""


@given(PODS, st.lists(st.floats(0.0, 30.0), min_size=3, max_size=3))
def test_shares_are_no_less_than_nothing_and_add_up_to_the_usage_where_none_is_cut(
    pods: list[tuple[int, int, float, float]], usage: list[float]
) -> None:
    nodes, workloads = (np.array(column, dtype=np.intp) for column in list(zip(*pods, strict=True))[:2])
    means, deviations = (np.array(column)[:, None] for column in list(zip(*pods, strict=True))[2:])
    shares = apportion(np.array(usage)[:, None], nodes, workloads, means, deviations)
    assert (shares.usage >= 0).all()
    assert ((shares.doubt >= 0) & (shares.doubt <= deviations**2 + 1e-12)).all()
    for node in set(nodes.tolist()):
        here = nodes == node
        assert shares.left_over[node, 0] == pytest.approx(usage[node] - means[here].sum(), abs=1e-9)
        if (shares.usage[here] > 0).all():
            assert shares.usage[here].sum() == pytest.approx(usage[node], abs=1e-6)


def test_who_varies_most_gets_most_of_what_is_left_over_and_siblings_vary_together() -> None:
    # e = 10 - 4 = 6; S of the pair 2, of the single 1: sum of squares 5
    one = np.ones((3, 1))
    shares = apportion(np.array([[10.0]]), np.zeros(3, np.intp), np.array([0, 0, 1]), one * [[1], [1], [2]], one)
    assert shares.usage[:, 0].tolist() == pytest.approx([1 + 6 * 2 / 5, 1 + 6 * 2 / 5, 2 + 6 / 5])
    assert shares.doubt[:, 0].tolist() == pytest.approx([1 / 5, 1 / 5, 4 / 5])


def test_of_a_node_that_was_not_measured_nothing_is_shared_out() -> None:
    one = np.ones((1, 1))
    shares = apportion(np.array([[np.nan]]), np.zeros(1, np.intp), np.zeros(1, np.intp), one, one)
    assert np.isnan(shares.usage).all()


# -- Learned from nodes alone ---------------------------------------------------------------------------------------

TRUE = {"web": 0.2, "db": 1.5, "cron": 0.6}
"""Cores that a pod of each uses; all request one."""
ON = {
    "a": {"web": 4, "db": 1},
    "b": {"web": 1, "db": 2, "cron": 1},
    "c": {"db": 1, "cron": 4},
    "d": {"web": 2, "cron": 2},
}


def pod_of(workload: str, name: str, node: str, bound_at: float = -600.0) -> Pod:
    owner = Owner("StatefulSet", workload)
    return make_pod(name, cpu=1.0, memory=GIB, node=node, phase="Running", bound_at=bound_at, owner=owner)


def watched(readings: int = 240) -> Observer:
    """An observer that saw nodes only, once a minute, with a load that sways by a tenth."""
    observer = Observer()
    for node in ON:
        observer.tell(NodeSeen(make_node(node, cpu=16.0, memory=64 * GIB)), 0.0)
    for node, counts in ON.items():
        for workload, count in counts.items():
            for number in range(count):
                observer.tell(PodSeen(pod_of(workload, f"{workload}-{node}{number}", node)), 0.0)
    chance = np.random.default_rng(1)
    for minute in range(1, readings + 1):
        sway = {workload: cores * chance.uniform(0.9, 1.1) for workload, cores in TRUE.items()}
        used = {node: sum(n * sway[w] for w, n in counts.items()) for node, counts in ON.items()}
        observer.feed(
            make_reading({n: (cores, 4 * GIB) for n, cores in used.items()}, minute * MINUTE), minute * MINUTE
        )
    return observer


def told_of(observer: Observer, now: float) -> dict[str, dict[str, Any]]:
    workloads = report(observer.export(now), "name", 10)["workloads"]
    return {entry["workload"].rpartition("/")[2]: entry["resources"]["cpu"] for entry in workloads}


def test_over_the_readings_each_workload_s_own_level_comes_out() -> None:
    told = told_of(watched(), 240 * MINUTE)
    assert {name: cell["mean"] for name, cell in told.items()} == pytest.approx(TRUE, abs=0.25)


def test_what_is_only_inferred_counts_as_no_sample_and_recommends_nothing() -> None:
    for cell in told_of(watched(), 240 * MINUTE).values():
        assert cell["samples"] == cell["confidence"] == 0
        assert cell["recommended"] is None


def test_nodes_are_expected_to_use_what_they_use_and_a_pod_that_comes_adds_what_its_workload_uses() -> None:
    observer, now = watched(), 240 * MINUTE
    before = expected_cores(observer, now)
    true = {node: sum(n * TRUE[workload] for workload, n in counts.items()) for node, counts in ON.items()}
    assert before == pytest.approx(true, rel=0.1)
    observer.tell(PodSeen(pod_of("db", "db-new", "d", now)), now)
    observer.tell(PodSeen(pod_of("web", "web-new", "a", now)), now)
    after = expected_cores(observer, now)
    assert after["d"] - before["d"] == pytest.approx(TRUE["db"], abs=0.25)
    assert after["a"] - before["a"] == pytest.approx(TRUE["web"], abs=0.25)


def test_a_pod_that_a_measurement_cannot_have_seen_has_no_part_in_it() -> None:
    """Otherwise its siblings would be thought to use less."""
    observer, now = watched(), 240 * MINUTE
    for number in range(20):
        observer.tell(PodSeen(pod_of("db", f"db-new{number}", "d", now)), now)
    before = told_of(observer, now)["db"]["mean"]
    observer.feed(make_reading({"d": (1.6, 4 * GIB)}, now + 10.0), now + 10.0)
    assert told_of(observer, now)["db"]["mean"] == pytest.approx(before, rel=0.01)


def test_a_measurement_that_is_told_again_teaches_nothing() -> None:
    observer = watched(30)
    before = rows_of(observer.export(0.0))
    observer.feed(make_reading(dict.fromkeys(ON, (9.0, 4 * GIB)), 30 * MINUTE), 31 * MINUTE)
    assert rows_of(observer.export(0.0)) == before


def test_what_was_inferred_is_kept_and_stays_inferred() -> None:
    observer, again = watched(), Observer()
    again.restore(observer.export(240 * MINUTE))
    told = rows_of(again.export(240 * MINUTE))["workloads"]["default/StatefulSet/db"]
    assert told == rows_of(observer.export(240 * MINUTE))["workloads"]["default/StatefulSet/db"]
    assert told["inferred"][0] == told["sums"][0][0] > 100  # type: ignore[index]


def with_pods(observer: Observer, minute: int) -> None:
    """A reading that tells of nodes, and of two of the pods."""
    usage = np.array([[0.4, GIB], [2.0, GIB]])
    listed = Measurements(("default/web-a0", "default/db-a0"), usage, np.full(2, minute * MINUTE), np.full(2, np.nan))
    nodes = make_reading(dict.fromkeys(ON, (3.0, 4 * GIB)), minute * MINUTE)
    observer.feed(replace(nodes, pods=listed), minute * MINUTE)


def test_the_first_measurement_of_a_workload_replaces_all_guesses() -> None:
    observer = watched()
    with_pods(observer, 241)
    told = told_of(observer, 241 * MINUTE)
    assert (told["web"]["mean"], told["web"]["samples"]) == (pytest.approx(0.4), 1)
    assert (told["db"]["mean"], told["db"]["samples"]) == (pytest.approx(2.0), 1)
    assert told["cron"]["samples"] == 0
    rest = rows_of(observer.export(0.0))["rest"]
    assert {node: told["counts"][0] for node, told in rest.items()} == dict.fromkeys(ON, 1.0)  # type: ignore[index]


def test_once_a_pod_was_measured_a_reading_of_nodes_alone_teaches_nothing() -> None:
    """As at every start beside a Prometheus, whose past is first read for nodes."""
    observer = watched(30)
    with_pods(observer, 31)
    before = rows_of(observer.export(0.0))
    observer.feed(make_reading(dict.fromkeys(ON, (9.0, 4 * GIB)), 32 * MINUTE), 32 * MINUTE)
    assert rows_of(observer.export(0.0)) == before


def expected_cores(observer: Observer, now: float) -> dict[str, float]:
    snapshot = observer.snapshot(now)
    assert snapshot.expected is not None
    return dict(zip(snapshot.names, snapshot.expected.mean[:, 0].tolist(), strict=True))
