"""scheduler-plugins' NodeResourcesAllocatable: prefer small nodes, or large ones."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta, field

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer

Weight = Annotated[float, Meta(gt=0)]


class NodeResourcesAllocatable(Scorer, frozen=True, kw_only=True):
    """Prefer nodes with the least (or most) allocatable resources.

        size = sum(weight * allocatable) / sum(weight)          CPU in millicores, the rest in base units
        score = 100 * (size - smallest) / (largest - smallest) over the nodes asked, turned round for `Least`

    The default weights make a millicore worth a MiB. All equal: 0.
    """

    measures: ClassVar[bool] = False
    when: ClassVar[str] = (
        "Nodes of unlike sizes: fill the small ones first and keep the large ones free for large pods, or the reverse."
    )
    beware: ClassVar[str] = (
        "It looks at a node's size and never at what is used or requested: alone it puts every pod on the same "
        "nodes until they are full."
    )

    mode: Literal["Least", "Most"] = "Least"
    """Prefer the smallest or the largest nodes."""
    resources: Annotated[Mapping[str, Weight], Meta(min_length=1)] = field(
        default_factory=lambda: {CPU: float(1 << 20), MEMORY: 1.0}
    )
    """The resources that make up a node's size, with their weights."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The size, or minus it."""
        return self._size(nodes)

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores, equal=0.0)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The peer's number before it normalizes: negative for `Least`."""
        return np.trunc(self._size(nodes))

    def _size(self, nodes: Nodes) -> Floats:
        total = np.zeros(len(nodes))
        for resource, weight in self.resources.items():
            total += weight * nodes.allocatable(resource) * (1000.0 if resource == CPU else 1.0)
        return total / sum(self.resources.values()) * (-1.0 if self.mode == "Least" else 1.0)
