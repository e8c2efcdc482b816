"""The oracle: EntropicRisk's own formula, fed with the truth instead of what was learned.

Every pod's true mean, deviation and skew over its life are known before it is placed, and every binding at once. What
is left between it and the learned scorer is what better learning could gain; what is left between it and the references
is what the formula cannot see: when load comes.
"""

from collections.abc import Sequence

import numpy as np

from collectors.manifests import Pod
from collectors.reading import CPU, Floats
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
from loadaware.usage import CUMULANTS, Usage
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
    """Cumulants (node, cumulant, resource) from what pods really will use; one resource, CPU."""

    known = True

    def __init__(self, scenario: Scenario, futures: Futures) -> None:
        overhead = scenario.machines.overhead_cores
        self.cumulants: Floats = np.zeros((len(overhead), CUMULANTS, 1))
        self.cumulants[:, 0, 0] = overhead
        self.asked = 0
        self._workload = scenario.arrivals.workload
        self._usage = _moments(futures)
        self._siblings: dict[int, Siblings] = {}

    def siblings(self, workload: str) -> Siblings:
        return self._of(int(self._workload[self.asked]))

    def of(self, pod: Pod, workload: str) -> Usage:
        return self._of_pod(self.asked)

    def count(self, pod: int, node: int, sign: float) -> None:
        usage = self._of_pod(pod)
        before = self._of(int(self._workload[pod])).count(node, usage.counted, sign)
        self.cumulants[node] += sign * usage.beside(before if sign > 0 else before - usage.roots)

    def _of_pod(self, pod: int) -> Usage:
        usage = self._usage
        return Usage(usage.mean[pod], usage.deviation[pod], usage.skew[pod])

    def _of(self, workload: int) -> Siblings:
        return self._siblings.setdefault(workload, Siblings.nobody(2))


def _moments(futures: Futures) -> Usage:
    """Of each pod over its life (pod, resource); nothing for one that never works."""
    count = np.diff(futures.offsets)
    pods = np.repeat(np.arange(len(count)), count)
    values, lengths = futures.values.astype(np.float64), np.maximum(count, 1)
    mean = np.bincount(pods, values, len(count)) / lengths
    off = values - mean[pods]
    deviation = np.sqrt(np.bincount(pods, off**2, len(count)) / lengths)
    skew = np.cbrt(np.maximum(np.bincount(pods, off**3, len(count)) / lengths, 0.0))
    return Usage(mean[:, None], deviation[:, None], skew[:, None])


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
