"""Learning while observing: what pods use teaches their workloads, what nodes use beyond their pods is their rest.
Where no pod is measured, what nodes use is shared out among their pods, and teaches the workloads (apportioning.py).

Keeps `Demand` and `Rest` beside the table of pods, and sums both up for a snapshot. Whatever was expected of a pod in
the last snapshot is remembered until the next, so that a pod that leaves takes exactly that with it.

What was learned can be told as a value (`export`) and taken again (`restore`), here or by another replica. Where both
sides know something, the newer by time is kept whole: taking the same value twice changes nothing, and the order in
which two are taken does not matter. What was kept of pods and nodes waits until they are told of.
"""

from collections.abc import Sequence

import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.apportioning import apportion
from loadaware.awaited import Awaited
from loadaware.changes import PlainUsage
from loadaware.demand import Demand, DemandSettings
from loadaware.demand_state import DemandState, Table
from loadaware.expected import Expected, expect
from loadaware.kin import Kin, kin_of
from loadaware.pods import PodTable
from loadaware.ratios import Ratios, from_columns, grouped
from loadaware.rest import Rest, median_known
from loadaware.usage import CUMULANTS, Usage
from loadaware.window import Bools, Ints
from loadaware.workload import workload_of, workloads_named_like

MOST_SHAPES = 10_000
"""Shapes of pods that are remembered at once."""
STARTING_SECONDS = 30.0
"""From its binding to the moment a pod uses something."""


class Learning:
    """One thread: the observer's."""

    def __init__(self, pods: PodTable, resources: tuple[str, ...], settings: DemandSettings) -> None:
        self._pods = pods
        self._resources = resources
        self.demand = Demand(resources, settings)
        self.rest = Rest(len(resources))
        nothing = np.zeros((0, len(resources)))
        self._expected = Usage(nothing, nothing, nothing)
        """Of the pod in each slot, as in the last snapshot; a mean of NaN: nothing was."""
        self._settings = settings
        self._known_requests: dict[Shape, Floats] = {}
        self._declared: dict[str, Floats] = {}
        """What one pod of each workload requested when last seen."""
        self._awaited_pods = Awaited()
        self._awaited_nodes = Awaited()
        self._worked_out: tuple[Ratios, Usage] | None = None
        """What is expected of all pods, until one comes, goes or changes."""

    def begin(self, slot: int, pod: Pod) -> tuple[str, Kin]:
        """A pod took a slot; its workload and traits."""
        self._worked_out = None
        workload, kin = workload_of(pod), kin_of(pod)
        requests = self._requests(pod.shape)
        self.demand.begin(slot, workload, requests, kin)
        self._declare(workload, requests)
        self._resume_pod(slot, pod.identity)
        self._forget(slot)
        return workload, kin

    def resize(self, slot: int, shape: Shape) -> tuple[str, PlainUsage | None]:
        """A pod's request changed in place: its workload, and what the last snapshot expected of it."""
        self._worked_out = None
        requests = self._requests(shape)
        self.demand.resize(slot, requests)
        self._declare(self.demand.workload_name(slot), requests)
        expected = self._expected_of(slot)
        self._forget(slot)
        return self.demand.workload_name(slot), expected

    def end(self, slot: int) -> tuple[str, PlainUsage | None]:
        """A pod left its slot: its workload, and what the last snapshot expected of it."""
        self._worked_out = None
        workload = self.demand.workload_name(slot)
        self.demand.end(slot)
        return workload, self._expected_of(slot)

    def _expected_of(self, slot: int) -> PlainUsage | None:
        kept = self._expected
        if slot >= len(kept.mean) or np.isnan(kept.mean[slot]).any():
            return None
        return tuple(kept.mean[slot].tolist()), tuple(kept.deviation[slot].tolist()), tuple(kept.skew[slot].tolist())

    def _forget(self, slot: int) -> None:
        if slot < len(self._expected.mean):
            self._expected.mean[slot] = np.nan

    def read(self, slots: Ints, usage: Floats, times: Floats) -> None:
        """What pods use; slot -1 is a stranger's."""
        taught = slots >= 0
        taught[taught] = self._pods.running(slots[taught])
        guessed = self.demand.learned and not self.demand.measured
        self.demand.learn(slots[taught], usage[taught], times[taught])
        if guessed and self.demand.measured:
            self.rest.forget_all()  # it made up for guesses

    def read_nodes(self, rows: Ints, usage: Floats, times: Floats) -> None:
        """What nodes use: less what their pods were measured to use, or are expected to while they are not measured."""
        if not len(rows):
            return
        pods = self._pods.columns()
        expected = self._expectations(pods.slots)
        used = np.where(np.isnan(pods.usage), expected.mean, pods.usage)
        by_pods = grouped(pods.nodes, used, int(max(rows.max(), pods.nodes.max(initial=0))) + 1)
        self.rest.learn(rows, usage - by_pods[rows], times)

    def read_nodes_alone(self, rows: Ints, usage: Floats, times: Floats, windows: Floats) -> None:
        """What nodes use, each measured over so many seconds, while no pod is measured: once one was, a reading without
        pods (such as of a past that tells of nodes only) teaches nothing. Pods that a measurement may have missed, or
        only begun to see, have no part in it.
        """
        if self.demand.measured:
            return
        advances = self.rest.advances(rows, times)
        rows, usage, times, windows = rows[advances], usage[advances], times[advances], windows[advances]
        if not len(rows):
            return
        pods = self._pods.columns()
        count = int(max(rows.max(), pods.nodes.max(initial=0))) + 1
        used, since = np.full((count, usage.shape[1]), np.nan), np.full(count, -np.inf)
        used[rows], since[rows] = usage, times - np.nan_to_num(windows) - STARTING_SECONDS
        pods = pods.where(pods.running & (pods.bound_at <= since[pods.nodes]))
        expected, workloads = self.demand.pod_expectations(pods.slots), self.demand.workload_numbers(pods.slots)
        shares = apportion(used, pods.nodes, workloads, expected.mean, expected.deviation)
        self.demand.infer(pods.slots, shares.usage, shares.doubt, float(times.max()))
        self.rest.correct(rows, shares.left_over[rows], times)

    def _expectations(self, slots: Ints) -> Usage:
        """Of these pods; worked out once for the nodes' rest and for the snapshot that follows."""
        ratios = self.demand.workload_ratios()
        if self._worked_out is None or self._worked_out[0] is not ratios:
            self._worked_out = ratios, self.demand.pod_expectations(slots)
        return self._worked_out[1]

    def expected_of(self, slots: Ints) -> Usage:
        """What is expected of the pods in these slots (pod, resource); NaN while nothing was learned."""
        if not self.demand.learned:
            nothing = np.full((len(slots), len(self._resources)), np.nan)
            return Usage(nothing, nothing, nothing)
        return self.demand.pod_expectations(slots)

    def expected(self, rows: Ints, positions: Ints, capacity: Floats, measured: Bools) -> Expected | None:
        """For a snapshot of these rows (row -> position); None while nothing was ever learned.

        A node that was never `measured` is expected to be no emptier, and no steadier, than the median node: missing is
        never idle.
        """
        if not self.demand.learned:
            return None
        pods = self._pods.columns()
        usage = self._expectations(pods.slots)
        self._remember(pods.slots, usage)
        here = positions[pods.nodes] >= 0
        names = self.demand.workload_names
        cumulants, starts, pair_rows, pair_roots = expect(
            self.rest.of(rows, capacity),
            positions[pods.nodes[here]],
            self.demand.workload_numbers(pods.slots[here]),
            Usage(usage.mean[here], usage.deviation[here], usage.skew[here]),
            len(names),
        )
        for power in range(CUMULANTS):
            told = np.maximum(cumulants[:, power], 0.0)
            cumulants[:, power] = no_emptier_than_usual(told, capacity ** (power + 1), measured)
        return Expected(
            cumulants=cumulants,
            workloads=names,
            workload_ratios=self.demand.workload_ratios(),
            cluster_ratios=self.demand.cluster_ratios(),
            told=self.demand.told(),
            starts=starts,
            pair_rows=pair_rows,
            pair_roots=pair_roots,
            units=self.demand.units,
            bases=self.demand.workload_bases(),
        )

    # -- Kept beyond this process -----------------------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """Whether there is something to keep, and everybody it was kept of was told of, or is gone."""
        return self.demand.learned and not self._awaited_pods and not self._awaited_nodes

    def export(self, nodes: Sequence[str], rows: Ints, now: float) -> DemandState:
        """All that was learned, with the rest of these nodes in these rows."""
        tables = self.demand.export()
        names, slots = tuple(self._pods.identities()), self._pods.all_slots()
        pods = Table(names, {**self.demand.export_pods(slots), "requests": self._pods.requests(slots, self._resources)})
        rest = Table(tuple(nodes), self.rest.export(rows))
        workloads = tables["workloads"]
        requests = {"requests": self._declared_by(workloads.names)}
        workloads = Table(workloads.names, {**workloads.columns, **requests})
        settings = {
            "workload_half_life_seconds": self._settings.workload_half_life_seconds,
            "workload_prior_samples": self._settings.workload_prior_samples,
        }
        tables = {**tables, "workloads": workloads, "pods": pods, "rest": rest}
        return DemandState(self._resources, now, tables, settings)

    def restore(self, state: DemandState, rows: dict[str, int]) -> None:
        """Take what was learned elsewhere; `rows` are those of the nodes told of already."""
        state = state.of_resources(self._resources)
        self.demand.restore(state.tables)
        workloads = state.table("workloads")
        for name, requests in zip(workloads.names, workloads.floats("requests", len(self._resources)), strict=True):
            self._declared.setdefault(name, requests)
        self._awaited_pods.put(state.table("pods"))
        self._awaited_nodes.put(state.table("rest"))
        for identity in [i for i in state.table("pods").names if i in self._pods]:
            slot = self._pods.slot(identity)
            if slot is not None:
                self._resume_pod(slot, identity)
        for name, row in rows.items():
            self.node_seen(name, row)

    def node_seen(self, name: str, row: int) -> None:
        """A node took a row."""
        if (kept := self._awaited_nodes.take(name)) is not None:
            (table, position), count = kept, len(self._resources)
            counts, sums = table.floats("counts", count)[position], table.floats("sums", count)[position]
            self.rest.resume(row, counts, sums, float(table.times[position]))

    def pods_listed(self) -> None:
        """Pods not told of by now are gone."""
        self._awaited_pods.clear()

    def nodes_listed(self) -> None:
        """Nodes not told of by now are gone."""
        self._awaited_nodes.clear()

    def read_past(self, names: Sequence[str], usage: Floats, time: float) -> None:
        """What pods (namespace/name) used at a moment before now, oldest first.

        A pod that is gone teaches its workload, if its name tells one that is known and what that requests.
        """
        slots = self._pods.find(names)
        self.read(slots, usage, np.full(len(slots), time))
        owners = [(row, self._owner_of_gone(names[row])) for row in np.flatnonzero(slots < 0).tolist()]
        gone = [(row, owner) for row, owner in owners if owner is not None]
        if gone:
            requests = np.array([self._declared[owner] for _, owner in gone])
            self.demand.learn_gone([owner for _, owner in gone], usage[[row for row, _ in gone]], requests, time)

    def _owner_of_gone(self, key: str) -> str | None:
        return next((name for name in workloads_named_like(key) if name in self._declared), None)

    def _resume_pod(self, slot: int, identity: str) -> None:
        if (kept := self._awaited_pods.take(identity)) is not None:
            (table, position), count = kept, len(self._resources)
            row = table.row(position)
            sums, bases = from_columns(row, count)[0], row.floats("bases", count)[0]
            self.demand.resume(slot, sums, float(row.times[0]), bases)

    def _declare(self, workload: str, requests: Floats) -> None:
        self._declared[workload] = requests
        if len(self._declared) > 2 * self._settings.most_workloads:
            known = set(self.demand.workload_names)
            self._declared = {name: amounts for name, amounts in self._declared.items() if name in known}

    def _declared_by(self, workloads: Sequence[str]) -> Floats:
        nothing = np.zeros(len(self._resources))
        found = [self._declared.get(name, nothing) for name in workloads]
        return np.array(found).reshape(len(found), len(self._resources))

    def _remember(self, slots: Ints, usage: Usage) -> None:
        shape = int(slots.max(initial=-1)) + 1, len(self._resources)
        self._expected = Usage(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape))
        self._expected.mean[slots] = usage.mean
        self._expected.deviation[slots] = usage.deviation
        self._expected.skew[slots] = usage.skew

    def _requests(self, shape: Shape) -> Floats:
        """Of each resource; pods have few shapes, so they are worked out once for each."""
        requests = self._known_requests.get(shape)
        if requests is None:
            if len(self._known_requests) >= MOST_SHAPES:
                self._known_requests.clear()
            requests = np.array([shape.request(resource) for resource in self._resources])
            requests.setflags(write=False)
            self._known_requests[shape] = requests
        return requests


def no_emptier_than_usual(mean: Floats, capacity: Floats, measured: Bools) -> Floats:
    """Means (node, resource), where a node was not measured at least the median share of those that were."""
    if measured.all() or not measured.any():
        return mean
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (mean / capacity)[measured]
    usual = np.array([median_known(shares[:, column]) for column in range(shares.shape[1])])
    floor = np.nan_to_num(usual * capacity)
    return np.where(measured[:, None], mean, np.maximum(mean, floor))
