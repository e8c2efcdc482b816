"""With the chart's own account on an API server with RBAC: it makes every call that it may make, and no other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.charts import CHART, helm
from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import ApiError
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NAMESPACE = "rights"
CORES = {"busy": 5.0, "busier": 6.0}
THRESHOLD = {"filters": [{"name": "UsageThreshold", "args": {"thresholds": {"cpu": 50}}}], "leastPassing": 1}
VALUES: dict[str, Any] = {
    "image": {"repository": "loadaware"},
    "mode": "active",
    "extender": {"bind": True},
    "demand": {"stateFile": False, "handOver": False},
    "config": {"interval": "1s", "profiles": [{**THRESHOLD, "scorers": [{"name": "EntropicRisk"}]}]},
}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LISTING = {"spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}}}
"""May I list nodes? Asked, not tried: a refusal would be found in the audit log."""
ASKING = ("authentication.k8s.io", "authorization.k8s.io")
"""Who am I, what may I do: everybody may ask that."""


@pytest.fixture
def installed(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """The release is there; its configuration."""
    where = [f"--kubeconfig={cluster.control_plane.kubeconfig}", f"--namespace={NAMESPACE}"]
    helm("install", "loadaware", CHART, *where, "--create-namespace", values=VALUES)
    account = cluster.control_plane.api_as(cluster.control_plane.service_account_token(NAMESPACE, "loadaware"))
    wait_for(lambda: account.create(REVIEWS, LISTING)["status"]["allowed"], "the role to take effect")
    account.close()
    data = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/loadaware")["data"]
    yield yaml.safe_load(data["config.yaml"])
    helm("uninstall", "loadaware", *where)


def test_the_calls_that_it_makes_are_those_of_its_role_and_doctor_agrees(
    cluster: Cluster, installed: dict[str, Any], folder: Path
) -> None:
    """Both nodes are too busy, so it relaxes its rule and says so in an event; and it binds, but to no node that is not
    there.
    """
    for name, cores in CORES.items():
        cluster.add_node(name, load=f"{cores:g}")
    token = cluster.control_plane.service_account_token(NAMESPACE, "loadaware")
    kubeconfig = cluster.control_plane.kubeconfig_for("chart", token)
    with LoadAware(folder, config=installed, kubeconfig=kubeconfig) as loadaware:
        loadaware.wait_until_usage(CORES)
        printed = loadaware.schedule_config("--bind").replace("ignorable: true", "ignorable: false")
        with cluster.control_plane.start_scheduler(printed):
            cluster.api.add_pod("stubborn", requests={"cpu": "10m"})
            assert cluster.api.node_of("stubborn") == "busy"
        lost = {"PodName": "lost", "PodNamespace": "default", "PodUID": "lost", "Node": "nowhere"}
        assert "does not exist" in loadaware.post("/bind", lost).json()["Error"]
        allowed = rights(cluster.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/loadaware"))

        def used() -> set[tuple[str, str, str]]:
            calls = cluster.audit.calls_of(NAMESPACE, "loadaware")
            made = {(call.group, call.resource, call.verb) for call in calls if call.resource}
            if not allowed <= made:
                raise NotYetError(f"{sorted(allowed - made)} not yet, {sorted(made)} so far")
            return {right for right in made if right[0] not in ASKING}

        made = wait_for(used, "every call that it may make", loadaware.process)
        found = loadaware.examined(kubeconfig)
    refused = {call for call in cluster.audit.calls_of(NAMESPACE, "loadaware") if call.status in (401, 403)}
    assert refused == set()
    assert made == allowed
    assert [finding for finding in found if finding.verdict == "fail"] == []
    access = {finding.what: finding.verdict for finding in found if finding.what.startswith("access to ")}
    assert set(access.values()) == {"ok"}
    account = f"system:serviceaccount:{NAMESPACE}:loadaware"
    assert any(account in finding.detail for finding in found if finding.what == "API server")


def rights(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """What a role allows, one by one."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("get", "/api/v1/secrets"),
        ("get", "/api/v1/configmaps"),
        ("create", "/api/v1/namespaces/default/pods"),
        ("delete", "/api/v1/namespaces/default/pods/any"),
        ("patch", "/api/v1/nodes/any"),
        ("create", "/api/v1/namespaces/default/pods/any/eviction"),
    ],
)
def test_anything_else_is_forbidden(cluster: Cluster, installed: dict[str, Any], verb: str, path: str) -> None:
    account = cluster.control_plane.api_as(cluster.control_plane.service_account_token(NAMESPACE, "loadaware"))
    arguments = [path, {}] if verb in ("create", "patch") else [path]
    with pytest.raises(ApiError) as refusal:
        getattr(account, verb)(*arguments)
    account.close()
    assert refusal.value.status == 403
