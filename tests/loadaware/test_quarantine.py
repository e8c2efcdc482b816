import math

import numpy as np
import pytest

from loadaware.quarantine import (
    ABSURD,
    FROZEN_RESOLUTIONS,
    FUTURE_SECONDS,
    from_the_future,
    frozen,
    judge_pods,
    judge_values,
)

CAPACITY = np.array([[4.0, 16.0]])
NAN = math.nan

JUDGED = [
    # cpu, memory of 4 and 16     what remains            reason
    ((1.0, 8.0), (1.0, 8.0), None),
    ((0.0, 0.0), (0.0, 0.0), None),
    ((5.0, 8.0), (5.0, 8.0), None),  # a rate may overshoot
    ((8.0, 32.0), (8.0, 32.0), None),  # exactly twice is still believed
    ((8.1, 8.0), (NAN, 8.0), "absurd"),
    ((1.0, 40.0), (1.0, NAN), "absurd"),
    ((math.inf, 8.0), (NAN, 8.0), "absurd"),
    ((-0.1, 8.0), (NAN, 8.0), "negative"),
    ((-math.inf, 8.0), (NAN, 8.0), "negative"),
    ((-1.0, 99.0), (NAN, NAN), "negative"),
    ((1.0, NAN), (1.0, NAN), None),  # a resource that was not measured is no offence
    ((NAN, NAN), (NAN, NAN), "nan"),
]


@pytest.mark.parametrize(("usage", "remains", "reason"), JUDGED)
def test_values_that_are_not_believed_become_not_measured(
    usage: tuple[float, float], remains: tuple[float, float], reason: str | None
) -> None:
    judged, reasons = judge_values(np.array([usage]), CAPACITY)
    np.testing.assert_array_equal(judged, np.array([remains]))
    assert reasons == ({} if reason is None else {0: reason})


def test_each_row_is_judged_by_itself() -> None:
    usage = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [9.0, 1.0]])
    _, reasons = judge_values(usage, np.repeat(CAPACITY, 4, axis=0))
    assert reasons == {1: "negative", 3: "absurd"}


def test_where_the_capacity_is_not_known_only_the_impossible_is_absurd() -> None:
    judged, reasons = judge_values(np.array([[1e12, math.inf]]), np.full((1, 2), NAN))
    np.testing.assert_array_equal(judged, [[1e12, NAN]])
    assert reasons == {0: "absurd"}


def test_a_pod_is_judged_by_the_capacity_of_its_node() -> None:
    usage = np.array([[8.0, 1.0], [8.1, 1.0], [-0.1, 1.0], [np.inf, np.nan], [1000.0, 1.0]])
    capacity = np.array([[4.0, 4.0], [4.0, 4.0], [4.0, 4.0], [4.0, 4.0], [np.nan, np.nan]])
    judged = judge_pods(usage, capacity)
    np.testing.assert_array_equal(judged[:, 0], [8.0, np.nan, np.nan, np.nan, 1000.0])
    np.testing.assert_array_equal(judged[:, 1], [1.0, 1.0, 1.0, np.nan, 1.0])


def test_judging_leaves_the_reading_as_it_was() -> None:
    usage = np.array([[-1.0, 99.0]])
    judge_values(usage, CAPACITY)
    assert usage.tolist() == [[-1.0, 99.0]]


def test_the_border_of_absurdity_is_twice_the_capacity() -> None:
    assert ABSURD == 2.0


@pytest.mark.parametrize(
    ("time", "broken"),
    [
        (100.0, False),
        (0.0, False),
        (100.0 + FUTURE_SECONDS, False),
        (100.0 + FUTURE_SECONDS + 0.001, True),
        (math.inf, True),
        (math.nan, True),
    ],
)
def test_a_sample_from_the_future_or_from_no_time_is_broken(time: float, broken: bool) -> None:
    assert from_the_future(np.array([time]), 100.0).tolist() == [broken]


@pytest.mark.parametrize(
    ("newest", "stopped"),
    [
        (100.0, False),
        (100.0 - 15.0 * FROZEN_RESOLUTIONS, False),
        (100.0 - 15.0 * FROZEN_RESOLUTIONS - 0.001, True),
        (-math.inf, False),
        (math.inf, False),
    ],
)
def test_a_clock_that_stopped_is_frozen_but_never_measured_is_not(newest: float, stopped: bool) -> None:
    assert frozen(np.array([newest]), 15.0, 100.0).tolist() == [stopped]
