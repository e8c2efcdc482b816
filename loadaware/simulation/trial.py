"""One run of one policy, and what came of it.

A run is settled by its setup, its recorded day, its seed and its policy (and by the code): the same four, the same
outcome, on whatever machine and beside whatever else runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import msgspec
import numpy as np

from collectors.reading import Floats
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import Progress, Run
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Policy
from loadaware.simulation.policy_names import parse
from loadaware.simulation.stage import Setup, Stage
from loadaware.simulation.watch import News


@dataclass(frozen=True)
class Trial:
    """What is to be run."""

    setup: Setup
    dataset: str
    """Whose recorded days; empty for generated usage."""
    seed: int
    policy: str

    @property
    def stage_key(self) -> tuple[Setup, str, int]:
        """Trials with the same one share a stage, and are a pair."""
        return self.setup, self.dataset, self.seed


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run, in percent; lower is better. See accounting.py for the first five."""

    hot80: float
    hot90: float
    unserved: float
    std: float
    p99: float
    pending: float
    """Pods that never got a node, of all pods: those who wait at the end, and whose time was over before."""
    together: float
    """Pairs of replicas that share a node, of all pairs, when the next replica is placed: a guard against crowding."""
    memory90: float
    """Node-time above 90 % of memory."""
    utilization: float
    seconds: float
    """That the run took."""


def run_trial(stage: Stage, policy: str, progress: Progress | None = None) -> Outcome:
    """Run a policy on a stage. Raises ConfigError for an unknown one."""
    named = parse(policy)
    return run_policy(stage, lambda clock: named.make(stage, clock), progress)


def run_policy(
    stage: Stage, policy: Callable[[Callable[[], float]], Policy], progress: Progress | None = None
) -> Outcome:
    """Run whatever decides on a stage; it is made with the simulated clock."""
    started, settings = perf_counter(), stage.setup.engine
    counted_from = stage.scenario.settings.start + settings.warm_up_seconds
    watched: list[Watched] = []

    def make(clock: Callable[[], float]) -> Policy:
        watched.append(Watched(policy(clock), counted_from))
        return watched[0]

    report = Run(stage.scenario, make, settings, stage.seed, stage.futures).report(progress)
    return Outcome(
        hot80=report.hot80,
        hot90=report.hot90,
        unserved=report.unserved,
        std=report.spread,
        p99=report.p99,
        pending=watched[0].pending,
        together=watched[0].together,
        memory90=report.memory90,
        utilization=report.utilization,
        seconds=perf_counter() - started,
    )


class Watched:
    """A policy, and a look at the cluster whenever it is asked."""

    def __init__(self, policy: Policy, counted_from: float) -> None:
        self._policy = policy
        self._counted_from = counted_from
        self._cluster: SimulatedCluster | None = None
        self._looks = 0
        self._shared = 0.0
        self.hear: Callable[[tuple[News, ...]], None] = policy.hear

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints | Floats:
        """The policy's."""
        self._cluster = cluster
        if cluster.now >= self._counted_from:
            self._look(cluster.placements.replicas(pod))
        return self._policy.totals(cluster, pod, nodes)

    @property
    def pending(self) -> float:
        """Percent of the pods that never got a node."""
        if self._cluster is None:
            return 0.0
        unplaced = self._cluster.expired + self._cluster.waiting
        return 100.0 * unplaced / max(len(self._cluster.scenario.arrivals), 1)

    @property
    def together(self) -> float:
        """Percent of the pairs of replicas that share a node; NaN if there never was a pair."""
        return 100.0 * self._shared / self._looks if self._looks else float("nan")

    def _look(self, replicas: Ints | None) -> None:
        if replicas is None or (count := int(replicas.sum())) < 2:
            return
        self._looks += 1
        self._shared += float(np.dot(replicas, replicas - 1)) / (count * (count - 1))
