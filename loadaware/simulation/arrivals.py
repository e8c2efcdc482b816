"""Who comes when, and how long they stay.

Pods come in bursts of replicas of one workload, some bursts together in a wave. A burst comes as soon as the requests
of all who are there, plus half its own, fit below the target share of the cluster: so requests hover around it. Who
comes, when, and for how long is settled before anything is placed; a pod that no policy can place leaves at the same
time. The pods at the start are drawn as a running cluster would show them: long-lived ones are over-represented
(length-biased), and each has a uniformly drawn part of its life left.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.catalogue import Catalogue, Workload
from loadaware.simulation.noise import Ints
from loadaware.simulation.settings import ArrivalSettings

REPLICA_SPACING_SECONDS = 0.02
"""A controller creates the replicas of a burst this far apart."""
PAUSE_SECONDS = 10.0
"""Mean pause between room appearing and somebody using it."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Pods as columns, in order of arrival."""

    workload: Ints
    burst: Ints
    arrival: Floats
    departure: Floats

    def __len__(self) -> int:
        return len(self.workload)


@dataclass(frozen=True)
class Burst:
    """Replicas of one workload that come together."""

    workload: int
    replicas: int
    cores: float
    """Requested by all of them."""


class ArrivalProcess:
    """Draws arrivals; `workloads` grows by whoever is new."""

    def __init__(
        self, settings: ArrivalSettings, cores: float, catalogue: Catalogue, random: np.random.Generator
    ) -> None:
        self._settings = settings
        self._cores = cores
        self._catalogue = catalogue
        self._random = random
        self._alive: list[tuple[float, float]] = []
        self._requested = 0.0
        self._rows: list[tuple[float, float, int, int]] = []
        self._bursts = 0
        self.workloads: list[Workload] = []

    def run(self, nodes: int, start: float, end: float) -> Arrivals:
        """All arrivals from start to end."""
        known = max(1, round(self._settings.known_per_node * nodes))
        self.workloads = [self._catalogue.draw() for _ in range(known)]
        self._fill(start)
        time = start + self._settings.fill_seconds
        while time < end:
            bursts = self._next_bursts()
            time = self._room_for(sum(burst.cores for burst in bursts), time)
            time += self._random.exponential(PAUSE_SECONDS)
            self._arrive(bursts, time)
        return self._arrivals(end)

    def _fill(self, start: float) -> None:
        target = self._settings.requests * self._cores
        while self._requested < target:
            burst = self._burst(self._recurring())
            time = start + self._random.uniform(0.0, self._settings.fill_seconds)
            self._enter(burst, time, self._remaining_lifetimes(burst.replicas))

    def _next_bursts(self) -> list[Burst]:
        settings = self._settings
        wave = self._random.random() < settings.wave_share
        low, high = settings.wave_workloads if wave else (1, 1)
        return [self._burst(self._somebody()) for _ in range(self._random.integers(low, high + 1))]

    def _arrive(self, bursts: list[Burst], time: float) -> None:
        spread = self._settings.wave_seconds if len(bursts) > 1 else 0.0
        for burst in bursts:
            when = time + self._random.uniform(0.0, 1.0) * spread
            self._enter(burst, when, self._lifetimes(burst.replicas))

    def _enter(self, burst: Burst, time: float, lifetimes: Floats) -> None:
        each = burst.cores / burst.replicas
        for replica, lifetime in enumerate(lifetimes):
            arrival = time + replica * REPLICA_SPACING_SECONDS
            self._rows.append((arrival, arrival + lifetime, burst.workload, self._bursts))
            heapq.heappush(self._alive, (arrival + lifetime, each))
        self._requested += burst.cores
        self._bursts += 1

    def _room_for(self, cores: float, time: float) -> float:
        target = self._settings.requests * self._cores
        while self._alive and (self._alive[0][0] <= time or self._requested + cores / 2 > target):
            departure, each = heapq.heappop(self._alive)
            self._requested -= each
            time = max(time, departure)
        return time

    def _somebody(self) -> int:
        if self._random.random() >= self._settings.new_share:
            return self._recurring()
        self.workloads.append(self._catalogue.draw())
        return len(self.workloads) - 1

    def _recurring(self) -> int:
        return int(self._random.integers(len(self.workloads)))

    def _burst(self, workload: int) -> Burst:
        each = self.workloads[workload].request_millicores / 1000.0
        replicas = max(1, min(self._wanted(), int(self._settings.largest_burst * self._cores / each)))
        return Burst(workload, replicas, replicas * each)

    def _wanted(self) -> int:
        most = self._settings.most_replicas
        if self._settings.even_bursts:
            return int(self._random.integers(1, most + 1))
        return int(np.exp(self._random.uniform(0.0, np.log(most + 1))))

    def _lifetimes(self, count: int, shift: float = 0.0) -> Floats:
        settings = self._settings
        centre = np.log(settings.lifetime_median_seconds) + shift
        drawn = self._random.lognormal(centre, settings.lifetime_deviation, size=count)
        return np.clip(drawn, settings.lifetime_least_seconds, settings.lifetime_most_seconds)

    def _remaining_lifetimes(self, count: int) -> Floats:
        whole = self._lifetimes(count, shift=self._settings.lifetime_deviation**2)
        return np.maximum(whole * self._random.uniform(size=count), self._settings.lifetime_least_seconds)

    def _arrivals(self, end: float) -> Arrivals:
        rows = sorted(row for row in self._rows if row[0] < end)
        return Arrivals(
            workload=np.array([row[2] for row in rows], dtype=np.int64),
            burst=np.array([row[3] for row in rows], dtype=np.int64),
            arrival=np.array([row[0] for row in rows], dtype=np.float64),
            departure=np.array([row[1] for row in rows], dtype=np.float64),
        )
