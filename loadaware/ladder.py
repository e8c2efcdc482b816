"""The degradation ladder: how far down the knowledge of a node is. One place, for every scorer.

    FRESH      measured, younger than `fresh`               the score counts wholly
    AGEING     between `fresh` and `expired`                the score fades towards the median
    EXPIRED    older than `expired`, or never measured,     requests of the bound pods stand in for usage,
               but its bound pods are known                 never better than the median
    UNKNOWN    nothing known                                the median

The source as a whole stands on the rung of its newest sample. Missing is never idle and never hot.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats


class Rung(IntEnum):
    """From all is well to nothing is known."""

    FRESH = 0
    AGEING = 1
    EXPIRED = 2
    UNKNOWN = 3


@dataclass(frozen=True)
class Staleness:
    """When a measurement begins to be doubted, and when it is worth nothing."""

    fresh_seconds: float = 300.0
    expired_seconds: float = 900.0

    def trust(self, ages: Floats) -> Floats:
        """1 fresh .. 0 expired or never measured."""
        span = max(self.expired_seconds - self.fresh_seconds, 1e-9)
        return np.clip(1.0 - (ages - self.fresh_seconds) / span, 0.0, 1.0)

    def source_rung(self, ages: Floats, *, pods_known: bool) -> Rung:
        """The rung of the source as a whole: that of the youngest measurement of any node."""
        if not len(ages):
            return Rung.UNKNOWN
        return Rung(int(self.rungs(ages.min(keepdims=True), pods_known=pods_known)[0]))

    def rungs(self, ages: Floats, *, pods_known: bool) -> npt.NDArray[np.int8]:
        """The rung of each node. An age of +inf: never measured."""
        fallen = Rung.EXPIRED if pods_known else Rung.UNKNOWN
        rungs = np.where(ages <= self.fresh_seconds, Rung.FRESH, Rung.AGEING)
        return np.where(ages >= self.expired_seconds, fallen, rungs).astype(np.int8)
