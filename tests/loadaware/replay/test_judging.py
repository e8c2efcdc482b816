import numpy as np
import pytest

from loadaware.replay.judging import FEWEST_BLOCKS, Judge, block_length
from tests.loadaware.recorded_runs import GIBIBYTE, START, reading

SIZE = np.array([[4.0, 16 * GIBIBYTE]] * 2)


@pytest.mark.parametrize(
    ("hours", "minutes"), [(0.5, 5), (2, 5), (6, 15), (24, 60), (48, 120), (14 * 24, 360), (365 * 24, 360)]
)
def test_blocks_are_as_long_as_there_are_enough_of_them(hours: float, minutes: float) -> None:
    length = block_length(hours * 3600.0)
    assert length == minutes * 60.0
    assert hours * 3600.0 / length >= FEWEST_BLOCKS or length == 300.0


def test_a_reading_stands_for_the_time_since_the_last_but_a_gap_for_one_usual_interval() -> None:
    judge = Judge(START, 600.0)
    times = [START, START + 60.0, START + 120.0, START + 3600.0, START + 3660.0]
    assert [judge.seconds_until(time) for time in times] == [0.0, 60.0, 60.0, 60.0, pytest.approx(60.0, rel=0.3)]
    assert judge.gaps == 1


def test_a_clock_that_goes_back_stands_for_nothing_and_goes_on_from_there() -> None:
    judge = Judge(START, 600.0)
    assert [judge.seconds_until(START + t) for t in (0.0, 60.0, 30.0, 90.0)] == [0.0, 60.0, 0.0, 60.0]
    assert judge.jumps == 1


def test_both_ways_are_judged_on_the_same_nodes_and_blocks() -> None:
    judge = Judge(START + 60.0, 300.0)
    for minute in range(1, 11):
        told = reading(START + 60.0 * minute, {"a": 3.6, "b": float("nan")}, {})
        replayed = told.nodes.usage.copy()
        replayed[0, 0] = 1.0
        judge.record(told, told.time, 60.0, recorded=told.nodes.usage, replayed=replayed, allocatable=SIZE)
    assert judge.recorded.whole.report().hot80 == 100.0
    assert judge.replayed.whole.report().hot80 == 0.0
    assert sorted(judge.recorded.reports()) == sorted(judge.replayed.reports()) == [0, 1]
    assert judge.recorded.reports()[0].seconds == 300.0


def test_what_lies_before_the_beginning_is_not_judged() -> None:
    judge = Judge(START + 600.0, 300.0)
    told = reading(START, {"a": 3.6, "b": 1.0}, {})
    judge.record(told, told.time, 60.0, recorded=told.nodes.usage, replayed=told.nodes.usage, allocatable=SIZE)
    assert judge.recorded.whole.report().seconds == 0.0
    assert not judge.recorded.reports()
