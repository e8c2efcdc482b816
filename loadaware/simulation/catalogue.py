"""What a company runs: namespaces, images, and how their use relates to what they request.

The structure is invented but meant to be the one that real clusters have, because a prior for workloads never seen
before can learn from names only what names really tell. Of a workload that uses `factor` times its request (before
the scenario's scale):

    ln factor = family + namespace + image - 0.15 * ln(request / 0.4 core) + own

    family      what kind of program it is (table below)             a worker uses more of its request than a cache
    namespace   production uses what it asks for, staging does not   table below, plus a drawn deviation of 0.2
    image       the same program elsewhere behaves alike             drawn, deviation 0.3
    request     who asks for much uses a smaller share of it
    own         what no name tells                                   drawn, deviation 0.5

Family, namespace, image and request explain some seven tenths of the variance of ln factor; the rest is luck. The
family also decides the pattern over time, the memory per core and the kind of controller, and it shows in the labels
and in the image's repository; a namespace decides how often each family occurs in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from loadaware.simulation.curves import DAY_SECONDS, Pattern
from loadaware.simulation.settings import WorkloadSettings

GIBIBYTE = 2**30
MEBIBYTE = 2**20

Controller = Literal["Deployment", "StatefulSet", "CronJob"]


@dataclass(frozen=True)
class Family:
    """A kind of program."""

    name: str
    controller: Controller
    use: float
    """Its part of ln factor."""
    patterns: tuple[float, float, float]
    """How likely it is stable, a wave, spikes."""
    memory_per_core: float
    """GiB requested with each core."""
    memory_use: float
    """Share of the requested memory in use once warm."""
    images: tuple[str, ...]


@dataclass(frozen=True)
class Team:
    """A namespace: who runs in it, how often, and how well its requests are kept."""

    name: str
    share: float
    use: float
    families: Mapping[str, float] = field(default_factory=dict)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("web", "Deployment", -0.1, (0.1, 0.8, 0.1), 1.5, 0.6, ("storefront", "account", "landing", "help")),
        Family("api", "Deployment", 0.1, (0.2, 0.5, 0.3), 2.0, 0.6, ("orders", "search", "prices", "users", "stock")),
        Family("cache", "StatefulSet", -0.8, (0.9, 0.1, 0.0), 3.5, 0.9, ("redis", "memcached")),
        Family("database", "StatefulSet", -0.3, (0.5, 0.5, 0.0), 3.5, 0.85, ("postgres", "mysql", "elastic")),
        Family("worker", "Deployment", 0.5, (0.1, 0.1, 0.8), 1.5, 0.5, ("mailer", "thumbnails", "indexer", "sync")),
        Family("batch", "CronJob", 0.7, (0.8, 0.0, 0.2), 2.5, 0.7, ("report", "training", "billing", "export")),
        Family("build", "CronJob", 0.4, (0.2, 0.0, 0.8), 2.0, 0.6, ("runner", "scanner")),
        Family("tool", "Deployment", -1.2, (0.8, 0.2, 0.0), 1.5, 0.5, ("dashboard", "wiki", "proxy", "exporter")),
    )
}

TEAMS: tuple[Team, ...] = (
    Team("shop", 5, 0.2, {"web": 4, "api": 4, "cache": 2, "worker": 1}),
    Team("shop-staging", 2, -0.7, {"web": 4, "api": 4, "cache": 2, "worker": 1}),
    Team("payments", 3, -0.3, {"api": 4, "database": 2, "worker": 2, "batch": 1}),
    Team("search", 3, 0.3, {"api": 3, "cache": 2, "database": 3, "worker": 3}),
    Team("data", 4, 0.4, {"batch": 6, "worker": 3, "database": 1, "tool": 1}),
    Team("data-staging", 1, -0.6, {"batch": 6, "worker": 3, "database": 1, "tool": 1}),
    Team("ci", 3, 0.2, {"build": 8, "tool": 1}),
    Team("platform", 2, -0.2, {"tool": 5, "database": 1, "api": 1, "worker": 1}),
)


@dataclass(frozen=True)
class Workload:
    """One controller's pods: what they declare, and what they really do."""

    name: str
    namespace: str
    family: str
    controller: Controller
    image: str
    request_millicores: int
    request_bytes: int
    limit_millicores: int | None
    limit_bytes: int
    factor: float
    """Average CPU use as a multiple of the request, before the scenario's scale."""
    memory_use: float
    pattern: Pattern
    peak_seconds: float
    depth: float
    slot_seconds: float
    busy: float


class Catalogue:
    """Draws workloads, one after the other, from one company. The same seed, the same company."""

    def __init__(self, settings: WorkloadSettings, random: np.random.Generator) -> None:
        self._settings = settings
        self._random = random
        self._team_use = {team.name: team.use + random.normal(0.0, 0.2) for team in TEAMS}
        self._image_use = {
            (family.name, image): random.normal(0.0, 0.3) for family in FAMILIES.values() for image in family.images
        }
        self._drawn = 0

    def draw(self) -> Workload:
        """A workload that was never seen before."""
        team = TEAMS[self._pick([team.share for team in TEAMS])]
        family = FAMILIES[tuple(team.families)[self._pick(list(team.families.values()))]]
        image = family.images[self._pick([1.0 / rank for rank in range(1, len(family.images) + 1)])]
        cores = self._request_cores()
        memory = max(32, round(cores * family.memory_per_core * self._random.lognormal(0.0, 0.4) * 1024))
        self._drawn += 1
        return Workload(
            name=f"{image}-{self._drawn}",
            namespace=team.name,
            family=family.name,
            controller=self._controller(family),
            image=f"registry.example.com/{family.name}/{image}:1.{self._random.integers(0, 40)}",
            request_millicores=round(cores * 1000),
            request_bytes=memory * MEBIBYTE,
            limit_millicores=self._limit(cores),
            limit_bytes=memory * MEBIBYTE * 3 // 2,
            factor=self._factor(team, family, image, cores),
            memory_use=float(np.clip(family.memory_use * self._random.lognormal(0.0, 0.2), 0.1, 1.3)),
            pattern=Pattern(self._pick(list(family.patterns))),
            peak_seconds=float(self._random.normal(14.0, 3.0) * 3600.0 % DAY_SECONDS),
            depth=float(self._random.uniform(0.3, 0.8)),
            slot_seconds=float(self._random.uniform(900.0, 3600.0)),
            busy=float(self._random.uniform(0.12, 0.35)),
        )

    def _factor(self, team: Team, family: Family, image: str, cores: float) -> float:
        known = family.use + self._team_use[team.name] + self._image_use[family.name, image]
        size = -0.15 * np.log(cores / 0.4)
        known = self._settings.named * (known + size)
        return float(np.exp(known + self._random.normal(0.0, self._settings.own_deviation)))

    def _controller(self, family: Family) -> Controller:
        return "Deployment" if family.controller == "CronJob" and not self._settings.jobs else family.controller

    def _request_cores(self) -> float:
        settings = self._settings
        drawn = self._random.lognormal(np.log(settings.request_median_cores), settings.request_deviation)
        return round(float(np.clip(drawn, settings.request_least_cores, settings.request_most_cores)), 2)

    def _limit(self, cores: float) -> int | None:
        limited = self._random.random() < self._settings.cpu_limit_share
        ratio = self._random.uniform(1.5, 4.0)
        return round(cores * ratio * 1000) if limited else None

    def _pick(self, weights: list[float]) -> int:
        total = np.cumsum(weights)
        return int(np.searchsorted(total, self._random.random() * total[-1], side="right"))
