"""The least loaded node wins."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer

Weight = Annotated[float, Meta(gt=0)]


class LowestUsage(Scorer, frozen=True, kw_only=True):
    """The least loaded node wins, over the whole range.

        u = sum(weight * (mean + in flight) / allocatable) / sum(weight), over the resources with a weight
        score = 100 * (highest u - u) / (highest u - lowest u) over the nodes asked;  all equal: 100

    Stretching to the whole range makes a small difference count as much as a large one: without pods in flight a
    burst herds onto one node. `countInFlight: false` shows that.
    """

    when: ClassVar[str] = "The plainest wish: the node that uses least, first. Good alone, and easy to explain."
    beware: ClassVar[str] = (
        "It is stretched over the whole range, so one percent of difference counts as much as fifty; beside other "
        "scorers give it a small weight. A node with one resource unmeasured is not scored."
    )

    resources: Annotated[Mapping[str, Weight], Meta(min_length=1)] = field(default_factory=lambda: {CPU: 1.0})
    """The resources that count, with their weights."""
    count_in_flight: bool = True
    """Count pods that are placed but not measured yet."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Minus the utilization."""
        return -self._utilization(nodes)

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """As plain extenders answer: the lowest CPU in use, less this node's, plus one (in cores)."""
        used = nodes.mean_or_latest(CPU)
        return np.fmin.reduce(used, initial=np.inf) - used + 1.0

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the pod requests."""
        return dict(shape.requests)

    def _utilization(self, nodes: Nodes) -> Floats:
        total = np.zeros(len(nodes))
        for resource, weight in self.resources.items():
            used = nodes.mean_or_latest(resource)
            if self.count_in_flight:
                used = used + nodes.in_flight(resource)
            allocatable = nodes.allocatable(resource)
            total += weight * np.divide(used, allocatable, out=np.full(len(nodes), np.nan), where=allocatable > 0)
        return total / sum(self.resources.values())
