import random
from collections import Counter

import numpy as np
import pytest

from collectors.cluster import NodeGone, NodeSeen, PodGone, PodSeen
from collectors.manifests import Pod
from loadaware.core import Core
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.observer import ObserverSettings
from loadaware.profile import Profile
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings

BALANCING = make_profile(LoadVariationRiskBalancing(), "balancing")


def core_of(clock: Clock, *names: str, profile: Profile = BALANCING, cpu: float = 4.0) -> Core:
    core = Core(make_settings(profile), clock)
    core.tell(*(NodeSeen(make_node(name, cpu)) for name in names))
    return core


# -- One after the other --------------------------------------------------------------------------------------------


def test_from_readings_to_a_ranking() -> None:
    clock = Clock()
    core = core_of(clock, "a", "b")
    core.feed(make_reading({"a": (3.0, GIB), "b": (1.0, GIB)}, clock()))
    ranking = core.rank(make_pod("web", cpu=0.5), explain=True)
    # a: mu = (3 + 0.5) / 4 = 0.875, 100 * (1 - 0.875 / 2) = 56.25     b: mu = 0.375, 81.25
    assert ranking.names == ("a", "b")
    assert ranking.scores.tolist() == pytest.approx([56.25, 81.25])
    assert ranking.priorities.tolist() == [17, 24]
    (part,) = ranking.parts
    assert part.raw is not None
    assert part.raw.tolist() == [56.0, 81.0]


def test_a_node_told_of_is_known_at_once_and_a_pod_counts_at_once() -> None:
    clock = Clock()
    core = core_of(clock, "a")
    core.tell(NodeSeen(make_node("b")), PodSeen(make_pod("web", cpu=2.0, node="b", bound_at=clock())))
    assert core.snapshot.names == ("a", "b")
    assert core.adviser.in_flight.requested[:, 0].tolist() == [0.0, 2.0]
    core.tell(PodGone("uid-web"))
    assert core.adviser.in_flight.requested[:, 0].tolist() == [0.0, 0.0]


def test_a_pod_told_before_a_refresh_counts_once_after_it() -> None:
    clock = Clock()
    core = core_of(clock, "a")
    core.tell(PodSeen(make_pod("web", cpu=2.0, node="a", bound_at=clock())))
    for _ in range(3):
        core.refresh()
    assert core.adviser.in_flight.requested[0, 0] == 2.0


def test_a_node_that_is_gone_is_forgotten_at_the_next_refresh() -> None:
    core = core_of(Clock(), "a", "b")
    core.tell(NodeGone("a"))
    core.refresh()
    assert core.snapshot.names == ("b",)


def test_the_clock_is_the_callers() -> None:
    clock = Clock()
    core = core_of(clock, "a", "b")
    core.tell(PodSeen(make_pod("old", cpu=2.0, node="a", bound_at=0.0)))
    core.feed(make_reading({"a": (4.0, 0.0), "b": (0.0, 0.0)}, clock()))
    fresh = core.rank(make_pod("x"), book=False)
    clock.advance(600.0)
    doubted = core.rank(make_pod("x"), book=False)
    clock.advance(600.0)
    expired = core.rank(make_pod("x"), book=False)
    assert fresh.scores.tolist() == [50.0, 100.0]
    assert doubted.scores.tolist() == [62.5, 87.5]  # half way to the median
    assert expired.scores.tolist() == [75.0, 100.0]  # what is requested stands in for what is used


def test_a_past_fills_the_window_at_start() -> None:
    clock = Clock()
    core = core_of(clock, "a")
    core.warm(make_reading({"a": (float(n), GIB)}, clock() - 45.0 + 15.0 * n) for n in range(4))
    assert core.snapshot.statistics.mean[0, 0] == 1.5
    assert core.snapshot.statistics.latest[0, 0] == 3.0
    assert core.snapshot.window_starts is not None
    assert core.snapshot.window_starts[0] == clock() - 45.0


def test_filtering_asks_about_all_known_nodes_unless_some_are_named() -> None:
    clock = Clock()
    core = core_of(clock, "a", "b", "c", profile=make_profile(LoadVariationRiskBalancing(), "x", UsageThreshold()))
    core.feed(make_reading({"a": (3.9, GIB), "b": (0.1, GIB), "c": (0.1, GIB)}, clock()))
    assert core.filter(make_pod("web")).passed == ("b", "c")
    assert core.filter(make_pod("web"), ["a", "b"], book=False).passed == ("b",)
    assert len(core.adviser.in_flight) == 0
    assert core.filter(make_pod("web"), ["a", "b"]).passed == ("b",)
    assert len(core.adviser.in_flight) == 1


def test_a_dead_source_does_not_stop_the_answers() -> None:
    clock = Clock()
    core = core_of(clock, "a", "b")
    core.feed(make_reading({"a": (3.0, GIB), "b": (1.0, GIB)}, clock()))
    for _ in range(1000):
        clock.advance(60.0)
        assert len(core.rank(make_pod("web"), ["a", "b", "stranger"]).priorities) == 3


def test_more_resources_and_other_windows_are_a_matter_of_settings() -> None:
    clock = Clock()
    settings = ObserverSettings(resources=("cpu", "memory", "disk"), window_seconds=60.0, percentiles=(50.0, 99.0))
    core = Core(make_settings(BALANCING), clock, settings)
    core.tell(NodeSeen(make_node("a")))
    core.feed(make_reading({"a": (1.0, GIB, 0.3)}, clock(), resources=("cpu", "memory", "disk")))
    assert core.snapshot.statistics.percentiles[99.0].tolist() == [[1.0, GIB, 0.3]]


# -- A burst between two refreshes ----------------------------------------------------------------------------------

REPLICAS = 200
NODES = 20


def burst(scorer: Scorer, replicas: int, lag: int, booking_seconds: float = 10.0, max_score: int = 30) -> Counter[str]:
    """Where replicas go that are asked for one by one; the watch tells of each after `lag` more were asked for.

    The scheduler takes a node of the highest priority, at random among equals, and no refresh comes in between.
    """
    clock = Clock()
    dice = random.Random(7)
    core = Core(make_settings(make_profile(scorer, max_score=max_score), booking_seconds=booking_seconds), clock)
    core.tell(*(NodeSeen(make_node(f"node-{n}", cpu=8.0, memory=64 * GIB)) for n in range(NODES)))
    for _ in range(60):
        clock.advance(15.0)
        usage = {f"node-{n}": (0.4 + 0.02 * dice.random(), 2 * GIB) for n in range(NODES)}
        core.feed(make_reading(usage, clock()))
    placed: list[Pod] = []
    for n in range(replicas):
        clock.advance(0.02)
        ranking = core.rank(make_pod(f"web-{n}", cpu=0.25, memory=0.5 * GIB))
        best = np.flatnonzero(ranking.priorities == ranking.priorities.max()).tolist()
        node = ranking.names[dice.choice(best)]
        placed.append(make_pod(f"web-{n}", cpu=0.25, memory=0.5 * GIB, node=node, bound_at=clock()))
        if n >= lag:
            core.tell(PodSeen(placed[n - lag]))
    return Counter({f"node-{n}": 0 for n in range(NODES)}) + Counter(str(pod.node) for pod in placed)


@pytest.mark.parametrize("max_score", [30, 1000])
@pytest.mark.parametrize("lag", [0, 5, 20])
def test_a_burst_spreads_so_that_no_node_gets_more_than_half_again_its_fair_share(lag: int, max_score: int) -> None:
    counts = burst(LoadVariationRiskBalancing(), REPLICAS, lag, max_score=max_score)
    assert sum(counts.values()) == REPLICAS
    assert max(counts.values()) <= 1.5 * REPLICAS / NODES


def test_without_bookings_all_pods_of_a_burst_go_to_one_node_until_the_watch_tells() -> None:
    herded = burst(LoadVariationRiskBalancing(), 50, lag=50, booking_seconds=0.0, max_score=1000)
    assert max(herded.values()) == 50
    booked = burst(LoadVariationRiskBalancing(), 50, lag=50, max_score=1000)
    assert max(booked.values()) <= 10


def test_packing_fills_nodes_up_to_the_target_one_after_the_other() -> None:
    # A node idles at some 5 % and a replica is taken for 1.5 * 250m of 8 cores, 4.7 %: seven fit below 40 %. A booking
    # is shared among nodes of equal priority, so a node can get one more before the watch tells.
    counts = burst(TargetLoadPacking(), 70, lag=5)
    filled = [count for count in counts.values() if count]
    assert sum(filled) == 70
    assert 7 <= max(filled) <= 8
    assert len(filled) <= NODES - 4
    assert sum(count >= 7 for count in filled) >= 5


def test_packing_beyond_the_target_of_all_nodes_spreads() -> None:
    counts = burst(TargetLoadPacking(), 7 * NODES + 40, lag=5)
    assert min(counts.values()) >= 7
    assert max(counts.values()) <= 7 + 5


# -- Scale ----------------------------------------------------------------------------------------------------------


def test_two_thousand_nodes_and_forty_thousand_pods_are_counted_and_ranked() -> None:
    clock = Clock()
    names = [f"node-{n:04d}" for n in range(2000)]
    core = core_of(clock, *names, cpu=64.0)
    shapes = [make_pod(cpu=0.05 * (n % 40 + 1), memory=GIB).shape for n in range(400)]
    for n in range(40_000):
        pod = Pod(uid=f"uid-{n}", name=f"pod-{n}", node=names[n % 2000], shape=shapes[n % 400], bound_at=0.0)
        core.observer.tell(PodSeen(pod), clock())
    core.feed(make_reading({name: (n % 64 + 0.0, 0.0) for n, name in enumerate(names)}, clock()))
    snapshot = core.snapshot
    assert snapshot.pod_counts.tolist() == [20.0] * 2000
    expected = [sum(shapes[(n + 2000 * k) % 400].request("cpu") for k in range(20)) for n in range(2000)]
    np.testing.assert_allclose(snapshot.requested[:, 0], expected)
    ranking = core.rank(make_pod("web", cpu=0.5))
    assert len(ranking.priorities) == 2000
    assert ranking.names[ranking.best()[0]] == "node-0000"
    np.testing.assert_allclose(ranking.scores, 100.0 * (1.0 - (np.arange(2000) % 64 + 0.5).clip(0, 64) / 64.0 / 2.0))
