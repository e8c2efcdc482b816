"""All four verbs, called by one stock kube-scheduler for one pod after the other, heard on the wire."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, KubernetesApi
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import wait_for
from tests.parts.wire_tap import WireTap

pytestmark = pytest.mark.e2e

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PROFILE = {
    "filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 90}}}],
    "scorers": [{"name": "EntropicRisk"}],
}
NODES = {"mild": 30.0, "warm": 60.0, "boiling": 99.0}


@pytest.fixture
def urgent(api: KubernetesApi) -> Iterator[str]:
    """A priority class above all others."""
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    api.create(CLASSES, {**kind, "metadata": {"name": "urgent"}, "value": 1000})
    yield "urgent"
    api.delete(f"{CLASSES}/urgent")


@pytest.mark.parametrize("option", ["--node-cache-capable", "--whole-nodes"])
def test_kube_scheduler_calls_filter_prioritize_preempt_with_real_victims_and_bind(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path, urgent: str, option: str
) -> None:
    for name in NODES:
        api.add_ready_node(name, cpu="8", memory="32Gi")
    with LoadWatcherServer(NODES) as watcher:
        source = {"type": "LoadWatcher", "url": watcher.url}
        config = {"profiles": [PROFILE], "interval": "1s", "source": source}
        with (
            LoadAware(folder, config=config, kubeconfig=control_plane.kubeconfig) as loadaware,
            WireTap(loadaware.url) as tap,
        ):
            loadaware.wait_until_measured(set(NODES))
            printed = loadaware.schedule_config(option, "--preempt", "--bind", url=tap.url)
            with control_plane.start_scheduler(printed.replace("ignorable: true", "ignorable: false")):
                spec = {"terminationGracePeriodSeconds": 0}
                stays = {"nodeName": "boiling", "priorityClassName": urgent}
                api.add_pod("stays", requests={"cpu": "6"}, spec=stays)
                api.add_pod("tiny", requests={"cpu": "100m"})
                tiny = api.node_of("tiny")
                lesser = api.add_pods(["lesser-1", "lesser-2"], requests={"cpu": "6"}, spec=spec)
                first = api.nodes_of(lesser)
                assert set(first.values()) == {"mild", "warm"}
                uids = {name: api.get(f"{DEFAULT_PODS}/{name}")["metadata"]["uid"] for name in lesser}
                wait_for(lambda: loadaware.metric("loadaware_bound_pods") == 4, "the watch", loadaware.process)
                api.add_pod("urgent", requests={"cpu": "6"}, spec={"priorityClassName": urgent, **spec})
                taken = api.node_of("urgent")
    left = {pod["metadata"]["name"] for pod in api.get(DEFAULT_PODS)["items"]}
    (victim,) = {"lesser-1", "lesser-2"} - left
    assert first[victim] == taken
    assert {call.verb for call in tap.calls} == {"filter", "prioritize", "preempt", "bind"}
    (rejecting,) = [call for call in tap.of("filter") if call.pod == "tiny"]
    assert set(rejecting.answered["FailedNodes"]) == {"boiling"}
    for call in tap.of("filter") + tap.of("prioritize"):
        whole = option == "--whole-nodes"
        assert (call.asked["Nodes"] is not None, call.asked["NodeNames"] is not None) == (whole, not whole)
    (preempt,) = [call for call in tap.of("preempt") if call.pod == "urgent"][:1]
    offered = preempt.asked["NodeNameToMetaVictims"] or preempt.asked["NodeNameToVictims"]
    assert set(offered) == {"mild", "warm"}
    assert set(preempt.answered["NodeNameToMetaVictims"]) <= set(offered)
    kept = preempt.answered["NodeNameToMetaVictims"][taken]["Pods"]
    assert [each["UID"] for each in kept] == [uids[victim]]
    bound = {call.pod: call.asked["Node"] for call in tap.of("bind")}
    assert bound == {"tiny": tiny, **first, "urgent": taken}
    assert all(call.answered == {"Error": ""} for call in tap.of("bind"))
