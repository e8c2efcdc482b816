"""The chart, installed by helm into a real API server: what it says, what the server takes, and what then runs."""

import base64
import itertools
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadaware.config import parse
from loadaware.doctor.access import BINDING, CLUSTER, METRICS
from loadaware.schedule_config import schedule_configuration
from tests.parts.charts import CHART, Values, helm
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS, ApiError, KubernetesApi
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for
from tests.parts.scheduler import Scheduler

pytestmark = pytest.mark.e2e

NAMESPACE = "load"
IMAGE = {"image": {"repository": "loadaware"}}
FILTERING = {"profiles": [{"filters": [{"name": "UsageThreshold"}], "scorers": [{"name": "EntropicRisk"}]}]}
TRYING = {"profiles": [{}, {"schedulerName": "try", "shadow": True, "filters": [{"name": "UsageThreshold"}]}]}
UNSERVED = "metrics.k8s.io is not served here: install metrics-server"
ROLES = "/apis/rbac.authorization.k8s.io/v1"


def run(control_plane: ControlPlane, command: str, *options: str, values: Values) -> str:
    """helm, as the administrator of the cluster."""
    where = [f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={NAMESPACE}"]
    return helm(command, "loadaware", CHART, *where, *options, values={**IMAGE, **values})


@contextmanager
def installed(control_plane: ControlPlane, values: Values) -> Iterator[str]:
    """The release is there; what helm said."""
    said = run(control_plane, "install", "--create-namespace", values=values)
    try:
        yield said
    finally:
        helm("uninstall", "loadaware", f"--kubeconfig={control_plane.kubeconfig}", f"--namespace={NAMESPACE}")


def config_map(api: KubernetesApi, name: str = "loadaware") -> dict[str, Any]:
    found = yaml.safe_load(api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}")["data"]["config.yaml"])
    assert isinstance(found, dict)
    return found


def notes(control_plane: ControlPlane, values: Values) -> str:
    """What a person reads after installing; nothing is installed."""
    options = ["--dry-run=server", "--hide-secret", "--create-namespace"]
    return run(control_plane, "install", *options, values=values).partition("NOTES:\n")[2]


# -- What it says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["shadow", "active"])
def test_the_notes_say_the_mode_and_the_one_command_that_changes_it(control_plane: ControlPlane, mode: str) -> None:
    said = notes(control_plane, {"mode": mode})
    other = {"shadow": "active", "active": "shadow"}[mode]
    assert f"mode {mode}." in said
    assert f"helm upgrade loadaware CHART --namespace {NAMESPACE} --reuse-values --set mode={other}" in said


@pytest.mark.parametrize(
    ("values", "files"),
    [
        ({"config": FILTERING, "service": {"clusterIP": "10.0.0.7"}}, {}),
        ({"config": TRYING, "service": {"clusterIP": "10.0.0.7"}}, {}),
        ({"tls": {"mode": "generated"}, "service": {"clusterIP": "10.0.0.7"}}, {"ca_file": "ca.crt"}),
    ],
)
def test_the_notes_print_what_the_default_scheduler_needs(
    control_plane: ControlPlane, values: dict[str, Any], files: Mapping[str, str]
) -> None:
    block = re.search(r"(?m)^ {4}apiVersion: kubescheduler(?:.*\n)(?: {4}.*\n)+", notes(control_plane, values))
    assert block is not None
    printed = yaml.safe_load(block[0])
    paths = {option: f"/etc/kubernetes/loadaware/{file}" for option, file in files.items()}
    paths |= {"server_name": f"loadaware.{NAMESPACE}.svc"} if files else {}
    url = f"{'https' if files else 'http'}://10.0.0.7:8090"
    config = parse(json.dumps(values.get("config", {})))
    expected = schedule_configuration(config, url=url, kubeconfig="/etc/kubernetes/scheduler.conf", **paths)  # type: ignore[arg-type]
    assert printed == yaml.safe_load(expected)


def test_the_default_scheduler_goes_on_to_serve_plain_pods_whatever_our_profiles_are(
    control_plane: ControlPlane,
) -> None:
    said = notes(control_plane, {"config": {"profiles": [{"schedulerName": "calm"}]}})
    block = re.search(r"(?m)^ {4}profiles:\n(?: {6}.*\n)+", said)
    assert block is not None
    names = [profile["schedulerName"] for profile in yaml.safe_load(block[0])["profiles"]]
    assert names == ["default-scheduler", "calm"]


def test_the_notes_ask_for_the_address_where_none_is_fixed(control_plane: ControlPlane) -> None:
    said = notes(control_plane, {})
    assert "urlPrefix: http://CLUSTER-IP:8090" in said
    assert f"kubectl --namespace {NAMESPACE} get service loadaware --output jsonpath={{.spec.clusterIP}}" in said


def test_the_notes_warn_of_binding_for_everybody(control_plane: ControlPlane) -> None:
    assert "WARNING: extender.bind" in notes(control_plane, {"extender": {"bind": True}})
    guarded = {"extender": {"bind": True}, "tls": {"mode": "generated", "clientAuth": True}}
    assert "WARNING" not in notes(control_plane, guarded)


def test_the_notes_warn_of_plugins_that_are_not_ours_because_the_image_must_bring_them(
    control_plane: ControlPlane,
) -> None:
    scorers, filters = [{"name": "EntropicRisk"}, {"name": "CoolestNode"}], [{"name": "UsageTreshold"}]
    said = notes(control_plane, {"config": {"profiles": [{"scorers": scorers, "filters": filters}]}})
    assert "WARNING: CoolestNode is not among loadaware's own scorers" in said
    assert "WARNING: UsageTreshold is not among loadaware's own filters" in said
    assert said.count("WARNING") == 2


# -- What the API server takes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"demand": {"persistence": {"enabled": True}}, "tls": {"mode": "generated", "clientAuth": True}},
        {"history": {"enabled": True}},
        {"history": {"enabled": True, "persistence": {"enabled": True}}},
        {"history": {"enabled": True, "persistence": {"enabled": True, "existingClaim": "kept"}}},
        {
            "secondScheduler": {"enabled": True, "replicas": 2},
            "networkPolicy": {"enabled": True, "schedulerBlocks": ["10.1.0.0/28"]},
            "dashboards": {"enabled": True},
        },
    ],
    ids=[
        "defaults",
        "claims and certificates",
        "history",
        "history in claims",
        "history in a claim",
        "second scheduler",
    ],
)
def test_the_api_server_takes_every_object(control_plane: ControlPlane, api: KubernetesApi, values: Values) -> None:
    with installed(control_plane, values) as said:
        assert "STATUS: deployed" in said
        assert config_map(api)["kind"] == "LoadAwareConfiguration"
    with pytest.raises(ApiError, match="404"):
        api.get(f"{ROLES}/clusterroles/loadaware")


def test_the_manifests_for_kubectl_are_taken_too(control_plane: ControlPlane) -> None:
    folder = CHART.parent / "manifests"
    said = control_plane.kubectl("apply", "--dry-run=server", f"--kustomize={folder}", "--output=name")
    assert "deployment.apps/loadaware" in said
    image = control_plane.kubectl("kustomize", folder)
    assert "image: registry.example.com/loadaware:" in image


def test_a_kustomization_over_them_names_an_image_as_the_page_on_installing_says(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    page = (CHART.parents[1] / "docs" / "install.md").read_text(encoding="utf-8")
    example = page.partition("resources: [path/to/deploy/manifests]")
    text = "resources: [manifests]" + example[2].partition("```")[0]
    shutil.copytree(CHART.parent / "manifests", tmp_path / "manifests")
    (tmp_path / "kustomization.yaml").write_text(text)
    assert "image: registry.mine.example/loadaware:0.1.0" in control_plane.kubectl("kustomize", tmp_path)


def test_one_command_turns_it_on_and_restarts_nothing(control_plane: ControlPlane, api: KubernetesApi) -> None:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/loadaware"
    with installed(control_plane, {}):
        before = api.get(path)
        assert config_map(api)["mode"] == "shadow"
        run(control_plane, "upgrade", "--reuse-values", values={"mode": "active"})
        assert config_map(api)["mode"] == "active"
        assert api.get(path)["spec"]["template"] == before["spec"]["template"]


def test_generated_certificates_stay_over_an_upgrade(control_plane: ControlPlane, api: KubernetesApi) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/loadaware-tls"
    with installed(control_plane, {"tls": {"mode": "generated"}}):
        before = api.get(path)["data"]
        run(control_plane, "upgrade", "--reuse-values", values={"replicas": 3})
        assert api.get(path)["data"] == before


# -- What runs --------------------------------------------------------------------------------------------------


def test_the_process_runs_with_the_account_and_the_configuration_of_the_chart(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    """No metrics-server is there: log and doctor say so, and it goes on, ready once its grace is over."""
    api.add_ready_node("node-a")
    values = {"demand": {"stateFile": False}, "config": {"interval": "1s", "server": {"readinessGrace": "2s"}}}
    with installed(control_plane, values):
        token = control_plane.service_account_token(NAMESPACE, "loadaware")
        kubeconfig = control_plane.kubeconfig_for("chart", token)
        with LoadAware(folder, config=config_map(api), kubeconfig=kubeconfig) as loadaware:
            wait_for(lambda: loadaware.get("/readyz").ok, "readiness without metrics", loadaware.process)
            wait_for(lambda: UNSERVED in source_of(loadaware)["lastError"], "the error", loadaware.process)
            wait_for(lambda: source_of(loadaware)["forbidden"] == [], "the rights", loadaware.process)
            nodes = wait_for(lambda: loadaware.get("/nodes").json()["nodes"], "nodes", loadaware.process)
            assert [node["name"] for node in nodes] == ["node-a"]
            found = loadaware.examined(kubeconfig)
        assert UNSERVED in loadaware.process.log.read_text()
    rights = {finding.what: finding.verdict for finding in found if finding.what.startswith("access to ")}
    assert rights == {f"access to {need.name}": "ok" for need in (*CLUSTER, *METRICS, BINDING)}
    assert ("fail", "this API is not served here") in [(finding.verdict, finding.detail) for finding in found]


def source_of(loadaware: LoadAware) -> dict[str, Any]:
    """What it tells of its metric source."""
    source: dict[str, Any] = loadaware.get("/readyz").json()["source"]
    return source


def test_the_account_of_the_chart_may_do_what_its_role_says_and_nothing_else(
    control_plane: ControlPlane, api: KubernetesApi
) -> None:
    with installed(control_plane, {"extender": {"bind": True}}):
        account = control_plane.api_as(control_plane.service_account_token(NAMESPACE, "loadaware"))
        role = api.get(f"{ROLES}/clusterroles/loadaware")["rules"]
        try:
            allowed = wait_for(lambda: rights_of(account) or None, "the role to take effect")
        finally:
            account.close()
    assert allowed == {right for rule in role for right in triples(rule)}


def rights_of(account: KubernetesApi) -> set[tuple[str, str, str]]:
    """What it may do to resources, but for asking who it is and what it may do, as everybody may."""
    review = {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"namespace": "default"},
    }
    rules = account.create("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)["status"]["resourceRules"]
    found = {right for rule in rules for right in triples(rule)}
    return {right for right in found if right[0] not in ("authorization.k8s.io", "authentication.k8s.io")}


def triples(rule: dict[str, Any]) -> set[tuple[str, str, str]]:
    return set(itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"]))


def test_the_second_scheduler_runs_with_the_account_and_the_configuration_of_the_chart(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    """It becomes leader of a lease of its own, asks us, and takes the pods that name it, and no others."""
    api.add_ready_node("node-a")
    api.add_ready_node("node-b")
    state = {"nodes": [node_state("node-a", "90%"), node_state("node-b", "10%")]}
    active = {"mode": "active", "demand": {"stateFile": False, "handOver": False}}
    with (
        installed(control_plane, {**active, "secondScheduler": {"enabled": True}}),
        LoadAware(folder, config=config_map(api), state=state) as loadaware,
        second_scheduler(control_plane, config_map(api, "loadaware-scheduler"), loadaware.url),
    ):
        api.add_pod("not-ours", requests={"cpu": "100m"})
        api.add_pod("ours", requests={"cpu": "100m"}, spec={"schedulerName": "loadaware"})
        assert api.node_of("ours") == "node-b"
        assert loadaware.metric('loadaware_requests_total{profile="default-scheduler",verb="prioritize"}') >= 1
        assert "nodeName" not in api.get(f"{DEFAULT_PODS}/not-ours")["spec"]
        lease = api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/loadaware-scheduler")
        assert lease["spec"]["holderIdentity"]


def test_generated_certificates_hold_between_kube_scheduler_and_us_and_keep_others_out(
    control_plane: ControlPlane, api: KubernetesApi, folder: Path
) -> None:
    api.add_ready_node("node-a")
    api.add_ready_node("node-b")
    state = {"nodes": [node_state("node-a", "90%"), node_state("node-b", "10%")]}
    values = {"mode": "active", "demand": {"stateFile": False}, "secondScheduler": {"enabled": True}}
    with installed(control_plane, {**values, "tls": {"mode": "generated", "clientAuth": True}}):
        ours, theirs = (saved(api, name, folder / name) for name in ("loadaware-tls", "loadaware-client-tls"))
        loadaware = LoadAware(folder, config=moved(config_map(api), ours), state=state)
        loadaware.url = loadaware.url.replace("http:", "https:")
        loadaware._session.verify = str(ours / "ca.crt")
        loadaware._session.cert = (str(theirs / "tls.crt"), str(theirs / "tls.key"))
        config = moved(config_map(api, "loadaware-scheduler"), theirs)
        with loadaware, second_scheduler(control_plane, config, loadaware.url):
            api.add_pod("ours", requests={"cpu": "100m"}, spec={"schedulerName": "loadaware"})
            assert api.node_of("ours") == "node-b"
            loadaware._session.close()  # the next call makes a new connection
            loadaware._session.cert = None
            with pytest.raises(NotYetError):
                loadaware.get("/healthz")


def saved(api: KubernetesApi, secret: str, folder: Path) -> Path:
    """The files of a secret, as a volume shows them."""
    folder.mkdir(parents=True)
    for name, content in api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{secret}")["data"].items():
        (folder / name).write_bytes(base64.b64decode(content))
    return folder


def moved(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same with certificates in that folder instead of where the pod has them mounted."""
    changed: dict[str, Any] = json.loads(json.dumps(config).replace("/etc/loadaware-tls", str(folder)))
    return changed


def node_state(name: str, cpu: str) -> dict[str, Any]:
    usage = {"cpu": {"mean": cpu}, "memory": {"mean": "10%"}}
    return {"name": name, "capacity": {"cpu": "4", "memory": "16Gi"}, "usage": usage}


def second_scheduler(control_plane: ControlPlane, config: dict[str, Any], url: str) -> Scheduler:
    """A kube-scheduler with the chart's account, which is told where loadaware is in this test."""
    (extender,) = config["extenders"]
    assert extender["urlPrefix"].endswith(f"://loadaware.{NAMESPACE}.svc:8090")
    extender |= {"urlPrefix": url, "ignorable": False, "httpTimeout": "30s"}
    token = control_plane.service_account_token(NAMESPACE, "loadaware-scheduler")
    return Scheduler(
        folder=control_plane.folder,
        config=yaml.safe_dump(config),
        kubeconfig=control_plane.kubeconfig_for("second-scheduler", token),
        serving=control_plane.serving,
        authority=control_plane.certificate_authority,
        metrics_token=control_plane.administrator.token,
    )
