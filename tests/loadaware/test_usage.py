"""How what is expected of pods adds up on a node: cumulants between workloads, roots between siblings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.usage import Usage

AMOUNT = st.floats(0.0, 8.0)


def usage(mean: float, deviation: float, skew: float) -> Usage:
    return Usage(np.array([mean]), np.array([deviation]), np.array([skew]))


def test_alone_a_pod_adds_its_mean_its_variance_and_its_third_moment() -> None:
    assert usage(2.0, 0.5, 0.4).alone[:, 0].tolist() == pytest.approx([2.0, 0.5**2, 0.4**3])


def test_beside_siblings_it_adds_what_their_common_peaks_are_higher_by() -> None:
    adds = usage(2.0, 0.5, 0.4).beside(np.array([1.0, 0.6]))
    assert adds[:, 0].tolist() == pytest.approx([2.0, (1.0 + 0.5) ** 2 - 1.0**2, (0.6 + 0.4) ** 3 - 0.6**3])


def test_nodes_are_added_up_side_by_side() -> None:
    pod = usage(2.0, 0.5, 0.4)
    adds = pod.beside(np.array([[0.0, 0.0], [1.0, 0.6]]))
    assert adds.shape == (2, 3, 1)
    np.testing.assert_allclose(adds[0], pod.alone)
    np.testing.assert_allclose(adds[1], pod.beside(np.array([1.0, 0.6])))


def test_two_resources_do_not_mix() -> None:
    pod = Usage(np.array([1.0, 10.0]), np.array([2.0, 20.0]), np.array([3.0, 30.0]))
    siblings = np.array([0.1, 0.2, 0.3, 0.4])  # deviations of both, then skews
    expected = [[1.0, 10.0], [2.1**2 - 0.1**2, 20.2**2 - 0.2**2], [3.3**3 - 0.3**3, 30.4**3 - 0.4**3]]
    np.testing.assert_allclose(pod.beside(siblings), expected)


def test_a_share_of_a_pod_is_a_share_of_all_of_it_and_of_one() -> None:
    half = usage(2.0, 0.5, 0.4).times(0.5)
    assert half.counted.tolist() == [0.25, 0.2, 0.5]
    assert half.mean.tolist() == [1.0]
    pod = usage(1.0, 1.0, 1.0)
    assert pod.times(1.0) is pod


@given(AMOUNT, AMOUNT, AMOUNT, AMOUNT)
def test_who_comes_first_makes_no_difference(sd: float, skew: float, other_sd: float, other_skew: float) -> None:
    one, two = usage(1.0, sd, skew), usage(1.0, other_sd, other_skew)
    np.testing.assert_allclose(one.alone + two.beside(one.roots), two.alone + one.beside(two.roots), atol=1e-9)
