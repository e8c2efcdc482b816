"""A node that was never measured, on which pods run whose demand was learned elsewhere."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from collectors.reading import Measurements, Reading
from loadaware.core import Core
from loadaware.learning import no_emptier_than_usual
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings

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
