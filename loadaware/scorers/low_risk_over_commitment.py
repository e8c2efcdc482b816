"""Trimaran's LowRiskOverCommitment: prefer nodes where promised limits are unlikely to be called in."""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.beta import beta_cdf
from loadaware.scorers.scorer import Scorer, percent, round_half_away

MOST_VARIANCE = 0.99
"""Of mu (1 - mu), the largest variance a share of the node can have."""

Weight = Annotated[float, Meta(ge=0, le=1)]


class LowRiskOverCommitment(Scorer, frozen=True, kw_only=True):
    """Prefer nodes where limits above the capacity, and load above the requests, are unlikely.

        R, L = sums of requests and of max(limit, request) with the pod (R capped at C); R-, L- = without it
        C = allocatable
        risk limit = (L - C) / (L - R) if L > C else 0
        P = probability that the load stays below R- / C, if it is Beta with the node's mean and deviation
        risk = clamp01(w * risk limit + (1 - w) * (1 - P)), the worse of CPU and memory
        score = 100 * (1 - risk);  a pod that declares neither CPU nor memory: 0 on every node

    The limits are looked at with the pod, the load as it is without it: so the peer has it.
    """

    when: ClassVar[str] = "Clusters that promise more than they have: pods with limits well above their requests."
    beware: ClassVar[str] = (
        "It looks at promises more than at load: pods that declare nothing get 0 on every node, so for them it "
        "decides nothing. Close to full the distribution is all or nothing, and a little more load may score "
        "better."
    )

    smoothing_window_size: Annotated[int, Meta(ge=1)] = 5
    """How many samples the deviation is taken to be smoothed over; it grows by the root of this."""
    risk_limit_weights: Mapping[str, Weight] = field(default_factory=lambda: {CPU: 0.5, MEMORY: 0.5})
    """Per resource, the share of the limits' risk; the rest is the load's."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        return self._score(nodes, pod, nodes.allocatable)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Trimaran gives: percent of capacity taken as percent of allocatable."""
        return round_half_away(self._score(nodes, pod, nodes.capacity))

    def risk(self, nodes: Nodes, pod: Pod, resource: str, base: Floats) -> Floats:
        """The risk of one resource in [0, 1], usage being of `base`; what was not measured has no load risk.

        Sums are compared as shares rounded to a hundred-billionth: forty pods of 100m are four cores, not a bit more.
        """
        capacity = nodes.allocatable(resource)
        request = pod.shape.request(resource)
        limit = max(pod.shape.limit(resource), request)
        requests = np.minimum(_share(nodes.requested(resource) + request, capacity), 1.0)
        risk_limit = _risk_limit(requests, _share(nodes.limits(resource) + limit, capacity))
        weight = self.risk_limit_weights.get(resource, 0.5)
        risk = np.clip(weight * risk_limit + (1.0 - weight) * self._load_risk(nodes, resource, base), 0.0, 1.0)
        return np.where(np.isnan(risk), 0.0, risk)

    def _score(self, nodes: Nodes, pod: Pod, base: Callable[[str], Floats]) -> Floats:
        measured = ~(np.isnan(nodes.mean_or_latest(CPU)) & np.isnan(nodes.mean_or_latest(MEMORY)))
        if not any(max(pod.shape.request(r), pod.shape.limit(r)) > 0 for r in (CPU, MEMORY)):
            return np.where(measured, 0.0, np.nan)
        cpu, memory = (self.risk(nodes, pod, r, base(r)) for r in (CPU, MEMORY))
        return np.where(measured, 100.0 * (1.0 - np.maximum(cpu, memory)), np.nan)

    def _load_risk(self, nodes: Nodes, resource: str, base: Floats) -> Floats:
        capacity = nodes.allocatable(resource)
        requested = np.minimum(_share(nodes.requested(resource), capacity), 1.0)
        limited = _share(nodes.limits(resource), capacity)
        mean = np.clip(_share(nodes.mean_or_latest(resource), base), 0.0, 1.0)
        deviation = np.clip(_share(np.nan_to_num(nodes.usage("deviation", resource)), base), 0.0, 1.0)
        smoothed = deviation * np.sqrt(self.smoothing_window_size)
        sigma = np.minimum(smoothed, np.sqrt(mean * (1.0 - mean) * MOST_VARIANCE))
        probability = _stays_below(requested, mean, sigma)
        bounded = _stays_below(limited, mean, sigma)
        within = np.divide(probability, bounded, out=probability.copy(), where=bounded > 0)
        within = np.where(limited <= 0, 1.0, np.clip(within, 0.0, 1.0))
        probability = np.where((limited < 1.0) & (requested <= limited), within, probability)
        return np.where(np.isnan(mean), 0.0, 1.0 - probability)


def _share(part: Floats, whole: Floats) -> Floats:
    """As a fraction; NaN where there is no whole."""
    return np.where(whole > 0, percent(part, whole) / 100.0, np.nan)


def _risk_limit(requests: Floats, limits: Floats) -> Floats:
    """Both as shares of what is allocatable."""
    return np.divide(limits - 1.0, limits - requests, out=np.zeros(len(limits)), where=limits > 1.0)


def _stays_below(threshold: Floats, mean: Floats, sigma: Floats) -> Floats:
    """P(load <= threshold): Beta by its moments; certain where nothing varies."""
    certain = np.where(mean <= threshold, 1.0, 0.0)
    varies = (sigma > 0) & (mean > 0) & (mean < 1)
    spread = np.divide(mean * (1.0 - mean), sigma**2, out=np.full(len(mean), 2.0), where=varies) - 1.0
    probability = beta_cdf(np.clip(threshold, 0.0, 1.0), mean * spread, (1.0 - mean) * spread)
    return np.where(mean <= 0, 1.0, np.where(varies, probability, certain))
