"""Prefer nodes that run cool."""

from typing import Annotated, ClassVar

import numpy as np
from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer
from msgspec import Meta

Degrees = Annotated[float, Meta(ge=-50, le=150)]


class CoolestNode(Scorer, frozen=True, kw_only=True):
    """Prefer nodes by their latest temperature.

        score = 100 * clamp01((hot - temperature) / (hot - cool))

    A node whose temperature nobody measured is not scored: it gets the median of the others.
    """

    when: ClassVar[str] = "Racks that run hot, and a source that tells the temperature of each node."
    beware: ClassVar[str] = "Warmth follows load by minutes: a burst is over before the thermometer has seen it."

    metric: str = "temperature"
    """The resource's name in the source: one of its `nodeQueries`."""
    cool: Degrees = 30.0
    """Up to this a node gets 100."""
    hot: Degrees = 80.0
    """From this on it gets 0."""

    def __post_init__(self) -> None:
        if not self.cool < self.hot:
            raise ValueError(f"cool must be below hot, not {self.cool:g} and {self.hot:g}")

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """See the class."""
        temperature = nodes.usage("latest", self.metric)
        return 100.0 * np.clip((self.hot - temperature) / (self.hot - self.cool), 0.0, 1.0)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The temperature itself."""
        return nodes.usage("latest", self.metric)
