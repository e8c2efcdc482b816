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


class EntropicRisk(Scorer, frozen=True, kw_only=True):
    """Place where the sum over nodes of C * E[exp(k * usage / C)] rises least, with usage learned per workload.

        mu, var  = expected usage of the node and its variance, from its pods' learned demand
        m, sd    = expected usage of the pod and its deviation, learned from its siblings
        var'     = var + sd^2 + 2 * sd * S          S: deviations of the pod's siblings on the node; they peak together
        g  = k * mu / C + k^2 * var / (2 C^2)       g' the same with the pod
        ln c = ln C + g' + ln(1 - exp(g - g'))      the rise, for normal load
        score = 100 * clip(1 - (ln c - least over the nodes asked) / L, 0, 1)                       k = 10, L = 1

    The weight C makes equal utilization the best on unequal nodes; exp is one knob from balancing (k small) to
    avoiding the worst node (k large). CPU and memory: the rises add up, each node's share of the resource as weight;
    memory has the larger k, because it does not throttle, it kills. Without pod metrics the node's mean and deviation
    over the longest window up to an hour stand in, with what is in flight.
    """

    when: ClassVar[str] = "Always a good first choice: it needs no thresholds, spreads bursts and avoids risky nodes."
    beware: ClassVar[str] = "It learns: a workload never seen before is taken to behave like the rest of the cluster."

    k: Mapping[str, Positive] = field(default_factory=lambda: {CPU: 10.0, MEMORY: 20.0})
    """How strongly high utilization hurts, per resource; a resource left out does not count."""
    range: Positive = 1.0
    """L: how many times (as a logarithm) the least rise a node's may be before its score is 0."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Minus ln c."""
        costs = [self._log_rise(nodes, pod, resource, k) for resource, k in self.k.items()]
        stacked = np.stack(costs)
        nothing = np.isnan(stacked).all(axis=0)
        total = np.logaddexp.reduce(np.where(np.isnan(stacked), -np.inf, stacked), axis=0)
        return np.where(nothing, np.nan, -total)

    def normalize(self, scores: Floats) -> Floats:
        """By the ratio to the least rise: scale free, never saturated."""
        best = np.fmax.reduce(scores, initial=-np.inf)
        return 100.0 * np.clip(1.0 + (scores - best) / self.range, 0.0, 1.0)

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the pod requests: the price of pods in flight where no pod metrics tell better."""
        return dict(shape.requests)

    def _log_rise(self, nodes: Nodes, pod: Pod, resource: str, k: float) -> Floats:
        capacity = nodes.allocatable(resource)
        expected = nodes.expected(pod, resource)
        slope, curve = k / capacity, k * k / (2.0 * capacity * capacity)
        with np.errstate(divide="ignore", invalid="ignore"):
            before = slope * expected.mean + curve * expected.variance
            added = expected.pod_deviation**2 + 2.0 * expected.pod_deviation * expected.shared
            rise = slope * expected.pod_mean + curve * added
            weight = np.log(capacity / nodes.usual_allocatable(resource))
            rise = np.maximum(rise, 1e-12)
            return weight + before + rise + np.log(-np.expm1(-rise))
