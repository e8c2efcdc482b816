"""Crane's Dynamic scheduler: load over minutes, an hour and a day, less a penalty for recent bindings."""

from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.quantities import Duration
from loadaware.scorers.scorer import Scorer


class Term(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One statistic of one window, with its weight."""

    resource: str
    """The resource."""
    statistic: Literal["mean", "maximum"]
    """What of the window."""
    window: Duration
    """Its length: the main one's or one of `window.others`."""
    weight: Annotated[float, Meta(gt=0)]
    """How much it counts."""


class HotCount(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """So many bindings within that time make a node hotter by one."""

    time_range: Duration
    """How far back bindings are counted."""
    count: Annotated[int, Meta(gt=0)]
    """How many of them make one degree of heat, worth 10 points."""


FIVE_MINUTES, HOUR, DAY = Duration(300.0), Duration(3600.0), Duration(86400.0)
PRIORITY = (
    Term(CPU, "mean", FIVE_MINUTES, 0.2),
    Term(CPU, "maximum", HOUR, 0.3),
    Term(CPU, "maximum", DAY, 0.5),
    Term(MEMORY, "mean", FIVE_MINUTES, 0.2),
    Term(MEMORY, "maximum", HOUR, 0.3),
    Term(MEMORY, "maximum", DAY, 0.5),
)
HOT_VALUE = (HotCount(FIVE_MINUTES, 5), HotCount(Duration(60.0), 2))


class MultiWindowLoad(Scorer, frozen=True, kw_only=True):
    """Prefer nodes that were quiet for minutes, an hour and a day, and were not bound to lately.

        load score = sum(weight * (1 - u) * 100) / sum(weight), over the terms that are measured
        hot        = sum over (time range, count) of floor(bindings within the time range / count)
        score      = clamp(load score - 10 * hot)

    Counting bindings by number and not by size is the formula's: a large pod heats a node as much as a small one.
    """

    when: ClassVar[str] = (
        "Load with a daily rhythm: a node that is quiet now but peaked within the day is taken with care. For "
        "those who come from Crane."
    )
    beware: ClassVar[str] = (
        "After a peak a node stays disliked for a day, though the cause be gone. Recent pods are counted by "
        "number alone, and none at all when it runs isolated. Windows that are not kept (`window.others`) count "
        "for nothing."
    )

    priority: tuple[Term, ...] = PRIORITY
    """The statistics that count, each with its weight."""
    hot_value: tuple[HotCount, ...] = HOT_VALUE
    """How recent bindings make a node hot."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        hot = np.zeros(len(nodes))
        for spec in self.hot_value:
            hot += np.floor(nodes.bindings_within(spec.time_range) / spec.count)
        return np.clip(self._load_score(nodes) - 10.0 * hot, 0.0, 100.0)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Crane gives: cut to a whole number, which 70 less the last bit is too."""
        return np.trunc(self.score(nodes, pod) + 1e-9)

    def _load_score(self, nodes: Nodes) -> Floats:
        total, weights = np.zeros(len(nodes)), np.zeros(len(nodes))
        for term in self.priority:
            used, capacity = nodes.usage(term.statistic, term.resource, term.window), nodes.capacity(term.resource)
            measured = ~np.isnan(used) & (capacity > 0)
            share = np.divide(used, capacity, out=np.ones(len(nodes)), where=measured)
            total += (1.0 - share) * term.weight * 100.0
            weights += np.where(measured, term.weight, 0.0)
        return np.divide(total, weights, out=np.full(len(nodes), np.nan), where=weights > 0)
