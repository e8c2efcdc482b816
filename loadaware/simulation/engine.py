"""A run: one policy places a scenario's pods, under a virtual clock, and is judged by what really happened.

Arrivals, usage and failures are the scenario's and the same for every policy, so that runs are paired. The pods of a
burst are asked for `ask_seconds` apart, and a binding is heard of only after the watch's delay, as with a real
kube-scheduler: a policy that does not book what it just placed herds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from loadaware.demand import DemandSettings
from loadaware.simulation.accounting import Report
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.default_scores import best
from loadaware.simulation.futures import Futures
from loadaware.simulation.metering import Blind, Timing
from loadaware.simulation.policies import Policy, Restart
from loadaware.simulation.scenario import Scenario

Progress = Callable[[float], None]


@dataclass(frozen=True)
class EngineSettings:
    """How a run is driven and when it begins to count."""

    warm_up_seconds: float = 6 * 3600.0
    """Not judged: demand is learned, the cluster fills."""
    ask_seconds: float = 0.005
    """Between two pods of a burst."""
    timing: Timing = field(default_factory=Timing)
    blind: Blind = field(default_factory=Blind)
    """What is not measured."""
    demand: DemandSettings = field(default_factory=DemandSettings)
    """How the live core learns."""
    restart: Restart | None = None
    """When the live core starts anew."""


class VirtualClock:
    """The simulated time, for those who must know it."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now


class Run:
    """One policy in one copy of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        policy: Callable[[VirtualClock], Policy],
        settings: EngineSettings | None = None,
        seed: int = 0,
        futures: Futures | None = None,
    ) -> None:
        self._settings = settings or EngineSettings()
        self._scenario = scenario
        self._cluster = SimulatedCluster(scenario, self._settings.timing, blind=self._settings.blind, futures=futures)
        self._clock = VirtualClock(scenario.settings.start)
        self._policy = policy(self._clock)
        self._random = np.random.default_rng(seed)
        self._waiting: list[int] = []

    def report(self, progress: Progress | None = None) -> Report:
        """Drive it to the end; what came of it after the warm-up. `progress` hears the share that is done."""
        start, end = self._scenario.settings.start, self._scenario.settings.end
        step, counted_from = self._settings.timing.step_seconds, start + self._settings.warm_up_seconds
        for number in range(int((end - start) / step)):
            moment = start + number * step
            self._advance(moment)
            if moment - step < counted_from <= moment:
                self._cluster.account_from(moment)
            self._place(moment + step)
            if progress is not None:
                progress((moment - start) / (end - start))
        return self._cluster.report()

    def _advance(self, moment: float) -> None:
        came = self._cluster.advance(moment)
        self._clock.now = moment
        self._policy.hear(came.told)
        self._waiting += came.arrived

    def _place(self, until: float) -> None:
        """Ask for every pod that waits and fits somewhere, one after the other, before the next step."""
        waiting, self._waiting = self._waiting, []
        for pod in waiting:
            if not self._cluster.waits(pod):
                continue
            nodes = np.flatnonzero(self._cluster.placements.feasible(pod))
            if not len(nodes):
                self._waiting.append(pod)
                continue
            self._advance(min(self._clock.now + self._settings.ask_seconds, until - 1e-3))
            totals = self._policy.totals(self._cluster, pod, nodes)
            self._cluster.bind(pod, int(nodes[best(totals, self._random)]))
