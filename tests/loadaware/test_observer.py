import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.cluster import (
    Event,
    Forbidden,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.manifests import Namespace, Pod
from collectors.reading import Base
from loadaware.changes import Change, PodBound, PodLeft
from loadaware.kin import kin_of
from loadaware.observer import MOST_USAGE_PER_REQUEST, Observer, ObserverSettings
from loadaware.snapshot import OPT_OUT_ANNOTATION, Snapshot
from tests.loadaware.builders import GIB, make_node, make_pod, make_reading, make_shape

NOW = 10_000.0
KIN = kin_of(make_pod(cpu=0.5))
NAN = math.nan


def observer_of(*names: str, **settings: Any) -> Observer:
    """An observer that was told of these nodes."""
    observer = Observer(ObserverSettings(**settings))
    tell(observer, *(NodeSeen(make_node(name)) for name in names))
    return observer


def tell(observer: Observer, *events: Event, now: float = NOW) -> list[Change]:
    return [change for event in events for change in observer.tell(event, now)]


def cpu_means(snapshot: Snapshot) -> dict[str, float]:
    return dict(zip(snapshot.names, snapshot.statistics.mean[:, 0].tolist(), strict=True))


def pod_counts(snapshot: Snapshot) -> dict[str, float]:
    return dict(zip(snapshot.names, snapshot.pod_counts.tolist(), strict=True))


def requested(snapshot: Snapshot) -> dict[str, float]:
    return dict(zip(snapshot.names, snapshot.requested[:, 0].tolist(), strict=True))


# -- Told of the cluster --------------------------------------------------------------------------------------------


def test_a_cluster_of_which_nothing_was_told_is_empty() -> None:
    snapshot = Observer().snapshot(NOW)
    assert snapshot.names == ()
    assert snapshot.time == NOW
    assert snapshot.pods_known


def test_a_node_is_known_with_what_it_has_and_not_measured() -> None:
    observer = Observer()
    tell(observer, NodeSeen(make_node("a", allocatable=(("cpu", 3.5),), labels={"zone": "x"})))
    snapshot = observer.snapshot(NOW)
    assert snapshot.capacity.tolist() == [[4.0, 16 * GIB]]
    np.testing.assert_array_equal(snapshot.allocatable, [[3.5, NAN]])
    assert snapshot.labels == ({"zone": "x"},)
    assert snapshot.sampled_at.tolist() == [-math.inf]
    assert np.isnan(snapshot.statistics.mean).all()
    assert observer.node_count == 1
    assert [node.name for node in observer.nodes] == ["a"]


def test_a_node_told_again_is_the_same_node_with_new_facts() -> None:
    observer = observer_of("a", "b")
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW), NOW)
    tell(observer, NodeSeen(make_node("a", cpu=8.0)))
    snapshot = observer.snapshot(NOW)
    assert snapshot.names == ("a", "b")
    assert snapshot.capacity[0, 0] == 8.0
    assert cpu_means(snapshot)["a"] == 1.0


def test_a_pod_told_before_its_node_counts_when_the_node_appears() -> None:
    observer = Observer()
    changes = tell(observer, PodSeen(make_pod("web", cpu=0.5, node="late", bound_at=NOW)))
    assert changes == [PodBound("uid-web", "late", make_shape(cpu=0.5), NOW, workload="default/Pod/web", kin=KIN)]
    assert observer.snapshot(NOW).names == ()
    tell(observer, NodeSeen(make_node("late")))
    snapshot = observer.snapshot(NOW)
    assert requested(snapshot) == {"late": 0.5}
    assert pod_counts(snapshot) == {"late": 1.0}


def test_a_pod_is_counted_once_however_often_it_is_told_of() -> None:
    observer = observer_of("a")
    event = PodSeen(make_pod("web", cpu=0.5, node="a", bound_at=NOW))
    assert len(tell(observer, event)) == 1
    assert tell(observer, event, event) == []
    assert pod_counts(observer.snapshot(NOW)) == {"a": 1.0}
    assert observer.pod_count == 1


def test_a_pod_that_is_not_bound_counts_nowhere() -> None:
    observer = observer_of("a")
    assert tell(observer, PodSeen(make_pod("web", cpu=0.5))) == []
    assert observer.pod_count == 0


def test_a_deleted_pod_leaves_with_what_it_had() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a", bound_at=NOW - 60.0)))
    assert tell(observer, PodGone("uid-web")) == [
        PodLeft("uid-web", "a", make_shape(cpu=0.5), NOW - 60.0, workload="default/Pod/web")
    ]
    assert requested(observer.snapshot(NOW)) == {"a": 0.0}


def test_a_pod_nobody_knew_leaves_from_nowhere_so_that_a_booking_can_be_let_go() -> None:
    assert tell(observer_of("a"), PodGone("uid-pending")) == [PodLeft("uid-pending")]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_uses_nothing_even_before_it_is_deleted(phase: str) -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("job", cpu=0.5, node="a", bound_at=NOW, phase="Running")))
    changes = tell(observer, PodSeen(make_pod("job", cpu=0.5, node="a", bound_at=NOW, phase=phase)))
    assert changes == [PodLeft("uid-job", "a", make_shape(cpu=0.5), NOW, workload="default/Pod/job")]
    assert observer.pod_count == 0
    assert tell(observer, PodGone("uid-job")) == [PodLeft("uid-job")]


def test_a_pod_that_is_finished_when_first_seen_never_counts() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("job", cpu=0.5, node="a", phase="Succeeded")))
    assert pod_counts(observer.snapshot(NOW)) == {"a": 0.0}


def test_a_pod_resized_in_place_changes_its_sums_and_keeps_its_age() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a", bound_at=NOW - 500.0)))
    changes = tell(observer, PodSeen(make_pod("web", cpu=2.0, node="a", bound_at=NOW - 500.0)))
    assert changes == [
        PodLeft("uid-web", "a", make_shape(cpu=0.5), NOW - 500.0, workload="default/Pod/web"),
        PodBound("uid-web", "a", make_shape(cpu=2.0), NOW - 500.0, workload="default/Pod/web"),
    ]
    snapshot = observer.snapshot(NOW)
    assert requested(snapshot) == {"a": 2.0}
    assert pod_counts(snapshot) == {"a": 1.0}


def test_a_pod_without_a_uid_that_comes_back_elsewhere_moves() -> None:
    observer = observer_of("a", "b")
    tell(observer, PodSeen(make_pod("db-0", uid="", cpu=0.5, node="a", bound_at=NOW - 500.0)))
    changes = tell(observer, PodSeen(make_pod("db-0", uid="", cpu=0.5, node="b", bound_at=NOW)))
    assert changes == [
        PodLeft("default/db-0", "a", make_shape(cpu=0.5), NOW - 500.0, workload="default/Pod/db"),
        PodBound("default/db-0", "b", make_shape(cpu=0.5), NOW, workload="default/Pod/db", kin=KIN),
    ]
    assert pod_counts(observer.snapshot(NOW)) == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize(
    ("facts", "bound_at"),
    [
        ({"bound_at": 70.0, "created_at": 60.0}, 70.0),
        ({"created_at": 60.0}, 60.0),
        ({"created_at": 0.0}, 0.0),
        ({}, NOW),
    ],
)
def test_a_pod_was_bound_when_it_says_so_else_when_it_was_made_else_now(
    facts: dict[str, float], bound_at: float
) -> None:
    (change,) = tell(observer_of("a"), PodSeen(make_pod("web", node="a", **facts)))
    assert isinstance(change, PodBound)
    assert change.bound_at == bound_at


def test_a_node_that_is_gone_takes_its_samples_along_but_its_pods_wait() -> None:
    observer = observer_of("a", "b")
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a", bound_at=NOW)))
    observer.feed(make_reading({"a": (3.0, GIB), "b": (1.0, GIB)}, NOW), NOW)
    tell(observer, NodeGone("a"))
    assert observer.snapshot(NOW).names == ("b",)
    assert observer.pod_count == 1
    tell(observer, NodeSeen(make_node("a")))
    snapshot = observer.snapshot(NOW)
    assert requested(snapshot) == {"b": 0.0, "a": 0.5}
    assert math.isnan(cpu_means(snapshot)["a"])


def test_a_pod_that_outlives_its_node_leaves_by_the_nodes_name() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a", bound_at=NOW)), NodeGone("a"))
    assert tell(observer, PodGone("uid-web")) == [
        PodLeft("uid-web", "a", make_shape(cpu=0.5), NOW, workload="default/Pod/web")
    ]
    assert observer.pod_count == 0


def test_a_new_node_inherits_nothing_from_the_one_whose_row_it_takes() -> None:
    observer = observer_of("old")
    reading = make_reading({"old": (-1.0, GIB)}, NOW, deviation=[[0.5, GIB]])
    observer.feed(reading, NOW)
    tell(observer, NodeGone("old"), NodeSeen(make_node("new")))
    snapshot = observer.snapshot(NOW + 500.0)
    assert snapshot.names == ("new",)
    assert snapshot.quarantined == {}
    assert np.isnan(snapshot.statistics.deviation).all()
    assert np.isnan(snapshot.windows[3600.0].mean).all()


def test_a_node_that_was_never_there_can_be_gone() -> None:
    observer = observer_of("a")
    tell(observer, NodeGone("b"), PodSeen(make_pod("web", node="c")), NodeGone("c"))
    assert observer.snapshot(NOW).names == ("a",)
    assert observer.pod_count == 1


def test_what_a_list_of_pods_does_not_name_has_left() -> None:
    observer = observer_of("a")
    tell(observer, *(PodSeen(make_pod(name, cpu=0.5, node="a", bound_at=NOW)) for name in ("x", "y", "z")))
    changes = tell(observer, Relisted("pods", frozenset({"uid-y", "uid-pending"})))
    assert {change.identity for change in changes} == {"uid-x", "uid-z"}
    assert all(isinstance(change, PodLeft) for change in changes)
    assert pod_counts(observer.snapshot(NOW)) == {"a": 1.0}


def test_what_a_list_of_nodes_does_not_name_is_gone() -> None:
    observer = observer_of("a", "b", "c")
    assert tell(observer, Relisted("nodes", frozenset({"b"}))) == []
    assert observer.snapshot(NOW).names == ("b",)


def test_a_list_of_one_kind_says_nothing_of_the_others() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("web", node="a")), NamespaceSeen(exempt("batch")))
    tell(observer, Relisted("namespaces", frozenset({"batch"})))
    snapshot = observer.snapshot(NOW)
    assert snapshot.names == ("a",)
    assert pod_counts(snapshot) == {"a": 1.0}
    assert snapshot.exempt_namespaces == {"batch"}


def test_when_pods_may_not_be_watched_it_says_so_until_a_pod_is_seen() -> None:
    observer = observer_of("a")
    tell(observer, Forbidden("namespaces", "opting out"))
    assert observer.snapshot(NOW).pods_known
    tell(observer, Forbidden("pods", "in-flight counting"))
    assert not observer.snapshot(NOW).pods_known
    tell(observer, PodSeen(make_pod("web", node="a")))
    assert observer.snapshot(NOW).pods_known


def test_an_empty_list_of_pods_says_that_pods_can_be_watched() -> None:
    observer = observer_of("a")
    tell(observer, Forbidden("pods", "in-flight counting"), Relisted("pods", frozenset()))
    assert observer.snapshot(NOW).pods_known


def exempt(name: str, value: str = "true") -> Namespace:
    return Namespace(name, {OPT_OUT_ANNOTATION: value})


def test_namespaces_opt_out_and_back_in() -> None:
    observer = Observer()
    tell(observer, NamespaceSeen(exempt("batch")), NamespaceSeen(exempt("web", "false")), NamespaceSeen(exempt("ci")))
    assert observer.snapshot(NOW).exempt_namespaces == {"batch", "ci"}
    tell(observer, NamespaceSeen(exempt("batch", "no")), NamespaceGone("ci"), NamespaceGone("never"))
    assert observer.snapshot(NOW).exempt_namespaces == frozenset()
    tell(observer, NamespaceSeen(exempt("batch")), Relisted("namespaces", frozenset({"web"})))
    assert observer.snapshot(NOW).exempt_namespaces == frozenset()


class Told:
    """What was told, in plain sets."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.pods: dict[str, Pod] = {}

    def tell(self, event: Event) -> None:
        match event:
            case NodeSeen(node=node):
                self.nodes.add(node.name)
            case NodeGone(name=name):
                self.nodes.discard(name)
            case PodSeen(pod=pod) if pod.finished:
                self.pods.pop(pod.identity, None)
            case PodSeen(pod=pod) if pod.node is not None:
                self.pods[pod.identity] = pod
            case PodGone(identity=identity):
                self.pods.pop(identity, None)
            case Relisted(kind="pods", present=present):
                self.pods = {i: p for i, p in self.pods.items() if i in present}
            case Relisted(kind="nodes", present=present):
                self.nodes &= present


NODE_NAMES = st.sampled_from(["a", "b", "c"])
POD_NAMES = st.sampled_from(["p", "q", "r", "s", "t"])
tellable_pods = st.builds(
    make_pod,
    POD_NAMES,
    cpu=st.sampled_from([0.0, 0.25, 1.0]),
    node=st.one_of(st.none(), NODE_NAMES),
    phase=st.sampled_from(["Pending", "Running", "Running", "Succeeded"]),
)
events = st.one_of(
    st.builds(NodeSeen, st.builds(make_node, NODE_NAMES)),
    st.builds(NodeGone, NODE_NAMES),
    st.builds(PodSeen, tellable_pods),
    st.builds(PodSeen, tellable_pods),
    st.builds(PodGone, POD_NAMES.map(lambda name: f"uid-{name}")),
    st.builds(Relisted, st.just("pods"), st.frozensets(POD_NAMES.map(lambda name: f"uid-{name}"))),
    st.builds(Relisted, st.just("nodes"), st.frozensets(NODE_NAMES)),
)


@given(st.lists(events, max_size=50))
def test_whatever_the_order_of_events_each_pod_counts_once_where_it_is(story: list[Event]) -> None:
    observer, told = Observer(), Told()
    believed: dict[str, str] = {}
    for event in story:
        told.tell(event)
        for change in observer.tell(event, NOW):
            if isinstance(change, PodBound):
                assert change.identity not in believed
                believed[change.identity] = change.node
            elif change.node is not None:
                assert believed.pop(change.identity) == change.node
        snapshot = observer.snapshot(NOW)
        assert set(snapshot.names) == told.nodes
        for name in told.nodes:
            here = [pod for pod in told.pods.values() if pod.node == name]
            assert pod_counts(snapshot)[name] == len(here)
            assert requested(snapshot)[name] == pytest.approx(sum(pod.shape.request("cpu") for pod in here))
        assert believed == {identity: pod.node for identity, pod in told.pods.items()}


# -- Fed with readings ----------------------------------------------------------------------------------------------


def test_a_reading_is_kept_by_name_whatever_its_order() -> None:
    observer = observer_of("a", "b")
    observer.feed(make_reading({"b": (2.0, GIB), "a": (1.0, GIB)}, NOW), NOW)
    assert cpu_means(observer.snapshot(NOW)) == {"a": 1.0, "b": 2.0}
    assert observer.counts.readings == 1


def test_a_reading_may_name_its_resources_in_any_order_and_others_besides() -> None:
    observer = observer_of("a")
    observer.feed(make_reading({"a": (7.0, GIB, 1.0)}, NOW, resources=("disk", "memory", "cpu")), NOW)
    assert observer.snapshot(NOW).statistics.mean.tolist() == [[1.0, GIB]]


def test_a_resource_named_in_the_settings_is_kept_too() -> None:
    observer = observer_of("a", resources=("cpu", "memory", "disk"))
    observer.feed(make_reading({"a": (1.0, GIB, 7.0)}, NOW, resources=("cpu", "memory", "disk")), NOW)
    assert observer.snapshot(NOW).statistics.mean.tolist() == [[1.0, GIB, 7.0]]


def test_nodes_nobody_told_of_are_left_out_and_counted() -> None:
    observer = observer_of("a")
    observer.feed(make_reading({"a": (1.0, GIB), "x": (1.0, GIB), "y": (1.0, GIB)}, NOW), NOW)
    assert observer.counts.unknown_nodes == 2
    assert observer.snapshot(NOW).names == ("a",)
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW + 15.0), NOW + 15.0)
    assert observer.counts.unknown_nodes == 0


def test_a_reading_before_any_node_does_no_harm() -> None:
    observer = Observer()
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW), NOW)
    observer.feed(make_reading({}, NOW), NOW)
    assert observer.snapshot(NOW).names == ()


@pytest.mark.parametrize(("base", "cpu"), [("capacity", 3.2), ("absolute", 0.4)])
def test_shares_of_capacity_are_made_absolute(base: Base, cpu: float) -> None:
    observer = Observer()
    tell(observer, NodeSeen(make_node("a", cpu=8.0, allocatable=(("cpu", 6.0), ("memory", GIB)))))
    observer.feed(make_reading({"a": (0.4, 0.5)}, NOW, base=base, deviation=[[0.1, 0.1]]), NOW)
    statistics = observer.snapshot(NOW).statistics
    assert statistics.mean[0, 0] == pytest.approx(cpu)
    assert statistics.deviation[0, 0] == pytest.approx(cpu / 4)


def test_a_deviation_that_the_source_reports_goes_before_our_own() -> None:
    observer = observer_of("a", "b")
    for n, cpu in enumerate((1.0, 3.0)):
        usage = {"a": (cpu, GIB), "b": (cpu, GIB)}
        observer.feed(make_reading(usage, NOW + n, deviation=[[0.25, NAN], [-5.0, NAN]]), NOW + n)
    deviation = observer.snapshot(NOW).statistics.deviation
    assert deviation[:, 0].tolist() == [0.25, 1.0]
    assert deviation[:, 1].tolist() == [0.0, 0.0]


def test_a_repeated_reading_adds_nothing() -> None:
    observer = observer_of("a")
    for cpu in (1.0, 3.0):
        observer.feed(make_reading({"a": (cpu, GIB)}, NOW), NOW + cpu)
    assert cpu_means(observer.snapshot(NOW)) == {"a": 1.0}


QUARANTINED = [
    ("nan", (NAN, NAN), NOW + 15.0),
    ("negative", (-1.0, -1.0), NOW + 15.0),
    ("absurd", (900.0, 900 * GIB), NOW + 15.0),
    ("future", (3.0, GIB), NOW + 3600.0),
    ("future", (3.0, GIB), NAN),
]


@pytest.mark.parametrize(("reason", "usage", "time"), QUARANTINED)
def test_what_is_not_believed_is_quarantined_and_counted_and_the_node_comes_back(
    reason: str, usage: tuple[float, float], time: float
) -> None:
    observer = observer_of("a", "b")
    observer.feed(make_reading({"a": (1.0, GIB), "b": (1.0, GIB)}, NOW), NOW)
    reading = make_reading({"a": usage, "b": (2.0, GIB)}, NOW + 15.0, times=[time, NOW + 15.0])
    observer.feed(reading, NOW + 15.0)
    snapshot = observer.snapshot(NOW + 15.0)
    assert snapshot.quarantined == {"a": reason}
    assert +observer.counts.quarantined == {reason: 1}
    assert cpu_means(snapshot) == {"a": 1.0, "b": 1.5}
    assert snapshot.sampled_at.tolist() == [NOW, NOW + 15.0]
    observer.feed(make_reading({"a": (3.0, GIB)}, NOW + 30.0), NOW + 30.0)
    snapshot = observer.snapshot(NOW + 30.0)
    assert snapshot.quarantined == {}
    assert cpu_means(snapshot)["a"] == 2.0


def test_data_goes_on_ageing_while_nothing_that_comes_can_be_believed() -> None:
    observer = observer_of("a")
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW), NOW)
    for n in range(1, 40):
        observer.feed(make_reading({"a": (NAN, -1.0)}, NOW + 15.0 * n), NOW + 15.0 * n)
    assert observer.snapshot(NOW + 600.0).sampled_at.tolist() == [NOW]


def test_one_bad_resource_does_not_take_the_good_one_along() -> None:
    observer = observer_of("a")
    observer.feed(make_reading({"a": (-1.0, GIB)}, NOW), NOW)
    snapshot = observer.snapshot(NOW)
    np.testing.assert_array_equal(snapshot.statistics.mean, [[NAN, GIB]])
    assert snapshot.quarantined == {"a": "negative"}


def test_a_node_whose_timestamps_stop_is_frozen_counted_once_and_comes_back() -> None:
    observer = observer_of("a", "b")
    for n in range(10):
        now = NOW + 15.0 * n
        observer.feed(make_reading({"a": (1.0, GIB), "b": (1.0, GIB)}, now, times=[NOW, now]), now)
        observer.snapshot(now)
    assert observer.snapshot(NOW + 135.0).quarantined == {"a": "frozen"}
    assert observer.counts.quarantined["frozen"] == 1
    observer.feed(make_reading({"a": (1.0, GIB), "b": (1.0, GIB)}, NOW + 150.0), NOW + 150.0)
    assert observer.snapshot(NOW + 150.0).quarantined == {}


def test_a_source_that_is_slow_by_nature_is_not_frozen() -> None:
    observer = observer_of("a")
    for n in range(20):
        observer.feed(make_reading({"a": (1.0, GIB)}, NOW + 60.0 * n), NOW + 60.0 * n)
    last = NOW + 60.0 * 19
    assert observer.snapshot(last + 200.0).quarantined == {}
    assert observer.snapshot(last + 400.0).quarantined == {"a": "frozen"}


def test_a_node_that_was_never_measured_is_not_frozen() -> None:
    assert observer_of("a").snapshot(NOW).quarantined == {}


# -- Snapshots ------------------------------------------------------------------------------------------------------


def test_a_snapshot_does_not_change_any_more() -> None:
    observer = observer_of("a")
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW), NOW)
    before = observer.snapshot(NOW)
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a")), NodeSeen(make_node("b")), NodeSeen(make_node("a", 9.0)))
    observer.feed(make_reading({"a": (3.0, GIB)}, NOW + 15.0), NOW + 15.0)
    after = observer.snapshot(NOW + 15.0)
    assert before.names == ("a",)
    assert before.capacity[0, 0] == 4.0
    assert before.statistics.mean[0, 0] == 1.0
    assert before.requested[0, 0] == 0.0
    assert after.generation == before.generation + 1


def test_a_snapshots_arrays_refuse_to_be_written() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("web", cpu=0.5, node="a")))
    snapshot = observer.snapshot(NOW)
    assert snapshot.window_starts is not None
    arrays = (
        *(snapshot.capacity, snapshot.allocatable, snapshot.requested, snapshot.limits, snapshot.pod_counts),
        *(snapshot.sampled_at, snapshot.window_starts, snapshot.statistics.mean, snapshot.windows[3600.0].maximum),
        *(snapshot.statistics.percentiles[95.0], snapshot.placed.bound_at),
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(("window", "missed"), [(900.0, 3600.0), (7200.0, 7200.0)])
def test_placed_pods_are_those_that_some_sample_of_the_window_or_the_hour_has_not_seen(
    window: float, missed: float
) -> None:
    observer = observer_of("a", "b", window_seconds=window)
    observer.feed(make_reading({"a": (1.0, GIB)}, NOW), NOW)
    for name, node, bound_at in (
        ("old", "a", NOW - missed - 1.0),
        ("recent", "a", NOW - missed + 1.0),
        ("new", "a", NOW + 5.0),
        ("unmeasured", "b", 0.0),
    ):
        tell(observer, PodSeen(make_pod(name, cpu=0.1, node=node, bound_at=bound_at)))
    placed = observer.snapshot(NOW).placed
    assert sorted(placed.bound_at.tolist()) == [0.0, NOW - missed + 1.0, NOW + 5.0]


def test_limits_count_the_larger_of_limit_and_request_of_each_pod() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("x", cpu=0.5, cpu_limit=2.0, node="a")), PodSeen(make_pod("y", cpu=1.0, node="a")))
    assert observer.snapshot(NOW).limits[0, 0] == 3.0


def test_several_windows_are_kept_at_once() -> None:
    observer = observer_of("a", window_seconds=900.0, other_windows_seconds=(300.0, 3600.0))
    for n, cpu in enumerate((3.0, 1.0)):
        observer.feed(make_reading({"a": (cpu, GIB)}, NOW + 600.0 * n), NOW + 600.0 * n)
    snapshot = observer.snapshot(NOW + 600.0)
    assert cpu_means(snapshot) == {"a": 2.0}
    assert snapshot.windows[300.0].mean[0, 0] == 1.0
    assert snapshot.windows[3600.0].maximum[0, 0] == 3.0


@pytest.mark.parametrize(
    ("window", "interval", "samples"), [(900.0, 15.0, 61), (900.0, 60.0, 16), (60.0, 600.0, 2), (3600.0, 1.0, 240)]
)
def test_as_many_samples_are_kept_as_the_window_has_intervals_within_a_bound(
    window: float, interval: float, samples: int
) -> None:
    assert ObserverSettings(window_seconds=window, interval_seconds=interval).samples == samples


def test_the_cluster_uses_of_its_requests_what_its_measured_nodes_do() -> None:
    observer = observer_of("a", "b", "silent")
    for node, cores in (("a", 1.0), ("b", 3.0), ("silent", 4.0)):
        tell(observer, PodSeen(make_pod(f"on-{node}", cpu=cores, node=node)))
    observer.feed(make_reading({"a": (0.5, GIB), "b": (1.5, GIB)}, NOW), NOW)
    ratios = observer.snapshot(NOW).usage_per_request
    assert ratios is not None
    assert ratios.tolist() == [0.5, 1.0]  # nobody requests memory


def test_usage_far_above_what_is_requested_is_not_taken_for_a_rule() -> None:
    observer = observer_of("a")
    tell(observer, PodSeen(make_pod("tiny", cpu=0.001, node="a")))
    observer.feed(make_reading({"a": (4.0, GIB)}, NOW), NOW)
    ratios = observer.snapshot(NOW).usage_per_request
    assert ratios is not None
    assert ratios[0] == MOST_USAGE_PER_REQUEST
