"""Telemetry Aware Scheduling's scheduleonmetric: rank nodes by any named metric."""

from typing import ClassVar, Literal

import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import ranks
from loadaware.scorers.scorer import Scorer


class MetricRank(Scorer, frozen=True, kw_only=True):
    """Prefer nodes by a metric's latest value: `LessThan` the lowest first, `GreaterThan` the highest.

        score = 100 * (1 - rank / (nodes measured - 1)), rank 0 for the best; equal values share a rank

    The peer answers 10 - rank, which is below zero from the 12th node on; `raw` shows that number.
    """

    when: ClassVar[str] = "Any number that a source can tell of a node: temperature, queue length, free licences."
    beware: ClassVar[str] = (
        "Only the order counts: a hair's breadth is as good as a mile. It takes the latest value, so a metric "
        "that jumps makes the order jump, and pods in flight are not seen."
    )

    metric: str
    """The resource's name in the source: `cpu`, `memory`, or one of `nodeQueries`."""
    operator: Literal["LessThan", "GreaterThan"] = "LessThan"
    """`LessThan`: the lowest first; `GreaterThan`: the highest first."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The metric, or minus it."""
        values = nodes.usage("latest", self.metric)
        return -values if self.operator == "LessThan" else values

    def normalize(self, scores: Floats) -> Floats:
        """By rank."""
        places = ranks(scores)
        last = max(int((~np.isnan(places)).sum()) - 1, 1)
        return 100.0 * (1.0 - places / last)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The peer's own number."""
        return 10.0 - ranks(self.score(nodes, pod))
