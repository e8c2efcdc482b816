"""What is expected of pods, and how it adds up on a node: the arithmetic that EntropicRisk rests on.

Of load that comes from many sides the first three cumulants add up: mean, variance, and third central moment, which
says how much of the variance is rare high peaks. Replicas peak together, so of one workload the roots add up instead:

    S, T           = sums over a workload's pods on the node of deviation, and of skew = (third moment)^(1/3)
    variance(node) = sum over workloads of S^2            third(node) = sum over workloads of T^3
    a pod adds       mean,   sd^2 + 2 sd S,   t^3 + 3 t T (t + T)         sd, t: its own; S, T: of its siblings there

Cumulants have axes (..., cumulant 0..2, resource), roots (..., deviations and then skews of each resource).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collectors.reading import Floats

CUMULANTS = 3


@dataclass(frozen=True, eq=False)
class Usage:
    """Expected usage of a pod (resource,), or of several (pod, resource), in base units."""

    mean: Floats
    deviation: Floats
    skew: Floats
    pods: float = 1.0

    @cached_property
    def roots(self) -> Floats:
        """Deviations, then skews."""
        return np.concatenate([self.deviation, self.skew], axis=-1)

    @cached_property
    def counted(self) -> Floats:
        """As siblings count one pod: roots and, last, the number of pods."""
        return np.append(self.roots, self.pods)

    @cached_property
    def alone(self) -> Floats:
        """What it adds where it has no siblings (cumulant, resource)."""
        return np.stack([self.mean, self.deviation**2, self.skew**3], axis=-2)

    def beside(self, siblings: Floats) -> Floats:
        """What one pod adds beside siblings with these roots (..., root): (..., cumulant, resource)."""
        count = len(self.mean)
        deviation, skew = siblings[..., :count], siblings[..., count:]
        adds = np.empty((*siblings.shape[:-1], CUMULANTS, count))
        adds[...] = self.alone
        adds[..., 1, :] += 2.0 * self.deviation * deviation
        adds[..., 2, :] += 3.0 * self.skew * skew * (self.skew + skew)
        return adds

    def times(self, share: float) -> "Usage":
        """A share of it."""
        if share == 1.0:
            return self
        return Usage(self.mean * share, self.deviation * share, self.skew * share, share)
