"""A history of any size, as `loadaware record` writes it: nodes, pods that come and go, a reading each minute.

Usage is a random walk per pod around what it requests; a node uses what its pods use and a little more. In each minute
one pod in a thousand is replaced. Everything is drawn from a seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collectors.cluster import NodeSeen, PodGone, PodSeen
from collectors.history import HistoryLimits, HistoryWriter
from collectors.manifests import Node, Owner, Pod, shape_of
from collectors.reading import Floats, Measurements, Reading
from loadaware.config import Config
from loadaware.past_recording import EVERYTHING
from loadaware.recorder import Recorder, beginning_of

START = 1_750_000_000.0
STEP_SECONDS = 60.0
CORES = 32.0
GIBIBYTE = 2.0**30
TAIL = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class HistorySize:
    """How much."""

    nodes: int = 500
    pods: int = 15_000
    days: float = 14.0
    workloads: int = 1_000
    replaced: float = 0.001
    """Of all pods, in each minute."""

    @property
    def readings(self) -> int:
        return round(self.days * 86_400.0 / STEP_SECONDS)


class GeneratedPast:
    """Tells a recorder what happened."""

    def __init__(self, size: HistorySize, recorder: Recorder, seed: int = 1) -> None:
        self._size, self._recorder = size, recorder
        self._random = np.random.default_rng(seed)
        self._names = tuple(f"ip-10-0-{n // 250}-{n % 250}.compute.internal" for n in range(size.nodes))
        self._requests = self._random.choice([0.1, 0.25, 0.5, 1.0], size.workloads)
        self._factors = self._random.lognormal(-0.4, 0.6, size.workloads)
        self._workload = self._random.integers(size.workloads, size=size.pods)
        self._node = self._random.integers(size.nodes, size=size.pods)
        self._level = np.ones(size.pods)
        self._memory = self._random.lognormal(19.0, 0.8, size.pods)
        self._born = np.zeros(size.pods, dtype=np.int64)
        self._keys = np.array([self._pod(n, START).key for n in range(size.pods)], dtype=object)

    def begin(self) -> None:
        """Whoever is there from the start."""
        self._recorder.began(START)
        size = (("cpu", CORES), ("memory", 128 * GIBIBYTE), ("pods", 250.0))
        for number, name in enumerate(self._names):
            zone = {"topology.kubernetes.io/zone": f"zone-{number % 3}"}
            self._recorder.event(NodeSeen(Node(name=name, labels=zone, capacity=size, allocatable=size)), START)
        for number in range(self._size.pods):
            self._recorder.event(PodSeen(self._pod(number, START - 3600.0)), START)
        self._recorder.changes(EVERYTHING, START)
        self._recorder.snapshot(START)

    def minute(self, number: int) -> None:
        """Some pods are replaced, then all are measured."""
        now = START + number * STEP_SECONDS
        leaving = np.flatnonzero(self._random.random(self._size.pods) < self._size.replaced).tolist()
        for place, pod in enumerate(leaving):
            time = now - STEP_SECONDS / 2 + 0.1 * place
            self._recorder.event(PodGone(self._pod(pod, now).identity), time)
            self._born[pod] += 1
            self._node[pod] = self._random.integers(self._size.nodes)
            told = self._pod(pod, time)
            self._keys[pod] = told.key
            self._level[pod] = 1.0
            self._recorder.event(PodSeen(told), time)
            self._recorder.changes(EVERYTHING, time)
        self._recorder.reading(self._reading(now), now)
        self._recorder.snapshot(now)
        self._recorder.checkpoint(lambda: None, now)

    def _reading(self, now: float) -> Reading:
        count, nodes = self._size.pods, self._size.nodes
        self._level *= np.exp(self._random.normal(0.0, 0.15, count) - 0.05 * np.log(self._level))
        self._memory *= np.exp(self._random.normal(0.0, 0.004, count) * (self._random.random(count) < 0.6))
        cpu = np.round(self._requests[self._workload] * self._factors[self._workload] * self._level, 9)
        memory = np.round(self._memory / 4096) * 4096
        of_nodes: Floats = np.empty((nodes, 2))
        for column, used in enumerate((cpu, memory)):
            of_nodes[:, column] = 1.02 * np.bincount(self._node, used, nodes)
        of_nodes[:, 0] = np.minimum(of_nodes[:, 0], CORES)
        rows = Measurements(self._names, of_nodes, np.full(nodes, now), np.full(nodes, 60.0))
        pods = Measurements(
            tuple(self._keys), np.column_stack([cpu, memory]), np.full(count, now), np.full(count, 60.0)
        )
        return Reading("generated", now, ("cpu", "memory"), rows, pods)

    def _pod(self, number: int, bound_at: float) -> Pod:
        workload, life = int(self._workload[number]), int(self._born[number])
        tail = "".join(TAIL[(number * 7919 + life * 104_729) // len(TAIL) ** place % len(TAIL)] for place in range(5))
        request = (("cpu", float(self._requests[workload])), ("memory", GIBIBYTE / 2))
        return Pod(
            namespace=f"team-{workload % 40}",
            name=f"app-{workload}-7d4b9c6f5d-{tail}",
            uid=f"{number:08x}-{life:08x}",
            node=self._names[self._node[number]],
            phase="Running",
            shape=shape_of(((request, ()),)),
            owner=Owner("ReplicaSet", f"app-{workload}-7d4b9c6f5d"),
            labels={"pod-template-hash": "7d4b9c6f5d"},
            bound_at=bound_at,
        )


def generate(folder: Path, size: HistorySize, hear: Callable[[float], None] = lambda _: None) -> None:
    """Write it, flushed and merged as a recorder would."""
    now = START

    def clock() -> float:
        return now

    limits = HistoryLimits(flush_seconds=300.0, max_bytes=2**62, max_age_seconds=float("inf"))
    with HistoryWriter(folder, limits, clock) as writer:
        past = GeneratedPast(size, Recorder(writer, beginning_of(Config(), requests=False)))
        past.begin()
        for number in range(1, size.readings + 1):
            now = START + number * STEP_SECONDS
            past.minute(number)
            hear(number / size.readings)
