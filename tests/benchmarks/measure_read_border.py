"""How long does reading 150,000 pods stall whoever else runs in the process? Run it by hand, on a quiet machine:

    .venv/bin/python tests/benchmarks/measure_read_border.py

A ticker wakes every millisecond and notes how late it is, as a request would be. Meanwhile some 75 MB of PodMetrics
and 5,000 NodeMetrics are decoded into a Reading: in a thread of the same process, or in another process that sends
the arrays over a pipe. The answer decides on which side of a process border the collectors live.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from collectors.metrics_server import RESOURCES, SOURCE, node_measurements, pod_measurements
from collectors.reading import Floats, Measurements, Reading

TICK_SECONDS = 0.001
SETTLE_SECONDS = 0.2


@dataclass(frozen=True)
class Bodies:
    """What metrics-server would answer."""

    nodes: bytes
    pods: bytes

    def decode(self) -> Reading:
        notes: list[str] = []
        nodes, pods = node_measurements(self.nodes, notes), pod_measurements(self.pods, notes)
        return Reading(SOURCE, time.time(), RESOURCES, nodes, pods, notes=tuple(notes))


def build(nodes: int, pods: int) -> Bodies:
    dice = random.Random(7)
    return Bodies(
        _list("NodeMetricsList", [_node(number, dice) for number in range(nodes)]),
        _list("PodMetricsList", [_pod(number, dice) for number in range(pods)]),
    )


def _list(kind: str, items: list[object]) -> bytes:
    body = {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}
    return json.dumps(body, separators=(",", ":")).encode()


def _usage(dice: random.Random) -> dict[str, str]:
    return {"cpu": f"{dice.randrange(10**9)}n", "memory": f"{dice.randrange(10**7)}Ki"}


def _measured(number: int) -> dict[str, object]:
    return {"timestamp": f"2026-03-02T08:15:{number % 60:02d}Z", "window": f"{10 + number % 5000 / 1000:.3f}s"}


def _node(number: int, dice: random.Random) -> object:
    name = f"worker-{number:05d}.zone-{number % 3}.cluster.internal"
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    metadata = {"name": name, "creationTimestamp": "2026-03-02T08:15:31Z", "labels": labels}
    return {"metadata": metadata, **_measured(number), "usage": _usage(dice)}


def _pod(number: int, dice: random.Random) -> object:
    name = f"service-{number % 3000:04d}"
    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": f"{name}-production",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/version": "1.27.3",
        "pod-template-hash": f"{number % 9999:010x}",
    }
    metadata = {
        "name": f"{name}-{number % 9999:010x}-{number:05x}",
        "namespace": f"team-{number % 200:03d}",
        "creationTimestamp": "2026-03-02T08:15:31Z",
        "labels": labels,
    }
    containers = [{"name": f"container-{n}", "usage": _usage(dice)} for n in range(1 + number % 4 // 3)]
    return {"metadata": metadata, **_measured(number), "containers": containers}


# -- The border, both ways ------------------------------------------------------------------------------------


def in_a_thread(bodies: Bodies, rounds: int) -> list[float]:
    """Decode beside the ticker, in its process; the seconds that each round took."""
    took: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        bodies.decode()
        took.append(time.perf_counter() - started)
        time.sleep(SETTLE_SECONDS)
    return took


class OtherProcess:
    """Decodes elsewhere; only names (when they changed) and arrays come over."""

    def __init__(self, nodes: int, pods: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, nodes, pods), daemon=True)
        self._process.start()
        self._ours.recv_bytes()

    def __call__(self, bodies: Bodies, rounds: int) -> list[float]:
        del bodies  # it has built its own
        took: list[float] = []
        for _ in range(rounds):
            started = time.perf_counter()
            self._ours.send_bytes(b"read")
            [_receive(self._ours) for _ in range(2)]
            took.append(time.perf_counter() - started)
            time.sleep(SETTLE_SECONDS)
        return took

    def stop(self) -> None:
        self._ours.send_bytes(b"stop")
        self._process.join()


def _serve(pipe: Connection, nodes: int, pods: int) -> None:
    bodies = build(nodes, pods)
    pipe.send_bytes(b"ready")
    while pipe.recv_bytes() == b"read":
        reading = bodies.decode()
        _send(pipe, reading.nodes)
        _send(pipe, reading.pods or Measurements.empty(len(RESOURCES)))


def _send(pipe: Connection, rows: Measurements) -> None:
    pipe.send_bytes("\n".join(rows.names).encode())
    for array in (rows.usage, rows.times, rows.windows):
        pipe.send_bytes(array.tobytes())


def _receive(pipe: Connection) -> tuple[bytes, Floats, Floats, Floats]:
    names = pipe.recv_bytes()
    usage, times, windows = (np.frombuffer(pipe.recv_bytes(), dtype=np.float64) for _ in range(3))
    return names, usage.reshape(-1, len(RESOURCES)), times, windows


# -- The ticker -----------------------------------------------------------------------------------------------


def tick_in_a_thread(until: threading.Event) -> list[float]:
    late: list[float] = []
    while not until.is_set():
        due = time.perf_counter() + TICK_SECONDS
        time.sleep(TICK_SECONDS)
        late.append(time.perf_counter() - due)
    return late


def tick_in_a_loop(until: threading.Event) -> list[float]:
    async def tick() -> list[float]:
        late: list[float] = []
        while not until.is_set():
            due = time.perf_counter() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - due)
        return late

    return asyncio.run(tick())


def measure(name: str, ticker: Callable[[threading.Event], list[float]], work: Callable[[], list[float]]) -> None:
    until = threading.Event()
    took: list[float] = []

    def run() -> None:
        took.extend(work())
        until.set()

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    late = np.array(ticker(until)) * 1000
    worker.join()
    p50, p99, most = np.percentile(late, [50, 99, 100])
    middle = float(np.median(took)) if took else 0.0
    print(f"{name:<36} late ms p50 {p50:7.2f}  p99 {p99:7.2f}  max {most:7.2f}   a reading {middle:5.2f} s")  # noqa: T201


def nothing(seconds: float) -> list[float]:
    time.sleep(seconds)
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--rounds", type=int, default=5)
    settings = parser.parse_args()
    bodies = build(settings.nodes, settings.pods)
    print(f"{len(bodies.pods) / 1e6:.0f} MB of pods, {len(bodies.nodes) / 1e6:.1f} MB of nodes")  # noqa: T201
    other = OtherProcess(settings.nodes, settings.pods)
    for label, ticker in (("thread", tick_in_a_thread), ("asyncio loop", tick_in_a_loop)):
        measure(f"{label}, nothing else running", ticker, lambda: nothing(2.0))
        measure(f"{label}, decoding in a thread", ticker, lambda: in_a_thread(bodies, settings.rounds))
        measure(f"{label}, decoding in a process", ticker, lambda: other(bodies, settings.rounds))
    other.stop()


if __name__ == "__main__":
    main()
