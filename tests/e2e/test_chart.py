"""What the chart renders: safe by default, no more rights than the code uses, and a configuration that is accepted."""

import base64
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from cryptography import x509

from deploy import make
from loadaware.config import Config, MetricsServerSource, PrometheusSource, parse
from loadaware.doctor.access import CLUSTER, METRICS
from loadaware.extender.people import features
from loadaware.observer_process import ENDING_SECONDS
from loadaware.profiles import adviser_settings
from loadaware.quantities import Duration
from loadaware.schedule_config import schedule_configuration
from loadaware.sources import check_source
from tests.parts.charts import CHART, HelmError, Manifest, Values, helm, objects, template

pytestmark = pytest.mark.e2e

PROMETHEUS = {"source": {"type": "Prometheus", "url": "http://prometheus.monitoring:9090"}}
FILTERING = {"profiles": [{"filters": [{"name": "UsageThreshold"}], "scorers": [{"name": "EntropicRisk"}]}]}
SETS: dict[str, Values] = {
    "defaults": {},
    "active": {"mode": "active"},
    "prometheus": {"config": PROMETHEUS},
    "second scheduler": {"secondScheduler": {"enabled": True, "replicas": 2}, "config": FILTERING},
    "generated certificates": {"tls": {"mode": "generated"}, "secondScheduler": {"enabled": True}},
    "mutual TLS": {"tls": {"mode": "generated", "clientAuth": True}, "secondScheduler": {"enabled": True}},
    "own certificates": {
        "tls": {"mode": "secret", "secretName": "mine", "clientSecretName": "theirs", "clientAuth": True},
    },
    "cert-manager": {"tls": {"mode": "certManager", "clientAuth": True}},
    "claims": {
        "demand": {"persistence": {"enabled": True, "storageClass": "fast"}},
        "config": {"demand": {"warmUp": "1h"}},
    },
    "history": {"history": {"enabled": True}, "config": {"history": {"maxAge": "7d"}}},
    "history in claims": {"history": {"enabled": True, "size": "2Ti", "persistence": {"enabled": True}}},
    "history and demand in claims": {
        "history": {"enabled": True, "persistence": {"enabled": True, "storageClass": "large"}},
        "demand": {"persistence": {"enabled": True, "storageClass": "fast"}},
    },
    "history in a claim": {"history": {"enabled": True, "persistence": {"enabled": True, "existingClaim": "kept"}}},
    "every verb": {"extender": {"preempt": True, "bind": True, "httpTimeout": "5s"}, "config": FILTERING},
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
        "networkPolicy": {
            "enabled": True,
            "schedulerBlocks": ["10.1.0.0/28"],
            "monitoringNamespaceLabels": {"kubernetes.io/metadata.name": "monitoring"},
        },
    },
}
Rendered = list[Manifest]


def rendered(values: Values, **options: Any) -> Rendered:
    return objects(template(values, **options))


def only(found: Rendered, kind: str, name: str = "loadaware") -> Manifest:
    (one,) = (each for each in found if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return one


def workload(found: Rendered) -> Manifest:
    (one,) = (each for each in found if each["kind"] in ("Deployment", "StatefulSet") and is_ours(each))
    return one


def is_ours(manifest: Manifest) -> bool:
    return bool(manifest["metadata"]["labels"]["app.kubernetes.io/component"] == "extender")


def container(found: Rendered) -> Manifest:
    (one,) = workload(found)["spec"]["template"]["spec"]["containers"]
    assert isinstance(one, dict)
    return one


def configuration(found: Rendered) -> Config:
    """The rendered configuration, checked as `loadaware check-config` does."""
    config = parse(only(found, "ConfigMap")["data"]["config.yaml"])
    adviser_settings(config)
    check_source(config, "the chart's")
    return config


def allowed(found: Rendered, role: str = "loadaware") -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in only(found, "ClusterRole", role)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


# -- Everything that can be asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_helm_finds_nothing_to_complain_about(values: Values) -> None:
    assert "0 chart(s) failed" in helm("lint", CHART, "--strict", values={"image": {"repository": "x"}, **values})


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_the_rendered_configuration_is_accepted(values: Values) -> None:
    config = configuration(rendered(values))
    assert config.server.port == 8090
    assert config.mode == values.get("mode", "shadow")


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_no_two_objects_are_the_same_and_all_carry_the_releases_name(values: Values) -> None:
    found = rendered(values, release="mine", namespace="place")
    names = [(each["kind"], each["metadata"]["name"]) for each in found]
    assert len(set(names)) == len(names)
    assert all(name.startswith("mine-loadaware") for _, name in names)
    elsewhere = {each["metadata"].get("namespace", "place") for each in found} - {"place", "kube-system"}
    assert not elsewhere


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_no_container_may_do_more_than_run(values: Values) -> None:
    pods = [each["spec"]["template"]["spec"] for each in rendered(values) if "template" in each.get("spec", {})]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in pod["containers"]:
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= each.keys()


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_every_mounted_volume_is_there_and_every_volume_is_mounted(values: Values) -> None:
    for each in rendered(values):
        if each["kind"] in ("Deployment", "StatefulSet"):
            pod = each["spec"]["template"]["spec"]
            claims = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])]
            volumes = [volume["name"] for volume in pod["volumes"]] + claims
            assert sorted(mount["name"] for mount in pod["containers"][0]["volumeMounts"]) == sorted(volumes)


# -- The default ------------------------------------------------------------------------------------------------


def test_by_default_nothing_is_touched_but_ourselves() -> None:
    found = rendered({})
    kinds = sorted(each["kind"] for each in found)
    assert kinds == [
        "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "Service",
        "ServiceAccount",
    ]  # fmt: skip
    assert configuration(found).mode == "shadow"


def test_two_replicas_stand_apart_and_one_may_go() -> None:
    found = rendered({})
    spec = workload(found)["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    spread = spec["template"]["spec"]["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    assert all(each["labelSelector"] == spec["selector"] for each in spread)
    budget = only(found, "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["selector"]) == (1, spec["selector"])


@pytest.mark.parametrize(
    ("server", "seconds"),
    [({}, 35), ({"leaving": "1m30s"}, 5 + 90 + 10 + 15), ({"leaving": "0s", "drain": "500ms"}, 5 + 0 + 1 + 15)],
)
def test_the_kubelet_waits_for_as_long_as_leaving_and_the_last_requests_may_take(server: Values, seconds: int) -> None:
    found = rendered({"config": {"server": server}})
    pod = workload(found)["spec"]["template"]["spec"]
    section = configuration(found).server
    hook = container(found)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] == seconds >= hook + section.leaving + section.drain + ENDING_SECONDS


def test_services_find_the_pods_by_their_labels_and_the_port_by_its_name() -> None:
    found = rendered({"port": 9000, "service": {"clusterIP": "10.0.0.7"}})
    labels = workload(found)["spec"]["template"]["metadata"]["labels"]
    service, headless = only(found, "Service"), only(found, "Service", "loadaware-headless")
    extender = {"name": "extender", "port": 9000, "targetPort": "extender"}
    for each in (service, headless):
        assert each["spec"]["selector"].items() <= labels.items()
        assert extender in each["spec"]["ports"]
    assert service["spec"]["ports"][1:] == [{"name": "people", "port": 8091, "targetPort": "people"}]
    assert headless["spec"]["ports"] == [extender]
    assert (service["spec"]["clusterIP"], headless["spec"]["clusterIP"]) == ("10.0.0.7", "None")
    assert container(found)["ports"] == [
        {"name": "extender", "containerPort": 9000}, {"name": "people", "containerPort": 8091}
    ]  # fmt: skip
    assert (configuration(found).server.port, configuration(found).people.port) == (9000, 8091)


# -- People -----------------------------------------------------------------------------------------------------


def test_people_can_be_switched_off_and_then_nobody_listens_for_them() -> None:
    found = rendered({"people": {"enabled": False}})
    assert [each["name"] for each in container(found)["ports"]] == ["extender"]
    assert [each["name"] for each in only(found, "Service")["spec"]["ports"]] == ["extender"]
    assert not any(features(configuration(found).people).values())


def test_single_parts_are_switched_off_by_the_configuration() -> None:
    people = configuration(rendered({"config": {"people": {"whatIf": False, "streams": 4}}})).people
    assert (people.what_if, people.streams, people.page, people.port) == (False, 4, True, 8091)


def test_a_token_comes_from_a_secret_that_is_mounted() -> None:
    found = rendered({"people": {"tokenSecret": "readers"}})
    (mount,) = (each for each in container(found)["volumeMounts"] if each["name"] == "token")
    assert configuration(found).people.token_file == f"{mount['mountPath']}/token"
    volumes = workload(found)["spec"]["template"]["spec"]["volumes"]
    assert {"name": "token", "secret": {"secretName": "readers"}} in volumes
    (token,) = (each for each in container(found)["env"] if each["name"] == "LOADAWARE_TOKEN")
    assert token["valueFrom"]["secretKeyRef"] == {"name": "readers", "key": "token"}
    assert "token" not in [each["name"] for each in container(rendered({}))["volumeMounts"]]


# -- Rights -----------------------------------------------------------------------------------------------------

WATCHED = {(need.group, need.resource, verb) for need in CLUSTER for verb in need.verbs}
MEASURED = {(need.group, need.resource, verb) for need in METRICS for verb in need.verbs}
EVENTS = {("", "events", "create")}
BINDING = {("", "pods/binding", "create"), ("", "nodes", "get")}


@pytest.mark.parametrize(
    ("values", "rights"),
    [
        ({}, WATCHED | MEASURED | EVENTS),
        ({"config": PROMETHEUS}, WATCHED | EVENTS),
        ({"config": {**PROMETHEUS, "secondSource": {"type": "MetricsServer"}}}, WATCHED | MEASURED | EVENTS),
        ({"rbac": {"events": False}}, WATCHED | MEASURED),
        ({"extender": {"bind": True}}, WATCHED | MEASURED | EVENTS | BINDING),
    ],
)
def test_the_cluster_role_allows_what_is_called_with_these_values_and_nothing_else(
    values: Values, rights: set[tuple[str, str, str]]
) -> None:
    found = rendered(values)
    assert allowed(found) == rights
    binding = only(found, "ClusterRoleBinding")
    assert binding["roleRef"]["name"] == "loadaware"
    assert [subject["name"] for subject in binding["subjects"]] == ["loadaware"]
    assert workload(found)["spec"]["template"]["spec"]["serviceAccountName"] == "loadaware"


def test_an_account_and_rights_of_ones_own_are_used() -> None:
    found = rendered({"serviceAccount": {"create": False, "name": "theirs"}, "rbac": {"create": False}})
    assert {each["kind"] for each in found}.isdisjoint({"ServiceAccount", "ClusterRole", "ClusterRoleBinding"})
    assert workload(found)["spec"]["template"]["spec"]["serviceAccountName"] == "theirs"


# -- The configuration ------------------------------------------------------------------------------------------


def test_what_is_given_reaches_the_configuration_beside_what_the_chart_sets() -> None:
    given = {**PROMETHEUS, **FILTERING, "demand": {"warmUp": "1h"}, "server": {"drain": "5s"}}
    config = configuration(rendered({"config": given}))
    assert isinstance(config.source, PrometheusSource)
    assert config.profiles[0].filters[0].name == "UsageThreshold"
    assert (config.demand.warm_up, config.server.drain) == (3600.0, 5.0)
    assert config.demand.state_file == "/var/lib/loadaware/demand"
    assert isinstance(configuration(rendered({})).source, MetricsServerSource)


def test_the_configuration_is_mounted_as_a_folder_because_a_single_file_would_never_change() -> None:
    found = rendered({})
    (mount,) = (each for each in container(found)["volumeMounts"] if each["name"] == "config")
    assert "subPath" not in mount
    assert {"name": "LOADAWARE_CONFIG", "value": f"{mount['mountPath']}/config.yaml"} in container(found)["env"]


def restart_key(values: Values) -> str:
    annotations = workload(rendered(values))["spec"]["template"]["metadata"]["annotations"]
    return str(annotations["loadaware.io/restart-key"])


@pytest.mark.parametrize("values", [{"mode": "active"}, {"config": FILTERING}, {"config": PROMETHEUS}])
def test_what_is_taken_while_it_runs_restarts_nothing(values: Values) -> None:
    assert restart_key(values) == restart_key({})


@pytest.mark.parametrize(
    "values",
    [
        {"config": {"log": {"format": "json"}}},
        {"config": {"server": {"drain": "5s"}}},
        {"config": {"history": {"maxAge": "7d"}}},
        {"port": 9000},
    ],
)
def test_what_is_read_at_start_only_rolls_the_pods(values: Values) -> None:
    assert restart_key(values) != restart_key({})


def test_learned_demand_is_kept_in_the_pod_or_in_a_claim_of_each_replica() -> None:
    usual = rendered({})
    assert workload(usual)["kind"] == "Deployment"
    assert {"name": "state", "emptyDir": {}} in workload(usual)["spec"]["template"]["spec"]["volumes"]
    claimed = workload(rendered(SETS["claims"]))
    assert claimed["kind"] == "StatefulSet"
    (claim,) = claimed["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"
    assert claimed["spec"]["serviceName"] == "loadaware-headless"


# -- The history ------------------------------------------------------------------------------------------------

HISTORIES = [name for name in SETS if name.startswith("history")]


def history_mount(found: Rendered) -> Manifest:
    (mount,) = (each for each in container(found)["volumeMounts"] if each["name"] == "history")
    assert isinstance(mount, dict)
    return mount


def history_volume(found: Rendered) -> list[Manifest]:
    volumes = workload(found)["spec"]["template"]["spec"]["volumes"]
    return [each for each in volumes if each["name"] == "history"]


def test_no_history_is_written_by_default() -> None:
    assert configuration(rendered({})).history.folder == ""
    assert history_volume(rendered({})) == []


@pytest.mark.parametrize("name", HISTORIES)
def test_the_history_is_written_where_its_volume_is_mounted(name: str) -> None:
    found = rendered(SETS[name])
    mount = history_mount(found)
    assert configuration(found).history.folder == mount["mountPath"]
    assert not mount.get("readOnly")


@pytest.mark.parametrize(
    ("size", "most"),
    [("1Gi", 819 * 2**20), ("10Gi", 8 * 2**30), ("2Ti", 1_677_721 * 2**20)],  # 4 / 5, in whole Mi
)
def test_the_history_leaves_a_fifth_of_its_volume(size: str, most: int) -> None:
    found = rendered({"history": {"enabled": True, "size": size}})
    assert int(configuration(found).history.max_size) == most
    assert history_volume(found) == [{"name": "history", "emptyDir": {"sizeLimit": size}}]


def test_other_settings_of_the_history_are_the_configurations() -> None:
    assert configuration(rendered(SETS["history"])).history.max_age == Duration(7 * 86400.0)


def test_without_a_claim_the_history_stays_in_the_pod_of_a_deployment() -> None:
    assert workload(rendered(SETS["history"]))["kind"] == "Deployment"


def test_each_replica_has_a_claim_for_its_history_beside_that_for_its_demand() -> None:
    found = workload(rendered(SETS["history and demand in claims"]))
    assert found["kind"] == "StatefulSet"
    claims = {each["metadata"]["name"]: each["spec"] for each in found["spec"]["volumeClaimTemplates"]}
    told = {name: (spec["storageClassName"], spec["resources"]["requests"]["storage"]) for name, spec in claims.items()}
    assert told == {"state": ("fast", "256Mi"), "history": ("large", "10Gi")}
    (alone,) = workload(rendered(SETS["history in claims"]))["spec"]["volumeClaimTemplates"]
    assert alone["metadata"]["name"] == "history"
    assert "storageClassName" not in alone["spec"]


def test_in_one_claim_for_all_each_replica_keeps_a_folder_of_its_own_over_restarts() -> None:
    found = rendered(SETS["history in a claim"])
    assert workload(found)["kind"] == "StatefulSet"  # whose pods keep their names
    assert "volumeClaimTemplates" not in workload(found)["spec"]
    assert history_volume(found) == [{"name": "history", "persistentVolumeClaim": {"claimName": "kept"}}]
    assert history_mount(found)["subPathExpr"] == "$(POD_NAME)"
    (name,) = (each for each in container(found)["env"] if each["name"] == "POD_NAME")
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_a_new_replica_asks_those_behind_the_headless_service() -> None:
    found = rendered({})
    section = configuration(found).demand.hand_over
    assert section is not None
    url = urlsplit(section.url)
    assert (url.hostname, url.port) == (only(found, "Service", "loadaware-headless")["metadata"]["name"], 8090)
    bare = configuration(rendered({"demand": {"handOver": False, "stateFile": False}})).demand
    assert (bare.hand_over, bare.state_file) == (None, "")


# -- Certificates -----------------------------------------------------------------------------------------------


def certificate(secret: Manifest, key: str = "tls.crt") -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(secret["data"][key]))


def test_generated_certificates_are_of_one_authority_and_fit_every_name_that_is_asked() -> None:
    found = rendered(SETS["mutual TLS"])
    server, client = only(found, "Secret", "loadaware-tls"), only(found, "Secret", "loadaware-client-tls")
    for secret in (server, client):
        certificate(secret).verify_directly_issued_by(certificate(server, "ca.crt"))
    names = certificate(server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    config = configuration(found)
    assert config.demand.hand_over is not None
    asked = {urlsplit(config.demand.hand_over.url).hostname, urlsplit(second(found)["urlPrefix"]).hostname}
    assert asked <= set(names.get_values_for_type(x509.DNSName))


def test_cert_manager_is_asked_for_the_same_names_from_its_own_authority_or_yours() -> None:
    found = rendered(SETS["cert-manager"])
    assert only(found, "Certificate")["spec"]["issuerRef"] == {"name": "loadaware-authority", "kind": "Issuer"}
    assert "loadaware-headless" in only(found, "Certificate")["spec"]["dnsNames"]
    issuer = {"name": "company", "kind": "ClusterIssuer"}
    theirs = rendered({"tls": {"mode": "certManager", "certManager": {"issuer": issuer}}})
    assert only(theirs, "Certificate")["spec"]["issuerRef"] == issuer
    assert not [each for each in theirs if each["kind"] == "Issuer"]


@pytest.mark.parametrize(
    ("values", "probe"),
    [
        ({}, {"httpGet": {"path": "/readyz", "port": "extender", "scheme": "HTTP"}}),
        ({"tls": {"mode": "generated"}}, {"httpGet": {"path": "/readyz", "port": "extender", "scheme": "HTTPS"}}),
        (SETS["mutual TLS"], {"tcpSocket": {"port": "extender"}}),
    ],
)
def test_a_probe_asks_as_the_server_answers_and_needs_no_certificate(values: Values, probe: Manifest) -> None:
    assert probe.items() <= container(rendered(values))["readinessProbe"].items()


@pytest.mark.parametrize("name", ["generated certificates", "mutual TLS", "own certificates", "cert-manager"])
def test_the_configuration_names_files_of_the_mounted_secret(name: str) -> None:
    found = rendered(SETS[name])
    tls = configuration(found).server.tls
    assert tls is not None
    (mount,) = (each for each in container(found)["volumeMounts"] if each["name"] == "tls")
    assert {tls.cert_file, tls.key_file} == {f"{mount['mountPath']}/tls.crt", f"{mount['mountPath']}/tls.key"}
    assert bool(tls.client_ca_file) == ("clientAuth" in SETS[name]["tls"])


# -- kube-scheduler ---------------------------------------------------------------------------------------------


def second(found: Rendered) -> Manifest:
    """The extender of the second scheduler's configuration."""
    config = yaml.safe_load(only(found, "ConfigMap", "loadaware-scheduler")["data"]["config.yaml"])
    (extender,) = config["extenders"]
    assert isinstance(extender, dict)
    return extender


@pytest.mark.parametrize(
    ("values", "files", "verbs"),
    [
        ({}, {}, {}),
        ({"config": FILTERING}, {}, {}),
        ({"extender": {"preempt": True, "bind": True}}, {}, {"preempt": True, "bind": True}),
        ({"tls": {"mode": "generated"}}, {"ca_file": "ca.crt"}, {}),
        (SETS["mutual TLS"], {"ca_file": "ca.crt", "cert_file": "tls.crt", "key_file": "tls.key"}, {}),
    ],
)
def test_the_second_scheduler_has_the_extender_that_schedule_config_prints(
    values: Values, files: dict[str, str], verbs: dict[str, bool]
) -> None:
    found = rendered({**values, "secondScheduler": {"enabled": True}})
    url = f"{'https' if files else 'http'}://loadaware.kube-system.svc:8090"
    paths = {option: f"/etc/loadaware-tls/{file}" for option, file in files.items()}
    printed = yaml.safe_load(schedule_configuration(configuration(found), url=url, **paths, **verbs))  # type: ignore[arg-type]
    assert [second(found)] == printed["extenders"]


def test_the_second_scheduler_leaves_the_default_one_alone() -> None:
    found = rendered({"secondScheduler": {"enabled": True, "schedulerNames": ["calm", "batch"]}})
    config = yaml.safe_load(only(found, "ConfigMap", "loadaware-scheduler")["data"]["config.yaml"])
    assert [profile["schedulerName"] for profile in config["profiles"]] == ["calm", "batch"]
    lease = config["leaderElection"]["resourceName"]
    assert lease != "kube-scheduler"
    rules = only(found, "Role", "loadaware-scheduler")["rules"]
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [[lease]]
    (scheduler,) = only(found, "Deployment", "loadaware-scheduler")["spec"]["template"]["spec"]["containers"]
    assert scheduler["image"] == "registry.k8s.io/kube-scheduler:v1.34.0"


def test_the_second_scheduler_sees_no_key_of_ours() -> None:
    pod = only(rendered(SETS["generated certificates"]), "Deployment", "loadaware-scheduler")["spec"]["template"][
        "spec"
    ]
    (volume,) = (each for each in pod["volumes"] if each["name"] == "tls")
    assert [item["key"] for item in volume["secret"]["items"]] == ["ca.crt"]


# -- Around it --------------------------------------------------------------------------------------------------


def test_the_network_policy_lets_in_address_blocks_our_replicas_and_the_named_scrapers_only() -> None:
    found = rendered(SETS["monitoring"])
    spec = only(found, "NetworkPolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress"]
    extender, people = spec["ingress"]
    assert extender["ports"] == [{"port": "extender"}]
    assert extender["from"] == [
        {"ipBlock": {"cidr": "10.1.0.0/28"}},
        {"podSelector": workload(found)["spec"]["selector"]},
    ]
    assert people["ports"] == [{"port": "people"}]
    assert people["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]


def test_without_anybody_named_the_network_policy_lets_nobody_to_the_people_s_port() -> None:
    closed = {"networkPolicy": {"enabled": True, "schedulerBlocks": ["10.1.0.0/28"]}}
    (extender,) = only(rendered(closed), "NetworkPolicy")["spec"]["ingress"]
    assert extender["ports"] == [{"port": "extender"}]
    closed["networkPolicy"]["peopleBlocks"] = ["10.2.0.0/28"]
    _, people = only(rendered(closed), "NetworkPolicy")["spec"]["ingress"]
    assert people == {"ports": [{"port": "people"}], "from": [{"ipBlock": {"cidr": "10.2.0.0/28"}}]}


def test_metrics_are_scraped_from_the_people_s_port() -> None:
    (endpoint,) = only(rendered(SETS["monitoring"]), "ServiceMonitor")["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("people", "/metrics")


def test_only_one_of_the_two_services_is_scraped() -> None:
    found = rendered(SETS["monitoring"])
    selector = only(found, "ServiceMonitor")["spec"]["selector"]
    (absent,) = (each["key"] for each in selector["matchExpressions"])
    services = [each["metadata"] for each in found if each["kind"] == "Service"]
    wanted = [each["name"] for each in services if selector["matchLabels"].items() <= each["labels"].items()]
    assert wanted == ["loadaware", "loadaware-headless"]
    assert [each["name"] for each in services if absent in each["labels"]] == ["loadaware-headless"]


def test_every_rule_file_and_every_dashboard_is_rendered_as_it_is() -> None:
    found = rendered(SETS["monitoring"])
    rules = {
        f"loadaware-{path.stem}": yaml.safe_load(path.read_text()) for path in (CHART / "files/prometheus").glob("*")
    }
    boards = {path.name: path.read_text() for path in (CHART / "files/grafana").glob("*")}
    assert {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "PrometheusRule"} == rules
    maps = [each["data"] for each in found if each["metadata"]["name"].startswith("loadaware-dashboard")]
    assert {name: text.strip() for data in maps for name, text in data.items()} == {
        name: text.strip() for name, text in boards.items()
    }


# -- Wrong values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"image": {"repository": ""}}, "image.repository is asked for"),
        ({"mode": "on"}, "at '/mode': value must be one of 'shadow', 'active'"),
        ({"replica": 3}, "at '': additional properties 'replica' not allowed"),
        ({"config": None}, "at '': missing property 'config'"),
        ({"port": "8090"}, "at '/port': got string, want integer"),
        ({"people": {"port": 8090}}, "people.port must be another than port"),
        ({"people": {"on": True}}, "at '/people': additional properties 'on' not allowed"),
        ({"config": {"people": {"port": 9}}}, "at '/config/people': additional properties 'port' not allowed"),
        ({"people": {"enabled": False}, "serviceMonitor": {"enabled": True}}, "asks for people.enabled"),
        ({"tls": {"mode": "yes"}}, "at '/tls/mode'"),
        ({"tls": {"mode": "secret"}}, "tls.secretName is asked for"),
        ({"history": {"size": "500Mi"}}, "at '/history/size': '500Mi' does not match pattern"),
        ({"history": {"size": "0Gi"}}, "at '/history/size': '0Gi' does not match pattern"),
        ({"history": {"folder": "/x"}}, "at '/history': additional properties 'folder' not allowed"),
        ({"config": {"history": {"folder": "/x"}}}, "at '/config/history': additional properties 'folder' not allowed"),
        (
            {"history": {"enabled": True, "persistence": {"existingClaim": "kept"}}},
            "history.persistence.existingClaim asks for history.persistence.enabled",
        ),
        ({"networkPolicy": {"enabled": True}}, "networkPolicy.schedulerBlocks is asked for"),
        ({"networkPolicy": {"schedulerBlocks": ["10.0.0.1"]}}, "at '/networkPolicy/schedulerBlocks/0'"),
        ({"secondScheduler": {"schedulerNames": ["default-scheduler"]}}, "at '/secondScheduler/schedulerNames/0'"),
        ({"config": {"mode": "active"}}, "at '/config': additional properties 'mode' not allowed"),
        ({"config": {"interval": 15}}, "at '/config/interval': got number, want string"),
        ({"config": {"interval": "often"}}, "at '/config/interval'"),
        ({"config": {"server": {"port": 9000}}}, "at '/config/server': additional properties 'port' not allowed"),
        ({"config": {"source": {"type": "Prometheus"}}}, "at '/config/source': missing property 'url'"),
        ({"config": {"profiles": [{"scorers": [{"nam": "x"}]}]}}, "at '/config/profiles/0/scorers/0'"),
        ({"config": {"profiles": []}}, "at '/config/profiles': minItems: got 0, want 1"),
        ({"config": {"profiles": [{"maxScore": 0}]}}, "at '/config/profiles/0/maxScore': minimum: got 0, want 1"),
        ({"config": {"profiles": [{"maxScore": 1001}]}}, "at '/config/profiles/0/maxScore': maximum: got 1,001"),
        ({"config": {"profiles": [{"leastPassing": 0}]}}, "at '/config/profiles/0/leastPassing': minimum: got 0"),
        ({"config": {"profiles": [{"schedulerName": "a/b"}]}}, "at '/config/profiles/0/schedulerName': 'a/b' does not"),
        (
            {"config": {"profiles": [{"scorers": [{"name": "x", "weight": -1}]}]}},
            "at '/config/profiles/0/scorers/0/weight': exclusiveMinimum: got -1",
        ),
        ({"config": {"server": {"connections": 0}}}, "at '/config/server/connections': minimum: got 0, want 1"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_with_their_path(values: Values, said: str) -> None:
    with pytest.raises(HelmError) as refusal:
        template(values)
    assert said in str(refusal.value)


# -- The manifests ----------------------------------------------------------------------------------------------


def test_the_manifests_in_the_tree_are_what_the_chart_renders() -> None:
    in_the_tree = {path: path.read_text() for path in make.MANIFESTS.iterdir()}
    assert in_the_tree == make.manifests(), "run: make chart"
