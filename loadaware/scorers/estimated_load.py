"""Koordinator's LoadAwareScheduling: what is used, plus what pods are estimated to use."""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.quantities import Duration, Quantity
from loadaware.scorers.scorer import Scorer

Factor = Annotated[float, Meta(gt=0, le=100)]
Weight = Annotated[float, Meta(ge=0)]


class EstimatedLoad(Scorer, frozen=True, kw_only=True):
    """Prefer nodes with the most room left by measured usage and estimates.

        estimate = round(max(limit, request) * factor / 100), at most the limit;  nothing declared: 250m, 200Mi
        in flight = sum of max(0, estimate - measured usage), over pods younger than the report interval
        used = usage + in flight + estimate of the pod
        score = sum(weight * 100 * (total - used) / total) / sum(weight);  used above total: 0

    `aggregated` takes a percentile of the window for the usage. `scoreAccordingProdUsage` counts, for a pod of high
    priority, only the usage of pods of high priority: the others can be evicted.
    """

    when: ClassVar[str] = (
        "The all-round choice to even out load: CPU and memory together, with pods counted before they are "
        "measured. For those who come from Koordinator."
    )
    beware: ClassVar[str] = (
        "Its estimates are shares of what pods declare: pods that declare far more than they use look heavy until "
        "they are measured. The percentile of `aggregated` must be among `window.percentiles`, or nothing is "
        "scored."
    )
    in_flight_rule: ClassVar[str] = "LessMeasured"

    resource_weights: Mapping[str, Weight] = field(default_factory=lambda: {CPU: 1.0, MEMORY: 1.0})
    """How much each resource counts."""
    estimated_scaling_factors: Mapping[str, Factor] = field(default_factory=lambda: {CPU: 85.0, MEMORY: 70.0})
    """Percent of what a pod declares that it is expected to use."""
    default_requests: Mapping[str, Quantity] = field(
        default_factory=lambda: {CPU: Quantity(0.25), MEMORY: Quantity(200 * 2**20)}
    )
    """Expected of a pod that declares nothing."""
    aggregated: Literal["mean", "p50", "p90", "p95", "p99"] = "mean"
    """The mean of `usageWindow`, or a percentile of the main window."""
    usage_window: Duration = Duration(300.0)
    """The window of the mean; one that is not kept gives way to the main one."""
    score_according_prod_usage: bool = False
    """For a pod of high priority, count only what pods of high priority use."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        total, weights = np.zeros(len(nodes)), np.zeros(len(nodes))
        for resource, weight in self.resource_weights.items():
            room = self._room(nodes, pod, resource)
            measured = ~np.isnan(room)
            total += np.where(measured, weight * room, 0.0)
            weights += np.where(measured, weight, 0.0)
        return np.divide(total, weights, out=np.full(len(nodes), np.nan), where=weights > 0)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Koordinator gives: each resource cut to a whole number, and so their mean."""
        total, weights = np.zeros(len(nodes)), np.zeros(len(nodes))
        for resource, weight in self.resource_weights.items():
            room = self._room(nodes, pod, resource)
            total += np.where(np.isnan(room), 0.0, weight * np.trunc(room + 1e-9))
            weights += np.where(np.isnan(room), 0.0, weight)
        mean = np.divide(total, weights, out=np.full(len(nodes), np.nan), where=weights > 0)
        return np.trunc(mean + 1e-9)

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """The estimate for each resource that has a factor."""
        return {resource: self._estimate(shape, resource) for resource in self.estimated_scaling_factors}

    def _estimate(self, shape: Shape, resource: str) -> float:
        """In whole millicores or bytes, halves up."""
        units = 1000.0 if resource == CPU else 1.0
        request, limit = (math.ceil(round(a * units, 6)) for a in (shape.request(resource), shape.limit(resource)))
        if max(request, limit) <= 0:
            return float(self.default_requests.get(resource, 0.0))
        estimate = math.floor(max(request, limit) * self.estimated_scaling_factors[resource] / 100.0 + 0.5)
        return (min(estimate, limit) if limit > 0 else estimate) / units

    def _room(self, nodes: Nodes, pod: Pod, resource: str) -> Floats:
        """Percent of the node that would be left."""
        total = nodes.allocatable(resource)
        expected = self.demand(pod.shape).get(resource, 0.0) + nodes.in_flight(resource)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = 100.0 * (total - self._usage(nodes, pod, resource) - expected) / total
        return np.maximum(room, 0.0)

    def _usage(self, nodes: Nodes, pod: Pod, resource: str) -> Floats:
        if self.score_according_prod_usage and nodes.is_high_priority(pod):
            return nodes.high_priority_usage(resource)
        if self.aggregated != "mean":
            return nodes.percentile(float(self.aggregated[1:]), resource)
        recent = nodes.usage("mean", resource, self.usage_window)
        return np.where(np.isnan(recent), nodes.mean_or_latest(resource), recent)
