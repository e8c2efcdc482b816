from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import WorkloadSettings


def alive(scenario: Scenario, hours: float = 3.0) -> Ints:
    time, arrivals = scenario.settings.start + hours * 3600.0, scenario.arrivals
    return np.flatnonzero((arrivals.arrival <= time) & (arrivals.departure > time))


@settings(max_examples=50, deadline=None)
@given(offset=st.floats(0.0, 400_000.0))
def test_usage_is_never_negative_and_never_above_what_a_pod_can_use(scenario: Scenario, offset: float) -> None:
    pods = np.arange(len(scenario.arrivals))
    usage = scenario.usage(pods, scenario.settings.start + offset)
    assert (usage >= 0.0).all()
    assert (usage <= np.minimum(scenario.most_cores(pods), 5.0)).all()


def test_usage_is_the_same_whatever_was_asked_before_and_with_whom(scenario: Scenario) -> None:
    pods, time = alive(scenario), scenario.settings.start + 9000.0
    together = scenario.usage(pods, time)
    scenario.usage(pods[:3], time + 77.0)
    some = np.array([pods[8], pods[2]])
    assert scenario.usage(some, time).tolist() == [together[8], together[2]]


def test_a_table_of_pods_and_times_equals_asking_time_by_time(scenario: Scenario) -> None:
    pods = alive(scenario)[:20]
    times = scenario.settings.start + np.arange(0.0, 3600.0, 300.0)
    table = scenario.usage(pods[:, None], times[None, :])
    columns = np.column_stack([scenario.usage(pods, float(time)) for time in times])
    assert (table == columns).all()


def test_usage_changes_by_noise_every_thirty_seconds_and_by_no_more_than_the_stated_share(
    scenario: Scenario,
) -> None:
    calm = replace(scenario, settings=replace(scenario.settings, workloads=WorkloadSettings(noise=0.0)))
    pods, time = alive(scenario), scenario.settings.start + 9000.0
    ratios = np.array([scenario.appetite(pods, time + s) / calm.appetite(pods, time + s) for s in (0.0, 29.0, 30.0)])
    assert abs(ratios - 1.0).max() <= 0.15 + 1e-12
    assert ratios[0] == pytest.approx(ratios[1])
    assert abs(ratios[0] - ratios[2]).max() > 0.05


def correlation(scenario: Scenario) -> float:
    """Mean correlation over time of two replicas of the same workload."""
    workload = scenario.arrivals.workload
    replicas = [np.flatnonzero(workload == number)[:2] for number in np.unique(workload)]
    pairs = np.array([pair for pair in replicas if len(pair) == 2])
    times = scenario.settings.start + np.arange(0.0, 86_400.0, 300.0)
    tables = [scenario.appetite(pairs[:, side, None], times[None, :]) for side in (0, 1)]
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(*tables, strict=True)]))


def test_replicas_of_a_workload_peak_together_unless_told_to_be_uncorrelated(scenario: Scenario) -> None:
    apart = replace(scenario, settings=replace(scenario.settings, workloads=WorkloadSettings(shared=0.0)))
    assert correlation(scenario) > correlation(apart) + 0.3


def test_scaling_multiplies_appetite_up_to_the_limit(scenario: Scenario) -> None:
    pods, time = alive(scenario), scenario.settings.start + 9000.0
    expected = np.minimum(3.0 * scenario.appetite(pods, time), scenario.most_cores(pods))
    assert scenario.scaled(3.0).usage(pods, time).tolist() == expected.tolist()


def test_memory_grows_to_its_level_and_stays_near_it(scenario: Scenario) -> None:
    pods = np.array([0])
    born = float(scenario.arrivals.arrival[0])
    young, old, older = (scenario.memory(pods, born + age)[0] for age in (0.0, 6 * 3600.0, 9 * 3600.0))
    assert young < 0.75 * old
    assert old == pytest.approx(older, rel=0.07)
    assert old < 1.4 * scenario.request_bytes[0]


def test_start_delays_lie_between_the_bounds_and_belong_to_the_pod(scenario: Scenario) -> None:
    delays = scenario.start_delays(30.0, 60.0)
    assert 30.0 <= delays.min() < 32.0
    assert 58.0 < delays.max() < 60.0
    assert (delays == scenario.start_delays(30.0, 60.0)).all()


def test_a_lost_pod_comes_back_under_another_uid_with_the_same_declaration(scenario: Scenario) -> None:
    first, second = scenario.pod(5), scenario.pod(5, incarnation=1)
    assert first.uid != second.uid
    assert (first.shape, first.owner, first.images) == (second.shape, second.owner, second.images)


def test_pod_names_are_unique_within_a_namespace(scenario: Scenario) -> None:
    keys = [scenario.pod(index).key for index in range(len(scenario.arrivals))]
    assert len(set(keys)) == len(keys)


def test_jobs_have_no_spread_group_and_others_one_per_workload(scenario: Scenario) -> None:
    for index, group in enumerate(scenario.spread_groups.tolist()):
        workload = scenario.arrivals.workload[index]
        job = scenario.workloads[workload].controller == "CronJob"
        assert group == (-1 if job else workload)


def test_the_namespaces_are_those_of_the_workloads(scenario: Scenario) -> None:
    assert {n.name for n in scenario.namespaces} == {w.namespace for w in scenario.workloads}
