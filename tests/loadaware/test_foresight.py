"""Where kube-scheduler will put a pod: by the sum of our priority and its own default plugins."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Node, Owner, Pod
from collectors.reading import CPU, MEMORY, Measurements, Reading
from loadaware.core import Core
from loadaware.foresight import MOST_COMPARED, likely
from loadaware.ranking import Ranking
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.simulation.default_scores import default_scores
from loadaware.simulation.generator import generate
from loadaware.simulation.placements import Placements
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import MachineSettings, ScenarioSettings
from loadaware.workload import workload_of
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings

OWNER = Owner("ReplicaSet", "web-7d4b9c6f5d")


def measured(nodes: Mapping[str, tuple[float, float]], pods: Mapping[str, tuple[float, float]], time: float) -> Reading:
    """A reading of nodes and pods."""
    listed = Measurements(
        tuple(pods), np.array(list(pods.values())), np.full(len(pods), time), np.full(len(pods), 15.0)
    )
    return replace(make_reading(nodes, time), pods=listed)


def core_of(*names: str, cores: float = 8.0) -> Core:
    core = Core(make_settings(make_profile(EntropicRisk())), Clock())
    core.tell(*(NodeSeen(make_node(name, cpu=cores, memory=32 * GIB)) for name in names))
    return core


def ranking_of(core: Core, *priorities: int) -> Ranking:
    rows = np.arange(len(priorities))
    scores = np.array(priorities, dtype=np.float64)
    return Ranking("x", core.snapshot.names, scores, np.array(priorities), rows=rows, table=core.snapshot.names)


def places(core: Core, ranking: Ranking, pod: Pod) -> list[str]:
    found = likely(ranking, core.snapshot, core.adviser.in_flight, pod, workload_of(pod))
    return [ranking.names[position] for position in found.tolist()]


def test_a_much_higher_priority_decides() -> None:
    core = core_of("a", "b")
    core.tell(PodSeen(make_pod("big", cpu=2.0, memory=8 * GIB, node="a")))
    assert places(core, ranking_of(core, 30, 5), make_pod(cpu=0.5, memory=GIB)) == ["a"]


def test_between_equal_priorities_the_emptier_node_wins() -> None:
    core = core_of("a", "b")
    core.tell(PodSeen(make_pod("big", cpu=2.0, memory=8 * GIB, node="a")))
    assert places(core, ranking_of(core, 7, 7), make_pod(cpu=0.5, memory=GIB)) == ["b"]


def test_equal_sums_are_equally_likely() -> None:
    core = core_of("a", "b", "c")
    core.tell(PodSeen(make_pod("big", cpu=2.0, memory=8 * GIB, node="b")))
    assert places(core, ranking_of(core, 7, 7, 7), make_pod(cpu=0.5, memory=GIB)) == ["a", "c"]


def test_replicas_repel_each_other_once_pods_are_measured() -> None:
    core = core_of("a", "b")
    sibling = make_pod("web-7d4b9c6f5d-aaaaa", cpu=0.001, memory=1.0, node="a", owner=OWNER, phase="Running")
    core.tell(PodSeen(sibling))
    core.feed(measured({"a": (1.0, GIB), "b": (1.0, GIB)}, {sibling.key: (0.1, 1.0)}, 1000.0))
    pod = make_pod("web-7d4b9c6f5d-bbbbb", cpu=0.001, memory=1.0, owner=OWNER)
    assert places(core, ranking_of(core, 7, 7), pod) == ["b"]
    alone = make_pod("job", cpu=0.001, memory=1.0, owner=Owner("Job", "x"))
    assert "a" in places(core, ranking_of(core, 7, 7), alone)


def test_a_booking_goes_where_the_sum_is_highest() -> None:
    core = core_of("a", "b")
    core.tell(PodSeen(make_pod("big", cpu=2.0, memory=8 * GIB, node="a")))
    core.rank(make_pod("new", cpu=1.0, memory=4 * GIB))
    booking = core.adviser.in_flight.booking("uid-new")
    assert booking is not None
    assert booking.nodes == ("b",)


def test_a_node_nobody_told_of_leaves_it_to_our_priority() -> None:
    core = core_of("a")
    unknown = Ranking("x", ["a", "stranger"], np.array([1.0, 2.0]), np.array([1, 2]))
    assert places(core, unknown, make_pod(cpu=1.0)) == ["stranger"]


def test_of_very_many_nodes_only_the_best_are_compared() -> None:
    names = [f"n{number:03d}" for number in range(3 * MOST_COMPARED)]
    core = core_of(*names)
    priorities = [30 if number % 2 else 0 for number in range(len(names))]
    found = places(core, ranking_of(core, *priorities), make_pod(cpu=0.5, memory=GIB))
    assert len(found) <= MOST_COMPARED
    assert all(int(name[1:]) % 2 for name in found)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_sum_is_the_schedulers_own(seed: int) -> None:
    """Pods are placed at random; what is foreseen for the next is what kube-scheduler's scores, written for the
    simulator on its own columns, say."""
    settings = ScenarioSettings(duration_seconds=3600.0, machines=MachineSettings(nodes=9))
    scenario = generate(settings, np.random.default_rng(seed))
    machines, random = scenario.machines, np.random.default_rng(seed)
    core = Core(make_settings(make_profile(EntropicRisk())), Clock())
    core.tell(*(NodeSeen(_node(scenario, number)) for number in range(len(machines))))
    placements, used = Placements(scenario), dict.fromkeys(machines.names, (1.0, GIB))
    running: dict[str, tuple[float, float]] = {}
    for number in range(40):
        pod = scenario.pod(number)
        nodes = np.flatnonzero(placements.feasible(number))
        priorities = random.integers(0, 31, len(nodes))
        names = [machines.names[node] for node in nodes.tolist()]
        rows = np.array([core.snapshot.index[name] for name in names])
        ranking = Ranking("x", names, priorities.astype(float), priorities, rows=rows, table=core.snapshot.names)
        totals = 10 * priorities + default_scores(placements, number, nodes)
        found = likely(ranking, core.snapshot, core.adviser.in_flight, pod, workload_of(pod))
        if number > 1:
            assert found.tolist() == np.flatnonzero(totals == totals.max()).tolist()
        node = int(random.choice(nodes))
        placements.put(number, node)
        bound = _bound(pod, machines.names[node])
        running[bound.key] = (0.1, GIB / 8)
        core.tell(PodSeen(bound))
        core.feed(measured(used, running, 900.0 + number))


def _node(scenario: Scenario, number: int) -> Node:
    return scenario.machines.node(number, created_at=0.0)


def _bound(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, node=node, phase="Running", bound_at=900.0)


def test_resources_that_nobody_keeps_leave_it_to_our_priority() -> None:
    core = core_of("a", "b")
    assert core.snapshot.resources == (CPU, MEMORY)
    only = core.snapshot.only(np.array([0, 1]))
    object.__setattr__(only, "resources", (CPU,))
    ranking = ranking_of(core, 1, 2)
    pod = make_pod(cpu=1.0)
    assert likely(ranking, only, core.adviser.in_flight, pod, workload_of(pod)).tolist() == [1]


def test_without_any_node_there_is_no_place() -> None:
    core = core_of("a")
    sibling = make_pod("web-7d4b9c6f5d-aaaaa", cpu=0.1, memory=1.0, node="a", owner=OWNER, phase="Running")
    core.tell(PodSeen(sibling))
    core.feed(measured({"a": (1.0, GIB)}, {sibling.key: (0.1, 1.0)}, 1000.0))
    ranking = core.rank(make_pod("web-7d4b9c6f5d-bbbbb", cpu=0.1, memory=1.0, owner=OWNER), [])
    assert len(ranking.priorities) == 0
    assert len(core.adviser.in_flight) == 0


def test_a_pod_that_is_asked_about_again_is_no_load_to_itself() -> None:
    """Its first booking fills a node; the second answer must not be put off by it."""
    core = core_of("a", "b")
    core.tell(PodSeen(make_pod("small", cpu=0.1, memory=GIB / 8, node="b")))
    pod = make_pod("new", cpu=6.0, memory=24 * GIB)
    for _ in range(3):
        core.rank(pod)
        booking = core.adviser.in_flight.booking("uid-new")
        assert booking is not None
        assert booking.nodes == ("a",)
