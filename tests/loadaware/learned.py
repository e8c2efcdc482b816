"""Observers that have learned something, for tests of keeping it; and whether two states say the same."""

from collections.abc import Sequence

import numpy as np

from collectors.cluster import NodeSeen, PodSeen, Relisted
from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Measurements, Reading
from loadaware.demand_state import DemandState, Table
from loadaware.observer import Observer
from tests.loadaware.builders import GIB, make_node, make_pod

HOUR = 3600.0
NODES = ("a", "b")


def running_pod(name: str, node: str = "a", cpu: float = 1.0, memory: float = GIB) -> Pod:
    """A pod that is past its init phase."""
    return make_pod(name, cpu=cpu, memory=memory, node=node, phase="Running", namespace="shop")


def observer_of(*pods: Pod) -> Observer:
    """Of two nodes and these pods, all listed."""
    observer = Observer()
    list_cluster(observer, *pods)
    return observer


def list_cluster(observer: Observer, *pods: Pod) -> None:
    """Tell of the nodes and of these pods, as a watch lists them."""
    for name in NODES:
        observer.tell(NodeSeen(make_node(name)), 0.0)
    observer.tell(Relisted("nodes", frozenset(NODES)), 0.0)
    for pod in pods:
        observer.tell(PodSeen(pod), 0.0)
    observer.tell(Relisted("pods", frozenset(pod.identity for pod in pods)), 0.0)


def reading_of(pods: dict[str, tuple[float, float]], time: float, node_cpu: float = 3.0) -> Reading:
    """What pods of the shop use (cores, bytes), on nodes that use so many cores and 8 GiB."""
    nodes = np.array([[node_cpu, 8 * GIB]] * len(NODES))
    names = tuple(f"shop/{name}" for name in pods)
    usage = np.array(list(pods.values())).reshape(len(names), 2)
    return Reading(
        "test",
        time,
        (CPU, MEMORY),
        Measurements(NODES, nodes, np.full(len(NODES), time), np.full(len(NODES), np.nan)),
        Measurements(names, usage, np.full(len(names), time), np.full(len(names), np.nan)),
    )


def expected_of(observer: Observer, now: float) -> list[list[float]]:
    """Mean, variance and third moment of what each node is expected to use: what a placement is decided by."""
    expected = observer.snapshot(now).expected
    assert expected is not None
    return expected.cumulants.swapaxes(0, 1).tolist()


def rows_of(state: DemandState) -> dict[str, dict[str, dict[str, object]]]:
    """All a state says, by table and name: the order of rows does not matter, nor do numbers of rows."""
    workloads = state.table("workloads").names
    told: dict[str, dict[str, dict[str, object]]] = {}
    for name, table in state.tables.items():
        told[name] = {}
        for row, owner in enumerate(table.names):
            cells = {key: column[row].tolist() for key, column in table.columns.items()}
            if name == "pods":
                cells["workloads"] = workloads[int(cells["workloads"])]
            for key in [key for key in cells if key.startswith("word_")]:
                cells[key] = ("", *state.table("words").names)[int(cells[key])]
            told[name][owner] = cells
    return told


SETTINGS = {"workload_half_life_seconds": 21600.0, "workload_prior_samples": 10.0}


def state_of(
    workloads: dict[str, tuple[float, list[float]]], pods: Sequence[tuple[str, float]] = (), time: float = 1000.0
) -> DemandState:
    """Workloads by name: what a pod of it requested last (cores), and x = usage / request of its samples; memory is
    used like CPU, of a GiB. Pods by workload and what each requests.
    """
    names = tuple(workloads)
    powers = [[len(x), sum(x), sum(one * one for one in x)] for _, x in workloads.values()]
    sums = np.array([[row, row] for row in powers], dtype=np.float64).reshape(len(names), 2, 3)
    requests = np.array([[cores, GIB if cores else 0.0] for cores, _ in workloads.values()]).reshape(len(names), 2)
    numbers = np.array([names.index(workload) for workload, _ in pods], dtype=np.intp)
    theirs = np.array([[cores, GIB if cores else 0.0] for _, cores in pods]).reshape(len(pods), 2)
    tables = {
        "workloads": Table(names, {"sums": sums, "times": np.full(len(names), 1000.0), "requests": requests}),
        "pods": Table(tuple(f"u{n}" for n in range(len(pods))), {"workloads": numbers, "requests": theirs}),
    }
    return DemandState((CPU, MEMORY), time, tables, SETTINGS)


MANY = state_of(
    {
        "a/Pod/little": (1.0, [0.9] * 400),
        "b/Pod/much": (1.0, [0.1] * 400),
        "a/Pod/unsure": (9.0, [0.1]),
        "b/Pod/lacking": (1.0, [1.5] * 400),
    },
    [("a/Pod/little", 1.0)] * 4 + [("b/Pod/much", 1.0), ("b/Pod/lacking", 1.0), ("a/Pod/unsure", 9.0)],
)
"""Four workloads in two namespaces: one a little too large, one much, one too small, and one hardly measured."""
