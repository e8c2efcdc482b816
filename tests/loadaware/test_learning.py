"""What teaches, and what does not; and a node that was never measured, on which pods run whose demand was learned."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Owner, Pod
from collectors.reading import Measurements, Reading
from loadaware.core import Core
from loadaware.demand_report import report
from loadaware.learning import no_emptier_than_usual
from loadaware.observer import Observer
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings
from tests.loadaware.learned import HOUR, expected_of, list_cluster, observer_of, reading_of, running_pod

MEASURED = ("a", "b", "c")
WIDE = EntropicRisk(range=50.0)
"""No score of these tests is cut off at 0."""
NEW = make_pod("new", cpu=1.0, memory=GIB)


def reading(nodes: Mapping[str, float], pods: Mapping[str, float], time: float) -> Reading:
    usage = np.array([[cores, GIB] for cores in pods.values()])
    listed = Measurements(tuple(pods), usage, np.full(len(pods), time), np.full(len(pods), 15.0))
    return replace(make_reading({name: (cores, 4 * GIB) for name, cores in nodes.items()}, time), pods=listed)


def core_of(scorer: Scorer, on_silent: int) -> Core:
    """Three measured nodes with one, two and three pods of one core each; so many on a node that is never measured."""
    clock = Clock()
    core = Core(make_settings(make_profile(scorer)), clock)
    core.tell(*(NodeSeen(make_node(name, cpu=8.0, memory=32 * GIB)) for name in (*MEASURED, "silent")))
    counts = {"a": 1, "b": 2, "c": 3, "silent": on_silent}
    pods = [
        make_pod(f"web-{node}{n}", cpu=1.0, memory=GIB, node=node, phase="Running", bound_at=0.0, labels={"x": "y"})
        for node, count in counts.items()
        for n in range(count)
    ]
    core.tell(*map(PodSeen, pods))
    for _ in range(30):
        clock.advance(60.0)
        seen = {pod.key: 1.0 for pod in pods if pod.node != "silent"}
        core.feed(reading({name: float(counts[name]) for name in MEASURED}, seen, clock()))
    return core


def scores(core: Core) -> dict[str, float]:
    ranking = core.rank(NEW, book=False)
    return dict(zip(ranking.names, ranking.scores.tolist(), strict=True))


@pytest.mark.parametrize("on_silent", [0, 1, 2])
def test_a_node_known_by_its_pods_is_judged_by_them_and_never_as_emptier_than_the_median(on_silent: int) -> None:
    found = scores(core_of(WIDE, on_silent))
    assert found["silent"] == pytest.approx(found["b"], abs=1.0)
    assert found["a"] > found["b"] > found["c"]


def test_a_node_that_was_never_measured_is_no_steadier_than_the_median() -> None:
    core = core_of(WIDE, 0)
    expected = core.snapshot.expected
    assert expected is not None
    *measured, silent = (expected.variance[core.snapshot.index[name], 0] for name in (*MEASURED, "silent"))
    assert silent == pytest.approx(np.median(measured))
    assert silent > 0


def test_a_full_one_is_seen_to_be_full() -> None:
    found = scores(core_of(WIDE, 6))
    assert found["silent"] < found["c"]


def test_a_scorer_that_does_not_learn_leaves_it_to_the_ladder() -> None:
    found = scores(core_of(TargetLoadPacking(), 0))
    assert found["silent"] <= np.median([found[name] for name in MEASURED])


def test_a_node_that_was_measured_and_fell_silent_is_doubted() -> None:
    core = core_of(WIDE, 1)
    clock = core._clock
    assert isinstance(clock, Clock)
    for _ in range(30):
        clock.advance(60.0)
        core.feed(reading({"b": 2.0, "c": 3.0}, {"default/web-b0": 1.0}, clock()))
    found = scores(core)
    assert found["a"] <= np.median([found["b"], found["c"]]) + 1e-9


def test_without_any_measured_node_nothing_is_usual() -> None:
    mean, capacity = np.array([[1.0, 2.0]]), np.array([[4.0, 8.0]])
    assert no_emptier_than_usual(mean, capacity, np.array([False])).tolist() == mean.tolist()
    assert no_emptier_than_usual(mean, capacity, np.array([True])).tolist() == mean.tolist()


def test_the_usual_share_is_the_median_of_the_measured_and_a_fuller_node_stays_fuller() -> None:
    mean = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [0.0, 9.0]])
    capacity = np.array([[10.0, 10.0], [10.0, 10.0], [10.0, 10.0], [20.0, 20.0]])
    found = no_emptier_than_usual(mean, capacity, np.array([True, True, True, False]))
    assert found[3].tolist() == [4.0, 9.0]
    assert found[:3].tolist() == mean[:3].tolist()


def test_a_measured_node_without_a_known_capacity_does_not_make_missing_idle() -> None:
    mean = np.array([[4.0], [4.0], [1.0], [0.0]])
    capacity = np.array([[8.0], [8.0], [np.nan], [8.0]])
    found = no_emptier_than_usual(mean, capacity, np.array([True, True, True, False]))
    assert found[3].tolist() == [4.0]


# -- What teaches, and what does not ----------------------------------------------------------------------------


def learned_of(observer: Observer) -> dict[str, float]:
    """Samples by workload."""
    table = observer.export(1000.0).table("workloads")
    return dict(zip(table.names, table.floats("sums", 2, 3)[:, 0, 0].tolist(), strict=True))


def test_a_pod_that_is_not_running_yet_teaches_nothing_and_then_it_does() -> None:
    pod = make_pod("web-0", cpu=1.0, memory=GIB, node="a", phase="Pending", namespace="shop")
    observer = observer_of(pod)
    observer.feed(reading_of({"web-0": (0.9, GIB)}, 60.0), 60.0)  # its init containers
    assert learned_of(observer) == {"shop/Pod/web": 0.0}
    observer.tell(PodSeen(msgspec.structs.replace(pod, phase="Running")), 70.0)
    observer.feed(reading_of({"web-0": (0.2, GIB)}, 120.0), 120.0)
    assert learned_of(observer) == {"shop/Pod/web": 1.0}


def test_one_absurd_sample_of_a_pod_teaches_nobody() -> None:
    core, other = core_of(WIDE, 1), core_of(WIDE, 1)
    nodes, time = {"a": 1.0, "b": 2.0, "c": 3.0}, 10_000.0
    core.observer.feed(reading(nodes, {"default/web-a0": 1000.0, "default/web-b0": 1.0}, time), time)
    other.observer.feed(reading(nodes, {"default/web-b0": 1.0}, time), time)
    absurd, without = (each.observer.snapshot(time).expected for each in (core, other))
    assert absurd is not None
    assert without is not None
    np.testing.assert_allclose(absurd.cumulants[:, :, 0], without.cumulants[:, :, 0], atol=1e-12)


@pytest.mark.parametrize("known", [False, True], ids=["a stranger", "a pod told of before its node"])
def test_pods_of_nodes_nobody_told_of_are_no_harm(known: bool) -> None:
    observer = Observer()
    if known:
        pod = make_pod("web-a0", cpu=1.0, memory=GIB, node="a", phase="Running", bound_at=0.0)
        observer.tell(PodSeen(pod), 0.0)
    observer.feed(reading({}, {"default/web-a0": 1.0}, 1000.0), 1000.0)
    assert (observer.snapshot(1000.0).expected is not None) == known


def test_a_container_that_was_restarted_is_the_same_pod_and_its_workload_goes_on_learning() -> None:
    observer = observer_of(running_pod("web-0"))
    for minute in range(1, 31):
        observer.feed(reading_of({"web-0": (0.5, GIB)}, minute * 60.0), minute * 60.0)
    before = np.array(expected_of(observer, 1800.0))
    observer.tell(PodSeen(running_pod("web-0")), 1805.0)  # told again: the restart count is another
    observer.feed(reading_of({"web-0": (0.5, GIB)}, 1860.0), 1860.0)
    assert learned_of(observer)["shop/Pod/web"] == pytest.approx(31, abs=1.0)  # a little was forgotten meanwhile
    assert np.array(expected_of(observer, 1860.0))[0, 0, 0] == pytest.approx(before[0, 0, 0], rel=0.02)


def test_advice_that_is_followed_is_not_given_again() -> None:
    def edition(number: int, cpu: float) -> Pod:
        owner = Owner("ReplicaSet", f"web-{'bcdfgh2456'[number] * 10}")
        name = f"web-{number}"
        return make_pod(name, cpu=cpu, memory=GIB, node="a", phase="Running", namespace="shop", owner=owner)

    request, observer = 2.0, Observer()
    for number in range(4):
        list_cluster(observer, edition(number, request))
        for step in range(1, 401):
            time = number * 4 * HOUR + step * 30.0
            observer.feed(reading_of({f"web-{number}": (0.4, GIB)}, time), time)
        (entry,) = report(observer.export(number * 4 * HOUR + 12_000.0), "cpu", 10)["workloads"]
        assert entry["workload"] == "shop/Deployment/web"
        request = entry["resources"]["cpu"]["recommended"]
        assert request == pytest.approx(0.4, rel=0.05)
