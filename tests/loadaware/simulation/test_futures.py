from dataclasses import replace

import numpy as np
import pytest

from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.futures import Futures, foresee
from loadaware.simulation.metering import Timing
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario


@pytest.fixture(scope="module")
def futures(quiet: Scenario) -> Futures:
    return foresee(quiet)


def longest(futures: Futures, count: int) -> Ints:
    return np.argsort(-np.diff(futures.offsets), kind="stable")[:count]


def test_a_future_is_the_scenarios_usage_in_every_step_of_the_pods_life(quiet: Scenario, futures: Futures) -> None:
    for pod in longest(futures, 20).tolist():
        stretch = futures.of(pod)
        times = quiet.settings.start + 30.0 * np.arange(float(stretch.first), float(stretch.end))
        assert stretch.usage == pytest.approx(quiet.usage(np.array([pod]), times), rel=1e-6)
        assert quiet.arrivals.arrival[pod] + 30.0 <= times[0] < quiet.arrivals.arrival[pod] + 90.0
        assert times[-1] < quiet.arrivals.departure[pod]


def test_nothing_is_foreseen_beyond_the_end_of_the_scenario(quiet: Scenario, futures: Futures) -> None:
    assert futures.steps == 6 * 120
    assert futures.end.max() == futures.steps
    assert (quiet.arrivals.departure > quiet.settings.end).any()
    assert len(futures.values) == futures.offsets[-1] == (futures.end - futures.first).sum()


def test_a_pod_that_is_gone_before_it_could_begin_has_an_empty_future(quiet: Scenario) -> None:
    arrivals = replace(quiet.arrivals, departure=quiet.arrivals.arrival + 20.0)
    futures = foresee(replace(quiet, arrivals=arrivals))
    assert len(futures.values) == 0
    assert len(futures.of(7).usage) == len(futures.of(7, bound_at=arrivals.arrival[7] + 10.0).usage) == 0


def test_a_pod_that_waited_is_shown_from_where_it_really_begins(quiet: Scenario, futures: Futures) -> None:
    pod = int(longest(futures, 1)[0])
    whole, late = futures.of(pod), futures.of(pod, quiet.arrivals.arrival[pod] + 300.0)
    assert late.first == whole.first + 10
    assert late.end == whole.end
    assert late.usage.tolist() == whole.usage[10:].tolist()
    assert len(futures.of(pod, quiet.settings.end + 1.0).usage) == 0


def test_a_future_is_over_with_its_last_step(quiet: Scenario, futures: Futures) -> None:
    pod = int(np.flatnonzero(futures.end < futures.steps)[0])
    last = quiet.settings.start + 30.0 * float(futures.end[pod])
    assert not futures.is_over(pod, last - 0.1)
    assert futures.is_over(pod, last)


@pytest.mark.parametrize("step_seconds", [30.0, 60.0])
def test_a_cluster_wants_exactly_what_was_foreseen(quiet: Scenario, step_seconds: float) -> None:
    """Forty pods bound when they are seen, some after a wait; 20 minutes, on any timing."""
    timing = Timing(step_seconds=step_seconds)
    futures, cluster = foresee(quiet, timing), SimulatedCluster(quiet, timing)
    steps = int(1200.0 / step_seconds)
    wanted = np.repeat(quiet.machines.overhead_cores[:, None], steps + 1, axis=1)
    for step in range(steps + 1):
        cluster.advance(quiet.settings.start + step * step_seconds)
        assert cluster.demand == pytest.approx(wanted[:, step], rel=1e-5)
        for pod in range(40):
            if cluster.waits(pod) and (pod % 3 or step * step_seconds > 600.0):
                node = int(np.flatnonzero(cluster.placements.feasible(pod))[0])
                cluster.bind(pod, node)
                stretch = futures.of(pod, cluster.now)
                seen = slice(stretch.first, min(stretch.end, steps + 1))
                wanted[node, seen] += stretch.usage[: max(steps + 1 - stretch.first, 0)]
    assert cluster.running > 20


def test_what_pods_use_in_one_step_is_read_across_the_rows(futures: Futures) -> None:
    pods = np.flatnonzero((futures.first <= 300) & (futures.end > 300))[:30]
    each = [futures.of(pod).usage[300 - futures.first[pod]] for pod in pods.tolist()]
    assert futures.at(pods, 300).tolist() == pytest.approx(each)
