"""A stock kube-scheduler, a real API server and a real Prometheus: pods go where our scores say."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import wait_for
from tests.parts.prometheus_server import MetricsExporter, PrometheusServer

pytestmark = pytest.mark.e2e

SPREADING: dict[str, Any] = {"profiles": [{"scorers": [{"name": "LoadVariationRiskBalancing"}]}], "interval": "1s"}
CAPACITY = {"cpu": "8", "memory": "32Gi"}
REQUESTS = {"cpu": "500m", "memory": "500Mi"}


def state_of(cpu_percent: dict[str, int]) -> dict[str, Any]:
    """A frozen state: nodes of one size with that CPU load."""
    return {
        "nodes": [
            {"name": name, "capacity": CAPACITY, "usage": {"cpu": {"mean": f"{percent}%"}}}
            for name, percent in cpu_percent.items()
        ]
    }


class LoadedNodes:
    """node-exporter-like counters of nodes: what the test sets, and what each pod bound there asked for. Time passes as
    on the wall, so a burst that takes long is measured while it goes on.
    """

    def __init__(self, api: KubernetesApi, cpu_cores_used: dict[str, float], cores_a_pod: float) -> None:
        self.cpu_cores_used = cpu_cores_used
        self.cores_a_pod = cores_a_pod
        self._api = api
        self._idle = dict.fromkeys(cpu_cores_used, 0.0)
        self._busy = dict.fromkeys(cpu_cores_used, 0.0)
        self._then = time.monotonic()

    def text(self) -> str:
        """The exposition at this moment."""
        now = time.monotonic()
        elapsed, self._then = now - self._then, now
        pods = Counter(pod["spec"].get("nodeName") for pod in self._api.get(DEFAULT_PODS)["items"])
        lines = []
        for node, alone in self.cpu_cores_used.items():
            cores = alone + pods[node] * self.cores_a_pod
            self._busy[node] += elapsed * cores
            self._idle[node] += elapsed * (8 - cores)
            lines += [
                f'node_cpu_seconds_total{{instance="{node}:9100",cpu="0",mode="idle"}} {self._idle[node]}',
                f'node_cpu_seconds_total{{instance="{node}:9100",cpu="0",mode="user"}} {self._busy[node]}',
                f'node_memory_MemTotal_bytes{{instance="{node}:9100"}} {32 * 2**30}',
                f'node_memory_MemAvailable_bytes{{instance="{node}:9100"}} {24 * 2**30}',
            ]
        return "\n".join(lines) + "\n"


@contextmanager
def keeping_up_to_date(exporter: MetricsExporter, nodes: LoadedNodes) -> Iterator[None]:
    """The exporter's text follows the nodes while the test runs."""
    stop = threading.Event()

    def update() -> None:
        while not stop.wait(0.25):
            exporter.text = nodes.text()

    thread = threading.Thread(target=update, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_pods_go_where_the_scores_of_a_frozen_state_say(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    for name in ("cold", "warm", "hot"):
        api.add_ready_node(name, cpu="8", memory="32Gi")
    state = state_of({"cold": 10, "warm": 50, "hot": 90})
    with (
        LoadAware(folder, config=SPREADING, state=state) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        api.add_pod("first", requests={"cpu": "100m", "memory": "100Mi"})
        assert api.node_of("first") == "cold"
        assert loadaware.metric('loadaware_requests_total{profile="default-scheduler",verb="prioritize"}') == 1


@pytest.mark.parametrize("option", ["--node-cache-capable", "--whole-nodes"])
def test_a_filter_keeps_pods_off_a_busy_node_with_names_and_with_whole_nodes(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path, option: str
) -> None:
    for name in ("busy", "free-1", "free-2"):
        api.add_ready_node(name, cpu="8", memory="32Gi")
    config = {"profiles": [{"filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 60}}}]}]}
    state = state_of({"busy": 80, "free-1": 20, "free-2": 20})
    with (
        LoadAware(folder, config=config, state=state) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config(option)),
    ):
        names = [f"pod-{number}" for number in range(6)]
        for name in names:
            api.add_pod(name, requests={"cpu": "10m"})
        assert {api.node_of(name) for name in names} <= {"free-1", "free-2"}
        rejected = 'loadaware_rejected_nodes_total{filter="UsageThreshold",profile="default-scheduler"}'
        assert loadaware.metric(rejected) >= 6


def test_pods_avoid_a_hot_node_measured_by_prometheus_and_a_burst_spreads_over_the_others(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    cores = {"node-1": 1.0, "node-2": 1.0, "node-3": 1.0, "node-hot": 7.6}
    for name in cores:
        api.add_ready_node(name, cpu="8", memory="32Gi")
    nodes = LoadedNodes(api, cores, cores_a_pod=0.5)
    with (
        MetricsExporter(nodes.text()) as exporter,
        keeping_up_to_date(exporter, nodes),
        PrometheusServer(folder / "prometheus", scrape_targets=[exporter.target], config=None) as prometheus,
    ):
        config = {**SPREADING, "source": {"type": "Prometheus", "url": prometheus.url, "rateWindow": "5s"}}
        with LoadAware(folder, config=config, kubeconfig=control_plane.kubeconfig) as loadaware:
            loadaware.wait_until_usage(cores)
            names = api.add_pods((f"pod-{number}" for number in range(12)), requests=REQUESTS)
            with control_plane.start_scheduler(loadaware.schedule_config()):
                placed = Counter(api.nodes_of(names).values())
                wait_for(
                    lambda: loadaware.metric("loadaware_bound_pods") == len(names),
                    "the watch to tell of every pod",
                    loadaware.process,
                )
    # Fair, not equal: ties are broken by chance, and a burst that takes a busy machine seconds is measured half way.
    assert set(placed) == {"node-1", "node-2", "node-3"}
    assert min(placed.values()) >= 0.5 * len(names) / len(placed), placed


def test_scheduling_goes_on_when_loadaware_is_gone(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    api.add_ready_node("node-1", cpu="8", memory="32Gi")
    api.add_ready_node("node-2", cpu="8", memory="32Gi")
    with LoadAware(folder, config=SPREADING, state=state_of({"node-1": 10, "node-2": 20})) as loadaware:
        scheduler_config = loadaware.schedule_config()
    with control_plane.start_scheduler(scheduler_config):
        api.add_pod("alone", requests={"cpu": "100m"})
        assert api.node_of("alone") in {"node-1", "node-2"}
