"""Ways to bring numbers of any range into 0..100 over the nodes asked about."""

import numpy as np

from collectors.reading import Floats


def stretched(values: Floats, equal: float = 100.0) -> Floats:
    """100 * (value - lowest) / (highest - lowest); `equal` where all are the same; NaN stays NaN."""
    lowest = np.fmin.reduce(values, initial=np.inf)
    highest = np.fmax.reduce(values, initial=-np.inf)
    if not highest > lowest:
        return np.where(np.isnan(values), np.nan, equal)
    return np.clip(100.0 * ((values - lowest) / (highest - lowest)), 0.0, 100.0)


def ranks(values: Floats) -> Floats:
    """0 for the highest, 1 for the next ...; equal values share the better rank; NaN stays NaN."""
    measured = values[~np.isnan(values)]
    places = len(measured) - np.searchsorted(np.sort(measured), values, side="right")
    return np.where(np.isnan(values), np.nan, places.astype(np.float64))
