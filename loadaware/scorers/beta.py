"""The beta distribution's cumulative probability, on arrays, without a statistics library.

    I(x; a, b) = x^a (1-x)^b / (a B(a, b)) * 1/(1 + d1/(1 + d2/(1 + ...)))        the regularised incomplete beta

The continued fraction converges quickly for x < (a + 1) / (a + b + 2); above, I(x; a, b) = 1 - I(1 - x; b, a).
"""

from math import lgamma

import numpy as np

from collectors.reading import Floats

_STEPS = 200
_SMALL = 1e-300
_CLOSE = 1e-14

_log_gamma = np.vectorize(lgamma, otypes=[np.float64])


def beta_cdf(x: Floats, a: Floats, b: Floats) -> Floats:
    """P(X <= x) for X ~ Beta(a, b); 0 where a or b is not positive."""
    x, a, b = np.broadcast_arrays(np.asarray(x, float), np.asarray(a, float), np.asarray(b, float))
    result = np.zeros(x.shape)
    valid = (a > 0) & (b > 0) & ~np.isnan(x)
    result[valid & (x >= 1)] = 1.0
    inside = valid & (x > 0) & (x < 1)
    result[inside] = _inside(x[inside], a[inside], b[inside])
    return result


def _inside(x: Floats, a: Floats, b: Floats) -> Floats:
    swap = x > (a + 1.0) / (a + b + 2.0)
    x, a, b = np.where(swap, 1.0 - x, x), np.where(swap, b, a), np.where(swap, a, b)
    front = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b) + a * np.log(x) + b * np.log1p(-x)
    value = np.exp(front) * _fraction(x, a, b) / a
    return np.clip(np.where(swap, 1.0 - value, value), 0.0, 1.0)


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """The continued fraction, by Lentz's method, all elements at once."""
    c = np.ones_like(x)
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d.copy()
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value = value * d * c
        if not x.size or np.abs(d * c - 1.0).max() < _CLOSE:
            break
    return value


def _away_from_zero(value: Floats) -> Floats:
    return np.where(np.abs(value) < _SMALL, _SMALL, value)
