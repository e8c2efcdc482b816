"""A peer's scorer as its authors ship it: a plugin inside kube-scheduler, with nothing of ours around it.

Our pipeline makes every formula better than it is at home: pods in flight are counted by the share of the window that
has not seen them, and booked from the answer on. A comparison with the peers themselves must not give them that:

    Trimaran/TargetLoadPacking        pods bound after the newest sample, or less than 60 s before it, count wholly
    Koordinator/LoadAwareScheduling   the estimate less what is measured, of pods younger than the report interval
    Crane/Dynamic                     its own penalty for bindings of the last minutes
    Trimaran's others                 nobody counts until the window shows it; sums of requests are known at once

Scores are the plugin's own whole numbers, 0..100, times its weight. What was bound is known before the next pod is
asked for, as it is inside kube-scheduler. Windows are 15 minutes for Trimaran (load-watcher's), 5 for Koordinator. What
was measured once is never doubted; a node that never was gets no more than the median, which is kinder than the peers
are.
"""

from collections.abc import Callable, Mapping

import numpy as np

from collectors.cluster import PodSeen
from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.ladder import Staleness
from loadaware.nodes import Nodes
from loadaware.scorers.scorer import Scorer
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Advised
from loadaware.simulation.watch import News

SHIPPED: Mapping[str, str] = {
    "Crane/Dynamic": "MultiWindowLoad",
    "Koordinator/LoadAwareScheduling": "EstimatedLoad",
    "Trimaran/LoadVariationRiskBalancing": "LoadVariationRiskBalancing",
    "Trimaran/LowRiskOverCommitment": "LowRiskOverCommitment",
    "Trimaran/Peaks": "Peaks",
    "Trimaran/TargetLoadPacking": "TargetLoadPacking",
}
"""Who ships what, and our scorer with its formula."""
TRIMARAN = "Trimaran"
NEVER = Staleness(1e12, 2e12)
"""Peers do not doubt what they measured once."""
COUNT_IN_FLIGHT = frozenset({"EstimatedLoad", "TargetLoadPacking"})
"""Those that count pods before they are measured."""


class Own(Scorer, frozen=True, kw_only=True):
    """A plugin's own numbers, for whom no pod is in flight."""

    scorer: Scorer

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """As the peer's code gives them."""
        return self.scorer.raw(nodes, pod)

    def normalize(self, scores: Floats) -> Floats:
        """As the peer's code does."""
        return self.scorer.normalize(scores)


class Counting(Own, frozen=True, kw_only=True):
    """The same, with pods in flight by the peer's own rule."""

    @property
    def in_flight_rule(self) -> str:
        """Koordinator has one of its own; that of the others is Trimaran's."""
        return str(getattr(self.scorer, "in_flight_rule", TRIMARAN))

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the peer expects of a pod."""
        demand: Mapping[str, float] = self.scorer.demand(shape)  # type: ignore[attr-defined]
        return demand


class Shipped(Advised):
    """A plugin alone, or beside the default scores at a weight."""

    def __init__(self, scorer: Scorer, clock: Callable[[], float], weight: float, *, beside_default: bool) -> None:
        counts = type(scorer).__name__ in COUNT_IN_FLIGHT
        own = Counting(scorer=scorer) if counts else Own(scorer=scorer)
        super().__init__(own, clock, weight, beside_default=beside_default, staleness=NEVER, kept_for=scorer)
        self._weight = weight
        self._asked: tuple[SimulatedCluster, int] | None = None

    def hear(self, news: tuple[News, ...]) -> None:
        """Of its own bindings first."""
        self._settle()
        super().hear(news)

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """Its own scores, as plugins give them, and kube-scheduler's."""
        self._settle()
        self._asked = cluster, pod
        names = cluster.scenario.machines.names
        ranking = self._core.rank(cluster.pod(pod), [names[node] for node in nodes.tolist()], book=False)
        own = 0 if self._default is None else self._default.totals(cluster, pod, nodes)
        return own + np.rint(self._weight * ranking.scores).astype(np.int64)

    def _settle(self) -> None:
        """Where the pod asked about last went, if it is not gone already."""
        if self._asked is not None:
            (cluster, pod), self._asked = self._asked, None
            if cluster.is_there(pod):
                self._core.tell(PodSeen(cluster.pod(pod)))
