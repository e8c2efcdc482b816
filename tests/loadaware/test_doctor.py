"""Each kind of trouble yields its line, its verdict and its fix; one trouble never hides another."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from collectors.kubernetes_api import Credentials
from loadaware.config import Config, TLSSection
from loadaware.doctor import Finding, ServerFiles, examine, print_findings
from loadaware.doctor.access import BINDING, CLUSTER, EVENTS, METRICS, REVIEW_PATH, TO_BIND, Need
from loadaware.doctor.api_server import NODES_PATH, VERSION_PATH, WHO_PATH
from loadaware.doctor.bounded import Limits, Patience
from loadaware.doctor.clock import check_clock, judge_skew
from loadaware.doctor.finding import ok, some
from loadaware.doctor.metrics_api import DISCOVERY_PATH, REGISTRATION_PATH
from loadaware.doctor.running_server import check_server
from tests.collectors.fake_api_server import FakeApiServer, status_of, write_kubeconfig
from tests.collectors.fake_prometheus import FakePrometheus, Reply, complaint, success
from tests.loadaware.running_server import RunningServer, frozen_service
from tests.parts.certificates import Authority
from tests.parts.processes import PATIENCE_SECONDS

NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"
POD_METRICS = "/apis/metrics.k8s.io/v1beta1/pods"
SECRET = "s3cr3t-t0k3n"
LIMITS = Limits(whole_seconds=4 * PATIENCE_SECONDS, check_seconds=PATIENCE_SECONDS, call_seconds=PATIENCE_SECONDS)

Answers = Mapping[str, Any]


class Findings:
    """What an examination found, by what was looked at."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.all = list(findings)

    def of(self, what: str) -> list[Finding]:
        return [finding for finding in self.all if finding.what == what]

    def only(self, what: str) -> Finding:
        found = self.of(what)
        assert len(found) == 1, f"{what}: {found} among {[finding.what for finding in self.all]}"
        return found[0]

    def verdicts(self) -> set[str]:
        return {finding.verdict for finding in self.all}


# -- A cluster as told ---------------------------------------------------------------------------------------------


def rfc3339(age_seconds: float) -> str:
    return datetime.fromtimestamp(time.time() - age_seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def node(name: str, *addresses: str, ready: str = "True") -> dict[str, Any]:
    status = {
        "capacity": {"cpu": "4", "memory": "16Gi"},
        "addresses": [{"type": "InternalIP", "address": address} for address in addresses],
        "conditions": [{"type": "Ready", "status": ready}],
    }
    return {"metadata": {"name": name}, "status": status}


def node_list(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "NodeList", "items": list(nodes)}


def node_metrics(*names: str, age: float = 10.0) -> dict[str, Any]:
    usage = {"cpu": "250m", "memory": "1Gi"}
    items = [{"metadata": {"name": name}, "timestamp": rfc3339(age), "window": "15s", "usage": usage} for name in names]
    return {"kind": "NodeMetricsList", "items": items}


def reviews(denied: set[tuple[str, str, str]], needs: Sequence[Need] = CLUSTER + METRICS) -> list[dict[str, Any]]:
    """Answers in the order in which access is asked about."""
    asked = [(need.group, need.resource, verb) for need in needs for verb in need.verbs]
    return [{"status": {"allowed": attributes not in denied}} for attributes in asked]


HEALTHY: Answers = {
    VERSION_PATH: {"gitVersion": "v1.36.3"},
    WHO_PATH: {"status": {"userInfo": {"username": "system:serviceaccount:kube-system:loadaware"}}},
    REVIEW_PATH: {"status": {"allowed": True}},
    NODES_PATH: node_list(node("node-1", "10.0.0.1"), node("node-2", "10.0.0.2")),
    DISCOVERY_PATH: {"kind": "APIResourceList"},
    POD_METRICS: {"kind": "PodMetricsList", "items": []},
}


class Refusal:
    """An answer with another status than 200."""

    def __init__(self, status: int, message: str = "refused") -> None:
        self.status = status
        self.body = status_of(status, message)


@pytest.fixture
def cluster() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


def tell(server: FakeApiServer, answers: Answers) -> None:
    """Script a server: lists are answers one after another."""
    for path, body in answers.items():
        for each in body if isinstance(body, list) else [body]:
            if isinstance(each, Refusal):
                server.answer(path, each.body, each.status)
            else:
                server.answer(path, each)


def diagnosis(
    server: FakeApiServer,
    folder: Path,
    answers: Answers | None = None,
    config: Mapping[str, Any] | None = None,
    running: str | None = None,
) -> Findings:
    """The examination of a cluster that is healthy but for these answers."""
    tell(server, {**HEALTHY, NODE_METRICS: node_metrics("node-1", "node-2"), **(answers or {})})
    file = None
    if config is not None:
        file = str(folder / "config.yaml")
        Path(file).write_text(yaml.safe_dump(dict(config)))
    return Findings(examine(file, server.kubeconfig(folder, token=SECRET), None, running, LIMITS))


# -- A healthy cluster ---------------------------------------------------------------------------------------------


def test_a_healthy_cluster_is_ok_in_every_line(cluster: FakeApiServer, tmp_path: Path) -> None:
    found = diagnosis(cluster, tmp_path)
    assert found.verdicts() == {"ok"}, [finding for finding in found.all if finding.verdict != "ok"]
    version = found.only("API server").detail
    assert "v1.36.3" in version
    assert "system:serviceaccount:kube-system:loadaware" in version
    assert found.only("nodes").detail == "2"
    assert found.only("metrics-server coverage").detail == "2 of 2 nodes measured"
    assert "each over 15s" in found.only("metrics-server freshness").detail
    assert found.only("clock").detail == "agrees with the API server's"


def test_every_needed_verb_is_asked_about(cluster: FakeApiServer, tmp_path: Path) -> None:
    diagnosis(cluster, tmp_path)
    asked = [json.loads(review.body)["spec"]["resourceAttributes"] for review in cluster.asked(REVIEW_PATH)]
    verbs = {(each["group"], each["resource"], each["verb"]) for each in asked if "subresource" not in each}
    watched = {("", kind, verb) for kind in ("nodes", "pods", "namespaces") for verb in ("list", "watch")}
    read = {("metrics.k8s.io", kind, "list") for kind in ("nodes", "pods")}
    assert verbs == watched | read | {("", "nodes", "get")}


def test_what_kube_scheduler_does_gets_advice_and_no_verdict(cluster: FakeApiServer, tmp_path: Path) -> None:
    advice = diagnosis(cluster, tmp_path).only("kube-scheduler")
    assert advice.verdict == "ok"
    assert "cannot be seen from here" in advice.detail
    assert "schedule-config" in advice.detail


# -- Configuration -------------------------------------------------------------------------------------------------


def test_a_wrong_configuration_is_a_failure_that_does_not_stop_the_rest(cluster: FakeApiServer, tmp_path: Path) -> None:
    found = diagnosis(cluster, tmp_path, config={"intervall": "15s"})
    wrong = found.only("configuration")
    assert wrong.verdict == "fail"
    assert "did you mean 'interval'?" in wrong.detail
    assert "check-config" in wrong.fix
    assert found.only("API server").verdict == "ok"
    assert "the configuration is wrong" in found.only("metric source").detail


def test_an_address_without_a_scheme_is_found_in_the_configuration(cluster: FakeApiServer, tmp_path: Path) -> None:
    config = {"source": {"type": "Prometheus", "url": "prometheus:9090"}}
    wrong = diagnosis(cluster, tmp_path, config=config).only("configuration")
    assert wrong.verdict == "fail"
    assert "source" in wrong.detail
    assert "http://prometheus.monitoring:9090" in wrong.detail


def test_a_configuration_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    kubeconfig = str(write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1"))
    found = Findings(examine(str(tmp_path / "nowhere.yaml"), kubeconfig, None, None, LIMITS))
    assert "cannot be read" in found.only("configuration").detail


# -- API server ----------------------------------------------------------------------------------------------------


def test_without_any_kubeconfig_the_fix_says_where_to_name_one(tmp_path: Path) -> None:
    found = Findings(examine(None, str(tmp_path / "nowhere"), None, None, LIMITS))
    lost = found.only("API server")
    assert lost.verdict == "fail"
    assert "there is no kubeconfig" in lost.detail
    assert "--kubeconfig" in lost.fix
    assert "cannot be asked" in found.only("access, clock, nodes").detail
    assert "cannot be asked" in found.only("metrics.k8s.io").detail


def test_an_api_server_that_is_not_there_fails_and_what_rests_on_it_is_skipped_in_words(tmp_path: Path) -> None:
    kubeconfig = str(write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1", token=SECRET))
    found = Findings(examine(None, kubeconfig, None, None, LIMITS))
    assert "cannot be reached" in found.only("API server").detail
    assert found.of("access to nodes") == []
    assert found.only("metrics.k8s.io").verdict == "warn"


@pytest.mark.parametrize(
    ("status", "verdict", "fix"), [(401, "fail", "log in again"), (403, "warn", "system:public-info-viewer")]
)
def test_credentials_that_are_not_accepted_are_named(
    cluster: FakeApiServer, tmp_path: Path, status: int, verdict: str, fix: str
) -> None:
    refused = diagnosis(cluster, tmp_path, {VERSION_PATH: Refusal(status)}).only("API server")
    assert refused.verdict == verdict
    assert fix in refused.fix


def test_something_that_is_no_api_server_is_told_from_one(cluster: FakeApiServer, tmp_path: Path) -> None:
    stranger = diagnosis(cluster, tmp_path, {VERSION_PATH: b"<html>welcome</html>"}).only("API server")
    assert stranger.verdict == "fail"
    assert "not as an API server does" in stranger.detail


def test_an_api_server_too_old_to_say_who_we_are_is_fine(cluster: FakeApiServer, tmp_path: Path) -> None:
    told = diagnosis(cluster, tmp_path, {WHO_PATH: Refusal(404)}).only("API server")
    assert told.verdict == "ok"
    assert "we are" not in told.detail


# -- Access --------------------------------------------------------------------------------------------------------


def rule_in(fix: str) -> Any:
    """The rule that a fix gives, as YAML reads it."""
    return yaml.safe_load(fix.partition(": ")[2])


def test_a_missing_verb_on_nodes_fails_with_the_very_rule_that_is_missing(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    found = diagnosis(cluster, tmp_path, {REVIEW_PATH: reviews({("", "nodes", "watch")})})
    missing = found.only("access to nodes")
    assert missing.verdict == "fail"
    assert "watch not allowed" in missing.detail
    assert rule_in(missing.fix) == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["watch"]}]
    assert found.only("access to pods").verdict == "ok"


def test_missing_pods_warn_and_say_what_is_lost(cluster: FakeApiServer, tmp_path: Path) -> None:
    denied = {("", "pods", verb) for verb in ("list", "watch")}
    missing = diagnosis(cluster, tmp_path, {REVIEW_PATH: reviews(denied)}).only("access to pods")
    assert missing.verdict == "warn"
    assert "not yet measured" in missing.detail
    assert rule_in(missing.fix) == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]


def test_missing_metrics_fail_with_their_own_api_group(cluster: FakeApiServer, tmp_path: Path) -> None:
    denied = {("metrics.k8s.io", "nodes", "list")}
    missing = diagnosis(cluster, tmp_path, {REVIEW_PATH: reviews(denied)}).only("access to nodes.metrics.k8s.io")
    assert missing.verdict == "fail"
    assert rule_in(missing.fix) == [{"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["list"]}]


def test_who_may_not_bind_is_told_so_and_needs_no_fix(cluster: FakeApiServer, tmp_path: Path) -> None:
    answers = reviews({("", "pods/binding", "create")}, (*CLUSTER, *METRICS, BINDING))
    told = diagnosis(cluster, tmp_path, {REVIEW_PATH: answers}).only("access to pods/binding")
    assert told.verdict == "ok"
    assert "as long as kube-scheduler binds by itself" in told.detail
    last = json.loads(cluster.asked(REVIEW_PATH)[-1].body)
    binding = {"group": "", "resource": "pods", "subresource": "binding", "verb": "create"}
    assert last["spec"]["resourceAttributes"] == binding


def test_who_may_bind_must_be_able_to_look_at_the_node(cluster: FakeApiServer, tmp_path: Path) -> None:
    answers = reviews({("", "nodes", "get")}, (*CLUSTER, *METRICS, BINDING, TO_BIND))
    missing = diagnosis(cluster, tmp_path, {REVIEW_PATH: answers}).only("access to pods/binding")
    assert missing.verdict == "warn"
    assert rule_in(missing.fix) == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]


def test_events_that_are_wanted_need_their_right(cluster: FakeApiServer, tmp_path: Path) -> None:
    answers = reviews({("", "events", "create")}, (*CLUSTER, *METRICS, EVENTS))
    found = diagnosis(cluster, tmp_path, {REVIEW_PATH: answers}, config={"decisions": {"events": True}})
    missing = found.only("access to events")
    assert missing.verdict == "warn"
    assert "not told on pods" in missing.detail


def test_access_that_cannot_be_asked_about_is_said_once(cluster: FakeApiServer, tmp_path: Path) -> None:
    unasked = diagnosis(cluster, tmp_path, {REVIEW_PATH: Refusal(404)}).only("access")
    assert unasked.verdict == "warn"
    assert "kubectl auth can-i" in unasked.fix


# -- Clock ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("skew", "verdict", "words"),
    [
        (0.0, "ok", "agrees"),
        (-4.0, "ok", "agrees"),
        (20.0, "warn", "20 s ahead of"),
        (-20.0, "warn", "20 s behind"),
        (300.0, "fail", "300 s ahead of"),
        (-300.0, "fail", "from the future"),
    ],
)
def test_clocks_that_differ_are_judged_by_what_it_does_to_measurements(skew: float, verdict: str, words: str) -> None:
    finding = judge_skew(skew)
    assert finding.verdict == verdict
    assert words in finding.detail
    assert bool(finding.fix) == (verdict != "ok")


def test_the_api_servers_own_time_is_compared_without_credentials(cluster: FakeApiServer, tmp_path: Path) -> None:
    credentials = Credentials(cluster.kubeconfig(tmp_path, token=SECRET), environment={})
    (finding,) = check_clock(credentials, 3.0, lambda: time.time() + 600)
    assert finding.verdict == "fail"
    assert "ahead of" in finding.detail
    assert "authorization" not in cluster.asked(VERSION_PATH)[0].headers


def test_a_time_that_cannot_be_had_is_not_judged(tmp_path: Path) -> None:
    credentials = Credentials(str(write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")), environment={})
    (finding,) = check_clock(credentials, 1.0)
    assert finding.verdict == "ok"
    assert "not compared" in finding.detail


# -- Nodes ---------------------------------------------------------------------------------------------------------


def test_nodes_that_are_not_ready_are_named(cluster: FakeApiServer, tmp_path: Path) -> None:
    nodes = node_list(node("node-1"), node("node-2", ready="False"))
    assert "not ready: node-2" in diagnosis(cluster, tmp_path, {NODES_PATH: nodes}).only("nodes").detail


def test_a_cluster_without_nodes_is_probably_the_wrong_one(cluster: FakeApiServer, tmp_path: Path) -> None:
    empty = diagnosis(cluster, tmp_path, {NODES_PATH: node_list()}).only("nodes")
    assert empty.verdict == "warn"
    assert "--context" in empty.fix


@pytest.mark.parametrize("answer", [Refusal(403), b"no list"])
def test_nodes_that_cannot_be_listed_fail(cluster: FakeApiServer, tmp_path: Path, answer: Any) -> None:
    found = diagnosis(cluster, tmp_path, {NODES_PATH: answer})
    assert found.only("nodes").verdict == "fail"
    assert "not known" in found.only("metrics-server coverage").detail


def test_a_node_with_an_amount_that_is_no_quantity_is_named(cluster: FakeApiServer, tmp_path: Path) -> None:
    strange = node("node-3") | {"status": {"capacity": {"cpu": "many"}}}
    counted, misunderstood = diagnosis(cluster, tmp_path, {NODES_PATH: node_list(node("node-1"), strange)}).of("nodes")
    assert counted.detail == "1"
    assert "node-3" in misunderstood.detail


# -- metrics.k8s.io ------------------------------------------------------------------------------------------------


def test_without_metrics_server_the_fix_is_to_install_it(cluster: FakeApiServer, tmp_path: Path) -> None:
    missing = diagnosis(cluster, tmp_path, {DISCOVERY_PATH: Refusal(404)}).only("metrics.k8s.io")
    assert missing.verdict == "fail"
    assert "install metrics-server" in missing.fix


def test_a_registered_metrics_server_that_does_not_answer_is_told_with_the_api_servers_reason(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    condition = {"type": "Available", "status": "False", "message": "no endpoints available"}
    answers = {DISCOVERY_PATH: Refusal(503), REGISTRATION_PATH: {"status": {"conditions": [condition]}}}
    dead = diagnosis(cluster, tmp_path, answers).only("metrics.k8s.io")
    assert dead.verdict == "fail"
    assert "no endpoints available" in dead.detail
    assert "kubectl get apiservice" in dead.fix


def test_metrics_are_read_even_where_discovery_is_denied(cluster: FakeApiServer, tmp_path: Path) -> None:
    assert diagnosis(cluster, tmp_path, {DISCOVERY_PATH: Refusal(403)}).only("metrics.k8s.io").verdict == "ok"


def test_why_metrics_server_is_not_available_may_be_none_of_our_business(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    dead = diagnosis(cluster, tmp_path, {DISCOVERY_PATH: Refusal(503, "unavailable")}).only("metrics.k8s.io")
    assert dead.detail.endswith("answered 503: unavailable")


@pytest.mark.parametrize(
    ("answer", "words"), [(node_metrics(), "still be starting"), (Refusal(403), "allow get and list"), (b"-", "NodeM")]
)
def test_metrics_that_cannot_be_read_fail(cluster: FakeApiServer, tmp_path: Path, answer: Any, words: str) -> None:
    unreadable = diagnosis(cluster, tmp_path, {NODE_METRICS: answer}).only("metrics.k8s.io")
    assert unreadable.verdict == "fail"
    assert words in unreadable.detail
    assert "metrics-server's log" in unreadable.fix


@pytest.mark.parametrize(("age", "verdict"), [(30.0, "ok"), (400.0, "warn"), (4000.0, "fail"), (-300.0, "fail")])
def test_old_measurements_are_judged_by_the_configurations_staleness(
    cluster: FakeApiServer, tmp_path: Path, age: float, verdict: str
) -> None:
    found = diagnosis(cluster, tmp_path, {NODE_METRICS: node_metrics("node-1", "node-2", age=age)})
    freshness = found.only("metrics-server freshness")
    assert freshness.verdict == verdict
    assert bool(freshness.fix) == (verdict != "ok")


def test_measurements_without_a_time_are_doubted(cluster: FakeApiServer, tmp_path: Path) -> None:
    untimed = node_metrics("node-1", "node-2")
    for item in untimed["items"]:
        del item["timestamp"]
    assert diagnosis(cluster, tmp_path, {NODE_METRICS: untimed}).only("metrics-server freshness").verdict == "warn"


def test_nodes_that_are_not_reported_are_counted_and_named(cluster: FakeApiServer, tmp_path: Path) -> None:
    names = [f"node-{number}" for number in range(1, 7)]
    answers = {NODES_PATH: node_list(*map(node, names)), NODE_METRICS: node_metrics("node-1")}
    coverage = diagnosis(cluster, tmp_path, answers).only("metrics-server coverage")
    assert coverage.verdict == "warn"
    assert coverage.detail == "1 of 6 nodes measured; missing: node-2, node-3, node-4 and 2 more"
    assert "kubelet" in coverage.fix


def test_metrics_of_another_cluster_cover_no_node_of_this_one(cluster: FakeApiServer, tmp_path: Path) -> None:
    found = diagnosis(cluster, tmp_path, {NODE_METRICS: node_metrics("elsewhere")})
    assert found.only("metrics-server coverage").verdict == "fail"


def test_pod_metrics_that_are_denied_are_a_warning(cluster: FakeApiServer, tmp_path: Path) -> None:
    (note,) = diagnosis(cluster, tmp_path, {POD_METRICS: Refusal(403)}).of("metrics-server")
    assert note.verdict == "warn"
    assert "no pod metrics" in note.detail


# -- Prometheus ----------------------------------------------------------------------------------------------------

CPU_QUERY = "node_cpu_seconds_total"
MEMORY_QUERY = "node_memory_MemAvailable_bytes"


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with FakePrometheus() as fake:
        fake.gives("vector(1)", ({}, 1.0))
        fake.gives("timestamp(up)", ({}, lambda at: at - 4.0))
        for query in (CPU_QUERY, MEMORY_QUERY):
            fake.gives(query, ({"instance": "10.0.0.1:9100"}, 1.0), ({"instance": "10.0.0.2:9100"}, 2.0))
        for query in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes"):
            fake.gives(f"{query}{{container", ({"namespace": "shop", "pod": "web-1"}, 0.5))
        yield fake


def source(fake: FakePrometheus, **settings: Any) -> dict[str, Any]:
    return {"source": {"type": "Prometheus", "url": fake.url, **settings}}


def test_a_prometheus_that_matches_every_node_is_ok_in_every_line(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    found = diagnosis(cluster, tmp_path, config=source(prometheus))
    assert found.verdicts() == {"ok"}, [finding for finding in found.all if finding.verdict != "ok"]
    assert found.only("node cpu query").detail == "2 series match 2 of 2 nodes by label instance"
    assert found.only("pod memory query").detail == "1 series of 1 pods"
    assert "4s old" in found.only("Prometheus freshness").detail
    assert found.of("metrics.k8s.io") == []
    assert found.of("access to nodes.metrics.k8s.io") == []


def test_a_prometheus_that_is_not_there_fails_and_its_queries_are_left_out(
    cluster: FakeApiServer, tmp_path: Path
) -> None:
    config = {"source": {"type": "Prometheus", "url": "http://127.0.0.1:1"}}
    found = diagnosis(cluster, tmp_path, config=config)
    assert found.only("Prometheus").verdict == "fail"
    assert "source.url" in found.only("Prometheus").fix
    assert found.of("node cpu query") == []


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "bearerTokenFile"), (403, "source.headers"), (404, "/api/v1/query"), (500, "source.url")]
)
def test_a_prometheus_that_refuses_is_told_with_what_to_set(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path, status: int, fix: str
) -> None:
    prometheus.serves("/api/v1/query", Reply(status, "no"))
    refused = diagnosis(cluster, tmp_path, config=source(prometheus)).only("Prometheus")
    assert refused.verdict == "fail"
    assert fix in refused.fix


def test_a_query_that_fails_does_not_hide_the_others(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives("broken(", reply=complaint(400, "parse error"))
    found = diagnosis(cluster, tmp_path, config=source(prometheus, nodeQueries={"cpu": "broken(", "disk": "broken("}))
    assert found.only("node cpu query").verdict == "fail"
    assert "parse error" in found.only("node cpu query").detail
    assert "source.nodeQueries.cpu" in found.only("node cpu query").fix
    assert found.only("node disk query").verdict == "warn"
    assert found.only("node memory query").verdict == "ok"


def test_a_prometheus_without_exporters_is_told_what_to_scrape(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives("node_").gives("container_").gives("pod_")
    found = diagnosis(cluster, tmp_path, config=source(prometheus))
    for what, verdict in (("node cpu query", "fail"), ("node memory query", "fail"), ("pod cpu query", "warn")):
        assert found.only(what).verdict == verdict
        assert "gives no series" in found.only(what).detail
        assert "node-exporter" in found.only(what).fix


def test_nodes_without_a_series_are_named(cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path) -> None:
    prometheus.gives(CPU_QUERY, ({"instance": "10.0.0.1:9100"}, 1.0))
    partly = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert partly.verdict == "warn"
    assert "1 of 2 nodes" in partly.detail
    assert "without a series: node-2" in partly.detail
    assert "targets page" in partly.fix


def test_a_label_with_the_name_inside_yields_settings_that_really_match(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    for query in (CPU_QUERY, MEMORY_QUERY):
        prometheus.gives(query, *[({"machine": f"eu-west/rack{n}/node-{n}"}, 1.0) for n in (1, 2)])
    unmatched = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert unmatched.verdict == "fail"
    assert "match no node" in unmatched.detail
    hint = unmatched.fix.removeprefix("set source.nodeLabel: ")
    label, _, pattern = hint.partition(" and source.nodePattern: ")
    settings = {"nodeLabel": label, "nodePattern": pattern.strip("'")}
    mended = diagnosis(cluster, tmp_path, config=source(prometheus, **settings)).only("node cpu query")
    assert mended.verdict == "ok"
    assert mended.detail == "2 series match 2 of 2 nodes by label machine"


def test_a_name_that_is_only_the_beginning_of_another_is_no_hint(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives(CPU_QUERY, ({"machine": "rack/node-17"}, 1.0))
    unmatched = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert "nodePattern: '" not in unmatched.fix


def test_series_that_resemble_no_node_are_told_with_the_names_the_cluster_knows(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives(CPU_QUERY, ({"instance": "192.168.7.7:9100"}, 1.0))
    unmatched = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert unmatched.verdict == "fail"
    assert "192.168.7.7:9100" in unmatched.detail
    assert "source.nodeLabel" in unmatched.fix
    assert "10.0.0.1" in unmatched.fix


def test_series_of_other_machines_beside_ours_are_no_trouble(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    series = [({"instance": f"10.0.0.{n}:9100"}, 1.0) for n in (1, 2, 99)]
    prometheus.gives(CPU_QUERY, *series)
    found = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert found.verdict == "ok"
    assert "1 others are not of this cluster" in found.detail


def test_a_node_with_two_series_is_a_warning(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    series = [({"instance": f"10.0.0.{n}:9100", "job": job}, 1.0) for n, job in ((1, "a"), (1, "b"), (2, "a"))]
    prometheus.gives(CPU_QUERY, *series)
    repeated = diagnosis(cluster, tmp_path, config=source(prometheus)).only("node cpu query")
    assert repeated.verdict == "warn"
    assert "more than one series for node-1" in repeated.detail
    assert "max without" in repeated.fix


def test_pod_series_without_the_labels_of_a_pod_are_a_warning(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives("my_pods", ({"id": "/kubepods/abc"}, 1.0))
    strange = diagnosis(cluster, tmp_path, config=source(prometheus, podQueries={"cpu": "my_pods"}))
    assert strange.only("pod cpu query").verdict == "warn"
    assert "by (namespace, pod)" in strange.only("pod cpu query").fix


def test_what_the_source_itself_warns_of_is_passed_on(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    rows = [{"metric": {"instance": f"10.0.0.{n}:9100"}, "value": [time.time(), "1"]} for n in (1, 2)]
    prometheus.gives(CPU_QUERY, reply=success(rows, warnings=["a store did not respond"]))
    matched, warned = diagnosis(cluster, tmp_path, config=source(prometheus)).of("node cpu query")
    assert matched.verdict == "ok"
    assert "a store did not respond" in warned.detail


def test_a_prometheus_that_stopped_scraping_is_a_warning(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives("timestamp(up)", ({}, lambda at: at - 3600.0))
    stale = diagnosis(cluster, tmp_path, config=source(prometheus)).only("Prometheus freshness")
    assert stale.verdict == "warn"
    assert "1h old" in stale.detail


@pytest.mark.parametrize("reply", [success([]), complaint(422, "no such function")])
def test_where_nothing_scrapes_freshness_is_not_judged(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path, reply: Reply
) -> None:
    prometheus.gives("timestamp(up)", reply=reply)
    assert diagnosis(cluster, tmp_path, config=source(prometheus)).of("Prometheus freshness") == []


def test_without_the_clusters_nodes_queries_are_still_tried(prometheus: FakePrometheus, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(source(prometheus)))
    kubeconfig = str(write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1"))
    found = Findings(examine(str(file), kubeconfig, None, None, LIMITS))
    assert found.only("API server").verdict == "fail"
    assert found.only("node cpu query").verdict == "ok"
    assert "nodes are not known" in found.only("node cpu query").detail


def test_a_default_set_that_stands_in_for_another_is_mentioned(
    cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path
) -> None:
    prometheus.gives("node_")
    for query in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes"):
        prometheus.gives(f'{query}{{id="/"}}', *[({"node": f"node-{n}"}, 1.0) for n in (1, 2)])
    notes = [finding.detail for finding in diagnosis(cluster, tmp_path, config=source(prometheus)).of("Prometheus")]
    assert any("read from cAdvisor instead" in note for note in notes)


# -- load-watcher and recorded histories ---------------------------------------------------------------------------


def watcher_says(*names: str, age: float = 20.0) -> Reply:
    now = time.time() - age
    metrics = [{"type": "CPU", "operator": "AVG", "value": 40.0}, {"type": "Memory", "operator": "AVG", "value": 30.0}]
    body = {
        "timestamp": now,
        "window": {"duration": "15m", "start": now - 900, "end": now},
        "source": "Prometheus",
        "data": {"NodeMetricsMap": {name: {"metrics": metrics} for name in names}},
    }
    return Reply(body=json.dumps(body))


@pytest.fixture
def watcher() -> Iterator[FakePrometheus]:
    with FakePrometheus() as fake:
        fake.serves("/watcher/health", Reply(body="")).serves("/watcher", watcher_says("node-1", "node-2"))
        yield fake


def watched(fake: FakePrometheus) -> dict[str, Any]:
    return {"source": {"type": "LoadWatcher", "url": fake.url}}


def test_a_load_watcher_that_is_well_is_ok_in_every_line(
    cluster: FakeApiServer, watcher: FakePrometheus, tmp_path: Path
) -> None:
    found = diagnosis(cluster, tmp_path, config=watched(watcher))
    assert found.verdicts() == {"ok"}, found.all
    assert found.only("load-watcher coverage").detail == "2 of 2 nodes measured"


def test_a_sick_load_watcher_that_still_answers_is_read_all_the_same(
    cluster: FakeApiServer, watcher: FakePrometheus, tmp_path: Path
) -> None:
    watcher.serves("/watcher/health", Reply(503, "sick"))
    watcher.serves("/watcher", watcher_says("node-1", age=4000))
    found = diagnosis(cluster, tmp_path, config=watched(watcher))
    assert found.only("load-watcher health").verdict == "fail"
    assert found.only("load-watcher freshness").verdict == "fail"
    assert found.only("load-watcher coverage").verdict == "warn"


def test_a_load_watcher_that_tells_nonsense_fails(
    cluster: FakeApiServer, watcher: FakePrometheus, tmp_path: Path
) -> None:
    watcher.serves("/watcher", Reply(body="[]"))
    said, nonsense = diagnosis(cluster, tmp_path, config=watched(watcher)).of("load-watcher")
    assert said.verdict == "ok"
    assert nonsense.verdict == "fail"


def test_a_history_that_is_not_there_fails(cluster: FakeApiServer, tmp_path: Path) -> None:
    config = {"source": {"type": "Replay", "folder": str(tmp_path / "nowhere")}}
    lost = diagnosis(cluster, tmp_path, config=config).only("metric source")
    assert lost.verdict == "fail"
    assert "source.folder" in lost.fix


# -- A running loadaware -------------------------------------------------------------------------------------------


def readiness(**facts: Any) -> dict[str, Any]:
    told = {"readings": 60, "failures": 0, "consecutiveFailures": 0, "lastError": "", "notes": [], "forbidden": []}
    told |= facts.pop("source", {})
    return {"ready": True, "measured": True, "dataAgeSeconds": 12.0, "quarantined": {}, "source": told, **facts}


def belief(name: str, cpu: float | None) -> dict[str, Any]:
    return {"name": name, "usage": {"cpu": {"mean": cpu, "latest": cpu}}}


REQUESTS = 'loadaware_requests_total{profile="default-scheduler",verb="prioritize"} 7.0\n'


@pytest.fixture
def running() -> Iterator[FakePrometheus]:
    with FakePrometheus() as fake:
        says(fake, readiness())
        fake.serves("/nodes", Reply(body=json.dumps({"nodes": [belief("node-1", 1.0), belief("node-2", 2.0)]})))
        fake.serves("/metrics", Reply(body=REQUESTS, content_type="text/plain"))
        yield fake


def says(fake: FakePrometheus, facts: dict[str, Any], status: int = 200) -> None:
    fake.serves("/readyz", Reply(status, json.dumps(facts)))


def test_a_running_server_that_is_well_is_ok_in_every_line(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path
) -> None:
    found = diagnosis(cluster, tmp_path, running=running.url)
    assert found.verdicts() == {"ok"}, found.all
    assert found.only("loadaware server nodes").detail == "2 of 2 nodes measured"
    assert "the window of 15m is filled" in found.only("loadaware server window").detail
    assert found.only("loadaware server requests").detail == "7 answered since its start"


def test_records_missing_from_a_running_servers_history_are_told(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path
) -> None:
    series = "loadaware_history_lost_records_total"
    lost = f'{series}{{reason="not_written"}} 40.0\n{series}{{reason="not_handed_over"}} 2.0\n'
    running.serves("/metrics", Reply(body=REQUESTS + lost, content_type="text/plain"))
    finding = diagnosis(cluster, tmp_path, running=running.url).only("loadaware server history")
    assert (finding.verdict, finding.detail) == ("warn", "42 records are missing from its history since its start")
    running.serves("/metrics", Reply(body=REQUESTS + lost.replace("40.0", "0.0").replace("2.0", "0.0")))
    assert diagnosis(cluster, tmp_path, running=running.url).of("loadaware server history") == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:8090"])
def test_a_server_that_cannot_be_reached_fails(cluster: FakeApiServer, tmp_path: Path, url: str) -> None:
    assert diagnosis(cluster, tmp_path, running=url).only("loadaware server").verdict == "fail"


def test_an_address_where_something_else_answers_is_told_from_ours(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path
) -> None:
    running.serves("/readyz", Reply(body="<html><title>Login</title></html>", content_type="text/html"))
    stranger = diagnosis(cluster, tmp_path, running=running.url).only("loadaware server")
    assert stranger.verdict == "fail"
    assert "Login" in stranger.detail


def test_an_unready_server_without_measurements_says_so(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path
) -> None:
    says(running, readiness(ready=False, measured=False, dataAgeSeconds=None), 503)
    running.serves("/nodes", Reply(body=json.dumps({"nodes": [belief("node-1", None)]})))
    running.serves("/metrics", Reply(body=""))
    found = diagnosis(cluster, tmp_path, running=running.url)
    assert found.only("loadaware server").verdict == "warn"
    assert found.only("loadaware server window").verdict == "fail"
    assert found.only("loadaware server nodes").detail == "0 of 1 nodes measured; missing: node-1"
    assert "none yet" in found.only("loadaware server requests").detail


@pytest.mark.parametrize(("age", "verdict"), [(12.0, "ok"), (400.0, "warn"), (4000.0, "fail")])
def test_the_age_of_a_running_servers_data_is_judged(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path, age: float, verdict: str
) -> None:
    says(running, readiness(dataAgeSeconds=age, source={"readings": 3}))
    window = diagnosis(cluster, tmp_path, running=running.url).only("loadaware server window")
    assert window.verdict == verdict
    assert "3 readings in a window of 15m" in window.detail


def test_a_frozen_state_never_ages(cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path) -> None:
    says(running, readiness(dataAgeSeconds=None, source={"readings": 0}))
    window = diagnosis(cluster, tmp_path, running=running.url).only("loadaware server window")
    assert (window.verdict, window.detail) == ("ok", "a frozen state: it never ages")


def test_what_troubles_a_running_server_is_passed_on(
    cluster: FakeApiServer, running: FakePrometheus, tmp_path: Path
) -> None:
    told = {
        "consecutiveFailures": 4,
        "lastError": "connection refused",
        "notes": ["a series matches no node"],
        "forbidden": ["pods are not seen"],
    }
    says(running, readiness(quarantined={"node-2": "frozen"}, source=told))
    found = diagnosis(cluster, tmp_path, running=running.url)
    failed, note = found.of("loadaware server source")
    assert (failed.verdict, note.verdict) == ("fail", "warn")
    assert "the last 4 readings failed: connection refused" in failed.detail
    assert found.only("loadaware server access").detail == "pods are not seen"
    assert "node-2 (frozen)" in found.only("loadaware server quarantine").detail


# -- Bounds, secrets, and print ------------------------------------------------------------------------------------


def test_when_everything_is_silent_each_call_is_given_up_and_it_ends(tmp_path: Path) -> None:
    with FakePrometheus() as silent:
        for path in (VERSION_PATH, "/api/v1/query", "/readyz"):
            silent.serves(path, Reply(silent=True))
        kubeconfig = str(write_kubeconfig(tmp_path / "kubeconfig", silent.url))
        file = tmp_path / "config.yaml"
        file.write_text(yaml.safe_dump(source(silent)))
        limits = Limits(whole_seconds=4 * PATIENCE_SECONDS, check_seconds=PATIENCE_SECONDS, call_seconds=0.2)
        found = Findings(examine(str(file), kubeconfig, None, silent.url, limits))
    assert [finding.what for finding in found.all if finding.verdict == "fail"] == [
        "API server",
        "Prometheus",
        "loadaware server",
    ]


def test_the_whole_is_bounded_to_half_a_minute() -> None:
    assert Limits().whole_seconds < 30.0
    assert 3 * Limits().call_seconds < Limits().whole_seconds


def test_a_check_that_hangs_is_left_behind_with_what_it_found() -> None:
    release = threading.Event()

    def hangs() -> Iterator[Finding]:
        yield ok("first", "found before it hung")
        release.wait(PATIENCE_SECONDS)

    found = Patience(Limits(5.0, 2.0, 0.1)).run("source", hangs)
    release.set()
    assert [finding.what for finding in found] == ["first", "source"]
    assert found[1].verdict == "fail"
    assert "not done after 2 s" in found[1].detail


def test_a_check_that_fails_in_an_unforeseen_way_is_a_finding_without_its_message() -> None:
    def breaks() -> Iterator[Finding]:
        yield ok("first", "found before it broke")
        raise KeyError(SECRET)

    found = Patience(Limits()).run("source", breaks)
    assert found[1].verdict == "fail"
    assert "KeyError" in found[1].detail
    assert SECRET not in str(found)


def test_no_finding_holds_a_secret(cluster: FakeApiServer, prometheus: FakePrometheus, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(SECRET)
    prometheus.serves("/api/v1/query", Reply(403, f"token {SECRET} may not"))
    config = source(prometheus, bearerTokenFile=str(tmp_path / "token"))
    found = diagnosis(cluster, tmp_path, {VERSION_PATH: Refusal(401)}, config=config)
    assert found.only("Prometheus").verdict == "fail"
    assert SECRET not in str(found.all)


def test_findings_are_printed_whole_without_colours_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rule = '- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}'
    long = "x" * 300
    print_findings([ok("nodes", long), Finding("fail", "access to nodes", "list not allowed", f"add {rule}")])
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"ok    nodes: {long}",
        "fail  access to nodes: list not allowed",
        f"      fix: add {rule}",
        "1 ok, 0 warn, 1 fail",
    ]


def test_a_finding_as_json_has_four_members_and_null_for_no_fix() -> None:
    assert ok("nodes", "2").as_dict() == {"verdict": "ok", "what": "nodes", "detail": "2", "fix": None}


def test_a_few_of_many_are_named() -> None:
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_server_behind_https_is_asked_with_the_files_that_are_given(cluster: FakeApiServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority", "authority")
    pair, ours = authority.issue("extender"), authority.issue("person")
    trusted = str(authority.certificate)
    section = TLSSection(cert_file=str(pair.certificate), key_file=str(pair.key), client_ca_file=trusted)
    with RunningServer(frozen_service(), tls=section) as running:

        def server_line(*files: str) -> Finding:
            found = list(check_server(running.url, Config(), PATIENCE_SECONDS, ServerFiles(*files)))
            return next(finding for finding in found if finding.what == "loadaware server")

        good = server_line(trusted, str(ours.certificate), str(ours.key))
        assert (good.verdict, good.detail) == ("ok", f"{running.url} is ready")
        assert server_line(trusted).verdict == "fail"
        unknown = server_line()
        assert unknown.verdict == "fail"
        assert "certificate verify failed" in unknown.detail
        assert server_line(str(tmp_path / "nowhere.crt")).verdict == "fail"
