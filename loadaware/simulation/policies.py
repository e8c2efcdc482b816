"""Who decides where a pod goes in a simulation: chance, kube-scheduler's default scores, or the live core beside them.

A policy sees only what a cluster would show it: pod specs, events, delayed metrics. It gives each feasible node a
total; the engine binds the pod to the best, ties at random, as kube-scheduler does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen
from collectors.reading import Floats, Reading
from loadaware.adviser import AdviserSettings
from loadaware.core import Core
from loadaware.demand import DemandSettings
from loadaware.ladder import Staleness
from loadaware.observer import ObserverSettings
from loadaware.profile import Profile, WeightedScorer
from loadaware.scorers import SCORERS
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.multi_window_load import MultiWindowLoad
from loadaware.scorers.scorer import Scorer
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.default_scores import default_scores
from loadaware.simulation.noise import Ints
from loadaware.simulation.watch import News
from loadaware.snapshot import HOUR


class Policy(Protocol):
    """Totals for the nodes that can take a pod."""

    def hear(self, news: tuple[News, ...]) -> None:
        """What the cluster tells, when it tells it."""
        ...

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints | Floats:
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

    def hear(self, news: tuple[News, ...]) -> None:
        """Knows the cluster as kube-scheduler does, from its own bindings."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """Their weighted sum."""
        return default_scores(cluster.placements, pod, nodes)


@dataclass(frozen=True)
class Restart:
    """loadaware starts anew: its window is empty, its bookings are gone."""

    after_seconds: float
    """From the beginning of the run."""
    keep_learned: bool
    """Whether what it had learned was saved."""


class Advised:
    """A scorer through the live core, alone or beside the default scores, at an effective weight.

    The core runs as in a server: told and fed under the simulated clock, each answer booked, ints on the wire.
    """

    def __init__(
        self,
        scorer: Scorer,
        clock: Callable[[], float],
        weight: float = 3.0,
        *,
        beside_default: bool = True,
        demand: DemandSettings | None = None,
        restart: Restart | None = None,
        staleness: Staleness | None = None,
        kept_for: Scorer | None = None,
    ) -> None:
        """`kept_for`: for which scorer windows are kept, if it is not the one that is asked."""
        profile = Profile("simulated", (WeightedScorer("scorer", scorer),), max_score=max(round(10 * weight), 1))
        self._adviser = AdviserSettings(
            {profile.name: profile}, profile.name, staleness=staleness or Staleness(), beside_default=beside_default
        )
        self._observer = replace(_kept_for(kept_for or scorer), demand=demand or DemandSettings())
        self._clock = clock
        self._core = Core(self._adviser, clock, self._observer)
        self._default = Default() if beside_default else None
        self._restart = restart
        self._restart_at = np.inf if restart is None else clock() + restart.after_seconds
        self._there: dict[str, Event] = {}
        """Whatever a list would tell after a restart, kept only if one is to come."""

    def hear(self, news: tuple[News, ...]) -> None:
        """Tell and feed the core."""
        if self._clock() >= self._restart_at:
            self._start_anew()
        for item in news:
            if self._restart_at < np.inf:
                self._remember(item)
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

    def _remember(self, item: News) -> None:
        match item:
            case PodSeen(pod=pod):
                self._there[pod.identity] = item
            case PodGone(identity=identity):
                self._there.pop(identity, None)
            case NodeSeen(node=node):
                self._there[node.name] = item
            case NodeGone(name=name):
                self._there.pop(name, None)

    def _start_anew(self) -> None:
        learned = self._core.observer.export(self._clock())
        self._core = Core(self._adviser, self._clock, self._observer)
        if self._restart is not None and self._restart.keep_learned:
            self._core.observer.restore(learned)
        self._core.tell(*self._there.values())
        self._restart_at = np.inf


def _kept_for(scorer: Scorer) -> ObserverSettings:
    """What the observer keeps: no window that the scorer never looks at, all of them for one that is not ours."""
    match scorer:
        case MultiWindowLoad():
            return ObserverSettings(other_windows_seconds=tuple({term.window for term in scorer.priority}))
        case EstimatedLoad(aggregated="mean"):
            return ObserverSettings(other_windows_seconds=(scorer.usage_window,), percentiles=())
        case EntropicRisk():
            return ObserverSettings(other_windows_seconds=(HOUR,), percentiles=())
    ours = type(scorer).__name__ in SCORERS
    return ObserverSettings(other_windows_seconds=(), percentiles=()) if ours else ObserverSettings()
