"""Learning while observing: what pods use teaches their workloads, what nodes use beyond their pods is their rest.

Keeps `Demand` and `Rest` beside the table of pods, and sums both up for a snapshot. Whatever was expected of a pod in
the last snapshot is remembered until the next, so that a pod that leaves takes exactly that with it.
"""

import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.demand import Demand, DemandSettings
from loadaware.expected import Expected, expect
from loadaware.pods import PodTable
from loadaware.rest import Rest
from loadaware.window import Ints
from loadaware.workload import workload_of


class Learning:
    """One thread: the observer's."""

    def __init__(self, pods: PodTable, resources: tuple[str, ...], settings: DemandSettings) -> None:
        self._pods = pods
        self._resources = resources
        self.demand = Demand(resources, settings)
        self.rest = Rest(len(resources))
        self._means: Floats = np.zeros((0, len(resources)))
        self._deviations: Floats = self._means

    def begin(self, slot: int, pod: Pod) -> str:
        """A pod took a slot; its workload."""
        workload = workload_of(pod)
        self.demand.begin(slot, workload, self._requests(pod.shape))
        if slot < len(self._means):
            self._means[slot] = np.nan
        return workload

    def resize(self, slot: int, shape: Shape) -> tuple[str, tuple[tuple[float, ...], tuple[float, ...]] | None]:
        """A pod's request changed in place: its workload, and what the last snapshot expected of it."""
        self.demand.resize(slot, self._requests(shape))
        expected = self._expected_of(slot)
        if slot < len(self._means):
            self._means[slot] = np.nan
        return self.demand.workload_name(slot), expected

    def end(self, slot: int) -> tuple[str, tuple[tuple[float, ...], tuple[float, ...]] | None]:
        """A pod left its slot: its workload, and what the last snapshot expected of it."""
        workload = self.demand.workload_name(slot)
        self.demand.end(slot)
        return workload, self._expected_of(slot)

    def _expected_of(self, slot: int) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        if slot >= len(self._means) or np.isnan(self._means[slot]).any():
            return None
        return tuple(self._means[slot].tolist()), tuple(self._deviations[slot].tolist())

    def read(self, slots: Ints, usage: Floats, times: Floats) -> None:
        """What pods use; slot -1 is a stranger's."""
        taught = slots >= 0
        taught[taught] = self._pods.running(slots[taught])
        self.demand.learn(slots[taught], usage[taught], times[taught])

    def read_nodes(self, rows: Ints, usage: Floats, times: Floats) -> None:
        """What nodes use: less what their pods were measured to use, or are expected to while they are not measured."""
        if not len(rows):
            return
        pods = self._pods.columns()
        means, _ = self.demand.pod_expectations(pods.slots)
        used = np.where(np.isnan(pods.usage), means, pods.usage)
        by_pods = np.zeros((int(max(rows.max(), pods.nodes.max(initial=0))) + 1, used.shape[1]))
        np.add.at(by_pods, pods.nodes, used)
        self.rest.learn(rows, usage - by_pods[rows], times)

    def expected(self, rows: Ints, positions: Ints, capacity: Floats) -> Expected | None:
        """For a snapshot of these rows (row -> position); None while no pod was ever measured."""
        if not self.demand.learned:
            return None
        pods = self._pods.columns()
        means, deviations = self.demand.pod_expectations(pods.slots)
        self._remember(pods.slots, means, deviations)
        here = positions[pods.nodes] >= 0
        names = self.demand.workload_names
        mean, variance, starts, pair_rows, pair_deviations = expect(
            self.rest.of(rows, capacity),
            positions[pods.nodes[here]],
            self.demand.workload_numbers(pods.slots[here]),
            means[here],
            deviations[here],
            len(names),
        )
        return Expected(
            mean=mean,
            variance=variance,
            workloads=names,
            workload_ratios=self.demand.workload_ratios(),
            cluster_ratios=self.demand.cluster_ratios(),
            starts=starts,
            pair_rows=pair_rows,
            pair_deviations=pair_deviations,
            units=self.demand.units,
        )

    def _remember(self, slots: Ints, means: Floats, deviations: Floats) -> None:
        count = int(slots.max(initial=-1)) + 1
        self._means = np.full((count, len(self._resources)), np.nan)
        self._deviations = np.zeros((count, len(self._resources)))
        self._means[slots] = means
        self._deviations[slots] = deviations

    def _requests(self, shape: Shape) -> Floats:
        return np.array([shape.request(resource) for resource in self._resources])
