"""Trimaran's TargetLoadPacking: pack nodes up to a target CPU utilization, spread beyond it."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Container, Pod, Shape
from collectors.reading import CPU, Floats
from loadaware.nodes import Nodes
from loadaware.quantities import Quantity
from loadaware.scorers.scorer import Scorer, millis, percent, round_half_away


class TargetLoadPacking(Scorer, frozen=True, kw_only=True):
    """Pack nodes up to X percent of CPU, then spread.

        U = 100 * (mean + in flight + demand) / capacity
        score = (100 - X) * U / X + X                  U <= X
                X * (100 - U) / (100 - X)              X < U <= 100
                0                                      U > 100
        demand = sum over containers (cpu limit, else round(1.5 * request), else 1000m) + overhead

    Known defect, kept because it is the formula: the score falls from 100 to X just past the target. So close to it
    the last bit decides, and the sum is made as the peer makes it: the mean's percentage first, then millicores.
    """

    when: ClassVar[str] = (
        "Fewer nodes, well used: pack up to a target and keep the rest free for an autoscaler to take away; "
        "spread beyond it."
    )
    beware: ClassVar[str] = (
        "It looks at CPU alone. Just past the target a score falls from 100 to the target's own number, so nodes "
        "near it change places quickly; pods that declare nothing count as `defaultRequests`."
    )

    target_utilization: Annotated[float, Meta(gt=0, lt=100)] = 40.0
    """X, percent of CPU up to which nodes are packed."""
    default_requests: Mapping[str, Quantity] = field(default_factory=lambda: {CPU: Quantity(1.0)})
    """Expected of a container that declares neither limit nor request."""
    default_requests_multiplier: Annotated[float, Meta(ge=1)] = 1.5
    """How much more than its request a container without a limit is expected to use."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        target = self.target_utilization
        expected = self._expected_percent(nodes, pod)
        below = (100.0 - target) * expected / target + target
        above = target * (100.0 - expected) / (100.0 - target)
        score = np.where(expected <= target, below, np.where(expected <= 100.0, above, 0.0))
        return np.where(np.isnan(expected), np.nan, np.maximum(score, 0.0))

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that Trimaran gives."""
        return round_half_away(self.score(nodes, pod))

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What Trimaran predicts for a pod; init containers are not counted."""
        predicted = sum(self._predict(container) for container in shape.containers)
        return {CPU: predicted + dict(shape.overhead).get(CPU, 0.0)}

    def _expected_percent(self, nodes: Nodes, pod: Pod) -> Floats:
        capacity = 1000.0 * nodes.capacity(CPU)
        used = percent(nodes.mean_or_latest(CPU), nodes.capacity(CPU)) / 100.0 * capacity
        added = np.round(1000.0 * (nodes.in_flight(CPU) + self.demand(pod.shape)[CPU]), 6)
        with np.errstate(divide="ignore", invalid="ignore"):
            return 100.0 * (used + added) / capacity

    def _predict(self, container: Container) -> float:
        limit = millis(dict(container.limits).get(CPU, 0.0))
        request = millis(dict(container.requests).get(CPU, 0.0))
        if limit > 0:
            return limit / 1000.0
        if request > 0:
            return int(request * self.default_requests_multiplier + 0.5) / 1000.0
        return float(self.default_requests.get(CPU, 0.0))
