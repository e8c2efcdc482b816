"""The oracle: EntropicRisk's own formula, fed with the truth instead of what was learned.

Every pod's true mean and deviation over its life are known before it is placed, and every binding at once. What is
left between it and the learned scorer is what better learning could gain; what is left between it and the references
is what the formula cannot see: when load comes.
"""

from collections.abc import Sequence

import numpy as np

from collectors.manifests import Pod
from collectors.reading import CPU, Floats
from loadaware.expectations import Usage
from loadaware.expected import RHO
from loadaware.nodes import Nodes
from loadaware.ranking import to_priorities
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.siblings import Siblings
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.futures import Futures
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import NOWHERE
from loadaware.simulation.policies import Default
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.watch import News
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics


class Oracle:
    """Alone or beside the default scores, at an effective weight."""

    def __init__(self, scenario: Scenario, futures: Futures, weight: float, *, beside_default: bool) -> None:
        self._scorer = EntropicRisk(k={CPU: EntropicRisk().k[CPU]})
        self._snapshot = _snapshot(scenario)
        self._truth = _Truth(scenario, futures)
        self._seen: Ints = np.full(len(scenario.arrivals), NOWHERE, dtype=np.int64)
        self._max_score = max(round(10 * weight), 1)
        self._default = Default() if beside_default else None

    def hear(self, news: tuple[News, ...]) -> None:
        """Needs nobody to tell."""

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        """As an extender's priorities, ten times weighted, beside the default scores."""
        self._look(cluster.placements.node_of)
        self._truth.asked = pod
        placeless = self._snapshot.requested
        view = Nodes(self._snapshot, nodes, placeless, placeless, self._snapshot.pod_counts, expectations=self._truth)
        scores = self._scorer.normalize(self._scorer.score(view, cluster.pod(pod)))
        own = 0 if self._default is None else self._default.totals(cluster, pod, nodes)
        return own + 10 * to_priorities(scores, self._max_score)

    def _look(self, node_of: Ints) -> None:
        """Count whoever came, went or moved since the last look."""
        for pod in np.flatnonzero(node_of != self._seen).tolist():
            if self._seen[pod] != NOWHERE:
                self._truth.count(pod, int(self._seen[pod]), -1.0)
            if node_of[pod] != NOWHERE:
                self._truth.count(pod, int(node_of[pod]), 1.0)
            self._seen[pod] = node_of[pod]


class _Truth:
    """Means and variances (node, resource) from what pods really will use; one resource, CPU."""

    known = True

    def __init__(self, scenario: Scenario, futures: Futures) -> None:
        self.mean: Floats = scenario.machines.overhead_cores[:, None].copy()
        self.variance: Floats = np.zeros(self.mean.shape)
        self.asked = 0
        self._workload = scenario.arrivals.workload
        self._means, self._deviations = _moments(futures)
        self._siblings: dict[int, Siblings] = {}

    def siblings(self, workload: str) -> Siblings:
        return self._of(int(self._workload[self.asked]))

    def of(self, pod: Pod, workload: str) -> Usage:
        return Usage(self._means[self.asked, None], self._deviations[self.asked, None])

    def count(self, pod: int, node: int, sign: float) -> None:
        deviation = self._deviations[pod]
        before = self._of(int(self._workload[pod])).count(node, np.array([deviation, 1.0]), sign)
        before = before if sign > 0 else before - deviation
        self.mean[node] += sign * self._means[pod]
        self.variance[node] += sign * deviation * (deviation + 2.0 * RHO * before)

    def _of(self, workload: int) -> Siblings:
        return self._siblings.setdefault(workload, Siblings.nobody(1))


def _moments(futures: Futures) -> tuple[Floats, Floats]:
    """Mean and deviation of each pod over its life; nothing for one that never works."""
    count = np.diff(futures.offsets)
    pods = np.repeat(np.arange(len(count)), count)
    total = np.bincount(pods, futures.values, len(count))
    squares = np.bincount(pods, futures.values.astype(np.float64) ** 2, len(count))
    mean = total / np.maximum(count, 1)
    return mean, np.sqrt(np.maximum(squares / np.maximum(count, 1) - mean**2, 0.0))


def _snapshot(scenario: Scenario) -> Snapshot:
    names: Sequence[str] = scenario.machines.names
    cores = scenario.machines.cores[:, None].copy()
    return Snapshot(
        time=0.0,
        names=tuple(names),
        resources=(CPU,),
        capacity=cores,
        allocatable=cores,
        statistics=Statistics.unmeasured(len(names), 1),
        sampled_at=np.zeros(len(names)),
        requested=np.zeros(cores.shape),
        limits=np.zeros(cores.shape),
        pod_counts=np.zeros(len(names)),
    )
