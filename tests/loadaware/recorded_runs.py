"""Histories for tests: a small cluster whose every reading, event and request is written out, and a recorded demo."""

import io
import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import uvloop
from rich.console import Console

from collectors.cluster import NodeSeen, PodSeen
from collectors.history import HistoryLimits, HistoryWriter
from collectors.manifests import Node, Owner, Pod, shape_of
from collectors.reading import Measurements, Reading
from loadaware.config import Config, HistorySection, ServerSection
from loadaware.demo.run import DemoSettings, run_demo
from loadaware.demo.world import WorldSettings
from loadaware.demonstration import DemoService
from loadaware.past_recording import EVERYTHING
from loadaware.recorder import Recorder, beginning_of
from tests.loadaware.demo.stand_in import ended
from tests.parts.processes import PATIENCE_SECONDS

START = 1_750_000_000.0
GIBIBYTE = 2.0**30
DECISIONS = 50
SIZE = (("cpu", 4.0), ("memory", 16 * GIBIBYTE), ("pods", 110.0))


class _Brief(DemoService):
    """Ends the demo after some decisions."""

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        decisions = self._service.hindsight.decisions
        async with super().serving(listener), ended(lambda: decisions.counted >= DECISIONS):
            yield


def record_demo(folder: Path, config: Config | None = None) -> Config:
    """Some simulated minutes of eight nodes that ask over HTTP, after a warm-up; the configuration used."""
    given = config or Config()
    made = Config(
        profiles=given.profiles,
        server=ServerSection(address="127.0.0.1", port=0),
        history=HistorySection(folder=str(folder)),
    )
    world = WorldSettings(nodes=8, warm_up_seconds=900.0, hours=6, load=0.6)
    settings = DemoSettings(world, port=0, speed=600.0, stop_after_seconds=PATIENCE_SECONDS)
    console = Console(file=io.StringIO(), width=100)
    run_demo(settings, lambda clock: _Brief(made, clock), console, loop_factory=uvloop.new_event_loop)
    return made


def node(name: str, zone: str = "a") -> Node:
    """Four cores."""
    return Node(name=name, labels={"topology.kubernetes.io/zone": zone}, capacity=SIZE, allocatable=SIZE)


def pod(name: str, where: str | None = None, cpu: float = 1.0, bound_at: float | None = None, kind: str = "") -> Pod:
    """A pod of one container, of an owner if a kind is named."""
    return Pod(
        namespace="shop",
        name=name,
        uid=f"uid-{name}",
        node=where,
        phase="Running" if where else "Pending",
        shape=shape_of((((("cpu", cpu), ("memory", GIBIBYTE)), ()),)),
        owner=Owner(kind, name.rpartition("-")[0] or name) if kind else None,
        bound_at=bound_at,
    )


def reading(time: float, nodes: dict[str, float], pods: dict[str, float] | None) -> Reading:
    """Cores by name; a gibibyte each."""
    return Reading("test", time, ("cpu", "memory"), _rows(nodes, time), None if pods is None else _rows(pods, time))


def _rows(cores: dict[str, float], time: float) -> Measurements:
    usage = np.column_stack([list(cores.values()), np.full(len(cores), GIBIBYTE)]) if cores else np.empty((0, 2))
    return Measurements(tuple(cores), usage, np.full(len(cores), time), np.full(len(cores), 60.0))


class Recording:
    """A history that is told by hand, minute by minute; without requests unless told otherwise."""

    def __init__(
        self, folder: Path, *, requests: bool = False, limits: HistoryLimits | None = None, config: Config | None = None
    ) -> None:
        self.now = START
        self.writer = HistoryWriter(folder, limits, lambda: self.now, flush_on_write=False)
        self.recorder = Recorder(self.writer, beginning_of(config or Config(), requests=requests))
        self.recorder.began(START)

    def nodes(self, *names: str) -> None:
        for name in names:
            self.recorder.event(NodeSeen(node(name)), self.now)
        self.recorder.snapshot(self.now)

    def pods(self, pods: Iterable[Pod]) -> None:
        for told in pods:
            self.recorder.event(PodSeen(told), self.now)
            self.recorder.changes(EVERYTHING, self.now)

    def read(self, nodes: dict[str, float], pods: dict[str, float] | None) -> None:
        self.recorder.reading(reading(self.now, nodes, pods), self.now)
        self.recorder.snapshot(self.now)

    def close(self) -> None:
        self.recorder.close()


def packed_history(folder: Path, minutes: int = 60, skip: Sequence[int] = (), *, pods_measured: bool = True) -> None:
    """Two nodes; four pods of a core each all went to the first, one a minute, and used 0.9 cores each."""
    told = Recording(folder)
    told.nodes("full", "idle")
    there: dict[str, float] = {}
    for minute in range(1, minutes + 1):
        told.now = START + 60.0 * minute
        if 5 <= minute < 9:
            name = f"web-{minute}"
            told.pods([pod(name, "full", bound_at=told.now)])
            there[f"shop/{name}"] = 0.9
        if minute not in skip:
            told.read({"full": 0.1 + sum(there.values()), "idle": 0.1}, dict(there) if pods_measured else None)
    told.close()
