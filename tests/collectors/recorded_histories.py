"""Histories for tests: a clock that only moves when told to, generated readings, folders written with them."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from collectors.history import HistoryLimits, HistoryReader, HistoryWriter, Record
from collectors.reading import Measurements, Reading

START = 1_750_000_000.0
RESOURCES = ("cpu", "memory")


class VirtualClock:
    """Time that passes only by waiting."""

    def __init__(self, now: float = START) -> None:
        self.now = now
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


class GeneratedCluster:
    """Readings as metrics-server gives them: whole nanocores, pages of memory, times in seconds, uneven windows."""

    def __init__(self, nodes: int, pods: int, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._names = {
            "nodes": tuple(f"ip-10-0-{i // 250}-{i % 250}.compute.internal" for i in range(nodes)),
            "pods": tuple(f"team-{i % 40}/app-{i % 700}-{i * 7919:09x}" for i in range(pods)),
        }
        self._cpu = {kind: self._random.lognormal(-2.5, 1.2, len(names)) for kind, names in self._names.items()}
        self._memory = {kind: self._random.lognormal(19.5, 1.0, len(names)) for kind, names in self._names.items()}

    def read(self, now: float) -> Reading:
        return Reading("generated", now, RESOURCES, self._rows("nodes", now), self._rows("pods", now))

    def _rows(self, kind: str, now: float) -> Measurements:
        count = len(self._names[kind])
        self._cpu[kind] *= np.exp(self._random.normal(0, 0.15, count))
        self._memory[kind] *= np.exp(self._random.normal(0, 0.004, count) * (self._random.random(count) < 0.6))
        usage = np.stack(
            [np.round(self._cpu[kind] * 1e9) / 1e9, np.round(self._memory[kind] / 4096) * 4096],
            axis=1,
        )
        windows = np.round(15 + self._random.normal(0, 1.5, count), 3)
        return Measurements(self._names[kind], usage, np.floor(now - np.arange(count) % 15), windows)


def measured(
    names: tuple[str, ...], usage: list[list[float]], times: list[float], windows: list[float]
) -> Measurements:
    """Rows written out as lists."""
    return Measurements(names, np.array(usage), np.array(times), np.array(windows))


def small_reading(time: float, cpu: float = 1.0, names: tuple[str, ...] = ("a", "b")) -> Reading:
    """Two nodes, no pods."""
    count = len(names)
    rows = Measurements(names, np.full((count, 2), cpu), np.full(count, time - 1.0), np.full(count, 30.0))
    return Reading("test", time, RESOURCES, rows)


def record_readings(folder: Path, times: Iterable[float], limits: HistoryLimits | None = None) -> None:
    """A history of one small reading at each of these times, a part for each."""
    clock = VirtualClock()
    with HistoryWriter(folder, limits, clock, flush_on_write=False) as writer:
        for time in times:
            clock.now = time
            writer.write_reading(small_reading(time))
            writer.flush()


def sequences(folder: Path) -> list[int]:
    """Which records can be read."""
    return [record.sequence for record in HistoryReader(folder).records()]


def assert_same(recorded: Record, told: Record) -> None:
    """Equal to the last bit."""
    assert (recorded.sequence, recorded.time) == (told.sequence, told.time)
    if isinstance(told.content, Reading):
        assert isinstance(recorded.content, Reading)
        assert_same_reading(recorded.content, told.content)
    else:
        assert recorded.content == told.content


def assert_same_reading(recorded: Reading, told: Reading) -> None:
    for name in ("source", "time", "resources", "base", "notes"):
        assert getattr(recorded, name) == getattr(told, name), name
    assert (recorded.pods is None) == (told.pods is None)
    assert (recorded.node_deviation is None) == (told.node_deviation is None)
    if recorded.node_deviation is not None and told.node_deviation is not None:
        assert recorded.node_deviation.tobytes() == told.node_deviation.tobytes()
    for ours, theirs in ((recorded.nodes, told.nodes), (recorded.pods, told.pods)):
        if ours is not None and theirs is not None:
            assert ours.names == theirs.names
            assert ours.usage.shape == theirs.usage.shape
            for column in ("usage", "times", "windows"):
                assert getattr(ours, column).tobytes() == getattr(theirs, column).tobytes(), column
