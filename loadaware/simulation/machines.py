"""The nodes of a simulated cluster, as columns, and the times at which one of them is away."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.manifests import Node, Resources
from collectors.reading import CPU, MEMORY, Floats
from loadaware.simulation.catalogue import GIBIBYTE
from loadaware.simulation.noise import Ints
from loadaware.simulation.settings import FailureSettings, MachineSettings

HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"


@dataclass(frozen=True, eq=False)
class Machines:
    """Nodes as columns. Everything they have is allocatable."""

    names: tuple[str, ...]
    cores: Floats
    bytes: Floats
    zones: Ints
    overhead_cores: Floats
    """CPU in use that belongs to no pod."""
    overhead_bytes: Floats

    def __len__(self) -> int:
        return len(self.names)

    def node(self, index: int, created_at: float) -> Node:
        """The node as the API server would tell it."""
        resources: Resources = ((CPU, float(self.cores[index])), (MEMORY, float(self.bytes[index])))
        return Node(
            name=self.names[index],
            labels={HOSTNAME_LABEL: self.names[index], ZONE_LABEL: f"zone-{self.zones[index]}"},
            capacity=resources,
            allocatable=resources,
            addresses=(f"10.0.{index // 250}.{index % 250 + 1}", self.names[index]),
            created_at=created_at,
        )


@dataclass(frozen=True)
class Failure:
    """A node is away from `start` to `end`; whatever runs on it is lost and comes back as new pods."""

    node: int
    start: float
    end: float


def draw_machines(settings: MachineSettings, random: np.random.Generator) -> Machines:
    """Nodes of several sizes in the stated shares (not only on average), in random order over the zones."""
    edges = np.round(np.cumsum(settings.shares) / np.sum(settings.shares) * settings.nodes).astype(int)
    counts = np.diff(edges, prepend=0)
    cores = random.permutation(np.repeat(np.array(settings.cores, dtype=np.float64), counts))
    digits = len(str(settings.nodes))
    memory = cores * settings.gibibytes_per_core * GIBIBYTE
    return Machines(
        names=tuple(f"node-{number:0{digits}d}" for number in range(1, settings.nodes + 1)),
        cores=cores,
        bytes=memory,
        zones=np.arange(settings.nodes, dtype=np.int64) % settings.zones,
        overhead_cores=cores * random.uniform(*settings.overhead, size=settings.nodes),
        overhead_bytes=memory * random.uniform(0.03, 0.06, size=settings.nodes),
    )


def draw_failures(
    settings: FailureSettings, nodes: int, start: float, end: float, random: np.random.Generator
) -> tuple[Failure, ...]:
    """Failures at random times, one node at a time: each begins after the last one is over."""
    failures: list[Failure] = []
    time = start
    while settings.per_day > 0:
        time += random.exponential(86_400.0 / settings.per_day)
        if time >= end:
            break
        away = random.lognormal(np.log(settings.away_median_seconds), settings.away_deviation)
        failures.append(Failure(int(random.integers(nodes)), time, time + away))
        time += away
    return tuple(failures)


class Outages:
    """Failures as they come due: which nodes go away and return, in order of time."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        gone = [(failure.start, True, failure.node) for failure in failures]
        back = [(failure.end, False, failure.node) for failure in failures]
        self._queue = deque(sorted(gone + back))

    def until(self, time: float) -> Iterator[tuple[int, bool]]:
        """Nodes, each with whether it is away from now on."""
        while self._queue and self._queue[0][0] <= time:
            _, away, node = self._queue.popleft()
            yield node, away
