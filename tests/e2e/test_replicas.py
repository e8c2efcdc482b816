"""Two replicas behind a plain TCP balancer: one goes, politely or not, and nobody notices."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.hammer import Hammer
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.kwok import usage_annotations
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for
from tests.parts.tcp_balancer import TcpBalancer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

USAGE = {"cold": 10.0, "hot": 90.0}
SMALL = {"requests": {"cpu": "10m", "memory": "10Mi"}}
PROFILE = {
    "filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 80}}}],
    "scorers": [{"name": "LoadVariationRiskBalancing"}],
}
EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def replicas(control_plane: ControlPlane, api: KubernetesApi, folder: Path) -> Iterator[list[LoadAware]]:
    """Two that watch the same cluster."""
    for name in USAGE:
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with LoadWatcherServer(USAGE) as watcher:
        source = {"type": "LoadWatcher", "url": watcher.url}
        config = {"profiles": [PROFILE], "interval": "1s", "source": source}
        both = [LoadAware(folder / name, config=config, kubeconfig=control_plane.kubeconfig) for name in ("one", "two")]
        with both[0], both[1]:
            for replica in both:
                replica.wait_until_measured(set(USAGE))
            yield both


def question(pod: str) -> dict[str, Any]:
    metadata = {"name": pod, "namespace": "default", "uid": pod}
    resources = {"requests": {"cpu": "10m"}}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    return {"Pod": {"metadata": metadata, "spec": spec}, "Nodes": None, "NodeNames": list(USAGE)}


def failed_scheduling(api: KubernetesApi) -> list[str]:
    """What kube-scheduler complained of, on any pod that is there."""
    there = {pod["metadata"]["uid"] for pod in api.get(DEFAULT_PODS)["items"]}
    found = api.get(EVENTS, fieldSelector="reason=FailedScheduling")["items"]
    return [event["message"] for event in found if event["involvedObject"]["uid"] in there]


def test_one_that_is_ended_by_sigterm_under_load_fails_no_call(
    control_plane: ControlPlane, api: KubernetesApi, replicas: list[LoadAware]
) -> None:
    leaving, staying = replicas
    with TcpBalancer([replica.port for replica in replicas]) as balancer:
        wait_for(lambda: len(balancer.ready) == 2, 20, "both to be ready")
        config = staying.schedule_config(url=balancer.url).replace("ignorable: true", "ignorable: false")
        with (
            control_plane.start_scheduler(config),
            Hammer(f"{balancer.url}/filter", question("hammered"), kept=4, fresh=4) as hammer,
        ):
            before = api.nodes_of(api.add_pods([f"before-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: min(balancer.taken.values()) > 10, 30, "both to be asked")
            leaving.process.send(signal.SIGTERM)
            wait_for(lambda: balancer.ready == {staying.port}, 20, "it to be unready")
            during = api.nodes_of(api.add_pods([f"during-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: not leaving.process.running, 30, "its end")
            answered = hammer.answered
            after = api.nodes_of(api.add_pods([f"after-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: hammer.answered > answered + 50, 30, "calls to go on", staying.process)
    assert leaving.process.ending == "loadaware exited with 0"
    assert hammer.failures == []
    assert set((before | during | after).values()) == {"cold"}
    assert failed_scheduling(api) == []


def test_one_that_is_killed_fails_no_scheduling_cycle(
    control_plane: ControlPlane, api: KubernetesApi, replicas: list[LoadAware]
) -> None:
    killed, staying = replicas
    with TcpBalancer([replica.port for replica in replicas]) as balancer:
        wait_for(lambda: len(balancer.ready) == 2, 20, "both to be ready")
        with control_plane.start_scheduler(staying.schedule_config(url=balancer.url)):
            pods = api.add_pods([f"before-{n}" for n in range(10)], **SMALL)
            killed.process.send(signal.SIGKILL)
            pods += api.add_pods([f"after-{n}" for n in range(10)], **SMALL)
            api.nodes_of(pods)
            wait_for(lambda: balancer.ready == {staying.port}, 20, "it to be missed")
            late = api.nodes_of(api.add_pods([f"late-{n}" for n in range(5)], **SMALL))
            staying.explained("late-4")
    assert set(late.values()) == {"cold"}
    assert failed_scheduling(api) == []


def scores(replica: LoadAware) -> dict[str, float]:
    """What it gives each node for the reference pod, 0..100."""
    lines = [line for line in replica.get("/metrics").text.splitlines() if line.startswith("loadaware_node_score{")]
    return {line.split('node="')[1].split('"')[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_a_new_replica_takes_over_what_the_other_has_learned_and_both_agree_on_scores(
    cluster: Cluster, folder: Path
) -> None:
    cores = {"learned-1": 0.5, "learned-2": 1.0, "learned-3": 2.0, "learned-4": 6.0}
    for name, used in cores.items():
        cluster.add_node(name, load=f"{used:g}")
    for number, name in enumerate(cores):
        usage = usage_annotations("300m", "100Mi")
        cluster.api.add_pod(f"web-{number}", requests={"cpu": "1"}, annotations=usage, spec={"nodeName": name})
    common = {"source": cluster.source("MetricsServer"), "interval": "1s"}
    kubeconfig = cluster.control_plane.kubeconfig
    measured = {name: used + 0.3 for name, used in cores.items()}
    with LoadAware(folder / "first", config=common, kubeconfig=kubeconfig) as first:
        first.wait_until_usage(measured, 120)
        wait_for(lambda: first.metric("loadaware_learned_workloads") > 0, 60, "something learned", first.process)
        demand = {"handOver": {"url": first.url}}
        with LoadAware(folder / "second", config={**common, "demand": demand}, kubeconfig=kubeconfig) as second:
            second.wait_until_usage(measured, 60)
            told = second.process.log.read_text()
            handed = re.search(r"handed over learned demand of (\d+) workloads and (\d+) pods", told)
            assert handed is not None
            assert (int(handed[1]), int(handed[2])) == (first.metric("loadaware_learned_workloads"), 2 * len(cores))

            def agree() -> bool:
                ours, theirs = scores(first), scores(second)
                if set(ours) != set(cores) or set(theirs) != set(cores):
                    raise NotYetError(f"{ours} beside {theirs}")
                if any(abs(ours[name] - theirs[name]) > 2 for name in cores):
                    raise NotYetError(f"{ours} beside {theirs}")
                return True

            wait_for(agree, 30, "both to agree within 2 points", second.process)
