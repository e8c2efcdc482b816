import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.scorers.beta import beta_cdf


def cdf(a: float, b: float, x: float) -> float:
    return float(beta_cdf(np.array([x]), np.array([a]), np.array([b]))[0])


PEER = [
    # alpha, beta, x       P(X <= x)
    (2.0, 2.0, 0.5, 0.5),
    (2.0, 2.0, 0.0, 0.0),
    (2.0, 2.0, 1.0, 1.0),
    (-1.0, 1.0, 0.5, 0.0),  # no such distribution
]


@pytest.mark.parametrize(("a", "b", "x", "probability"), PEER)
def test_the_peers_own_cases_are_met_to_a_millionth(a: float, b: float, x: float, probability: float) -> None:
    assert cdf(a, b, x) == pytest.approx(probability, abs=1e-6)


KNOWN = [
    # alpha, beta, x       P(X <= x), worked out with 30 digits
    (1.0, 1.0, 0.37, 0.37),  # flat: x itself
    (2.0, 2.0, 0.3, 0.216),  # 3 x^2 - 2 x^3
    (5.0, 1.0, 0.8, 0.32768),  # x^5
    (1.0, 5.0, 0.2, 0.67232),  # 1 - (1 - x)^5
    (0.5, 0.5, 0.25, 1.0 / 3.0),  # 2 / pi * asin(sqrt(x))
    (10.0, 20.0, 0.3, 0.364004081072),
    (2.52, 5.88, 0.25, 0.414602578585),
    (30.0, 0.5, 0.99, 0.439334368905),
    (0.01, 0.02, 0.5, 0.666719461041),
    (200.0, 300.0, 0.4, 0.50242861632),
    (800.0, 1200.0, 0.42, 0.965563627263),
    (999.0, 900000.0, 0.0011, 0.405070460068),
]


@pytest.mark.parametrize(("a", "b", "x", "probability"), KNOWN)
def test_known_values_are_met(a: float, b: float, x: float, probability: float) -> None:
    assert cdf(a, b, x) == pytest.approx(probability, abs=1e-9)


STEADY = [
    # both large: a node that hardly varies      P(X <= x)
    (1001.0, 900000.0, 0.0011, 0.380732370385),
    (1100.0, 1900.0, 0.37, 0.64866735065),
    (5000.0, 5000.0, 0.5, 0.5),
    (5000.0, 5000.0, 0.505, 0.841344746371),
    (40000.0, 60000.0, 0.402, 0.901597931128),
    (4e7, 6e7, 0.4, 0.500005428917),
    (4e7, 6e7, 0.4001, 0.979384443573),
    (4e11, 6e11, 0.4000005, 0.846282915693),
    (4e15, 6e15, 0.39, 0.0),
    (4e15, 6e15, 0.41, 1.0),
    (1e300, 1e300, 0.499, 0.0),
    (1e300, 1e300, 0.501, 1.0),
]


@pytest.mark.parametrize(("a", "b", "x", "probability"), STEADY)
def test_a_distribution_as_narrow_as_can_be_is_still_right(a: float, b: float, x: float, probability: float) -> None:
    assert cdf(a, b, x) == pytest.approx(probability, abs=1e-7)


@pytest.mark.parametrize("x", [1e-300, 1e-15, 1e-9, 1 - 1e-9, 1 - 1e-15])
@pytest.mark.parametrize("size", [0.001, 1.0, 500.0, 5000.0, 1e12])
def test_the_very_ends_neither_warn_nor_stray(x: float, size: float) -> None:
    probability = cdf(0.4 * size, 0.6 * size, x)
    assert 0.0 <= probability <= 1.0
    if size >= 500.0:
        assert probability == pytest.approx(round(x), abs=1e-9)


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.01, 0.99))
def test_whole_parameters_agree_with_the_binomial_sum(a: int, b: int, x: float) -> None:
    # P(Beta(a, b) <= x) = P(at least a of a + b - 1 succeed at odds x)
    n = a + b - 1
    expected = math.fsum(math.comb(n, k) * x**k * (1.0 - x) ** (n - k) for k in range(a, n + 1))
    assert cdf(a, b, x) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.integers(0, 1024).map(lambda n: n / 1024))
def test_turning_the_distribution_round_turns_the_probability_round(a: float, b: float, x: float) -> None:
    assert cdf(a, b, x) + cdf(b, a, 1.0 - x) == pytest.approx(1.0, abs=1e-6)


@given(st.floats(0.01, 1e5), st.floats(0.01, 1e5), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_the_probability_never_falls_as_the_threshold_rises(a: float, b: float, thresholds: list[float]) -> None:
    x = np.sort(np.array(thresholds))
    probability = beta_cdf(x, np.full(len(x), a), np.full(len(x), b))
    assert (np.diff(probability) >= -1e-9).all()


def test_where_the_two_ways_of_reckoning_meet_there_is_no_step() -> None:
    sizes = np.array([1000.0, 1000.0000001])
    before, after = beta_cdf(np.full(2, 0.51), sizes, sizes)
    assert after == pytest.approx(before, abs=1e-8)


def test_many_at_once_are_each_reckoned_by_itself() -> None:
    a, b = np.array([2.0, 5000.0, 0.0, 1.0, 2.0]), np.array([2.0, 5000.0, 1.0, 1.0, 2.0])
    x = np.array([0.5, 0.5, 0.5, 0.25, np.nan])
    assert beta_cdf(x, a, b).tolist() == pytest.approx([0.5, 0.5, 0.0, 0.25, 0.0])
    assert beta_cdf(np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)
