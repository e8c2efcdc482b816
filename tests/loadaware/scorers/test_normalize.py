import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.scorers.normalize import ranks, stretched

NAN = math.nan

STRETCHED = [
    # values      100 * (value - lowest) / (highest - lowest)
    ([10.0, 20.0, 40.0], [0.0, 100 / 3, 100.0]),
    ([-4.0, 0.0], [0.0, 100.0]),
    ([5.0, NAN, 10.0], [0.0, NAN, 100.0]),
    ([1.0, 1.0 + 1e-12], [0.0, 100.0]),  # however small the difference
    ([NAN, NAN], [NAN, NAN]),
    ([], []),
]


@pytest.mark.parametrize(("values", "expected"), STRETCHED)
def test_the_lowest_becomes_0_and_the_highest_100(values: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(stretched(np.array(values, dtype=np.float64)), expected)


@pytest.mark.parametrize("equal", [0.0, 100.0])
def test_where_all_are_the_same_all_get_what_is_said_of_equals(equal: float) -> None:
    np.testing.assert_array_equal(stretched(np.array([7.0, NAN, 7.0]), equal), [equal, NAN, equal])
    np.testing.assert_array_equal(stretched(np.array([7.0]), equal), [equal])


RANKS = [
    ([30.0, 10.0, 20.0], [0.0, 2.0, 1.0]),
    ([20.0, 20.0, 10.0], [0.0, 0.0, 2.0]),  # equals share the better rank, and the next one is not moved up
    ([NAN, 1.0, 2.0], [NAN, 1.0, 0.0]),
    ([5.0], [0.0]),
    ([NAN], [NAN]),
    ([], []),
]


@pytest.mark.parametrize(("values", "expected"), RANKS)
def test_the_highest_has_rank_0(values: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(ranks(np.array(values, dtype=np.float64)), expected)


numbers = st.lists(st.one_of(st.just(NAN), st.floats(-1e9, 1e9)), min_size=1, max_size=12)


@given(numbers)
def test_order_is_kept_and_the_unmeasured_stay_so(values: list[float]) -> None:
    given_ = np.array(values)
    scores, places = stretched(given_), ranks(given_)
    measured = ~np.isnan(given_)
    np.testing.assert_array_equal(np.isnan(scores), ~measured)
    np.testing.assert_array_equal(np.isnan(places), ~measured)
    assert ((scores[measured] >= 0.0) & (scores[measured] <= 100.0)).all()
    order = np.argsort(given_[measured], kind="stable")
    assert (np.diff(scores[measured][order]) >= 0.0).all()
    assert (np.diff(places[measured][order]) <= 0.0).all()
