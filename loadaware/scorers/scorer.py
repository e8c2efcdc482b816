"""What a scorer is: a frozen value with one pure method on arrays. No fetch, no log, no clock.

A scorer's fields are its args: camelCase in YAML, checked by msgspec when a config is read. `score` looks at each node
by itself, `normalize` brings the numbers of all nodes asked about into [0, 100]. It may add

    raw(nodes, pod)     the peer's own number (an integer, in the peer's base of percent), before ladder and combination
    demand(shape)       expected usage of a pod of that shape: declares the need for in-flight counting, and is the
                        price at which placed-but-unmeasured pods are counted in nodes.in_flight(...)
"""

import math
from collections.abc import Mapping
from typing import ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.nodes import Nodes


class Scorer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of every scorer."""

    when: ClassVar[str] = ""
    """When to use it; for docs/plugins.md."""
    beware: ClassVar[str] = ""
    """What it gets wrong; for docs/plugins.md."""

    measures: ClassVar[bool] = True
    """Whether it judges by measurements, which age; if not, the ladder leaves it alone."""

    learns: ClassVar[bool] = False
    """Whether it judges nodes by what their pods were learned to use (`nodes.expected`): then a node that was never
    measured is known by its pods, and the ladder leaves it alone. Where something was learned, pods in flight are in
    what is expected, and `nodes.in_flight` has none."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """How good each node is, by itself; NaN where it was not measured. In [0, 100] unless `normalize` says how."""
        raise NotImplementedError

    def normalize(self, scores: Floats) -> Floats:
        """Scores in [0, 100], 100 best, seen beside the other nodes asked about. As they are, unless overridden."""
        return scores

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The formula's own number; the score itself unless a peer's code gives another."""
        return self.score(nodes, pod)


@runtime_checkable
class CountsInFlight(Protocol):
    """A scorer that wants pods counted before they are measured."""

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """Expected usage per resource of a pod of this shape."""
        ...


def percent(part: Floats, whole: Floats) -> Floats:
    """100 * part / whole to a billionth, so that 40 % of three cores is 40 again and not a bit above it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.round(100.0 * part / whole, 9)


def millis(cores: float) -> int:
    """Millicores as Kubernetes counts them: whole ones, a fraction of one rounded up."""
    return math.ceil(round(cores * 1000.0, 6))


def round_half_away(values: Floats) -> Floats:
    """Round as Go's math.Round: halves away from zero (72.5 -> 73); numpy's own goes to even."""
    return np.trunc(values + np.copysign(0.5, values))
