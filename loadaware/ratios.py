"""Usage / request, as sums of its powers over samples, and what these tell: mean, variance and third moment.

Sums have axes (..., resource, power 0..3); power 0 is the number of samples. How they are learned and forgotten, and
whose are shrunk towards whose, is told in demand.py.
"""

from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.demand_state import Column, Table
from loadaware.usage import Usage
from loadaware.window import Ints

LEAST_VARIANCE = 1e-6
POWERS = 4
MOST_SKEWNESS = 4.0
"""Third moment / deviation^3 at most: that of a peak in one sample of twenty. Usage / request of a few pods with tiny
requests, or one wrong sample, would otherwise rule the third moment of everybody who leans on the cluster."""


@dataclass(frozen=True, eq=False)
class Ratios:
    """Usage / request: mean, variance and third moment about the mean. Axes (..., resource)."""

    mean: Floats
    variance: Floats
    third: Floats

    @classmethod
    def of(cls, mean: Floats, square: Floats, third: Floats) -> "Ratios":
        """From the means of x and x^2, and the third moment about the mean."""
        variance = np.maximum(square - mean**2, LEAST_VARIANCE)
        return cls(mean, variance, np.clip(third, 0.0, MOST_SKEWNESS * variance**1.5))

    def at(self, rows: Ints | int) -> "Ratios":
        """Of these rows alone."""
        return Ratios(self.mean[rows], self.variance[rows], self.third[rows])

    def times(self, scale: Floats) -> "Ratios":
        """Of scale * x."""
        return Ratios(scale * self.mean, scale**2 * self.variance, scale**3 * self.third)

    def usage(self, requests: Floats) -> Usage:
        """Of pods that request so much."""
        return Usage(self.mean * requests, np.sqrt(self.variance) * requests, np.cbrt(self.third) * requests)


def grouped(groups: Ints, values: Floats, count: int) -> Floats:
    """Sums of values (item, ...) per group (group, ...)."""
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    sums = np.empty((count, flat.shape[1]))
    for column in range(flat.shape[1]):
        sums[:, column] = np.bincount(groups, flat[:, column], minlength=count)
    return sums.reshape(count, *values.shape[1:])


def rescaled(sums: Floats, scale: Floats) -> Floats:
    """Sums (..., resource, power) of scale * x (..., resource) in place of x."""
    scaled = np.empty(sums.shape)
    scaled[..., 0] = sums[..., 0]
    factor = scale
    for power in range(1, POWERS):
        np.multiply(sums[..., power], factor, out=scaled[..., power])
        factor = factor * scale
    return scaled


def powers_of(x: Floats) -> Floats:
    """(1, x, x^2, x^3) of each, nothing at all where x was not measured. Axes (pod, resource, power)."""
    measured = ~np.isnan(x)
    x = np.where(measured, x, 0.0)
    return rescaled(np.broadcast_to(measured[..., None], (*x.shape, POWERS)), x)


def shrunk(sums: Floats, prior: Ratios, samples: float) -> Ratios:
    """From sums (..., resource, power), as if the prior had been seen so many times."""
    weight = sums[..., 0] + samples
    squared = prior.variance + prior.mean**2
    mean = (sums[..., 1] + samples * prior.mean) / weight
    square = (sums[..., 2] + samples * squared) / weight
    third = (sums[..., 0] * own_third(sums) + samples * prior.third) / weight
    return Ratios.of(mean, square, third)


def own_third(sums: Floats) -> Floats:
    """The third moment about the mean that sums (..., power) tell by themselves; none if negative."""
    count = np.maximum(sums[..., 0], 1e-12)
    mean, square, cube = (sums[..., power] / count for power in (1, 2, 3))
    return np.maximum(cube - symmetric(mean, square), 0.0)


def symmetric(mean: Floats, square: Floats) -> Floats:
    """The mean of x^3 where x lies as far above its mean as below: its third moment about it is 0."""
    return 3.0 * mean * square - 2.0 * mean**3


def as_columns(sums: Floats) -> dict[str, Column]:
    """Sums (row, resource, power) as columns: see demand_state."""
    return {"sums": sums[..., :3].copy(), "cubes": sums[..., 3].copy()}


def from_columns(table: Table, resources: int) -> Floats:
    """Such columns as sums; of a state that has no cubes to these sums all is taken to be symmetric."""
    sums, cubes = table.floats("sums", resources, 3), table.columns.get("cubes")
    if cubes is None or cubes.shape != sums.shape[:2] or not sums.any():
        count = np.maximum(sums[..., 0], 1e-12)
        cubes = np.maximum(sums[..., 0] * symmetric(sums[..., 1] / count, sums[..., 2] / count), 0.0)
    return np.concatenate([sums, cubes[..., None]], axis=-1)
