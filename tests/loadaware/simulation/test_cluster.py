from collections.abc import Callable

import numpy as np
import pytest

from collectors.cluster import NamespaceSeen, NodeGone, NodeSeen, PodGone, PodSeen
from collectors.reading import Reading
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.default_scores import best, default_scores
from loadaware.simulation.metering import Timing
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News

Choose = Callable[[SimulatedCluster, int], int]


def at_random(seed: int) -> Choose:
    random = np.random.default_rng(seed)
    return lambda cluster, pod: int(random.choice(np.flatnonzero(cluster.placements.feasible(pod))))


def by_default(seed: int) -> Choose:
    random = np.random.default_rng(seed)

    def choose(cluster: SimulatedCluster, pod: int) -> int:
        nodes = np.flatnonzero(cluster.placements.feasible(pod))
        return int(nodes[best(default_scores(cluster.placements, pod, nodes), random)])

    return choose


def run(cluster: SimulatedCluster, choose: Choose, hours: float, tick: float = 15.0) -> list[tuple[float, News]]:
    """Place everything as it arrives; returns what was told, and when."""
    told: list[tuple[float, News]] = []
    start = cluster.scenario.settings.start
    for time in np.arange(start, start + hours * 3600.0, tick):
        progress = cluster.advance(float(time))
        told += [(float(time), news) for news in progress.told]
        for pod in progress.arrived:
            if cluster.placements.feasible(pod).any():
                cluster.bind(pod, choose(cluster, pod))
    return told


def place_one(cluster: SimulatedCluster, node: int = 3) -> tuple[int, float]:
    """Wait for the first pod and bind it; returns the pod and the time."""
    time = float(cluster.scenario.arrivals.arrival[0])
    (pod, *_) = cluster.advance(time).arrived
    cluster.bind(pod, node)
    return pod, time


def readings(told: list[tuple[float, News]]) -> list[tuple[float, Reading]]:
    return [(time, news) for time, news in told if isinstance(news, Reading)]


def test_a_run_repeats_exactly_for_the_same_scenario_and_choices(scenario: Scenario) -> None:
    first, second = SimulatedCluster(scenario), SimulatedCluster(scenario)
    assert len(run(first, by_default(1), 1.0)) == len(run(second, by_default(1), 1.0))
    assert first.report() == second.report()


def test_two_policies_see_the_same_arrivals_and_the_same_demand(quiet: Scenario) -> None:
    clusters = [SimulatedCluster(quiet, publish=False) for _ in range(2)]
    run(clusters[0], by_default(1), 1.0)
    run(clusters[1], at_random(2), 1.0)
    assert (clusters[0].placements.node_of != clusters[1].placements.node_of).any()
    assert clusters[0].demand.sum() == pytest.approx(clusters[1].demand.sum())


def test_the_default_scores_leave_fewer_hot_nodes_than_chance(quiet: Scenario) -> None:
    clusters = [SimulatedCluster(quiet, publish=False) for _ in range(2)]
    for cluster, choose in zip(clusters, (by_default(1), at_random(2)), strict=True):
        cluster.account_from(quiet.settings.start + 3600.0)
        run(cluster, choose, 3.0)
    assert clusters[0].report().spread < clusters[1].report().spread


def test_nodes_and_namespaces_are_told_first(scenario: Scenario) -> None:
    told = SimulatedCluster(scenario).advance(scenario.settings.start).told
    assert [news.node.name for news in told if isinstance(news, NodeSeen)] == list(scenario.machines.names)
    assert {news.namespace.name for news in told if isinstance(news, NamespaceSeen)} >= {"shop"}


def test_a_binding_is_heard_of_after_the_watch_delay(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet, Timing(watch_seconds=2.0))
    pod, time = place_one(cluster)
    early = [news for news in cluster.advance(time + 1.99).told if isinstance(news, PodSeen)]
    assert all(news.pod.node is None for news in early)
    heard = [news.pod for news in cluster.advance(time + 2.01).told if isinstance(news, PodSeen)]
    assert [(seen.node, seen.bound_at) for seen in heard if seen.identity == cluster.pod(pod).identity][-1] == (
        "node-04",
        time,
    )


def test_a_pod_uses_nothing_before_thirty_seconds_and_works_within_two_minutes(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    pod, time = place_one(cluster)
    idle = cluster.demand.copy()
    cluster.advance(time + 29.0)
    assert (cluster.demand == idle).all()
    cluster.advance(time + 91.0)
    assert cluster.demand[3] > idle[3]
    assert cluster.pod(pod).phase == "Running"


def test_a_pod_that_does_not_wait_or_does_not_fit_cannot_be_bound(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    pod, _ = place_one(cluster)
    with pytest.raises(ValueError, match=f"pod {pod} does not wait for a node"):
        cluster.bind(pod, 3)
    (other, *_) = cluster.advance(cluster.now + 600.0).arrived
    cluster.placements.requested[5] = cluster.placements.allocatable[5]
    with pytest.raises(ValueError, match=f"pod {other} does not fit on node-06"):
        cluster.bind(other, 5)
    assert cluster.waits(other)


def test_time_does_not_run_backwards(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    cluster.advance(quiet.settings.start + 100.0)
    with pytest.raises(ValueError, match="time runs forward"):
        cluster.advance(quiet.settings.start + 99.0)


def test_requests_never_exceed_what_a_node_has_and_every_gone_pod_gives_its_room_back(scenario: Scenario) -> None:
    cluster = SimulatedCluster(scenario)
    run(cluster, at_random(3), 2.0)
    placements = cluster.placements
    assert (placements.requested <= placements.allocatable).all()
    bound = np.flatnonzero(placements.node_of >= 0)
    sums = np.zeros_like(placements.requested)
    np.add.at(sums, placements.node_of[bound], placements.requests[bound])
    assert (sums == placements.requested).all()
    assert cluster.running == len(bound)
    assert (scenario.arrivals.departure[bound] > cluster.now - 30.0).all()


def test_pods_that_were_never_placed_leave_when_their_time_is_over(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    cluster.advance(quiet.settings.start + 3600.0)
    gone = quiet.arrivals.departure <= quiet.settings.start + 3600.0
    assert cluster.expired == gone.sum() > 0
    assert cluster.running == 0


def test_readings_are_published_every_minute_and_a_minute_late(quiet: Scenario) -> None:
    told = readings(run(SimulatedCluster(quiet), by_default(1), 0.5))
    assert [reading.time - quiet.settings.start for _, reading in told] == list(np.arange(120.0, 1800.0, 60.0))
    for heard, reading in told:
        assert reading.time == heard
        assert (reading.nodes.times == reading.time - 60.0).all()


def test_measured_nodes_are_throttled_at_capacity_and_show_more_than_their_pods(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet.scaled(8.0))
    told = readings(run(cluster, at_random(1), 1.0))
    cores, overhead = quiet.machines.cores, quiet.machines.overhead_cores
    _, reading = told[-1]
    assert reading.pods is not None
    assert (reading.nodes.usage[:, 0] <= cores + 1e-9).all()
    assert np.isclose(reading.nodes.usage[:, 0], cores).any()
    assert (reading.nodes.usage[:, 1] <= quiet.machines.bytes).all()
    assert reading.pods.usage.min() >= 0.0
    assert reading.pods.usage[:, 0].sum() < reading.nodes.usage[:, 0].sum() <= cores.sum()
    assert (cluster.utilization <= 1.0).all()
    assert cluster.report().unserved > 0.0
    assert (cluster.demand >= overhead).all()


def test_pods_appear_in_readings_under_their_own_names_once_they_work(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet)
    pod, time = place_one(cluster)
    told = [news for later in np.arange(10.0, 300.0, 10.0) for news in cluster.advance(time + later).told]
    listed = [news.pods for news in told if isinstance(news, Reading) and news.pods is not None]
    seen = [pods for pods in listed if cluster.pod(pod).key in pods.names]
    assert seen
    assert all(pods.times[0] > time + 30.0 for pods in seen)


def failing(scenario: Scenario) -> tuple[SimulatedCluster, list[tuple[float, News]], float, int]:
    cluster, failure = SimulatedCluster(scenario), scenario.failures[0]
    hours = (failure.start - scenario.settings.start + 60.0) / 3600.0
    told = run(cluster, by_default(1), hours)
    return cluster, told, failure.start, failure.node


def test_a_failing_node_is_gone_with_its_pods_and_they_come_back_as_new_ones(scenario: Scenario) -> None:
    cluster, told, time, node = failing(scenario)
    news = [item for when, item in told if when >= time]
    assert NodeGone(scenario.machines.names[node]) in news
    assert np.isnan(cluster.utilization[node])
    assert not len(cluster.placements.on(node))
    lost = {item.identity for item in news if isinstance(item, PodGone)}
    reborn = [item.pod for item in news if isinstance(item, PodSeen) and not item.pod.uid.endswith("000000000000")]
    assert reborn
    for pod in reborn:
        assert pod.uid[:-1] + "0" in lost


def test_a_node_that_returns_is_told_and_can_be_used_again(scenario: Scenario) -> None:
    cluster, _, _, node = failing(scenario)
    progress = cluster.advance(scenario.failures[0].end + 31.0)
    seen = [news.node.name for news in progress.told if isinstance(news, NodeSeen)]
    assert seen == [scenario.machines.names[node]]
    assert progress.freed
    assert cluster.placements.present.all()


def test_a_jobs_pod_succeeds_before_it_is_deleted_and_others_are_deleted_at_once(quiet: Scenario) -> None:
    told = [news for _, news in run(SimulatedCluster(quiet), by_default(1), 1.0)]
    finished = {news.pod.identity for news in told if isinstance(news, PodSeen) and news.pod.finished}
    jobs = {
        news.pod.identity
        for news in told
        if isinstance(news, PodSeen) and news.pod.owner and news.pod.owner.kind == "Job"
    }
    gone = {news.identity for news in told if isinstance(news, PodGone)}
    assert finished
    assert finished <= jobs
    assert gone & jobs <= finished
    assert gone - jobs


def test_nothing_is_told_twice_or_after_it_is_gone(scenario: Scenario) -> None:
    told = [news for _, news in run(SimulatedCluster(scenario), at_random(4), 2.0)]
    gone: set[str] = set()
    for news in told:
        if isinstance(news, PodGone):
            assert news.identity not in gone
            gone.add(news.identity)
        elif isinstance(news, PodSeen):
            assert news.pod.identity not in gone


def test_accounting_can_begin_later(quiet: Scenario) -> None:
    cluster = SimulatedCluster(quiet, publish=False)
    cluster.account_from(quiet.settings.start + 1800.0)
    run(cluster, by_default(1), 1.0)
    assert cluster.report().seconds == 1800.0
