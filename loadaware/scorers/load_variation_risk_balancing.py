"""Trimaran's LoadVariationRiskBalancing: prefer nodes whose load is low and steady."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer, percent, round_half_away


class LoadVariationRiskBalancing(Scorer, frozen=True, kw_only=True):
    """Prefer nodes whose load is low and steady; the worse of CPU and memory counts.

        mu    = clamp01((max(mean, 0) + in flight + request) / allocatable)
        sigma = clamp01(margin * clamp01(deviation / allocatable) ^ (1 / sensitivity))    no power if sensitivity < 0
        score = 100 * (1 - (mu + sigma) / 2), the minimum over the resources measured

    The peer counts no pods in flight, so bursts herd; here they are counted, except in `raw`.
    """

    when: ClassVar[str] = (
        "Load that swings: of two nodes with the same mean the steadier one wins, so that peaks meet fewer full nodes."
    )
    beware: ClassVar[str] = (
        "It needs a deviation: a window with few samples, or a source that tells only the latest value, leaves "
        "the mean alone. Mean and deviation count alike, so an idle node that swings may lose to a busy one that "
        "is steady."
    )

    safe_variance_margin: Annotated[float, Meta(ge=0)] = 1.0
    """By how much the deviation is multiplied."""
    safe_variance_sensitivity: float = 1.0
    """Above 1 small deviations count more, below 1 less; at 0 only a full one counts; below 0 it is taken as it is."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        return _least(self._resource(nodes, pod, r, nodes.allocatable(r), nodes.in_flight(r)) for r in (CPU, MEMORY))

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Trimaran gives: percent of capacity taken as percent of allocatable, nothing in flight."""
        zero = np.zeros(len(nodes))
        return round_half_away(_least(self._resource(nodes, pod, r, nodes.capacity(r), zero) for r in (CPU, MEMORY)))

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """The peer's own idea of a pod: what it requests."""
        return dict(shape.requests)

    def _resource(self, nodes: Nodes, pod: Pod, resource: str, base: Floats, in_flight: Floats) -> Floats:
        """One resource's score. The sums are made as the peer makes them, so that halves round as they do there."""
        unit = 1000.0 if resource == CPU else 1.0
        room = unit * nodes.allocatable(resource)
        deviation = nodes.usage("deviation", resource)
        mean = np.maximum(percent(nodes.mean_or_latest(resource), base), 0.0) * room / 100.0
        spread = percent(np.where(np.isnan(deviation), 0.0, deviation), base) * room / 100.0
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = np.clip((mean + unit * (in_flight + pod.shape.request(resource))) / room, 0.0, 1.0)
            sigma = self._spread(spread / room)
        return (1.0 - (mu + sigma) / 2.0) * 100.0

    def _spread(self, sigma: Floats) -> Floats:
        sigma = np.clip(sigma, 0.0, 1.0)
        if self.safe_variance_sensitivity == 0:
            sigma = np.where(sigma < 1.0, 0.0, 1.0)
        elif self.safe_variance_sensitivity > 0:
            sigma = sigma ** (1.0 / self.safe_variance_sensitivity)
        return np.clip(sigma * self.safe_variance_margin, 0.0, 1.0)


def _least(scores: Iterable[Floats]) -> Floats:
    """The minimum over the resources measured; NaN where none was."""
    return reduce(np.fmin, scores)
