"""Prefer nodes near the pods that this one talks to."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import msgspec
import numpy as np
from msgspec import Meta

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
Cost = Annotated[float, Meta(ge=0)]
Place = tuple[str, str]
"""Zone and region; "" where a node has no such label."""


class Link(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What it costs to talk between two zones or two regions, either way."""

    between: tuple[str, str]
    """Two zones or two regions, as the nodes' topology labels name them."""
    cost: Cost
    """What it costs, either way."""


class NetworkCost(Scorer, frozen=True, kw_only=True):
    """Prefer nodes near the pods that this one depends on, as its annotation names them.

        cost(node) = mean over the pods it talks to of: 0 same node, sameZone, sameRegion, elsewhere,
                     or what `links` says of the two zones, else of the two regions
        score = 100 * (highest cost - cost) / (highest - lowest) over the nodes asked;  all equal: 100

    The annotation is a list of applications, `name` or `namespace/name`, separated by commas; a pod's application is
    its label app.kubernetes.io/name, else app, else k8s-app. `latencyMetric` adds that node metric to the cost,
    the median of all nodes where it was not measured. A pod that names nothing, or nothing that runs, leaves every node
    unscored.
    """

    measures: ClassVar[bool] = False
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
        costs = self._costs(nodes, rows, counts) / counts.sum()
        return costs + _latency(nodes, self.latency_metric) if self.latency_metric else costs

    def _applications(self, pod: Pod) -> list[str]:
        names = [name.strip() for name in pod.annotations.get(self.annotation, "").split(",")]
        return [name if "/" in name else f"{pod.namespace}/{name}" for name in names if name]

    def _costs(self, nodes: Nodes, rows: Ints, counts: Floats) -> Floats:
        """Summed over the other pods. Nodes of one place are alike; only a pod on the node itself costs nothing."""
        places, place_of = _places(nodes.snapshot)
        between = self._between(places)
        pods = np.bincount(place_of[rows], counts, minlength=len(places))
        own = np.zeros(len(place_of))
        own[rows] = counts
        here = place_of[nodes.rows]
        return (between @ pods)[here] - own[nodes.rows] * between[here, here]

    def _between(self, places: Sequence[Place]) -> Floats:
        """Cost from each place to each place, the nearer relation last: a link of zones goes before one of regions."""
        zones, regions = (np.array(names, dtype=np.str_) for names in zip(*places, strict=True))
        costs = np.full((len(places), len(places)), self.elsewhere)
        for names, same_cost in ((regions, self.same_region), (zones, self.same_zone)):
            costs[(names[:, None] == names) & (names != "")] = same_cost
            for link in self.links:
                one, other = names == link.between[0], names == link.between[1]
                costs[(one[:, None] & other) | (other[:, None] & one)] = link.cost
        return costs


def _places(snapshot: Snapshot) -> tuple[list[Place], Ints]:
    """The places there are, and which of them each row is in."""
    columns = (snapshot.label_column(label).tolist() for label in (ZONE, REGION))
    places: list[Place] = list(zip(*columns, strict=True))
    index = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return list(index), np.array([index[place] for place in places], dtype=np.intp)


def _latency(nodes: Nodes, metric: str) -> Floats:
    """The metric's latest value; the median of the cluster's nodes where it was not measured, 0 if nowhere."""
    column = nodes.snapshot.resource_index.get(metric)
    known = np.zeros(0) if column is None else nodes.snapshot.statistics.latest[:, column]
    known = known[~np.isnan(known)]
    latest = nodes.usage("latest", metric)
    return np.where(np.isnan(latest), np.median(known) if len(known) else 0.0, latest)
