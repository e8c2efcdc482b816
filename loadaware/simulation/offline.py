"""A reference: who goes where if everything is known beforehand, pods still to come too.

Begins with what a clairvoyant would do and makes it better (see local_search.py), all pods in random order, pass after
pass until one gains little. There is no proof that nothing is better, but whoever places pods one by one as they come
hardly gets near.

The plan assumes that each pod is bound on arrival. When one cannot go where it was planned, because another had to
wait, it goes where the clairvoyant would put it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.clairvoyant import Clairvoyant
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.futures import Futures, foresee
from loadaware.simulation.local_search import LocalSearch
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News

Progress = Callable[[float], None]


@dataclass(frozen=True)
class SearchSettings:
    """When to be content."""

    most_passes: int = 6
    least_gain: float = 0.005
    """Of a pass, as a share of the cost."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Where each pod goes."""

    node_of: Ints
    """By pod; NOWHERE for those that had room nowhere on arrival, or that come after the end."""
    costs: tuple[float, ...]
    """As a clairvoyant would have it, then after each pass: always falling."""


class Offline:
    """Follows a plan."""

    def __init__(self, scenario: Scenario, plan: Plan, futures: Futures | None = None) -> None:
        self._plan = plan
        self._otherwise = Clairvoyant(scenario, futures)

    def hear(self, news: tuple[News, ...]) -> None:
        """Has no need to."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Floats:
        """1 for the planned node and 0 for all others; the clairvoyant's if that one is not among them."""
        planned = (nodes == self._plan.node_of[pod]).astype(np.float64)
        return planned if planned.any() else self._otherwise.totals(cluster, pod, nodes)


def make_plan(
    scenario: Scenario,
    futures: Futures | None = None,
    seed: int = 0,
    settings: SearchSettings | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Search for the best placement of a whole scenario. `progress` hears the share that is done."""
    settings, tell = settings or SearchSettings(), progress or _nobody
    search, random = LocalSearch(scenario, futures or foresee(scenario)), np.random.default_rng(seed)
    search.begin()
    best, costs = search.node_of.copy(), [search.settle()]
    for number in range(settings.most_passes):
        tell((number + 1) / (settings.most_passes + 1))
        search.improve(random.permutation(len(best)))
        cost = search.settle()
        if cost >= costs[-1]:
            break
        best, costs = search.node_of.copy(), [*costs, cost]
        if cost > (1.0 - settings.least_gain) * costs[-2]:
            break
    tell(1.0)
    return Plan(best, tuple(costs))


def _nobody(share: float) -> None:
    """Nobody wants to hear of the progress."""
