"""A stock kube-scheduler asks us to bind and about preemption; people see events; Trimaran's API is there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.objects import Json
from tests.parts.processes import NotYetError, wait_for

pytestmark = pytest.mark.e2e

PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
EVENTS = "/api/v1/namespaces/default/events"
THRESHOLD = {"filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 65}}}]}
SPREADING = {"scorers": [{"name": "LoadVariationRiskBalancing"}]}


@contextmanager
def serving(
    control_plane: ControlPlane, folder: Path, cpu_percent: Mapping[str, float], profile: Mapping[str, Any]
) -> Iterator[LoadAware]:
    """loadaware beside the API server, with the administrator's rights, every node measured."""
    with LoadWatcherServer(cpu_percent) as watcher:
        source = {"type": "LoadWatcher", "url": watcher.url}
        config = {"profiles": [dict(profile)], "interval": "1s", "source": source}
        with LoadAware(folder, config=config, kubeconfig=control_plane.kubeconfig) as loadaware:
            loadaware.wait_until_measured(set(cpu_percent))
            yield loadaware


def with_verbs(config: str, **members: Any) -> str:
    """A KubeSchedulerConfiguration whose extender has these verbs, too, and may not be ignored unless told."""
    content = yaml.safe_load(config)
    content["extenders"][0] |= {"ignorable": False, **members}
    return yaml.safe_dump(content)


def events_of(api: KubernetesApi, pod: str, reason: str) -> list[Json]:
    """The events of a reason on a pod, once there are any."""
    selector = f"involvedObject.name={pod},reason={reason}"
    found: list[Json] = api.get(EVENTS, fieldSelector=selector)["items"]
    if not found:
        raise NotYetError(f"no event {reason} on {pod}")
    return found


@pytest.fixture
def priorities(api: KubernetesApi) -> Iterator[None]:
    """Priority classes; the names are the values."""
    classes = {"priority-0": 0, "priority-10": 10, "priority-1000": 1000}
    for name, value in classes.items():
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        api.create(PRIORITY_CLASSES, body)
    yield
    for name in classes:
        api.delete(f"{PRIORITY_CLASSES}/{name}")


def add_pod_of(api: KubernetesApi, name: str, priority: int, cpu: str, **spec: Any) -> None:
    """A pod of a priority; it goes at once when it must."""
    spec = {"priorityClassName": f"priority-{priority}", "terminationGracePeriodSeconds": 0, **spec}
    api.add_pod(name, requests={"cpu": cpu, "memory": "100Mi"}, spec=spec)


def test_kube_scheduler_lets_us_bind_and_the_pods_are_bound_where_it_said(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    for name in ("cold", "hot"):
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with serving(control_plane, folder, {"cold": 10, "hot": 90}, SPREADING) as loadaware:
        config = with_verbs(loadaware.schedule_config(), bindVerb="bind")
        with control_plane.start_scheduler(config):
            for name in ("first", "second"):
                api.add_pod(name, requests={"cpu": "100m", "memory": "100Mi"})
            assert {api.node_of(name) for name in ("first", "second")} == {"cold"}
        wait_for(lambda: loadaware.metric("loadaware_bound_pods") == 2, "the watch to tell", loadaware.process)
        assert loadaware.metric('loadaware_requests_total{profile="",verb="bind"}') == 2
        assert loadaware.metric('loadaware_request_errors_total{reason="internal",verb="bind"}') == 0
        assert loadaware.metric("loadaware_bookings") == 0


def test_a_node_that_joined_after_the_last_snapshot_is_bound_to_all_the_same(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    api.add_ready_node("old", cpu="8", memory="32Gi")
    with serving(control_plane, folder, {"old": 10}, SPREADING) as loadaware:
        api.add_pod("lonely")
        api.add_ready_node("new", cpu="8", memory="32Gi")
        where = {"PodName": "lonely", "PodNamespace": "default", "Node": "new"}
        assert loadaware.post("/bind", where).json() == {"Error": ""}
        assert api.node_of("lonely") == "new"
        refused = loadaware.post("/bind", where).json()["Error"]
        assert 'pod lonely is already assigned to node "new"' in refused
        nowhere = {**where, "Node": "no-such-node"}
        assert loadaware.post("/bind", nowhere).json() == {"Error": "node 'no-such-node' does not exist"}


@pytest.mark.parametrize("option", ["--node-cache-capable", "--whole-nodes"])
@pytest.mark.usefixtures("priorities")
def test_preemption_takes_the_node_that_it_helps_and_not_the_one_that_stays_too_busy(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path, option: str
) -> None:
    # Both nodes are full by requests: 7 cores that may not go, 1 core that may. By itself kube-scheduler would take
    # "hot", whose victim is of lower priority: (95 - 12.5) % there stays above 65 %, (60 - 12.5) % on "mild" does not.
    for node, victim_priority in (("hot", 0), ("mild", 10)):
        api.add_ready_node(node, cpu="8", memory="32Gi")
        add_pod_of(api, f"stays-on-{node}", 1000, "7", nodeName=node)
        add_pod_of(api, f"victim-on-{node}", victim_priority, "1", nodeName=node)
    with serving(control_plane, folder, {"hot": 95, "mild": 60}, THRESHOLD) as loadaware:
        wait_for(lambda: loadaware.metric("loadaware_bound_pods") == 4, "the watch to tell", loadaware.process)
        config = with_verbs(loadaware.schedule_config(option), preemptVerb="preempt")
        with control_plane.start_scheduler(config):
            add_pod_of(api, "urgent", 1000, "1")
            assert api.node_of("urgent") == "mild"
        assert loadaware.metric('loadaware_requests_total{profile="default-scheduler",verb="preempt"}') >= 1
    left = {pod["metadata"]["name"] for pod in api.get(DEFAULT_PODS)["items"]}
    assert left == {"stays-on-hot", "victim-on-hot", "stays-on-mild", "urgent"}


@pytest.mark.usefixtures("priorities")
def test_preemption_goes_on_when_every_candidate_stays_too_busy(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    api.add_ready_node("hot", cpu="8", memory="32Gi")
    add_pod_of(api, "stays", 1000, "7", nodeName="hot")
    add_pod_of(api, "victim", 0, "1", nodeName="hot")
    with serving(control_plane, folder, {"hot": 95}, THRESHOLD) as loadaware:
        config = with_verbs(loadaware.schedule_config(), preemptVerb="preempt")
        with control_plane.start_scheduler(config):
            add_pod_of(api, "urgent", 1000, "1")
            assert api.node_of("urgent") == "hot"


def test_when_every_node_is_too_busy_the_pod_runs_all_the_same_and_an_event_says_so(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    for name in ("busy", "busier"):
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with (
        serving(control_plane, folder, {"busy": 80, "busier": 95}, {**THRESHOLD, "leastPassing": 1}) as loadaware,
        control_plane.start_scheduler(loadaware.schedule_config()),
    ):
        api.add_pod("stubborn", requests={"cpu": "100m"})
        assert api.node_of("stubborn") == "busy"
        (event,) = wait_for(lambda: events_of(api, "stubborn", "LoadRulesRelaxed"), "the event", loadaware.process)
    assert (event["type"], event["source"]["component"]) == ("Warning", "loadaware")
    assert "load rules would reject every node" in event["message"]
    assert event["involvedObject"]["uid"] == api.get(f"{DEFAULT_PODS}/stubborn")["metadata"]["uid"]


def test_a_second_loadaware_reads_the_first_as_its_load_watcher(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    for name in ("cold", "hot"):
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with serving(control_plane, folder / "first", {"cold": 10, "hot": 90}, SPREADING) as first:
        assert first.get("/watcher/health").ok
        source = {"type": "LoadWatcher", "url": first.url}
        config = {"profiles": [SPREADING], "interval": "1s", "source": source}
        with LoadAware(folder / "second", config=config, kubeconfig=control_plane.kubeconfig) as second:
            second.wait_until_measured({"cold", "hot"})
            believed = {node["name"]: node["usage"]["cpu"]["mean"] for node in second.get("/nodes").json()["nodes"]}
    assert believed == {"cold": pytest.approx(0.8), "hot": pytest.approx(7.2)}


def test_kube_scheduler_binds_by_itself_where_we_cannot_and_may_be_ignored(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    api.add_ready_node("node-1", cpu="8", memory="32Gi")
    state = {"nodes": [{"name": "node-1", "capacity": {"cpu": "8", "memory": "32Gi"}}]}
    with LoadAware(folder, config={"profiles": [SPREADING]}, state=state) as loadaware:
        config = with_verbs(loadaware.schedule_config(), bindVerb="bind", ignorable=True)
        with control_plane.start_scheduler(config):
            api.add_pod("alone", requests={"cpu": "100m"})
            assert api.node_of("alone") == "node-1"
        assert loadaware.metric('loadaware_requests_total{profile="",verb="bind"}') == 1
