"""A scenario: a cluster, everything that will arrive in it, and what each pod will use at any moment.

Nothing in it depends on where pods are placed, so any number of policies can be judged on the same one, pair by pair:

    usage = scale * request * factor * (shared * workload's curve + (1 - shared) * own curve) * (1 +- noise)

in cores, and at most the workload's limit. Pods are numbered in order of arrival; whole arrays are asked at once.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from collectors.manifests import Namespace, Pod
from collectors.reading import Floats
from loadaware.simulation.arrivals import Arrivals
from loadaware.simulation.catalogue import Workload
from loadaware.simulation.curves import Curves
from loadaware.simulation.machines import Failure, Machines
from loadaware.simulation.naming import Birth, pod_of
from loadaware.simulation.noise import Ints, Words, uniform, wobble
from loadaware.simulation.settings import ScenarioSettings

MEMORY_COLD = 0.35
"""Share of a pod's memory that it takes only with time."""
MEMORY_WARM_SECONDS = 1_800.0


@dataclass(frozen=True, eq=False)
class Scenario:
    """Everything that is settled before anything is placed."""

    settings: ScenarioSettings
    machines: Machines
    workloads: tuple[Workload, ...]
    arrivals: Arrivals
    failures: tuple[Failure, ...]
    curves: Curves
    """Curve w is workload w's; curve len(workloads) + i is pod i's own."""
    seeds: Words
    """One per pod, for its noise."""
    scale: float = 1.0

    def usage(self, pods: Ints, time: float | Floats) -> Floats:
        """Cores that each pod wants at each time. The two arguments are broadcast together."""
        return np.minimum(self.scale * self.appetite(pods, time), self.most_cores(pods))

    def appetite(self, pods: Ints, time: float | Floats) -> Floats:
        """The same before scale and limit."""
        pods, times = np.broadcast_arrays(np.asarray(pods), np.asarray(time, dtype=np.float64))
        workload = self.arrivals.workload[pods]
        shared = self.settings.workloads.shared
        curve = shared * self.curves.level(workload, times)
        curve += (1.0 - shared) * self.curves.level(len(self.workloads) + pods, times)
        return self._average[workload] * curve * self._noise(pods, times)

    def most_cores(self, pods: Ints) -> Floats:
        """What each pod can use at most."""
        return self._most[self.arrivals.workload[pods]]

    def memory(self, pods: Ints, time: float) -> Floats:
        """Bytes that each pod has taken at that time: a level of its own, reached in about half an hour."""
        age = np.maximum(time - self.arrivals.arrival[pods], 0.0)
        warm = 1.0 - MEMORY_COLD * np.exp(-age / MEMORY_WARM_SECONDS)
        unrest = 1.0 + 0.03 * wobble(self.seeds[pods], np.full(pods.shape, time), 600.0, purpose=3)
        return self._memory[self.arrivals.workload[pods]] * warm * unrest

    def start_delays(self, shortest: float, longest: float) -> Floats:
        """How long each pod takes from its binding to its first work: image, volumes, probes."""
        drawn = uniform(self.seeds, np.zeros(len(self.seeds), dtype=np.int64), purpose=4)
        return shortest + (longest - shortest) * drawn

    def pod(self, index: int, incarnation: int = 0) -> Pod:
        """The pod as the API server tells it on arrival, not bound. A pod lost with its node comes back as the
        next incarnation: another uid (and name, unless a StatefulSet's), the same curve.
        """
        workload = int(self.arrivals.workload[index])
        birth = Birth(
            index=index,
            incarnation=incarnation,
            workload=workload,
            ordinal=int(self._ordinals[index]),
            burst=int(self.arrivals.burst[index]),
            time=float(self.arrivals.arrival[index]),
        )
        return pod_of(self.workloads[workload], birth)

    @cached_property
    def namespaces(self) -> tuple[Namespace, ...]:
        """The namespaces that occur."""
        return tuple(Namespace(name) for name in sorted({workload.namespace for workload in self.workloads}))

    @cached_property
    def request_millicores(self) -> Ints:
        """Of each pod."""
        return np.array([w.request_millicores for w in self.workloads], dtype=np.int64)[self.arrivals.workload]

    @cached_property
    def request_bytes(self) -> Ints:
        """Of each pod."""
        return np.array([w.request_bytes for w in self.workloads], dtype=np.int64)[self.arrivals.workload]

    @cached_property
    def spread_groups(self) -> Ints:
        """The number of the ReplicaSet or StatefulSet that each pod belongs to, -1 for a Job's pods: kube-scheduler
        spreads only what a selector names.
        """
        groups = [-1 if w.controller == "CronJob" else number for number, w in enumerate(self.workloads)]
        return np.array(groups, dtype=np.int64)[self.arrivals.workload]

    def scaled(self, scale: float) -> "Scenario":
        """The same, all usage multiplied."""
        return replace(self, scale=scale)

    def _noise(self, pods: Ints, times: Floats) -> Floats:
        settings = self.settings.workloads
        steps = np.floor(times / settings.noise_seconds).astype(np.int64)
        drawn = uniform(self.seeds[pods].ravel(), steps.ravel(), purpose=5).reshape(pods.shape)
        return 1.0 + settings.noise * (2.0 * drawn - 1.0)

    @cached_property
    def _average(self) -> Floats:
        return np.array([w.request_millicores / 1000.0 * w.factor for w in self.workloads])

    @cached_property
    def _most(self) -> Floats:
        most = self.settings.workloads.most_cores
        limits = [most if w.limit_millicores is None else w.limit_millicores / 1000.0 for w in self.workloads]
        return np.minimum(limits, most)

    @cached_property
    def _memory(self) -> Floats:
        scale = self.settings.workloads.memory_scale
        return np.array([w.request_bytes * w.memory_use * scale for w in self.workloads])

    @cached_property
    def _ordinals(self) -> Ints:
        seen: dict[int, int] = {}
        ordinals = np.zeros(len(self.arrivals), dtype=np.int64)
        for index, workload in enumerate(self.arrivals.workload.tolist()):
            ordinals[index] = seen[workload] = seen.get(workload, -1) + 1
        return ordinals
