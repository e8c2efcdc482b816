"""The servers that are compared, each as a process of its own, and what the kernel says of them."""

import json
import socket
import ssl
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from loadaware.scorers import SCORERS
from tests.parts.builder import binary
from tests.parts.certificates import KeyPair
from tests.parts.processes import Process, free_port, wait_for

PATIENCE_SECONDS = 180.0
NOT_COMPARED = ("LabelNumber", "MetricRank")
"""They need to be told which label or metric."""


class Server:
    """A process, where it listens, and what it uses; children are counted as its own."""

    def __init__(self, name: str, process: Process, port: int, *, tls: bool = False) -> None:
        self.name = name
        self.process = process
        self.port = port
        self.tls = tls
        self.ready_seconds = 0.0

    def get(self, path: str) -> Any:
        """What it answers to a GET."""
        url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{path}"
        context = ssl._create_unverified_context() if self.tls else None
        with urllib.request.urlopen(url, timeout=5.0, context=context) as answer:
            return json.loads(answer.read())

    def pids(self) -> list[int]:
        return [self.process.pid, *_descendants(self.process.pid)]

    def cpu_seconds(self, *, alone: bool = False) -> float:
        """So far, to the nanosecond; `alone` leaves children out."""
        return sum(_cpu_seconds(pid) for pid in ([self.process.pid] if alone else self.pids()))

    def resident_bytes(self) -> int:
        """Of all its processes together; a page that they share counts once."""
        return sum(_resident_bytes(pid) for pid in self.pids())


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children = (task / "children").read_text().split()
        found += [each for child in children for each in (int(child), *_descendants(int(child)))]
    return found


def _cpu_seconds(pid: int) -> float:
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # a thread that just ended
            continue
    return total / 1e9


def _resident_bytes(pid: int) -> int:
    """Its own pages, and its part of those that it shares with others: what several processes take together adds up."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended, or is somebody else's
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


@contextmanager
def go_server(logs: Path, nodes: int, tls: KeyPair | None = None) -> Iterator[Server]:
    """The reference extender in Go."""
    port = free_port()
    options: list[str | Path] = [] if tls is None else ["-cert", tls.certificate, "-key", tls.key]
    command = [binary("go-extender"), "-listen", f"127.0.0.1:{port}", "-nodes", str(nodes), *options]
    with Process("go", command, logs) as process:
        _wait_for_port(port, process)
        yield Server("Go", process, port, tls=tls is not None)


@contextmanager
def echo_server(logs: Path) -> Iterator[Server]:
    """Reads and answers as many bytes as it is told, and nothing else: the floor."""
    port = free_port()
    with Process("echo", [binary("go-extender"), "-listen", f"127.0.0.1:{port}", "-echo"], logs) as process:
        _wait_for_port(port, process)
        yield Server("echo", process, port)


@contextmanager
def cluster(logs: Path, nodes: int, pods: int) -> Iterator[Path]:
    """A big cluster's API server; gives a kubeconfig."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.big_cluster", "--nodes", str(nodes), "--pods", str(pods)]
    with Process("cluster", [*command, "--port", str(port)], logs) as process:
        _wait_for_port(port, process)
        path = logs / f"kubeconfig-{port}.json"
        path.write_text(json.dumps(_kubeconfig(f"http://127.0.0.1:{port}")))
        yield path


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "big", "cluster": {"server": url}}],
        "users": [{"name": "big", "user": {"token": "none"}}],
        "contexts": [{"name": "big", "context": {"cluster": "big", "user": "big"}}],
        "current-context": "big",
    }


COMPARED = [name for name in SCORERS if name not in NOT_COMPARED]


@dataclass(frozen=True)
class Setting:
    """What differs between one loadaware and another."""

    interval: str = "10m"
    """Long: one reading at the start, and quiet then."""
    window: str = "15m"
    scorers: tuple[str, ...] = ("EntropicRisk",)
    """A profile for each, of the same name."""
    tls: KeyPair | None = None
    seen: Literal["as usual", "everything", "nothing"] = "as usual"
    """Whether all that makes it visible is on: decisions, their file, a profile in shadow, pages and metrics."""
    name: str = "loadaware"

    def configuration(self) -> dict[str, Any]:
        """Old data does not fade while it is measured."""
        server: dict[str, Any] = {"connections": 4096}
        if self.tls is not None:
            server["tls"] = {"certFile": str(self.tls.certificate), "keyFile": str(self.tls.key)}
        profiles: list[dict[str, Any]] = [{"schedulerName": name, "scorers": [{"name": name}]} for name in self.scorers]
        if self.seen == "everything":
            profiles.append({"schedulerName": "trial", "scorers": [{"name": "LowestUsage"}], "shadow": True})
        return {
            **self._visible(),
            "interval": self.interval,
            "profiles": profiles,
            "server": server,
            "staleness": {"fresh": "24h", "expired": "48h"},
            "window": {"length": self.window},
        }

    def _visible(self) -> dict[str, Any]:
        if self.seen == "nothing":
            off = ("page", "nodes", "explain", "whatIf", "shadow", "demand", "metrics")
            return {"decisions": {"kept": 0}, "people": dict.fromkeys(off, False)}
        if self.seen == "everything":
            return {
                "decisions": {"file": str(Path(tempfile.mkdtemp(prefix="loadaware-decisions-")) / "decisions.jsonl")}
            }
        return {}


@contextmanager
def loadaware(logs: Path, kubeconfig: Path, setting: Setting | None = None) -> Iterator[Server]:
    """The real `loadaware serve`, once it is ready."""
    setting, port = setting or Setting(), free_port()
    config = logs / f"config-{port}.yaml"
    config.write_text(yaml.safe_dump(setting.configuration()))
    command = [sys.executable, "-m", "loadaware", "serve", "--address", "127.0.0.1", "--port", str(port)]
    command += ["--config", str(config), "--kubeconfig", str(kubeconfig)]
    started = time.perf_counter()
    with Process("loadaware", command, logs) as process:
        server = Server(setting.name, process, port, tls=setting.tls is not None)
        wait_for(lambda: server.get("/readyz")["measured"], "loadaware to have measured", process)
        server.ready_seconds = time.perf_counter() - started
        yield server


def _wait_for_port(port: int, process: Process) -> None:
    def open_now() -> bool:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        return True

    wait_for(open_now, f"port {port}", process)
