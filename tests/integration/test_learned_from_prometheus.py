"""A server that starts beside a real Prometheus knows what pods use before it has seen any of them use it.

Three hours of cAdvisor's series are backfilled. The cluster itself is a stand-in that lists two nodes and three pods:
what is asked of an API server is the same with any source, and is tested on a real one elsewhere.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.fake_cluster import serve_cluster
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for
from tests.parts.prometheus_server import PrometheusServer

pytestmark = pytest.mark.integration

HOURS = 3
STEP = 60
BOUND = {"web-1": "a", "web-2": "b", "db-1": "b"}
"""Pods that run, each on its node and with a request of one core."""
CORES = {"web-1": 0.1, "web-2": 0.3, "web-3": 0.8, "db-1": 0.9}
"""What each has used all the time; web-3 is gone now, and no other source than the past knows of it."""


def series() -> Iterator[tuple[str, float, float]]:
    """Labels, cores and bytes: of both nodes, and of each pod's only container."""
    for node in ("a", "b"):
        yield f'node="{node}",id="/"', 1.5, 4e9
    for name, cores in CORES.items():
        on = BOUND.get(name, "a")
        yield f'node="{on}",namespace="shop",pod="{name}",container="main",image="shop:1",id="/{name}"', cores, 1e8


def openmetrics(now: float) -> str:
    times = range(-HOURS * 3600, 10 * 60 + 1, STEP)  # a while ahead: whoever reads later finds a rate, too
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    lines = [f"# TYPE {cpu} unknown"]
    lines += [f"{cpu}{{{who}}} {1e6 + cores * at!r} {now + at:.0f}" for who, cores, _ in series() for at in times]
    lines.append(f"# TYPE {memory} unknown")
    lines += [f"{memory}{{{who}}} {used!r} {now + at:.0f}" for who, _, used in series() for at in times]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = PrometheusServer(tmp_path_factory.mktemp("prometheus"))
    server.backfill(openmetrics(time.time()))
    with server:
        yield server.url


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "1500m", "b": "1500m"}, BOUND)
        yield Path(server.kubeconfig(tmp_path))


def learned(running: LoadAware) -> dict[str, Mapping[str, Any]]:
    """What is told of each workload's CPU, once it is known."""
    answer = running.get("/demand")
    workloads = answer.json()["workloads"] if answer.status_code == 200 else []
    if len(workloads) < 2 or any(entry["resources"]["cpu"]["mean"] is None for entry in workloads):
        raise NotYetError(answer.text)
    return {entry["workload"]: entry["resources"]["cpu"] for entry in workloads}


def begun(folder: Path, prometheus: str, cluster: Path, **demand: str) -> dict[str, Mapping[str, Any]]:
    """What a server knows that reads once and no more while we look."""
    source = {"type": "Prometheus", "url": prometheus}
    config = {"interval": "10m", "source": source, "demand": demand}
    with LoadAware(folder, config=config, kubeconfig=cluster) as running:
        return wait_for(lambda: learned(running), "something learned", running.process)


def test_a_server_begins_with_what_pods_used_in_the_past_hours(prometheus: str, cluster: Path, tmp_path: Path) -> None:
    warm = begun(tmp_path / "warm", prometheus, cluster, warmUp=f"{HOURS}h")
    cold = begun(tmp_path / "cold", prometheus, cluster, warmUp="0s")
    assert {name: cpu["mean"] for name, cpu in cold.items()} == pytest.approx({"shop/Pod/db": 0.9, "shop/Pod/web": 0.2})
    assert cold["shop/Pod/db"]["samples"] == 1
    assert warm["shop/Pod/db"]["mean"] == pytest.approx(0.9)
    assert warm["shop/Pod/web"]["mean"] == pytest.approx(0.4, abs=0.02)  # of three, one of them gone
    # every 5 minutes for three hours, half of it remembered after six: 12 an hour, less a sixth
    assert warm["shop/Pod/db"]["samples"] == pytest.approx(30, abs=2)
    assert warm["shop/Pod/db"]["confidence"] > 0.7
    assert cold["shop/Pod/db"]["confidence"] < 0.2
