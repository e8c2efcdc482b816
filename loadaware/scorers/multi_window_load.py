"""Crane's Dynamic scheduler: load over minutes, an hour and a day, less a penalty for recent bindings."""

from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.quantities import Duration
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Nodes


class Term(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One statistic of one window, with its weight."""

    resource: str
    statistic: Literal["mean", "maximum"]
    window: Duration
    weight: Annotated[float, Meta(gt=0)]


class HotCount(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """So many bindings within that time make a node hotter by one."""

    time_range: Duration
    count: Annotated[int, Meta(gt=0)]


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

    priority: tuple[Term, ...] = PRIORITY
    hot_value: tuple[HotCount, ...] = HOT_VALUE

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        hot = np.zeros(len(nodes))
        for spec in self.hot_value:
            hot += np.floor(nodes.bindings_within(spec.time_range) / spec.count)
        return np.clip(self._load_score(nodes) - 10.0 * hot, 0.0, 100.0)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Crane gives."""
        return np.trunc(self.score(nodes, pod))

    def _load_score(self, nodes: Nodes) -> Floats:
        total, weights = np.zeros(len(nodes)), np.zeros(len(nodes))
        for term in self.priority:
            share = nodes.usage(term.statistic, term.resource, term.window) / nodes.capacity(term.resource)
            measured = ~np.isnan(share)
            total += np.where(measured, term.weight * (1.0 - np.where(measured, share, 0.0)) * 100.0, 0.0)
            weights += np.where(measured, term.weight, 0.0)
        return np.divide(total, weights, out=np.full(len(nodes), np.nan), where=weights > 0)
