"""EntropicRisk: place a pod where the expected pain of the whole cluster rises least."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer

Positive = Annotated[float, Meta(gt=0)]
LEAST_RISE = 1e-12
"""A pod of which nothing is expected still weighs a little, or the logarithm would be of nothing."""


class EntropicRisk(Scorer, frozen=True, kw_only=True):
    """Place where the sum over nodes of C * E[exp(k * usage / C)] rises least, with usage learned per workload.

        mu, var  = expected usage of the node and its variance, from its pods' learned demand
        m, sd    = expected usage of the pod and its deviation, learned from its siblings
        var'     = var + sd^2 + 2 * sd * S          S: deviations of the pod's siblings on the node; they peak together
        g  = k * mu / C + k^2 * var / (2 C^2)       g' the same with the pod
        ln c = ln C - k + g' + ln(1 - exp(g - g'))  the rise, for normal load, as a share of a full node's pain
        score = 100 * clip(1 - (ln c - least over the nodes asked) / L, 0, 1)                       k = 10, L = 1

    The weight C makes equal utilization the best on unequal nodes; exp is one knob from balancing (k small) to
    avoiding the worst node (k large). CPU and memory: the rises add up, each relative to a node that is full of it and
    with the node's share of the resource as weight. Memory has the larger k: it does not throttle, it kills, but until
    it is nearly full it does no harm. Without pod metrics the node's mean and deviation
    over the last hour stand in; pods count by the share of that hour that has not seen them, and are taken to use of
    their requests what the whole cluster uses of its.
    """

    when: ClassVar[str] = "Always a good first choice: it needs no thresholds, spreads bursts and avoids risky nodes."
    beware: ClassVar[str] = (
        "It learns: of a workload never seen before only its names tell, and where names tell nothing it is taken to "
        "behave like the rest of the cluster. It lets more replicas share a node than the default scores do."
    )

    in_flight_rule: ClassVar[str] = "MissingHour"
    learns: ClassVar[bool] = True

    k: Mapping[str, Positive] = field(default_factory=lambda: {CPU: 10.0, MEMORY: 20.0})
    """How strongly high utilization hurts, per resource; a resource left out does not count."""
    range: Positive = 1.0
    """L: how many times (as a logarithm) the least rise a node's may be before its score is 0."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Minus ln c, over all resources."""
        resources = tuple(self.k)
        slope, curve, weight = nodes.once((EntropicRisk, *self.k.items()), self._steepness).transpose(1, 0, 2)
        expected = nodes.expected(pod, resources)
        with np.errstate(divide="ignore", invalid="ignore"):
            added = expected.pod_deviation * (expected.pod_deviation + 2.0 * expected.shared)
            rise = np.maximum(slope * expected.pod_mean + curve * added, LEAST_RISE)
            before = slope * expected.mean + curve * expected.variance
            return -_log_sum(weight + before + rise + np.log(-np.expm1(-rise)))

    def normalize(self, scores: Floats) -> Floats:
        """By the ratio to the least rise: scale free, never saturated."""
        best = np.fmax.reduce(scores, initial=-np.inf)
        return np.maximum(100.0 + (scores - best) * (100.0 / self.range), 0.0)

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the pod requests: the price of pods in flight where no pod metrics tell better."""
        return dict(shape.requests)

    def _steepness(self, nodes: Nodes) -> Floats:
        """k / C, k^2 / (2 C^2) and ln(C / mean C) - k: what depends on the nodes alone. Axes (node, these, resource).

        The mean takes the unit away and - k makes full nodes equal, so that the rises of two resources can be added.
        """
        k = np.array(list(self.k.values()))
        capacity = np.stack([nodes.allocatable(resource) for resource in self.k], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.log(capacity / mean_known(capacity)) - k
            return np.stack([k / capacity, k * k / (2.0 * capacity * capacity), weight], axis=1)


def mean_known(values: Floats) -> Floats:
    """The mean of each column over what is known of it; NaN if nothing is."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, known.sum(axis=0), out=np.full(len(total), np.nan), where=known.any(axis=0))


def _log_sum(costs: Floats) -> Floats:
    """ln of the sum over resources (last axis) of exp(cost); a resource that is NaN has no part in it."""
    total = costs[:, 0]
    for column in range(1, costs.shape[1]):
        other = costs[:, column]
        both = np.logaddexp(total, other)
        total = np.where(np.isnan(both), np.fmax(total, other), both) if np.isnan(both).any() else both
    return total
