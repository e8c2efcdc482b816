"""Who decides where a pod goes in a simulation: chance, kube-scheduler's default scores, or the live core beside them.

A policy sees only what a cluster would show it: pod specs, events, delayed metrics. It gives each feasible node a
total; the engine binds the pod to the best, ties at random, as kube-scheduler does.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from collectors.reading import Reading
from loadaware.adviser import AdviserSettings
from loadaware.core import Core
from loadaware.profile import Profile, WeightedScorer
from loadaware.scorers.scorer import Scorer
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.default_scores import DefaultScores
from loadaware.simulation.noise import Ints
from loadaware.simulation.watch import News


class Policy(Protocol):
    """Totals for the nodes that can take a pod."""

    def hear(self, news: tuple[News, ...]) -> None:
        """What the cluster tells, when it tells it."""
        ...

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """A total per feasible node; the highest wins."""
        ...


class Chance:
    """Any feasible node is as good as any other."""

    def hear(self, news: tuple[News, ...]) -> None:
        """Does not listen."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """All the same."""
        return np.zeros(len(nodes), dtype=np.int64)


class Default:
    """kube-scheduler's default scores."""

    def __init__(self) -> None:
        self._scores = DefaultScores()

    def hear(self, news: tuple[News, ...]) -> None:
        """Knows the cluster as kube-scheduler does, from its own bindings."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """Their weighted sum."""
        return self._scores.total(cluster.placements, pod, nodes)


class Advised:
    """A scorer through the live core, alone or beside the default scores, at an effective weight.

    The core runs as in a server: told and fed under the simulated clock, each answer booked, ints on the wire.
    """

    def __init__(
        self, scorer: Scorer, clock: Callable[[], float], weight: float = 3.0, *, beside_default: bool = True
    ) -> None:
        profile = Profile("simulated", (WeightedScorer("scorer", scorer),), max_score=max(round(10 * weight), 1))
        self._core = Core(AdviserSettings({profile.name: profile}, profile.name), clock)
        self._default = Default() if beside_default else None

    def hear(self, news: tuple[News, ...]) -> None:
        """Tell and feed the core."""
        for item in news:
            if isinstance(item, Reading):
                self._core.feed(item)
            else:
                self._core.tell(item)

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """kube-scheduler adds an extender's priorities ten times weighted to its own scores."""
        names = cluster.scenario.machines.names
        ranking = self._core.rank(cluster.pod(pod), [names[node] for node in nodes.tolist()])
        own = 0 if self._default is None else self._default.totals(cluster, pod, nodes)
        return own + 10 * ranking.priorities
