"""Intervals, duels and the signed-rank test, against values worked out by hand or published."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.simulation.statistics import (
    MOST_EXACT,
    _by_the_normal,
    _counted_out,
    _doubled_ranks,
    duel,
    gap_closed,
    mean_interval,
    signed_rank,
)


def exact(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


def test_the_gap_is_a_ratio_of_means_not_a_mean_of_ratios() -> None:
    # means: default 6, policy 3, reference 2: 100 * (6 - 3) / (6 - 2)
    assert gap_closed(exact(4, 8), exact(1, 5), exact(2, 2)).value == pytest.approx(75.0)


def test_the_default_closes_nothing_and_the_reference_everything() -> None:
    default, reference = exact(5, 7, 6), exact(1, 2, 1)
    assert gap_closed(default, default, reference) == (0.0, 0.0, 0.0)
    assert gap_closed(default, reference, reference) == (100.0, 100.0, 100.0)


def test_a_policy_worse_than_the_default_closes_less_than_nothing() -> None:
    assert gap_closed(exact(4), exact(6), exact(2)).value == pytest.approx(-100.0)


@pytest.mark.parametrize("reference", [4.0, 5.0])
def test_where_the_reference_is_no_better_there_is_no_gap_to_close(reference: float) -> None:
    assert all(math.isnan(part) for part in gap_closed(exact(4), exact(3), exact(reference)))


def test_an_interval_holds_its_value_and_is_the_same_every_time() -> None:
    values = np.random.default_rng(1).normal(10.0, 2.0, 12)
    interval = mean_interval(values)
    assert interval.low < interval.value < interval.high
    assert interval == mean_interval(values)


def test_an_interval_is_as_wide_as_the_means_standard_error_says() -> None:
    values = np.random.default_rng(2).normal(10.0, 2.0, 400)
    interval = mean_interval(values)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / 20.0, rel=0.1)


def test_one_run_has_an_interval_of_no_width() -> None:
    assert mean_interval(exact(3.0)) == (3.0, 3.0, 3.0)


def test_pairs_stay_pairs_in_a_bootstrap() -> None:
    # the policy halves every run of the default, however high that is: each resample says 50 %
    default = exact(1, 10, 100, 1000)
    assert gap_closed(default, default / 2, exact(0, 0, 0, 0)) == pytest.approx((50.0, 50.0, 50.0))


def test_a_duel_counts_pairs_and_a_draw_is_not_won() -> None:
    result = duel(exact(1, 2, 3, 0), exact(2, 2, 1, 5))
    assert result == (2, 1, 1)
    assert result.share_won == pytest.approx(50.0)
    assert math.isnan(duel(exact(), exact()).share_won)


@pytest.mark.parametrize(
    ("differences", "positive", "p_value"),
    [
        ((1, 2, 3, 4, 5), 15.0, 2 / 32),
        ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 55.0, 2 / 1024),
        ((-1, 2, 3, 4, 5), 14.0, 4 / 32),
        ((0, 0, 1, 2, 3, 4, 5), 15.0, 2 / 32),
        ((1, -1), 1.5, 1.0),
        ((2, 2, 2, -1), 9.0, 0.25),
        # heights of cross- and self-fertilized plants, Darwin 1876: the table's W is 96, p 0.041
        ((49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48), 96.0, 0.04126),
    ],
    ids=["all five", "all ten", "all but the least", "zeros say nothing", "a draw", "shared ranks", "Darwin's plants"],
)
def test_the_signed_rank_test_gives_known_values(
    differences: tuple[float, ...], positive: float, p_value: float
) -> None:
    found = signed_rank(exact(*differences))
    assert found.positive == positive
    assert found.p_value == pytest.approx(p_value, abs=5e-6)


def test_without_differences_nothing_is_certain() -> None:
    assert signed_rank(exact(0, 0, 0)).p_value == 1.0


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_the_exact_distribution_is_that_of_all_signs(differences: list[int]) -> None:
    found = signed_rank(exact(*differences))
    sizes = sorted(abs(d) for d in differences if d)
    ranks = [sizes.index(s) + (sizes.count(s) + 1) / 2 for s in (abs(d) for d in differences if d)]
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product([0, 1], repeat=len(ranks))]
    low = sum(s <= found.positive for s in sums) / len(sums)
    high = sum(s >= found.positive for s in sums) / len(sums)
    assert found.p_value == pytest.approx(min(1.0, 2.0 * min(low, high)))


@given(st.lists(st.floats(-5, 5).filter(lambda x: abs(x) > 1e-3), min_size=1, max_size=30))
def test_the_test_has_no_favourite_side(differences: list[float]) -> None:
    forth, back = signed_rank(exact(*differences)), signed_rank(-exact(*differences))
    assert forth.p_value == pytest.approx(back.p_value)
    assert 0.0 < forth.p_value <= 1.0


def test_many_pairs_by_the_normal_distribution_agree_with_counting() -> None:
    drawn = np.random.default_rng(3).normal(0.3, 1.0, MOST_EXACT)
    ranks = _doubled_ranks(np.abs(drawn))
    positive = int(ranks[drawn > 0].sum())
    assert _by_the_normal(ranks, positive) == pytest.approx(_counted_out(ranks, positive), rel=0.1)
    # 100 positive differences: away by 2525 - 0.5, deviation sqrt(100 * 101 * 201 / 24)
    found = signed_rank(np.arange(1.0, 101.0))
    assert found.p_value == pytest.approx(math.erfc(2524.5 / math.sqrt(84_587.5) / math.sqrt(2)))
