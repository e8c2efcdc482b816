"""Two replicas behind a plain TCP balancer: one goes, politely or not, and nobody notices."""

import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.arrivals import Arrivals
from tests.parts.cluster import Cluster
from tests.parts.control_plane import ControlPlane
from tests.parts.hammer import Hammer
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.kwok import usage_annotations
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for
from tests.parts.tcp_balancer import TcpBalancer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

USAGE = {"cold": 10.0, "hot": 90.0}
SMALL = {"requests": {"cpu": "10m", "memory": "10Mi"}}
PROFILE = {
    "filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 80}}}],
    "scorers": [{"name": "LoadVariationRiskBalancing"}],
}
REQUESTS = "loadaware_requests_total"
READ = "loadaware_readings_total"
READINGS = 15
"""One a second, and metrics-server has new samples every 10 seconds."""
EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def replicas(control_plane: ControlPlane, api: KubernetesApi, folder: Path) -> Iterator[list[LoadAware]]:
    """Two that watch the same cluster."""
    for name in USAGE:
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with LoadWatcherServer(USAGE) as watcher:
        source = {"type": "LoadWatcher", "url": watcher.url}
        config = {"profiles": [PROFILE], "interval": "1s", "source": source, "server": {"leaving": "8s"}}
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
        wait_for(lambda: len(balancer.ready) == 2, "both to be ready")
        config = staying.schedule_config(url=balancer.url).replace("ignorable: true", "ignorable: false")
        with (
            control_plane.start_scheduler(config),
            Hammer(f"{balancer.url}/filter", question("hammered"), kept=4, fresh=4) as hammer,
        ):
            before = api.nodes_of(api.add_pods([f"before-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: min(balancer.taken.values()) > 10, "both to be asked")
            leaving.process.send(signal.SIGTERM)
            wait_for(lambda: balancer.ready == {staying.port}, "it to be unready")
            during = api.nodes_of(api.add_pods([f"during-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: not leaving.process.running, "its end")
            answered = hammer.answered
            after = api.nodes_of(api.add_pods([f"after-{n}" for n in range(4)], **SMALL))
            wait_for(lambda: hammer.answered > answered + 50, "calls to go on", staying.process)
    assert leaving.process.ending == "loadaware exited with 0"
    assert hammer.failures == []
    assert set((before | during | after).values()) == {"cold"}
    assert failed_scheduling(api) == []


def test_one_that_is_killed_while_it_is_asked_fails_no_scheduling_cycle(
    control_plane: ControlPlane, api: KubernetesApi, replicas: list[LoadAware]
) -> None:
    """kube-scheduler keeps one connection, so one of the two is asked: that one is killed, between pod and pod."""
    with TcpBalancer([replica.port for replica in replicas]) as balancer:
        wait_for(lambda: len(balancer.ready) == 2, "both to be ready")
        client = control_plane.api_as(control_plane.administrator.token)
        with (
            control_plane.start_scheduler(replicas[0].schedule_config(url=balancer.url)),
            Arrivals(client, "coming", **SMALL) as arrivals,
        ):
            killed = wait_for(lambda: asked_most(replicas), "one of them to be asked")
            staying = next(replica for replica in replicas if replica is not killed)
            before = staying.total(REQUESTS)
            assert killed.total(REQUESTS) > before
            killed.process.send(signal.SIGKILL)
            there = len(arrivals.placed)
            wait_for(lambda: len(arrivals.placed) > there + 20, "pods to be placed without it", staying.process)
            wait_for(lambda: balancer.ready == {staying.port}, "it to be missed")
            late = len(arrivals.placed)
            wait_for(lambda: len(arrivals.placed) > late + 5, "pods to be placed later", staying.process)
            assert staying.total(REQUESTS) > before
    assert set(list(arrivals.placed.values())[late + 1 :]) == {"cold"}
    assert failed_scheduling(api) == []


def asked_most(replicas: list[LoadAware]) -> LoadAware:
    """The one that kube-scheduler asks, once it has asked it about a few pods."""
    asked = [replica.total(REQUESTS) for replica in replicas]
    if max(asked) < 10:
        raise NotYetError(f"they were asked {asked} times")
    return replicas[asked.index(max(asked))]


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
    profile = {"scorers": [{"name": "EntropicRisk"}], "maxScore": 100}
    common = {"source": cluster.source("MetricsServer"), "interval": "1s", "profiles": [profile]}
    kubeconfig = cluster.control_plane.kubeconfig
    measured = {name: used + 0.3 for name, used in cores.items()}
    with LoadAware(folder / "first", config=common, kubeconfig=kubeconfig) as first:
        first.wait_until_usage(measured)
        wait_for(lambda: learned_pods(first) == 2 * len(cores), "every pod learned", first.process)
        demand = {"handOver": {"url": first.url, "timeout": "1m"}}
        with LoadAware(folder / "second", config={**common, "demand": demand}, kubeconfig=kubeconfig) as second:
            second.wait_until_usage(measured)
            told = second.process.log.read_text()
            handed = re.search(r"handed over learned demand of (\d+) workloads and (\d+) pods", told)
            assert handed is not None
            assert (int(handed[1]), int(handed[2])) == (first.metric("loadaware_learned_workloads"), 2 * len(cores))
            agreed: list[str] = []

            def agree() -> bool:
                """On the reference pod and on one that is asked about, at READINGS readings in a row."""
                reading = f"{first.metric(READ)} {second.metric(READ)}"
                for of_first, of_second in (
                    (scores(first), scores(second)),
                    (ranked(first, cores), ranked(second, cores)),
                ):
                    if set(of_first) != set(cores) or set(of_second) != set(cores) or apart(of_first, of_second) > 2:
                        agreed.clear()
                        raise NotYetError(f"{of_first} beside {of_second}")
                if reading not in agreed:
                    agreed.append(reading)
                return len(agreed) >= READINGS

            wait_for(agree, f"both to agree within 2 points at {READINGS} readings in a row", second.process)


def learned_pods(loadaware: LoadAware) -> int:
    """How many pods it has learned of by now."""
    return sum(workload["pods"] for workload in loadaware.get("/demand?limit=1000").json()["workloads"])


def ranked(replica: LoadAware, nodes: Iterable[str]) -> dict[str, float]:
    """What it answers about the same pod, 0..100."""
    told = replica.post("/prioritize", {**question("same"), "NodeNames": list(nodes)}).json()
    return {each["Host"]: each["Score"] for each in told}


def apart(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """By how many points they differ at most."""
    return max(abs(ours[name] - theirs[name]) for name in ours)
