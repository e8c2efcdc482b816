"""Which of several trials is the best, by arithmetic."""

import math

from loadaware.tuning.objective import choose, front

BASE = -1


def test_of_one_objective_the_lowest_is_the_best_and_of_equals_the_first() -> None:
    assert choose({BASE: (5.0,), 0: (4.0,), 1: (4.0,), 2: (4.5,)}) == 0


def test_a_figure_that_was_nothing_to_begin_with_does_not_decide_alone() -> None:
    """hot80 and moves; by their ranges (3 and 30): base (1, 0), trial 0 (0, 1), trial 1 (1/6, 1/6)."""
    assert choose({BASE: (5.0, 0.0), 0: (2.0, 30.0), 1: (2.5, 5.0)}) == 1


def test_what_one_begins_with_stays_the_best_if_moving_pods_brings_nothing() -> None:
    assert choose({BASE: (5.0, 0.0), 0: (5.0, 30.0), 1: (5.2, 10.0)}) == BASE


def test_a_figure_whose_sizes_are_large_counts_no_more_than_a_small_one() -> None:
    """p99 and unserved; by their ranges: (1, 0), (0, 1), (0.5, 0.25)."""
    assert choose({BASE: (90.0, 0.1), 0: (60.0, 0.5), 1: (75.0, 0.2)}) == 1


def test_a_range_below_a_tenth_of_a_point_is_hardly_a_difference() -> None:
    """By range and grain: base (1, 0), trial 0 (0, 0.2)."""
    assert choose({BASE: (5.0, 0.0), 0: (4.0, 0.02)}) == 0


def test_of_two_extremes_what_one_begins_with_stays() -> None:
    assert choose({BASE: (5.0, 0.0), 0: (2.0, 30.0)}) == BASE
    assert choose({BASE: (2.0, 90.0), 0: (6.0, 85.0)}) == BASE
    assert choose({0: (5.0, 0.0), 1: (2.0, 0.5)}) == 0


def test_a_figure_that_is_not_known_never_wins() -> None:
    assert choose({BASE: (math.inf,), 0: (7.0,)}) == 0
    assert choose({BASE: (5.0, 1.0), 0: (4.0, math.inf)}) == BASE
    assert choose({BASE: (math.inf, 1.0), 0: (math.inf, 2.0)}) == BASE


def test_the_front_holds_those_that_nobody_beats_in_everything() -> None:
    assert front({0: (1.0, 2.0), 1: (2.0, 1.0), 2: (2.0, 2.0)}) == [0, 1]
