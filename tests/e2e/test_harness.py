"""The harness itself works, before anything of loadaware is tried in it."""

import time
from pathlib import Path

import pytest

from tests.parts import objects
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import NODES, ApiError, KubernetesApi
from tests.parts.processes import wait_for
from tests.parts.prometheus_server import MetricsExporter, PrometheusServer

pytestmark = pytest.mark.e2e

PLAIN_SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
COUNTED = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}'
"""A binding is known to the API server, and so to everybody, before kube-scheduler counts it."""


def test_the_api_server_answers_and_knows_its_version(api: KubernetesApi) -> None:
    assert api.get("/version")["gitVersion"].startswith("v1.")


def test_kubectl_reaches_the_api_server_with_the_administrators_kubeconfig(
    control_plane: ControlPlane,
) -> None:
    assert control_plane.kubectl("get", "namespace", "default", "--output=name") == "namespace/default\n"


def test_a_stranger_is_turned_away(control_plane: ControlPlane) -> None:
    stranger = control_plane.api_as("no-such-token")
    with pytest.raises(ApiError) as refusal:
        stranger.get(NODES)
    stranger.close()
    assert refusal.value.status == 401


def test_a_service_account_may_do_what_its_roles_allow_and_nothing_else(control_plane: ControlPlane) -> None:
    control_plane.kubectl("create", "serviceaccount", "reader")
    control_plane.kubectl("create", "clusterrole", "reader", "--verb=get,list,watch", "--resource=nodes")
    control_plane.kubectl(
        "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=default:reader"
    )
    reader = control_plane.api_as(control_plane.service_account_token("default", "reader"))
    wait_for(lambda: reader.get(NODES), "the role to take effect")
    with pytest.raises(ApiError) as refusal:
        reader.create(NODES, objects.node("intruder"))
    reader.close()
    assert refusal.value.status == 403


def test_a_node_made_through_the_api_is_ready_and_untainted(api: KubernetesApi) -> None:
    api.add_ready_node("node-a", cpu="8", memory="32Gi", allocatable={"cpu": "7500m"})
    node = api.get(f"{NODES}/node-a")
    assert objects.is_ready(node)
    assert node["status"]["capacity"]["cpu"] == "8"
    assert node["status"]["allocatable"] == {"cpu": "7500m", "memory": "32Gi", "pods": "110"}
    assert "taints" not in node["spec"]


def test_a_plain_scheduler_binds_a_pod_to_the_node_that_has_room(
    control_plane: ControlPlane, api: KubernetesApi
) -> None:
    api.add_ready_node("small", cpu="1")
    api.add_ready_node("large", cpu="8")
    with control_plane.start_scheduler(PLAIN_SCHEDULER) as scheduler:
        api.add_pod("hungry", requests={"cpu": "4", "memory": "1Gi"})
        assert api.node_of("hungry") == "large"
        wait_for(lambda: COUNTED in scheduler.metrics(), "the attempt, counted after the binding")


def test_a_second_scheduler_starts_after_the_first_has_stopped(control_plane: ControlPlane, api: KubernetesApi) -> None:
    api.add_ready_node("node-a")
    for name in ("first", "second"):
        with control_plane.start_scheduler(PLAIN_SCHEDULER):
            api.add_pod(name, requests={"cpu": "100m"})
            assert api.node_of(name) == "node-a"


def test_a_backfilled_prometheus_answers_about_the_past_and_the_present(folder: Path) -> None:
    now = int(time.time())
    samples = "".join(f'load{{node="a"}} {age} {now - age}\n' for age in range(7200, -1, -60))
    server = PrometheusServer(folder)
    server.backfill(f"# TYPE load gauge\n{samples}")
    with server:
        [series] = server.query('load{node="a"}', at=now - 3600)
        assert series["value"][1] == "3600"
        assert server.query("count_over_time(load[2h5m])")[0]["value"][1] == "121"


def test_a_prometheus_sees_what_its_target_serves_now(folder: Path) -> None:
    with (
        MetricsExporter('load{node="a"} 1\n') as exporter,
        PrometheusServer(folder, scrape_targets=[exporter.target]) as server,
    ):
        server.wait_for_series('load{node="a",job="test"} == 1')
        exporter.text = 'load{node="a"} 2\n'
        server.wait_for_series('load{node="a",job="test"} == 2')
