import numpy as np
import pytest

from loadaware.tuning.source import Judged
from loadaware.tuning.verdict import Compared, compare


def compared(before: list[float], after: list[float]) -> Compared:
    return Compared("hot80", np.array(before), np.array(after))


BEFORE = [10.0, 12.0, 8.0, 11.0, 9.0, 10.0]


def test_a_fall_in_every_pair_is_better_and_a_rise_is_worse() -> None:
    lower = [value * 0.7 for value in BEFORE]
    assert compared(BEFORE, lower).verdict == "better"
    assert compared(lower, BEFORE).verdict == "worse"
    assert compared(BEFORE, lower).gain.value == pytest.approx(30.0)
    assert compared(BEFORE, lower).gain.low == pytest.approx(30.0)


def test_ups_and_downs_are_noise_however_large_the_mean() -> None:
    assert compared(BEFORE, [4.0, 14.0, 9.0, 12.0, 3.0, 11.0]).verdict == "noise"


def test_four_pairs_are_too_few_to_tell() -> None:
    assert compared(BEFORE[:4], [1.0] * 4).verdict == "too few"


def test_the_same_is_no_difference_and_a_gain_from_nothing_is_not_a_number() -> None:
    same = compared([0.0] * 6, [0.0] * 6)
    assert same.verdict == "nothing"
    assert np.isnan(same.gain.value)


def test_pairs_are_blocks_where_there_are_blocks_and_only_those_that_both_have() -> None:
    before = Judged(figures={"hot80": 9.0, "moves": 0.0}, blocks={"hot80": {0: 1.0, 1: 2.0, 2: 3.0}})
    after = Judged(figures={"hot80": 9.0, "moves": 5.0}, blocks={"hot80": {1: 1.0, 2: 1.5, 7: 0.0}})
    hot80, moves = compare([before], [after], ["hot80", "moves", "pending"])
    assert hot80.before.tolist() == [2.0, 3.0]
    assert hot80.after.tolist() == [1.0, 1.5]
    assert (moves.before.tolist(), moves.after.tolist()) == ([0.0], [5.0])


def test_of_blocks_of_time_the_gain_and_the_verdict_say_the_same() -> None:
    before = np.array([0.0] * 8 + [20.0, 24.0, 28.0, 22.0, 26.0, 18.0, 16.0, 20.0])
    lasting = Compared("hot80", before, 0.7 * before, in_time=True)
    assert lasting.gain.value == pytest.approx(30.0)
    assert (lasting.gain.low, lasting.difference.low) < (0.0, 0.0)
    assert lasting.verdict == "noise"
    assert Compared("hot80", before, 0.7 * before).verdict == "better"


def test_a_figure_that_is_not_known_makes_no_pair() -> None:
    assert compare([Judged(figures={"std": None})], [Judged(figures={"std": 1.0})], ["std"]) == []
