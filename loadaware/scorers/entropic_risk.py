"""EntropicRisk: place a pod where the expected pain of the whole cluster rises least."""

from collections.abc import Mapping
from math import isnan
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer

Positive = Annotated[float, Meta(gt=0)]
Steep = Annotated[float, Meta(gt=0, le=50)]
LEAST_RISE = 1e-12
"""A pod of which nothing is expected still weighs a little, or the logarithm would be of nothing."""
MOST = 300.0
"""Exponents are cut here, so that a product of two still is a number: nodes beyond are as bad as a node can be, and
equal. At the usual k none that is sane comes near."""


class EntropicRisk(Scorer, frozen=True, kw_only=True):
    """Place where the sum over nodes of C * E[exp(k * usage / C)] rises least, with usage learned per workload.

        mu, var, third = mean, variance and third moment of what the node is expected to use, from its pods' learned
                         demand; of siblings deviations and skews add up instead, because they peak together
        g  = k * mu / C + k^2 * var / (2 C^2) + k^3 * third / (6 C^3)                   g' the same with the pod
        c  = C * exp(g - k) * (exp(g' - g) - 1)           the rise, as a share of a full node's pain
        score = 100 * clip(1 - ln(c / least c of the nodes asked) / L, 0, 1)            k = 12 (memory 20), L = 1

    g is ln E[exp(k * usage / C)] to the third order: what is mostly low and now and then very high weighs more than its
    mean and variance say, and two such workloads are kept apart. The weight C makes equal utilization the best on
    unequal nodes; exp is one knob from balancing (k small) to avoiding the worst node (k large). CPU and memory: the
    rises add up, each relative to a node that is full of it and with the node's share of the resource as weight. Memory
    has the larger k: it does not throttle, it kills, but until it is nearly full it does no harm. Where no pod is
    measured, what nodes use is shared out among their pods, and workloads learn from that. Before anything is learned
    the node's mean and deviation over the last hour stand in; pods count by the share of that hour that has not seen
    them, and are taken to use of their requests what the whole cluster uses of its.
    """

    when: ClassVar[str] = "Always a good first choice: it needs no thresholds, spreads bursts and avoids risky nodes."
    beware: ClassVar[str] = (
        "It learns: of a workload never seen before only its names tell, and where names tell nothing it is taken to "
        "behave like the rest of the cluster. It lets more replicas share a node than the default scores do. And it "
        "forgets slowly: what a pod used counts half after an hour, so a node where one had a hot spell is avoided for "
        "hours after it, unless that pod goes."
    )

    in_flight_rule: ClassVar[str] = "MissingHour"
    learns: ClassVar[bool] = True

    k: Mapping[str, Steep] = field(default_factory=lambda: {CPU: 12.0, MEMORY: 20.0})
    """How strongly high utilization hurts, per resource; a resource left out does not count."""
    range: Positive = 1.0
    """L: how many times (as a logarithm) the least rise a node's may be before its score is 0."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Minus ln of the sum of c over all resources."""
        steepness = nodes.once((EntropicRisk, *self.k.items()), self._steepness)
        load = nodes.expected(pod, tuple(self.k))
        rise = np.add.reduce(steepness[:, :-1] * load.pod.T, axis=1)
        np.minimum(np.maximum(rise, LEAST_RISE, out=rise), MOST, out=rise)
        pain = np.add.reduce(steepness[:, :-1] * load.nodes.T, axis=1)
        pain += steepness[:, -1]
        np.exp(np.minimum(pain, MOST, out=pain), out=pain)
        pain *= np.expm1(rise, out=rise)
        return -np.log(_sum(pain))

    def normalize(self, scores: Floats) -> Floats:
        """By the ratio to the least rise: scale free, never saturated."""
        normalized = scores - np.fmax.reduce(scores, initial=-np.inf)
        normalized *= 100.0 / self.range
        normalized += 100.0
        return np.maximum(normalized, 0.0, out=normalized)

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the pod requests: the price of pods in flight where no pod metrics tell better."""
        return dict(shape.requests)

    def _steepness(self, nodes: Nodes) -> Floats:
        """k / C, k^2 / (2 C^2), k^3 / (6 C^3) and ln(C / mean C) - k: what depends on the nodes alone. Axes (resource,
        these, node).

        The mean takes the unit away and - k makes full nodes equal, so that the rises of two resources can be added.
        """
        k = np.array(list(self.k.values()))[:, None]
        capacity = np.stack([nodes.allocatable(resource) for resource in self.k])
        capacity = np.where(capacity > 0, capacity, np.nan)
        weight = np.log(capacity / mean_known(capacity)[:, None]) - k
        steep = k / capacity
        return np.stack([steep, steep**2 / 2.0, steep**3 / 6.0, weight], axis=1)


def mean_known(values: Floats) -> Floats:
    """The mean of each row over what is known of it; NaN if nothing is."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.divide(total, known.sum(axis=1), out=np.full(len(total), np.nan), where=known.any(axis=1))


def _sum(pains: Floats) -> Floats:
    """Over the resources (first axis); one that is NaN has no part in it."""
    total = np.add.reduce(pains, axis=0)
    if isnan(np.add.reduce(total)):
        known = ~np.isnan(pains)
        return np.where(known.any(axis=0), np.where(known, pains, 0.0).sum(axis=0), np.nan)
    return total
