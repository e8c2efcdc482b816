import numpy as np

from loadaware.simulation.placements import NOWHERE, Placements
from loadaware.simulation.scenario import Scenario


def owned(scenario: Scenario) -> tuple[int, int]:
    """Two pods of the same ReplicaSet or StatefulSet."""
    groups = scenario.spread_groups
    group = next(g for g in groups.tolist() if g >= 0 and (groups == g).sum() > 1)
    first, second = np.flatnonzero(groups == group)[:2].tolist()
    return first, second


def test_what_is_put_and_taken_again_leaves_no_trace(scenario: Scenario) -> None:
    placements = Placements(scenario)
    for pod in range(50):
        placements.put(pod, pod % 12)
    assert placements.requested.sum(axis=0).tolist() == placements.requests[:50].sum(axis=0).tolist()
    assert placements.on(3).tolist() == [3, 15, 27, 39]
    for pod in range(50):
        placements.take(pod)
    assert not placements.requested.any()
    assert (placements.node_of == NOWHERE).all()


def test_a_pod_fits_where_both_its_requests_do_to_the_last_byte(scenario: Scenario) -> None:
    placements = Placements(scenario)
    placements.requested[:] = placements.allocatable - placements.requests[0]
    assert placements.feasible(0).all()
    placements.requested[2, 0] += 1
    placements.requested[5, 1] += 1
    assert np.flatnonzero(~placements.feasible(0)).tolist() == [2, 5]


def test_nothing_fits_on_a_node_that_is_away(scenario: Scenario) -> None:
    placements = Placements(scenario)
    placements.present[4] = False
    assert np.flatnonzero(~placements.feasible(0)).tolist() == [4]


def test_replicas_are_counted_per_owner_and_node(scenario: Scenario) -> None:
    placements = Placements(scenario)
    first, second = owned(scenario)
    placements.put(first, 1)
    counts = placements.replicas(second)
    assert counts is not None
    assert counts.tolist() == [0, 1] + [0] * 10
    placements.take(first)
    counts = placements.replicas(second)
    assert counts is not None
    assert not counts.any()


def test_a_jobs_pod_has_no_replicas_to_spread(scenario: Scenario) -> None:
    job = int(np.flatnonzero(scenario.spread_groups < 0)[0])
    placements = Placements(scenario)
    placements.put(job, 0)
    assert placements.replicas(job) is None
