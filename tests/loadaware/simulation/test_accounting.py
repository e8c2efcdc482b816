import math

import numpy as np
import pytest

from loadaware.simulation.accounting import Ledger

CAPACITY = np.array([10.0, 10.0, 20.0, 40.0])


def test_there_are_no_figures_before_the_first_step() -> None:
    report = Ledger(0.0).report()
    assert report.seconds == 0.0
    assert math.isnan(report.hot80)


def test_the_figures_of_one_step_are_the_arithmetic_of_its_nodes() -> None:
    ledger = Ledger(0.0)
    ledger.record(0.0, 30.0, np.array([12.0, 8.5, 10.0, 10.0]), CAPACITY)
    report = ledger.report()
    # utilization 1.0 (throttled), 0.85, 0.5, 0.25
    assert report.hot80 == 50.0
    assert report.hot90 == 25.0
    assert report.unserved == pytest.approx(100.0 * 2.0 / 40.5)
    assert report.utilization == pytest.approx(100.0 * (1.0 + 0.85 + 0.5 + 0.25) / 4)
    assert report.spread == pytest.approx(100.0 * np.std([1.0, 0.85, 0.5, 0.25]))
    assert report.seconds == 30.0


def test_exactly_eighty_percent_is_not_hot() -> None:
    ledger = Ledger(0.0)
    ledger.record(0.0, 30.0, np.array([8.0, 9.0, 16.0, 36.0]), CAPACITY)
    assert ledger.report().hot80 == 50.0
    assert ledger.report().hot90 == 0.0


def test_steps_before_the_start_do_not_count() -> None:
    ledger = Ledger(100.0)
    ledger.record(99.0, 30.0, CAPACITY, CAPACITY)
    ledger.record(100.0, 30.0, CAPACITY / 2, CAPACITY)
    assert ledger.report().hot80 == 0.0
    assert ledger.report().seconds == 30.0


def test_a_node_more_or_less_changes_the_weight_of_node_time_only() -> None:
    ledger = Ledger(0.0)
    ledger.record(0.0, 30.0, CAPACITY, CAPACITY)
    ledger.record(30.0, 30.0, CAPACITY[:1] / 2, CAPACITY[:1])
    assert ledger.report().hot80 == 80.0
    ledger.record(60.0, 30.0, CAPACITY[:0], CAPACITY[:0])
    assert ledger.report().seconds == 60.0


def test_p99_is_what_one_percent_of_node_time_exceeds() -> None:
    random = np.random.default_rng(1)
    ledger, values = Ledger(0.0), random.uniform(0.0, 1.0, (500, 4))
    for step, utilization in enumerate(values):
        ledger.record(step * 30.0, 30.0, utilization * CAPACITY, CAPACITY)
    assert ledger.report().p99 == pytest.approx(100.0 * np.percentile(values, 99), abs=0.2)
