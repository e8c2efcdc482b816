"""What the cluster benchmark counts and writes, without a cluster."""

import numpy as np
import pytest
import yaml

from tests.benchmarks.cluster_race import RaceSettings, Tally, foretold
from tests.benchmarks.cluster_throughput import (
    AS_IT_COMES,
    BARE,
    LIFTED,
    NAMES,
    WHOLE_NODES,
    ratios,
    scheduled,
    unlimited,
)
from tests.benchmarks.measure_cluster import RACE, THROUGHPUT, page, race_part, throughput_part
from tests.parts.scheduler import PLAIN_SCHEDULER

FIGURES = {
    (AS_IT_COMES, BARE): [50.0, 50.0, 50.0], (AS_IT_COMES, NAMES): [50.0, 48.0, 49.0],
    (LIFTED, BARE): [100.0, 200.0, 400.0], (LIFTED, NAMES): [50.0, 90.0, 200.0],
    (LIFTED, WHOLE_NODES): [40.0, 90.0, 200.0],
}  # fmt: skip


def test_ways_are_compared_round_by_round() -> None:
    assert ratios(FIGURES) == {
        (AS_IT_COMES, BARE): 1.0, (AS_IT_COMES, NAMES): pytest.approx(0.98),
        (LIFTED, BARE): 1.0, (LIFTED, NAMES): pytest.approx(0.5), (LIFTED, WHOLE_NODES): pytest.approx(0.45),
    }  # fmt: skip


def test_the_page_says_whether_the_target_is_met() -> None:
    page = throughput_part(1000, 2000, FIGURES)
    assert "| limit lifted | names | 90 | 50 .. 200 | 0.50 |" in page
    assert "0.95 of bare is met on names" in page
    assert "With the limit lifted it is **not** met" in page
    slow = {**FIGURES, (AS_IT_COMES, NAMES): [30.0, 30.0, 50.0]}
    assert "0.95 of bare is **not** met on names" in throughput_part(1000, 2000, slow)


def test_scheduled_pods_are_counted_over_profiles_and_other_results_are_not() -> None:
    metrics = (
        'scheduler_schedule_attempts_total{profile="a",result="scheduled"} 7\n'
        'scheduler_schedule_attempts_total{profile="b",result="scheduled"} 3\n'
        'scheduler_schedule_attempts_total{profile="a",result="error"} 5\n'
    )
    assert scheduled(metrics) == 10


def test_the_limit_on_calls_is_lifted() -> None:
    assert yaml.safe_load(unlimited(PLAIN_SCHEDULER))["clientConnection"] == {"qps": 10_000, "burst": 10_000}


def test_hot_node_time_is_the_share_of_nodes_and_moments_above_the_bound() -> None:
    tally = Tally()
    cores = np.array([10.0, 20.0])
    tally.note(np.array([5.0, 18.0]), cores, unplaced=3)
    tally.note(np.array([8.0, 22.0]), cores)  # 0.8 itself is not hot
    assert tally.hot_share == 0.5
    assert tally.waiting == 1.5
    assert tally.mean == pytest.approx(0.825)
    assert tally.unserved == pytest.approx(2.0 / 53.0)
    assert tally.spread == pytest.approx(0.175)
    table = race_part([(RaceSettings(seed=7), {"default": tally}, {"default": 0.4})])
    assert "| 7 | default | 50.0% | 40.0% | 3.77% | 17.5% | 82% |" in table


def test_a_part_that_is_not_measured_again_stays_on_the_page() -> None:
    both = page({THROUGHPUT: f"## {THROUGHPUT}\n\nfast", RACE: f"## {RACE}\n\nfair"}, "")
    assert page({RACE: f"## {RACE}\n\nfairer"}, both) == both.replace("fair", "fairer")
    assert page({}, both) == both


def test_the_simulator_is_asked_about_the_same_race() -> None:
    expected = foretold(RaceSettings(nodes=4, minutes=1.0, warm_up_minutes=0.5))
    assert set(expected) == {"default", "loadaware"}
    assert all(0.0 <= share <= 1.0 for share in expected.values())


def test_a_race_is_the_same_for_the_same_seed() -> None:
    one, two = (RaceSettings(nodes=4, minutes=1.0, warm_up_minutes=0.5).stage().scenario for _ in range(2))
    assert len(one.arrivals) > 20
    assert one.arrivals.arrival.tolist() == two.arrivals.arrival.tolist()
    pods = np.arange(len(one.arrivals))
    time = one.settings.end
    assert one.usage(pods, time).tolist() == two.usage(pods, time).tolist()
