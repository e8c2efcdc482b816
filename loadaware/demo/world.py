"""The demo's world: one scenario, and two clusters in which it happens, equal but for who places the pods."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loadaware.demo.extender_client import NoAdvice
from loadaware.demo.scheduler import Scheduler
from loadaware.demo.side import Side
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.generator import generate
from loadaware.simulation.metering import Timing
from loadaware.simulation.settings import (
    ArrivalSettings,
    FailureSettings,
    MachineSettings,
    ScenarioSettings,
)
from loadaware.simulation.watch import News

WARM_UP_TICK_SECONDS = 5.0
LOAD_SECONDS = 4 * 3600.0
"""The load is met on average in this time after the warm-up, when somebody is most likely to look."""


@dataclass(frozen=True)
class WorldSettings:
    """What is simulated. Chosen so that a difference shows within two minutes at 60 times real time."""

    nodes: int = 24
    load: float = 0.65
    """CPU that pods and daemons want, as a share of all cores: busy enough that placement matters."""
    seed: int = 1
    hours: float = 72.0
    """Simulated; then the demo is over."""
    warm_up_seconds: float = 7_200.0
    lifetime_median_seconds: float = 1_800.0
    """Shorter than usual: the sooner pods are replaced, the sooner two policies part."""
    failures_per_day: float = 24.0
    """A node goes away about once an hour, for some ten minutes."""
    watch_seconds: float = 2.0
    """Simulated. Bindings are heard of late, as in real clusters, where a scheduler asks again within milliseconds."""


class World:
    """Both clusters under one time. `ours` tells its news; the default one is only looked at."""

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self.scenario = generate(_scenario_settings(settings), np.random.default_rng(settings.seed))
        timing = Timing(watch_seconds=settings.watch_seconds)
        self.ours = Side("loadaware", SimulatedCluster(self.scenario, timing))
        self.default = Side("default", SimulatedCluster(self.scenario, timing, publish=False))
        self.start = self.scenario.settings.start + settings.warm_up_seconds
        """When the warm-up is over and the comparison begins."""
        self.end = self.scenario.settings.end

    def random(self, purpose: int) -> np.random.Generator:
        """Dice for one purpose, from the same seed."""
        return np.random.default_rng([self.settings.seed, purpose])

    def step(self, time: float) -> tuple[News, ...]:
        """Let the time pass in both; returns what the one with the extender told."""
        self.default.advance(time)
        return self.ours.advance(time)

    def warm_up(self) -> Iterator[tuple[float, tuple[News, ...]]]:
        """The first hours, placed by the default scores in both, tie by tie alike. Yields times and news."""
        schedulers = [Scheduler(side, NoAdvice(), self.random(0)) for side in (self.ours, self.default)]
        first = self.scenario.settings.start
        for time in np.arange(first, self.start, WARM_UP_TICK_SECONDS):
            yield float(time), self.step(float(time))
            for scheduler in schedulers:
                scheduler.drain()
        for side in (self.ours, self.default):
            side.account_from(self.start)


def _scenario_settings(settings: WorldSettings) -> ScenarioSettings:
    return ScenarioSettings(
        duration_seconds=settings.hours * 3600.0,
        load=settings.load,
        load_from_seconds=settings.warm_up_seconds,
        load_until_seconds=settings.warm_up_seconds + LOAD_SECONDS,
        machines=MachineSettings(nodes=settings.nodes),
        arrivals=ArrivalSettings(lifetime_median_seconds=settings.lifetime_median_seconds),
        failures=FailureSettings(per_day=settings.failures_per_day, away_median_seconds=600.0),
    )
