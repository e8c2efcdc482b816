"""Prefer nodes near the pods that this one talks to."""

from typing import Annotated, ClassVar

import msgspec
import numpy as np
from msgspec import Meta

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Nodes
from loadaware.window import Ints

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
Cost = Annotated[float, Meta(ge=0)]


class Link(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What it costs to talk between two zones or two regions, either way."""

    between: tuple[str, str]
    """Two zones or two regions, as the nodes' topology labels name them."""
    cost: Cost
    """What it costs, either way."""


class NetworkCost(Scorer, frozen=True, kw_only=True):
    """Prefer nodes near the pods that this one depends on, as its annotation names them.

        cost(node) = mean over the pods it talks to of: 0 same node, sameZone, sameRegion, elsewhere,
                     or what `links` says of the two zones or regions
        score = 100 * (highest cost - cost) / (highest - lowest) over the nodes asked;  all equal: 100

    The annotation is a list of applications, `name` or `namespace/name`, separated by commas; a pod's application is
    its label app.kubernetes.io/name, else app, else k8s-app. `latencyMetric` adds that node metric to the cost. A pod
    that names nothing, or nothing that runs, leaves every node unscored.
    """

    when: ClassVar[str] = (
        "Applications that talk a lot, in clusters over several zones or regions where traffic between them is "
        "slow or paid for."
    )
    beware: ClassVar[str] = (
        "It draws pods together and sees no load: give it scorers of load beside it. It knows only what "
        "annotations say, and nothing of other pods when it runs isolated."
    )

    annotation: str = "loadaware.io/talks-to"
    """The pod's annotation that lists the applications it talks to."""
    same_zone: Cost = 1.0
    """The cost to a node of the same zone."""
    same_region: Cost = 10.0
    """The cost to another zone of the same region."""
    elsewhere: Cost = 100.0
    """The cost to any other node."""
    links: tuple[Link, ...] = ()
    """Costs between two zones or regions, instead of the general ones."""
    latency_metric: str = ""
    """A metric of the node that is added to its cost."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """Minus the cost."""
        return -self.raw(nodes, pod)

    def normalize(self, scores: Floats) -> Floats:
        """Over the whole range."""
        return stretched(scores)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The cost itself."""
        rows, counts = nodes.rows_of_applications(self._applications(pod))
        if not counts.sum():
            return np.full(len(nodes), np.nan)
        costs = self._distances(nodes, rows) @ counts / counts.sum()
        if self.latency_metric:
            costs = costs + np.nan_to_num(nodes.usage("latest", self.latency_metric))
        return costs

    def _applications(self, pod: Pod) -> list[str]:
        names = [name.strip() for name in pod.annotations.get(self.annotation, "").split(",")]
        return [name if "/" in name else f"{pod.namespace}/{name}" for name in names if name]

    def _distances(self, nodes: Nodes, rows: Ints) -> Floats:
        """Cost from each node asked about (axis 0) to each node of the other pods (axis 1)."""
        zones, regions = nodes.snapshot.label_column(ZONE), nodes.snapshot.label_column(REGION)
        here, there = nodes.rows[:, None], rows[None, :]
        same_zone = (zones[here] == zones[there]) & (zones[here] != "")
        same_region = (regions[here] == regions[there]) & (regions[here] != "")
        costs = np.where(same_zone, self.same_zone, np.where(same_region, self.same_region, self.elsewhere))
        for link in self.links:
            one, other = link.between
            for places in (zones, regions):
                joins = ((places[here] == one) & (places[there] == other)) | (
                    (places[here] == other) & (places[there] == one)
                )
                costs = np.where(joins, link.cost, costs)
        return np.where(here == there, 0.0, costs)
