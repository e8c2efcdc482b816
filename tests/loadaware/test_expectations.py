"""Expected usage: summed up by the observer, kept up to date by the adviser, equal to a recount at every moment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.cluster import NodeSeen, PodGone, PodSeen
from collectors.manifests import Node, Pod
from collectors.reading import Measurements, Reading
from loadaware.core import Core
from loadaware.expectations import MOST_TOUCHED
from loadaware.rest import Rest
from tests.loadaware.builders import GIB, Clock, make_pod
from tests.loadaware.test_core import core_of

NAMES = ("a", "b", "c")


def reading(clock: Clock, pods: dict[str, float], nodes: dict[str, float]) -> Reading:
    return Reading(
        "test",
        clock(),
        ("cpu", "memory"),
        Measurements(
            tuple(nodes),
            np.array([[u, GIB] for u in nodes.values()]),
            np.full(len(nodes), clock()),
            np.ones(len(nodes)),
        ),
        Measurements(
            tuple(pods),
            np.array([[u, GIB] for u in pods.values()]).reshape(-1, 2),
            np.full(len(pods), clock()),
            np.ones(len(pods)),
        ),
    )


def warm_core(clock: Clock) -> Core:
    """Three nodes; on each a pod of "web" that uses 2 cores of the 1 it requests, seldom 3, and a rest of .5."""
    core = core_of(clock, *NAMES)
    for number, name in enumerate(NAMES):
        core.tell(PodSeen(running(f"web-{number}", name, clock() - 900.0)))
    for minute in range(60):
        clock.advance(60.0)
        used = 3.0 if minute % 12 == 0 else 1.91  # 2 on average
        core.feed(reading(clock, {f"default/web-{n}": used for n in range(3)}, dict.fromkeys(NAMES, used + 0.5)))
    return core


def running(name: str, node: str, bound_at: float) -> Pod:
    return make_pod(name, cpu=1.0, memory=GIB, node=node, bound_at=bound_at, phase="Running")


def cpu_means(core: Core) -> list[float]:
    means: list[float] = core.adviser.in_flight.expectations.mean[:, 0].tolist()
    return means


def test_a_node_is_expected_to_use_its_rest_and_what_its_pods_learned() -> None:
    core = warm_core(Clock())
    assert cpu_means(core) == pytest.approx([2.5] * 3, rel=0.05)


def test_a_pod_just_bound_counts_at_once_with_what_its_workload_uses() -> None:
    clock = Clock()
    core = warm_core(clock)
    core.tell(PodSeen(running("web-9", "a", clock())))
    assert cpu_means(core) == pytest.approx([4.5, 2.5, 2.5], rel=0.05)


def test_a_pod_gone_takes_exactly_what_was_expected_of_it() -> None:
    clock = Clock()
    core = warm_core(clock)
    core.tell(PodGone("uid-web-0"))
    live = core.adviser.in_flight.expectations
    cumulants = live.cumulants.copy()
    core.refresh()
    np.testing.assert_allclose(live.cumulants, cumulants, atol=1e-9)


def test_siblings_on_one_node_peak_together_so_their_deviations_add_up() -> None:
    clock = Clock()
    core = warm_core(clock)
    live = core.adviser.in_flight.expectations
    deviation = float(live.of_pod(make_pod(cpu=1.0, memory=GIB).shape, "default/Pod/web").deviation[0])
    before = float(live.variance[0, 0])
    shared = float(live.siblings("default/Pod/web").spread(len(NAMES))[0, 0])
    assert shared > 0
    core.tell(PodSeen(running("web-9", "a", clock())))
    assert float(live.variance[0, 0]) == pytest.approx(before + deviation**2 + 2 * deviation * shared)


def test_a_ranked_pod_is_expected_on_its_best_node_before_any_watch_tells() -> None:
    core = warm_core(Clock())
    before = sum(cpu_means(core))
    core.rank(make_pod("web-8", cpu=1.0, memory=GIB))
    assert sum(cpu_means(core)) == pytest.approx(before + 2.0, rel=0.05)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(["bind", "leave"]), st.integers(0, 5), st.sampled_from(NAMES)), max_size=25))
def test_step_by_step_is_the_same_as_a_recount(steps: list[tuple[str, int, str]]) -> None:
    clock = Clock()
    core = warm_core(clock)
    for what, number, node in steps:
        identity = f"uid-new-{number}"
        if what == "leave":
            core.tell(PodGone(identity))
        elif identity not in core.observer._pods:
            core.tell(PodSeen(running(f"new-{number}", node, clock())))
    live = core.adviser.in_flight.expectations
    cumulants = live.cumulants.copy()
    assert (cumulants[:, 2, 0] > 0.01).all()
    core.refresh()
    np.testing.assert_allclose(live.cumulants[:, 0], cumulants[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(live.cumulants[:, 1:], cumulants[:, 1:], rtol=1e-6, atol=1e-6)


def test_a_node_that_was_never_compared_has_the_median_share_of_the_others_as_its_rest() -> None:
    rest = Rest(1)
    rest.reserve(3)
    rest.learn(np.array([0, 1]), np.array([[0.4], [0.8]]), np.array([0.0, 0.0]))
    assert rest.of(np.arange(3), np.array([[4.0], [4.0], [8.0]]))[:, 0].tolist() == pytest.approx([0.4, 0.8, 1.2])


def test_a_rest_below_zero_is_none() -> None:
    rest = Rest(1)
    rest.reserve(1)
    rest.learn(np.array([0]), np.array([[-3.0]]), np.array([0.0]))
    assert rest.of(np.array([0]), np.array([[4.0]])).tolist() == [[0.0]]


def test_a_new_node_is_known_without_history() -> None:
    clock = Clock()
    core = warm_core(clock)
    core.tell(NodeSeen(Node(name="d", capacity=(("cpu", 8.0), ("memory", 32 * GIB)), allocatable=(("cpu", 8.0),))))
    assert len(core.rank(make_pod("x", cpu=1.0), [*NAMES, "d"]).priorities) == 4


def test_what_is_kept_between_two_snapshots_is_bounded() -> None:
    core = warm_core(Clock())
    live = core.adviser.in_flight.expectations
    for number in range(MOST_TOUCHED + 50):
        live.siblings(f"default/Deployment/app-{number}")
    assert len(live._siblings) == MOST_TOUCHED
