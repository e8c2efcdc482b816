import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.reading import Floats
from loadaware.window import BUCKETS, Ints, Statistics, Window

RESOURCES = 2
ROWS = 3
PERCENTILES = (0.0, 50.0, 95.0, 100.0)
START = 1.7e9

LARGEST, LONGEST = 1e6, 60
SQUARES_SLACK = LARGEST * math.sqrt(LONGEST * np.finfo(np.float64).eps)
"""A deviation from sums of squares is off by no more: each of the additions rounds the sum by eps / 2 at most, and so
does each of those of the mean's square.
"""

amounts = st.one_of(st.floats(0.0, LARGEST), st.just(math.nan))
steps = st.one_of(st.floats(0.01, 40.0), st.sampled_from([0.0, -5.0, 300.0]))
samples = st.tuples(st.integers(0, ROWS - 1), steps, st.tuples(amounts, amounts))
histories = st.lists(samples, max_size=LONGEST)

History = list[tuple[int, float, tuple[float, float]]]


class Model:
    """The same samples in plain lists, one pandas frame per row when asked."""

    def __init__(self) -> None:
        self.kept: list[list[tuple[float, tuple[float, float]]]] = [[] for _ in range(ROWS)]

    def append(self, row: int, time: float, usage: tuple[float, float]) -> bool:
        fresh = not self.kept[row] or time > self.kept[row][-1][0]
        if fresh:
            self.kept[row].append((time, usage))
        return fresh

    def frame(self, row: int) -> pd.DataFrame:
        times = [time for time, _ in self.kept[row]]
        return pd.DataFrame([usage for _, usage in self.kept[row]], index=times, columns=range(RESOURCES), dtype=float)


def play(window: Window, history: History) -> Model:
    """Append a history to a window and to its model, one sample at a time."""
    model = Model()
    window.reserve(ROWS)
    clocks = [START] * ROWS
    for row, step, usage in history:
        clocks[row] += step
        added = window.append(rows_of(row), np.array([usage]), np.array([clocks[row]]))
        assert bool(added[0]) == model.append(row, clocks[row], usage)
    return model


def rows_of(*rows: int) -> Ints:
    return np.array(rows, dtype=np.intp)


def expect(statistics: Statistics, position: int, frame: pd.DataFrame, slack: float = 1e-6) -> None:
    """The statistics of one row are pandas' of the frame; `slack` for a deviation that is made of sums of squares."""
    close(statistics.mean[position], frame.mean())
    close(statistics.deviation[position], frame.std(ddof=0), slack)
    close(statistics.maximum[position], frame.max())
    close(statistics.latest[position], frame.iloc[-1] if len(frame) else pd.Series([math.nan] * RESOURCES))


def close(ours: Floats, theirs: "pd.Series[float]", slack: float = 1e-6) -> None:
    np.testing.assert_allclose(ours, theirs.to_numpy(dtype=np.float64), rtol=1e-9, atol=slack)


@given(histories)
def test_statistics_are_those_of_pandas_over_the_samples_inside_the_window(history: History) -> None:
    window = Window(RESOURCES, length_seconds=100.0, samples=500)
    model = play(window, history)
    statistics = window.statistics(rows_of(0, 1, 2))
    for row in range(ROWS):
        frame = model.frame(row)
        expect(statistics, row, frame[frame.index > frame.index.max() - 100.0] if len(frame) else frame)


@given(histories, st.integers(1, 6))
def test_a_full_ring_keeps_the_newest_samples(history: History, size: int) -> None:
    window = Window(RESOURCES, length_seconds=1e9, samples=size)
    model = play(window, history)
    statistics = window.statistics(rows_of(0, 1, 2))
    for row in range(ROWS):
        expect(statistics, row, model.frame(row).tail(size))


@given(histories)
def test_percentiles_are_those_of_pandas(history: History) -> None:
    window = Window(RESOURCES, length_seconds=1e9, samples=500)
    model = play(window, history)
    percentiles = window.statistics(rows_of(0, 1, 2), PERCENTILES).percentiles
    assert tuple(percentiles) == PERCENTILES
    for row in range(ROWS):
        for percent in PERCENTILES:
            close(percentiles[percent][row], model.frame(row).quantile(percent / 100.0))


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30), st.floats(0.0, 100.0))
def test_percentiles_are_those_of_numpy(values: list[float], percent: float) -> None:
    window = Window(1, length_seconds=1e9, samples=30)
    window.reserve(1)
    for n, value in enumerate(values):
        window.append(rows_of(0), np.array([[value]]), np.array([START + n]))
    ours = window.statistics(rows_of(0), (percent,)).percentiles[percent]
    np.testing.assert_allclose(ours[0, 0], np.percentile(values, percent), rtol=1e-9, atol=1e-9)


@given(histories)
@example([(0, 1.5, (math.nan, math.nan)), *[(0, 1.0, (856159.515625, 0.0))] * 2, (0, 1.0, (856159.515625, math.nan))])
def test_long_windows_are_those_of_pandas_over_the_buckets_they_cover(history: History) -> None:
    length = 120.0
    width = length / BUCKETS
    window = Window(RESOURCES, length_seconds=100.0, samples=4, longer_seconds=(length, 1e6))
    model = play(window, history)
    assert window.longer_seconds == (length, 1e6)
    for seconds, bucket in ((length, width), (1e6, 1e6 / BUCKETS)):
        statistics = window.statistics_of(seconds, rows_of(0, 1, 2))
        for row in range(ROWS):
            frame = model.frame(row)
            numbers = np.floor(frame.index.to_numpy(dtype=np.float64) / bucket)
            covered = frame[numbers > numbers.max(initial=-np.inf) - BUCKETS]
            expect(statistics, row, covered, slack=SQUARES_SLACK)


@given(histories, st.sampled_from([1.0, 30.0, 100.0]))
def test_shorter_windows_are_those_of_pandas_over_fewer_samples(history: History, length: float) -> None:
    window = Window(RESOURCES, length_seconds=100.0, samples=500)
    model = play(window, history)
    statistics = window.statistics_of(length, rows_of(0, 1, 2))
    for row in range(ROWS):
        frame = model.frame(row)
        expect(statistics, row, frame[frame.index > frame.index.max() - length] if len(frame) else frame)


@given(histories)
def test_newest_and_oldest_are_the_ends_of_the_window(history: History) -> None:
    window = Window(RESOURCES, length_seconds=100.0, samples=500)
    model = play(window, history)
    newest, oldest = window.newest(rows_of(0, 1, 2)), window.oldest(rows_of(0, 1, 2))
    for row in range(ROWS):
        times = [time for time, _ in model.kept[row]]
        inside = [time for time in times if time > max(times) - 100.0]
        assert newest[row] == max(times, default=-math.inf)
        assert oldest[row] == min(inside, default=math.inf)


@given(histories)
def test_the_order_in_which_rows_are_asked_for_is_theirs(history: History) -> None:
    window = Window(RESOURCES, length_seconds=100.0, samples=5, longer_seconds=(600.0,))
    play(window, history)
    forwards, backwards = window.statistics(rows_of(0, 1, 2), (95.0,)), window.statistics(rows_of(2, 1, 0), (95.0,))
    np.testing.assert_array_equal(forwards.mean, backwards.mean[::-1])
    np.testing.assert_array_equal(forwards.percentiles[95.0], backwards.percentiles[95.0][::-1])
    np.testing.assert_array_equal(
        window.statistics_of(600.0, rows_of(0, 1, 2)).mean,
        window.statistics_of(600.0, rows_of(2, 1, 0)).mean[::-1],
    )


@pytest.mark.parametrize("time", [START, START - 30.0], ids=["repeated", "older"])
def test_a_timestamp_that_does_not_advance_adds_nothing(time: float) -> None:
    window = Window(1, length_seconds=900.0, samples=10, longer_seconds=(3600.0,))
    window.reserve(1)
    assert window.append(rows_of(0), np.array([[2.0]]), np.array([START])).tolist() == [True]
    assert window.append(rows_of(0), np.array([[8.0]]), np.array([time])).tolist() == [False]
    for statistics in (window.statistics(rows_of(0)), window.statistics_of(3600.0, rows_of(0))):
        assert statistics.mean.tolist() == [[2.0]]
        assert statistics.latest.tolist() == [[2.0]]
        assert statistics.maximum.tolist() == [[2.0]]


def test_rows_of_one_reading_are_added_where_their_own_time_advances() -> None:
    window = Window(1, length_seconds=900.0, samples=10)
    window.reserve(3)
    window.append(rows_of(0, 1, 2), np.array([[1.0], [2.0], [3.0]]), np.array([10.0, 20.0, 30.0]))
    added = window.append(rows_of(0, 1, 2), np.array([[5.0], [6.0], [7.0]]), np.array([20.0, 20.0, 40.0]))
    assert added.tolist() == [True, False, True]
    assert window.statistics(rows_of(0, 1, 2)).mean.tolist() == [[3.0], [2.0], [5.0]]


def test_not_measured_is_left_out_and_never_counts_as_zero() -> None:
    window = Window(2, length_seconds=900.0, samples=10, longer_seconds=(3600.0,))
    window.reserve(1)
    window.append(rows_of(0), np.array([[4.0, math.nan]]), np.array([START]))
    window.append(rows_of(0), np.array([[math.nan, math.nan]]), np.array([START + 15.0]))
    for statistics in (window.statistics(rows_of(0), (95.0,)), window.statistics_of(3600.0, rows_of(0))):
        assert statistics.mean[0, 0] == 4.0
        assert statistics.deviation[0, 0] == 0.0
        assert statistics.maximum[0, 0] == 4.0
        assert np.isnan(statistics.latest[0]).all()
        assert np.isnan([statistics.mean[0, 1], statistics.deviation[0, 1], statistics.maximum[0, 1]]).all()
    assert math.isnan(window.statistics(rows_of(0), (95.0,)).percentiles[95.0][0, 1])


def test_each_row_has_its_own_clock() -> None:
    window = Window(1, length_seconds=60.0, samples=10)
    window.reserve(2)
    for time in (0.0, 50.0, 100.0):
        window.append(rows_of(0), np.array([[time]]), np.array([START + time]))
    window.append(rows_of(1), np.array([[7.0]]), np.array([START - 86400.0]))
    assert window.statistics(rows_of(0, 1)).mean.tolist() == [[75.0], [7.0]]


def test_the_window_is_open_at_its_old_end() -> None:
    window = Window(1, length_seconds=60.0, samples=10)
    window.reserve(1)
    for time, value in ((0.0, 100.0), (60.0, 2.0)):
        window.append(rows_of(0), np.array([[value]]), np.array([time]))
    assert window.statistics(rows_of(0)).mean.tolist() == [[2.0]]


def test_a_forgotten_row_is_empty_for_its_next_owner_and_its_neighbours_are_not() -> None:
    window = Window(1, length_seconds=900.0, samples=4, longer_seconds=(3600.0,))
    window.reserve(2)
    for n in range(6):
        window.append(rows_of(0, 1), np.array([[9.0], [1.0]]), np.full(2, START + n))
    window.forget(0)
    assert window.newest(rows_of(0, 1)).tolist() == [-math.inf, START + 5]
    assert window.oldest(rows_of(0))[0] == math.inf
    for statistics in (window.statistics(rows_of(0, 1)), window.statistics_of(3600.0, rows_of(0, 1))):
        assert np.isnan([statistics.mean[0, 0], statistics.latest[0, 0], statistics.maximum[0, 0]]).all()
        assert [statistics.mean[1, 0], statistics.latest[1, 0], statistics.maximum[1, 0]] == [1.0, 1.0, 1.0]
    window.append(rows_of(0), np.array([[3.0]]), np.array([START - 500.0]))
    for statistics in (window.statistics(rows_of(0)), window.statistics_of(3600.0, rows_of(0))):
        assert [statistics.mean[0, 0], statistics.maximum[0, 0], statistics.latest[0, 0]] == [3.0, 3.0, 3.0]


def test_a_row_that_nobody_reserved_can_be_forgotten() -> None:
    Window(1, length_seconds=900.0, samples=4, longer_seconds=(3600.0,)).forget(12)


def test_growing_keeps_what_is_there() -> None:
    window = Window(1, length_seconds=900.0, samples=4, longer_seconds=(3600.0,))
    window.reserve(1)
    window.append(rows_of(0), np.array([[3.0]]), np.array([START]))
    window.reserve(500)
    window.append(rows_of(0, 499), np.array([[5.0], [8.0]]), np.full(2, START + 15.0))
    assert window.statistics(rows_of(0, 499)).mean.tolist() == [[4.0], [8.0]]
    assert window.statistics_of(3600.0, rows_of(0, 499)).mean.tolist() == [[4.0], [8.0]]


def test_an_old_bucket_is_emptied_when_its_slot_comes_round_again() -> None:
    window = Window(1, length_seconds=60.0, samples=2, longer_seconds=(60.0 * BUCKETS,))
    window.reserve(1)
    window.append(rows_of(0), np.array([[100.0]]), np.array([0.0]))
    window.append(rows_of(0), np.array([[1.0]]), np.array([60.0 * BUCKETS]))
    statistics = window.statistics_of(60.0 * BUCKETS, rows_of(0))
    assert [statistics.mean[0, 0], statistics.maximum[0, 0], statistics.deviation[0, 0]] == [1.0, 1.0, 0.0]


def test_the_deviation_of_large_steady_numbers_is_not_drowned_by_their_squares() -> None:
    window = Window(1, length_seconds=900.0, samples=60, longer_seconds=(3600.0,))
    window.reserve(1)
    values = 64 * 2.0**30 + 1e6 * np.tile([-1.0, 1.0], 20)
    for n, value in enumerate(values):
        window.append(rows_of(0), np.array([[value]]), np.array([START + 15.0 * n]))
    for statistics in (window.statistics(rows_of(0)), window.statistics_of(3600.0, rows_of(0))):
        np.testing.assert_allclose(statistics.deviation[0, 0], 1e6, rtol=1e-3)


@pytest.mark.parametrize(
    ("resources", "size", "longer"), [(2, 61, (300.0, 3600.0, 86400.0)), (1, 2, ()), (5, 240, (3600.0,))]
)
def test_memory_is_what_the_docstring_states_and_does_not_grow_with_time(
    resources: int, size: int, longer: Sequence[float]
) -> None:
    window = Window(resources, 900.0, size, tuple(longer))
    assert window.nbytes == 0
    row_bytes = 8 * (size * (resources + 1) + 1 + len(longer) * (BUCKETS * (4 * resources + 1) + resources))
    for wanted, rows in ((1, 64), (64, 64), (65, 128), (1000, 1000), (1001, 2000)):
        window.reserve(wanted)
        assert window.nbytes == rows * row_bytes
    for n in range(3 * size):
        window.append(rows_of(0), np.ones((1, resources)), np.array([START + 60.0 * n]))
    assert window.nbytes == 2000 * row_bytes


def test_statistics_of_no_rows_are_empty() -> None:
    window = Window(2, 900.0, 4, (3600.0,))
    for statistics in (window.statistics(rows_of(), (95.0,)), window.statistics_of(3600.0, rows_of())):
        assert statistics.mean.shape == statistics.latest.shape == statistics.maximum.shape == (0, 2)


def test_statistics_of_nothing_are_not_measured() -> None:
    nothing = Statistics.unmeasured(3, 2)
    for values in (nothing.mean, nothing.deviation, nothing.latest, nothing.maximum):
        assert values.shape == (3, 2)
        assert np.isnan(values).all()
    assert nothing.percentiles == {}
