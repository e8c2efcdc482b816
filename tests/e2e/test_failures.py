"""What happens to scheduling when something around it dies, hangs or lies, and when it comes back."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.metrics_server import MetricsServer
from tests.parts.processes import NotYetError, freeze, wait_for
from tests.parts.wire_tap import WireTap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CAPACITY: dict[str, Any] = {"cpu": "8", "memory": "32Gi"}
PROFILE = {
    "filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 80}}}],
    "scorers": [{"name": "EntropicRisk"}],
}
SMALL = {"requests": {"cpu": "10m", "memory": "10Mi"}}
LARGE = {"requests": {"cpu": "500m", "memory": "500Mi"}}
"""Enough for every scorer to tell a node that has one from a node that has none."""

Harm = Callable[[LoadAware, WireTap], AbstractContextManager[None]]


@contextmanager
def killed(loadaware: LoadAware, tap: WireTap) -> Iterator[None]:
    loadaware.process.send(signal.SIGKILL)
    wait_for(lambda: not loadaware.process.running, "its end")
    yield
    loadaware.start()


@contextmanager
def hung(loadaware: LoadAware, tap: WireTap) -> Iterator[None]:
    freeze(loadaware.process.pid)
    yield
    loadaware.process.send(signal.SIGCONT)


@contextmanager
def answering_errors(loadaware: LoadAware, tap: WireTap) -> Iterator[None]:
    tap.broken = True
    yield
    tap.broken = False
    assert tap.refused > 0


@pytest.mark.parametrize("harm", [killed, hung, answering_errors])
def test_scheduling_goes_on_without_us_and_comes_back(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path, harm: Harm
) -> None:
    usage = {"cold": "10%", "warm": "50%", "boiling": "95%"}
    for name in usage:
        api.add_ready_node(name, **CAPACITY)
    state = {"nodes": [{"name": n, "capacity": CAPACITY, "usage": {"cpu": {"mean": u}}} for n, u in usage.items()]}
    with LoadAware(folder, config={"profiles": [PROFILE]}, state=state) as loadaware, WireTap(loadaware.url) as tap:
        # What dies is asked for directly; what answers errors is the tap.
        url = tap.url if harm is answering_errors else loadaware.url
        with control_plane.start_scheduler(loadaware.schedule_config(url=url, timeout="5s")) as scheduler:
            before = api.nodes_of(api.add_pods([f"before-{number}" for number in range(3)], **SMALL))
            assert set(before.values()) == {"cold"}, before
            with harm(loadaware, tap):
                without = api.nodes_of(api.add_pods([f"without-{number}" for number in range(4)], **SMALL))
            after = api.nodes_of(api.add_pods([f"after-{number}" for number in range(3)], **SMALL))
            assert "boiling" not in after.values(), after
            assert all(loadaware.get(f"/explain?pod=default/{pod}").json()["answered"] for pod in after)
            if harm is not hung:  # which works off later, for nobody, what it was sent meanwhile
                told = {loadaware.get(f"/explain?pod=default/{pod}").status_code for pod in without}
                assert told == {404}
            assert attempts(scheduler.metrics(), "error") == 0


def attempts(metrics: str, result: str) -> float:
    """How many scheduling cycles of kube-scheduler ended so."""
    lines = [line for line in metrics.splitlines() if line.startswith("scheduler_schedule_attempts_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if f'result="{result}"' in line)


def rung(loadaware: LoadAware) -> str:
    """How far down the knowledge of the source is."""
    told: str = loadaware.get("/readyz").json()["rung"]
    return told


@contextmanager
def without(server: MetricsServer) -> Iterator[None]:
    """It is killed, and runs again afterwards, whatever happens: others need it, too."""
    server.process.send(signal.SIGKILL)
    try:
        yield
    finally:
        server.process.start()
        server.wait_until_served()


def test_without_metrics_server_the_ladder_shows_and_placements_go_on(cluster: Cluster, folder: Path) -> None:
    for name in ("rung-1", "rung-2"):
        cluster.add_node(name, load="1")
    staleness = {"fresh": "16s", "expired": "36s"}  # a new sample comes every 10 s
    config = {"source": cluster.source("MetricsServer"), "interval": "1s", "staleness": staleness}
    server = cluster.metrics_server
    with LoadAware(folder, config=config, kubeconfig=cluster.control_plane.kubeconfig) as loadaware:

        def on(expected: str) -> None:
            wait_for(lambda: rung(loadaware) == expected, f"the rung {expected}", loadaware.process)

        on("fresh")
        with cluster.control_plane.start_scheduler(loadaware.schedule_config()):
            with without(server):
                for expected in ("ageing", "expired"):
                    on(expected)
                    placed = cluster.api.nodes_of(cluster.api.add_pods([f"{expected}-{n}" for n in range(4)], **LARGE))
                    assert set(placed.values()) == {"rung-1", "rung-2"}, Counter(placed.values())
                    assert loadaware.explained(f"{expected}-0")["answered"]
                trouble = loadaware.get("/readyz")
                assert trouble.status_code == 200
                assert trouble.json()["source"]["consecutiveFailures"] > 0
            on("fresh")
            again = cluster.api.nodes_of(cluster.api.add_pods([f"again-{n}" for n in range(2)], **SMALL))
            assert len(again) == 2
    told = loadaware.process.log.read_text()
    assert "the metric source is expired now, it was ageing" in told
    assert "the metric source is fresh now, it was expired" in told


def test_when_kube_apiserver_restarts_watches_resume_and_nothing_is_counted_twice_or_after_its_end(
    folder: Path,
) -> None:
    """One pod is deleted while no watch is there to tell of it."""
    usage = {"again-1": 20.0, "again-2": 25.0, "again-3": 30.0}
    with ControlPlane(folder / "control-plane") as control_plane, LoadWatcherServer(usage) as watcher:
        api = control_plane.api
        for name in usage:
            api.add_ready_node(name, **CAPACITY)
        config = {"source": {"type": "LoadWatcher", "url": watcher.url}, "interval": "1s"}
        with LoadAware(folder, config=config, kubeconfig=control_plane.kubeconfig) as loadaware:
            loadaware.wait_until_measured(set(usage))
            with control_plane.start_scheduler(loadaware.schedule_config()):
                api.nodes_of(api.add_pods([f"before-{number}" for number in range(10)], requests={"cpu": "100m"}))
                wait_for(lambda: counts_as_it_is(loadaware, api), "the pods of before", loadaware.process)
                with standing_still(loadaware):
                    control_plane.restart_api_server()
                    api.delete(f"{DEFAULT_PODS}/before-0")
                api.add_ready_node("again-4", **CAPACITY)
                api.nodes_of(api.add_pods([f"after-{number}" for number in range(5)], requests={"cpu": "100m"}))
                wait_for(lambda: counts_as_it_is(loadaware, api), "the pods of after", loadaware.process)
                wait_for(lambda: loadaware.metric("loadaware_bound_pods") == 14, "14 pods", loadaware.process)
                wait_for(lambda: loadaware.metric("loadaware_bookings") == 0, "no booking", loadaware.process)
                assert counts_as_it_is(loadaware, api)


@contextmanager
def standing_still(loadaware: LoadAware) -> Iterator[None]:
    """All its processes: a watch that ends meanwhile is taken up afterwards, and not before."""
    os.killpg(loadaware.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(loadaware.process.pid, signal.SIGCONT)


def counts_as_it_is(loadaware: LoadAware, api: KubernetesApi) -> bool:
    """Whether it knows every node with the requests that the API server knows of its pods."""
    truth = {node["metadata"]["name"]: 0 for node in api.get("/api/v1/nodes")["items"]}
    for pod in api.get(DEFAULT_PODS)["items"]:
        truth[pod["spec"]["nodeName"]] += 1
    told: list[dict[str, Any]] = loadaware.get("/nodes").json()["nodes"]
    counted = {node["name"]: (node["pods"], round(node["requested"]["cpu"], 6)) for node in told}
    if counted != {name: (pods, round(0.1 * pods, 6)) for name, pods in truth.items()}:
        raise NotYetError(f"{counted} where there are {truth}")
    return True
