"""The beta distribution's cumulative probability, on arrays, without a statistics library.

    I(x; a, b) = x^a (1-x)^b / (a B(a, b)) * 1/(1 + d1/(1 + d2/(1 + ...)))        the regularised incomplete beta

The continued fraction converges quickly for x < (a + 1) / (a + b + 2); above, I(x; a, b) = 1 - I(1 - x; b, a). Where
a and b are both large (a node that hardly varies) it needs ever more steps and its logarithms cancel; there Peizer and
Pratt's normal approximation is right to eight digits:

    I(x; a, b) = Phi(d * sqrt((1 + x g(S / (n y)) + y g(T / (n x))) / ((n + 1/6) x y)))
    y = 1 - x,  n = a + b - 1,  S = b - 1/2,  T = a - 1/2,  g(z) = (1 - z^2 + 2 z ln z) / (1 - z)^2
    d = b - 1/3 - (n + 1/3) y + 0.02 (x / b - y / a + (x - 1/2) / (n + 1))
"""

from math import erfc, lgamma

import numpy as np

from collectors.reading import Floats

_STEPS = 200
_SMALL = 1e-300
_CLOSE = 1e-14
_LARGE = 1000.0

_log_gamma = np.vectorize(lgamma, otypes=[np.float64])
_erfc = np.vectorize(erfc, otypes=[np.float64])


def beta_cdf(x: Floats, a: Floats, b: Floats) -> Floats:
    """P(X <= x) for X ~ Beta(a, b); 0 where a or b is not positive."""
    x, a, b = np.broadcast_arrays(np.asarray(x, float), np.asarray(a, float), np.asarray(b, float))
    result = np.zeros(x.shape)
    valid = (a > 0) & (b > 0) & ~np.isnan(x)
    result[valid & (x >= 1)] = 1.0
    inside = valid & (x > 0) & (x < 1)
    large = np.minimum(a, b) > _LARGE
    for chosen, formula in ((inside & ~large, _by_fraction), (inside & large, _by_normal)):
        result[chosen] = formula(x[chosen], a[chosen], b[chosen])
    return result


def _by_fraction(x: Floats, a: Floats, b: Floats) -> Floats:
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


def _by_normal(x: Floats, a: Floats, b: Floats) -> Floats:
    x = np.clip(x, 1e-200, 1.0 - 1e-16)
    y, n = 1.0 - x, a + b - 1.0
    d = b - 1.0 / 3.0 - (n + 1.0 / 3.0) * y + 0.02 * (x / b - y / a + (x - 0.5) / (n + 1.0))
    bend = 1.0 + x * _bend((b - 0.5) / (n * y)) + y * _bend((a - 0.5) / (n * x))
    z = d * np.sqrt(np.maximum(bend, 1e-12) / ((n + 1.0 / 6.0) * x * y))
    return 0.5 * _erfc(-z / np.sqrt(2.0))


def _bend(z: Floats) -> Floats:
    """g(z); by its series near 1, where numerator and denominator both vanish."""
    z = np.minimum(z, 1e100)
    near = np.abs(z - 1.0) < 0.01
    off = np.where(near, z - 1.0, 0.0)
    series = off * (-1.0 / 3.0 + off * (1.0 / 6.0 + off * (-1.0 / 10.0 + off * (1.0 / 15.0 - off / 21.0))))
    z = np.where(near, 2.0, z)
    return np.where(near, series, (1.0 - z * z + 2.0 * z * np.log(z)) / (1.0 - z) ** 2)
