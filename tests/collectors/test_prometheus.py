"""The Prometheus collector against a scripted Prometheus: what it asks, how it reads, how it fails."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from collectors.errors import (
    CollectorError,
    EmptyReadingError,
    MalformedAnswerError,
    SourceRefusedError,
    SourceUnreachableError,
)
from collectors.http_access import HttpAccess
from collectors.prometheus.collector import MOST_POINTS, MOST_SAMPLES, Prometheus, PrometheusSettings, past_step, pieces
from collectors.prometheus.default_queries import CADVISOR, KUBELET, NODE_EXPORTER
from collectors.reading import HasHistory, HasPodHistory, NodeIdentity, Reading
from tests.collectors.fake_prometheus import FakePrometheus, Reply, Value, complaint, success

NOW = 1_700_000_000.25
NODES = (
    NodeIdentity("node-1", ("10.0.0.1", "node-1")),
    NodeIdentity("node-2", ("10.0.0.2", "node-2")),
    NodeIdentity("node-3", ("10.0.0.3", "node-3")),
)
CPU_QUERY, MEMORY_QUERY = "node_cpu_seconds_total", "node_memory_MemAvailable_bytes"
Collect = Callable[..., Prometheus]


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with FakePrometheus() as server:
        yield server


@pytest.fixture
def collect(fake: FakePrometheus) -> Iterator[Collect]:
    """Makes collectors for the fake, at a fixed time, and closes them."""
    made: list[Prometheus] = []

    def make(nodes: tuple[NodeIdentity, ...] = NODES, at: float = NOW, **settings: object) -> Prometheus:
        chosen = {"url": fake.url, "pods": False, **settings}
        made.append(Prometheus(PrometheusSettings(**chosen), lambda: nodes, lambda: at))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for collector in made:
        collector.close()


def per_node(label: str, *values: Value, port: str = "") -> list[tuple[Mapping[str, str], Value]]:
    """One series per node of NODES, in their order."""
    return [({label: f"{node.name}{port}"}, value) for node, value in zip(NODES, values, strict=False)]


def node_exporter(fake: FakePrometheus, cpu: tuple[Value, ...], memory: tuple[Value, ...]) -> None:
    fake.gives(CPU_QUERY, *per_node("instance", *cpu, port=":9100"))
    fake.gives(MEMORY_QUERY, *per_node("instance", *memory, port=":9100"))


def usage(reading: Reading, node: str) -> list[float]:
    return list(reading.nodes.usage[reading.nodes.names.index(node)])


# -- What it reads ---------------------------------------------------------------------------------------------------


def test_cpu_and_memory_of_every_node_are_read_from_node_exporter(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.5, 0.25, 3.0), (4e9, 5e9, 6e9))
    reading = collect().read()
    assert reading.source == "prometheus"
    assert reading.base == "absolute"
    assert reading.resources == ("cpu", "memory")
    assert reading.nodes.names == ("node-1", "node-2", "node-3")
    np.testing.assert_array_equal(reading.nodes.usage, [[1.5, 4e9], [0.25, 5e9], [3.0, 6e9]])
    assert reading.time == NOW
    assert list(reading.nodes.times) == [pytest.approx(NOW, abs=1e-3)] * 3
    assert list(reading.nodes.windows) == [120.0] * 3
    assert reading.pods is None
    assert reading.notes == ()


def test_all_queries_of_a_reading_ask_about_the_same_instant(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    collect(pods=True, node_queries={"disk": "disk_query"}).read()
    assert {seen.fields["time"] for seen in fake.requests} == {"1700000000.250"}
    assert len(fake.requests) == len(set(fake.queries))


def test_without_node_exporter_cadvisor_is_read_and_a_note_says_so(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives('container_cpu_usage_seconds_total{id="/"}', *per_node("node", 1.0, 2.0, 3.0))
    fake.gives('container_memory_working_set_bytes{id="/"}', *per_node("node", 1e9, 2e9, 3e9))
    reading = collect().read()
    assert usage(reading, "node-2") == [2.0, 2e9]
    assert reading.notes == ("node cpu and memory: no series of node-exporter, read from cAdvisor instead",)


def test_the_kubelet_is_read_where_there_is_nothing_else(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives("node_cpu_usage_seconds_total", *per_node("instance", 1.0))
    fake.gives("node_memory_working_set_bytes", *per_node("instance", 1e9))
    assert usage(collect().read(), "node-1") == [1.0, 1e9]


def test_a_chosen_set_is_the_only_one_asked(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    with pytest.raises(EmptyReadingError):
        collect(default_set="cadvisor").read()
    assert not any("node_cpu_seconds_total" in query for query in fake.queries)


def test_own_queries_replace_the_defaults_resource_by_resource(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (9.0,), (1e9,))
    fake.gives("my_cpu", *per_node("node", 2.0))
    fake.gives("my_gpu", *per_node("node", 0.5))
    reading = collect(node_queries={"gpu": "my_gpu", "cpu": "my_cpu"}).read()
    assert reading.resources == ("cpu", "memory", "gpu")
    assert usage(reading, "node-1") == [2.0, 1e9, 0.5]
    assert not any(CPU_QUERY in query for query in fake.queries)
    assert math.isnan(reading.nodes.windows[0])


def test_own_queries_may_use_the_window(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (9.0,), (1e9,))
    fake.gives("my_cpu[45s]", *per_node("node", 2.0))
    reading = collect(node_queries={"cpu": "my_cpu[$window]"}, rate_window_seconds=45).read()
    assert usage(reading, "node-1")[0] == 2.0
    assert reading.nodes.windows[0] == 45.0


def test_a_window_of_broken_seconds_is_written_in_milliseconds(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives("[1500ms]", *per_node("node", 2.0))
    fake.gives(MEMORY_QUERY, *per_node("node", 1e9))
    assert usage(collect(rate_window_seconds=1.5).read(), "node-1")[0] == 2.0


def test_what_is_not_a_number_is_not_measured_and_negative_values_pass(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (math.nan, math.inf, -1.0), (-math.inf, 2e9, 3e9))
    reading = collect().read()
    np.testing.assert_array_equal(reading.nodes.usage, [[math.nan, math.nan], [math.nan, 2e9], [-1.0, 3e9]])


def test_a_node_without_a_series_is_not_in_the_reading_and_noted(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0), (1e9,))
    reading = collect().read()
    assert reading.nodes.names == ("node-1", "node-2")
    assert math.isnan(usage(reading, "node-2")[1])
    assert "node cpu: no series for 1 of 3 nodes: node-3" in reading.notes
    assert "node memory: no series for 2 of 3 nodes: node-2, node-3" in reading.notes


def test_series_of_strangers_are_noted(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    stranger: tuple[Mapping[str, str], Value] = ({"instance": "10.9.9.9:9100"}, 7.0)
    fake.gives(CPU_QUERY, *per_node("instance", 1.0, 2.0, 3.0), stranger)
    notes = collect().read().notes
    assert notes == ("node cpu: 1 of 4 series match no node: {instance='10.9.9.9:9100'}",)


def test_of_several_series_of_one_node_the_highest_counts_and_is_noted(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    twice = [({"instance": "10.0.0.1:9100", "pod": pod}, value) for pod, value in (("old", 1.0), ("new", 4.0))]
    fake.gives(CPU_QUERY, *twice, *per_node("instance", math.nan, 2.0, 3.0))
    reading = collect().read()
    assert usage(reading, "node-1")[0] == 4.0
    assert reading.notes == ("node cpu: more than one series for node-1: the highest counts",)


def test_a_label_and_a_pattern_can_be_given(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (), ())
    for part, value in ((CPU_QUERY, 1.0), (MEMORY_QUERY, 1e9)):
        fake.gives(part, ({"node": "node-2", "target": "eu/node-1/x"}, value))
    reading = collect(node_label="target", node_pattern="^eu/([^/]+)").read()
    assert reading.nodes.names == ("node-1",)


def test_warnings_of_the_source_become_notes(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    partial = success([{"metric": {"node": "node-1"}, "value": [NOW, "1"]}], warnings=["store 2 did not answer"])
    fake.gives(CPU_QUERY, reply=partial)
    assert "node cpu: the source warns: store 2 did not answer" in collect().read().notes


def test_a_native_histogram_is_no_measurement(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    histogram = {"metric": {"node": "node-1"}, "histogram": [NOW, {"count": "1", "sum": "1", "buckets": []}]}
    fake.gives("odd", reply=success([histogram]))
    reading = collect(node_queries={"odd": "odd"}).read()
    assert math.isnan(usage(reading, "node-1")[2])


# -- Pods ------------------------------------------------------------------------------------------------------------


def pod_series(fake: FakePrometheus) -> None:
    for metric, scale in (("container_cpu_usage_seconds_total{cont", 1.0), ("working_set_bytes{cont", 1e9)):
        fake.gives(
            metric,
            ({"namespace": "shop", "pod": "web-1"}, 0.5 * scale),
            ({"namespace": "shop", "pod": "web-2"}, 0.25 * scale),
        )


def test_pods_are_read_by_namespace_and_name(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    pod_series(fake)
    reading = collect(pods=True).read()
    assert reading.pods is not None
    assert reading.pods.names == ("shop/web-1", "shop/web-2")
    np.testing.assert_array_equal(reading.pods.usage, [[0.5, 0.5e9], [0.25, 0.25e9]])
    assert list(reading.pods.windows) == [120.0, 120.0]
    assert reading.notes == ()


def test_a_pod_resource_of_its_own_widens_the_reading(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    pod_series(fake)
    fake.gives("pod_net", ({"namespace": "shop", "pod": "web-1"}, 7.0))
    reading = collect(pods=True, pod_queries={"network": "pod_net"}).read()
    assert reading.resources == ("cpu", "memory", "network")
    assert reading.pods is not None
    np.testing.assert_array_equal(reading.pods.usage[:, 2], [7.0, math.nan])
    assert math.isnan(usage(reading, "node-1")[2])


def test_failing_pod_queries_cost_the_pods_alone(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    fake.gives("by (namespace, pod)", reply=complaint(422, "too many samples", "execution"))
    reading = collect(pods=True).read()
    assert reading.pods is None
    assert len(reading.nodes.names) == 3
    assert "pods: not measured" in reading.notes[0]
    assert "too many samples" in reading.notes[0]


def test_no_pod_series_at_all_is_not_the_same_as_no_pods(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    reading = collect(pods=True).read()
    assert reading.pods is None
    assert any("pods: not measured" in note for note in reading.notes)


# -- How it asks -----------------------------------------------------------------------------------------------------


def test_queries_travel_in_the_body_of_a_post(fake: FakePrometheus, collect: Collect) -> None:
    long_query = "my_cpu or " + " or ".join(f"metric_{number}" for number in range(2000))
    fake.gives(MEMORY_QUERY, *per_node("node", 1e9))
    fake.gives("my_cpu", *per_node("node", 1.0))
    collect(node_queries={"cpu": long_query}).read()
    assert {(seen.method, seen.query_string) for seen in fake.requests} == {("POST", "")}
    assert {seen.path for seen in fake.requests} == {"/api/v1/query"}
    assert long_query in fake.queries
    assert all(seen.fields["timeout"] == "10s" for seen in fake.requests)


def test_get_can_be_chosen(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    assert usage(collect(method="GET").read(), "node-1") == [1.0, 1e9]
    assert {seen.method for seen in fake.requests} == {"GET"}


def test_a_path_before_the_api_is_kept(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    collect(url=fake.url + "/prometheus/").read()
    assert fake.requests[0].path == "/prometheus/api/v1/query"


def test_one_connection_serves_many_readings(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    collector = collect()
    collector.read()
    session = collector._client
    collector.read()
    assert collector._client is session


def test_a_closed_collector_can_read_again(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    collector = collect()
    collector.read()
    collector.close()
    collector.close()
    assert usage(collector.read(), "node-1") == [1.0, 1e9]


# -- How it fails ----------------------------------------------------------------------------------------------------

LOGIN_PAGE = Reply(200, "<!DOCTYPE html><html><title>Sign  in</title></html>", "text/html; charset=utf-8")
SCALAR = Reply(body=json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [NOW, "1"]}}))


@pytest.mark.parametrize(
    ("reply", "expected", "text"),
    [
        (complaint(400, 'parse error: unexpected "}"'), SourceRefusedError, "400: bad_data: parse error"),
        (complaint(422, "many-to-many matching", "execution"), SourceRefusedError, "execution: many-to-many"),
        (complaint(503, "query timed out", "timeout"), SourceRefusedError, "503: timeout: query timed out"),
        (complaint(200, "quietly wrong"), SourceRefusedError, "200: bad_data: quietly wrong"),
        (Reply(401, "Unauthorized", "text/plain"), SourceRefusedError, "401: Unauthorized"),
        (Reply(403, "", "text/plain"), SourceRefusedError, "403: an empty answer"),
        (Reply(502, "<html><title>Bad gateway", "text/html"), SourceRefusedError, "502: an HTML page titled 'Bad"),
        (Reply(502, "<html>", "text/html"), SourceRefusedError, "502: an HTML page"),
        (
            Reply(302, headers={"Location": "https://user:x@login.example/start?state=1"}),
            SourceRefusedError,
            "302: a redirect to https://login.example/start",
        ),
        (LOGIN_PAGE, MalformedAnswerError, "an HTML page titled 'Sign in'"),
        (Reply(body="nonsense"), MalformedAnswerError, "nonsense"),
        (Reply(body=""), MalformedAnswerError, "an empty answer"),
        (Reply(body="[1]"), MalformedAnswerError, r"\[1\]"),
        (Reply(body=b"\xff\xfe"), MalformedAnswerError, "did not answer with a Prometheus query result"),
        (Reply(body='{"status": "success"}'), MalformedAnswerError, "success"),
        (Reply(body='{"status": "success", "data": {"resultType": "vector"}}'), MalformedAnswerError, "array"),
        (SCALAR, MalformedAnswerError, "it is a scalar, where an instant vector"),
        (success([], "matrix"), MalformedAnswerError, "it is a matrix"),
        (success([{"metric": {}, "value": [NOW, "wide"]}]), MalformedAnswerError, "wide"),
        (success([{"metric": {}, "value": "7"}]), MalformedAnswerError, "array"),
        (Reply(body='{"status":', broken=True), SourceUnreachableError, "incomplete|IncompleteRead|broken"),
    ],
)
def test_a_failing_cpu_query_fails_the_reading_with_its_reason_and_its_name(
    fake: FakePrometheus, collect: Collect, reply: Reply, expected: type[CollectorError], text: str
) -> None:
    node_exporter(fake, (), (1e9,))
    fake.gives("my_cpu", reply=reply)
    with pytest.raises(expected, match=text) as caught:
        collect(node_queries={"cpu": "my_cpu > 0"}).read()
    assert "(node cpu query `my_cpu > 0`)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failing_memory_query_fails_the_reading_too(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), ())
    fake.gives(MEMORY_QUERY, reply=complaint(422, "no"))
    with pytest.raises(SourceRefusedError, match="node memory query"):
        collect().read()


def test_a_failing_optional_query_costs_its_column_alone(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0, 3.0), (1e9, 2e9, 3e9))
    fake.gives("bad gpu", reply=complaint(400, "parse error"))
    reading = collect(node_queries={"gpu": "bad gpu"}).read()
    assert reading.resources == ("cpu", "memory", "gpu")
    assert usage(reading, "node-1")[:2] == [1.0, 1e9]
    assert np.isnan(reading.nodes.usage[:, 2]).all()
    assert "node gpu: not measured" in reading.notes[0]
    assert "parse error" in reading.notes[0]


def test_an_endless_message_is_cut(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives("my_cpu", reply=complaint(400, "wrong " * 5000))
    with pytest.raises(SourceRefusedError) as caught:
        collect(node_queries={"cpu": "my_cpu + " * 500}).read()
    assert len(str(caught.value)) < 700


def test_a_slow_source_is_given_up_after_the_timeout(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives("my_cpu", reply=Reply(silent=True))
    collector = collect(node_queries={"cpu": "my_cpu", "memory": "m"}, access=HttpAccess(timeout_seconds=0.2))
    with pytest.raises(SourceUnreachableError, match=r"no whole answer within 0\.2 s \(node cpu query `my_cpu`\)"):
        collector.read()


def test_access_is_used_for_every_query(fake: FakePrometheus, collect: Collect, tmp_path: Path) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    (tmp_path / "token").write_text("open-sesame")
    access = HttpAccess(bearer_token_file=tmp_path / "token", headers={"X-Scope-OrgID": "team-a"})
    collect(access=access).read()
    sent = {(seen.headers["authorization"], seen.headers["x-scope-orgid"]) for seen in fake.requests}
    assert sent == {("Bearer open-sesame", "team-a")}


def test_a_secret_that_the_source_repeats_in_an_answer_is_not_passed_on(
    fake: FakePrometheus, collect: Collect, tmp_path: Path
) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    (tmp_path / "token").write_text("open-sesame")
    access = HttpAccess(bearer_token_file=tmp_path / "token")
    fake.gives("odd", reply=success([], "open-sesame"))
    warned = success([{"metric": {"node": "node-1"}, "value": [NOW, "1"]}], warnings=["open-sesame was used"])
    fake.gives(CPU_QUERY, reply=warned)
    reading = collect(access=access, node_queries={"odd": "odd"}).read()
    assert "it is a ***" in "".join(reading.notes)
    assert "*** was used" in "".join(reading.notes)
    assert "sesame" not in "".join(reading.notes)


def test_nobody_listening_is_told_as_such(collect: Collect) -> None:
    with FakePrometheus() as gone:
        url = gone.url
    with pytest.raises(SourceUnreachableError, match="Connection refused"):
        collect(url=url).read()


def test_an_unknown_host_is_told_as_such(collect: Collect) -> None:
    with pytest.raises(SourceUnreachableError, match=r"no-such-host\.invalid"):
        collect(url="http://no-such-host.invalid:9090").read()


def test_series_without_any_known_node_are_an_empty_reading_with_a_hint(fake: FakePrometheus, collect: Collect) -> None:
    for part in (CPU_QUERY, MEMORY_QUERY):
        fake.gives(part, ({"instance": "10.7.7.7:9100", "job": "x"}, 1.0))
    with pytest.raises(EmptyReadingError) as caught:
        collect().read()
    assert "10.7.7.7:9100" in str(caught.value)
    assert "node-1, 10.0.0.1" in str(caught.value)


def test_no_series_at_all_are_an_empty_reading(fake: FakePrometheus, collect: Collect) -> None:
    with pytest.raises(EmptyReadingError, match="it gives no series"):
        collect().read()


def test_without_known_nodes_nothing_is_asked(fake: FakePrometheus, collect: Collect) -> None:
    with pytest.raises(EmptyReadingError, match="nodes are not known yet"):
        collect(nodes=()).read()
    assert fake.requests == []


# -- Settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "prometheus:9090"}, "is no address"),
        ({"url": "http://anna:secret@prometheus"}, "name them by username"),
        ({"url": "http://prometheus/?token=secret"}, "must end before"),
        ({"default_set": "telegraf"}, "none of auto, node-exporter, cadvisor, kubelet"),
        ({"rate_window_seconds": 0}, "must be positive"),
        ({"step_seconds": math.nan}, "must be positive"),
        ({"node_queries": {"gpu": " "}}, "query for 'gpu' is empty"),
        ({"node_pattern": "("}, "no regular expression"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        PrometheusSettings(**{"url": "http://prometheus:9090", **settings})  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


def test_the_default_sets_ask_for_cpu_and_memory_first() -> None:
    for query_set in (NODE_EXPORTER, CADVISOR, KUBELET):
        assert list(query_set.nodes) == ["cpu", "memory"]
    assert list(CADVISOR.pods) == list(KUBELET.pods) == ["cpu", "memory"]


# -- History ---------------------------------------------------------------------------------------------------------


def test_a_history_comes_oldest_first_at_the_step(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (lambda at: at - 1_699_999_000, 2.0), (1e9, 2e9))
    collector = collect(step_seconds=30)
    assert isinstance(collector, HasHistory)
    readings = list(collector.history(NOW - 100))
    assert [reading.time for reading in readings] == [1_699_999_920, 1_699_999_950, 1_699_999_980]
    assert [usage(reading, "node-1")[0] for reading in readings] == [920, 950, 980]
    assert list(readings[0].nodes.times) == [1_699_999_920] * 2
    assert list(readings[0].nodes.windows) == [120.0] * 2
    assert readings[0].pods is None


def test_a_history_has_gaps_where_the_source_has_gaps(fake: FakePrometheus, collect: Collect) -> None:
    def sometimes(at: float) -> float | None:
        return 1.0 if at % 60 == 0 else None

    node_exporter(fake, (sometimes, 2.0), (sometimes, 2e9))
    readings = list(collect(step_seconds=30, at=1_700_000_040.0).history(1_699_999_980))
    assert [reading.nodes.names for reading in readings] == [
        ("node-1", "node-2"),
        ("node-2",),
        ("node-1", "node-2"),
    ]


def test_instants_without_any_node_are_left_out_of_a_history(fake: FakePrometheus, collect: Collect) -> None:
    def lately(at: float) -> float | None:
        return 1.0 if at >= NOW - 30 else None

    node_exporter(fake, (lately,), (lately,))
    assert len(list(collect(step_seconds=10).history(NOW - 600))) == 3


def test_a_history_follows_the_set_that_has_series_now(fake: FakePrometheus, collect: Collect) -> None:
    fake.gives('container_cpu_usage_seconds_total{id="/"}', *per_node("node", 1.0))
    fake.gives('container_memory_working_set_bytes{id="/"}', *per_node("node", 1e9))
    readings = list(collect(step_seconds=30).history(NOW - 60))
    assert [usage(reading, "node-1") for reading in readings] == [[1.0, 1e9]] * 2


def test_a_history_may_have_pods(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    pod_series(fake)
    readings = list(collect(pods=True, history_pods=True, step_seconds=30).history(NOW - 60))
    assert [reading.pods and reading.pods.names for reading in readings] == [("shop/web-1", "shop/web-2")] * 2


def test_failing_pod_queries_cost_a_history_its_pods_alone(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    fake.gives("by (namespace, pod)", reply=complaint(422, "too many samples"))
    readings = list(collect(pods=True, history_pods=True, step_seconds=30).history(NOW - 60))
    assert [reading.pods for reading in readings] == [None, None]
    assert "too many samples" in readings[0].notes[0]


def test_a_failing_piece_fails_the_history(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    fake.serves("/api/v1/query_range", complaint(503, "busy"))
    with pytest.raises(SourceRefusedError, match="busy"):
        list(collect().history(NOW - 3600))


def test_a_long_history_is_asked_in_pieces_without_gap_or_overlap(
    fake: FakePrometheus, collect: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.prometheus.collector.MOST_POINTS", 7)
    node_exporter(fake, (1.0,), (1e9,))
    readings = list(collect(step_seconds=10).history(NOW - 300))
    assert np.diff([reading.time for reading in readings]).tolist() == [10.0] * 29
    assert sum(seen.path.endswith("query_range") for seen in fake.requests) == 2 * 5


def test_a_history_from_now_on_is_empty(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    assert list(collect().history(NOW + 1000)) == []


@pytest.mark.parametrize("rows", [0, 1, 40, 5000, 150_000, 10**9])
def test_pieces_cover_every_step_once_and_stay_below_the_limits(rows: int) -> None:
    grids = list(pieces(0.0, 30.0 * 25_000, 30.0, rows)) if rows < 10**6 else list(pieces(0.0, 300.0, 30.0, rows))
    times = np.concatenate([grid.times for grid in grids])
    assert (np.diff(times) == 30.0).all()
    assert max(grid.count for grid in grids) <= MOST_POINTS < 11_000
    assert max(grid.count for grid in grids) <= max(1, MOST_SAMPLES // max(1, rows))


# -- The report ------------------------------------------------------------------------------------------------------


def test_the_report_tells_what_matched_what(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0, 2.0), (1e9, 2e9))
    fake.gives(CPU_QUERY, *per_node("instance", 1.0, 2.0, port=":9100"), ({"instance": "10.9.9.9:9100"}, 1.0))
    fake.gives("bad", reply=complaint(400, "parse error"))
    pod_series(fake)
    report = collect(pods=True, node_queries={"gpu": "bad"}).match_report()
    assert report.time == NOW
    assert report.nodes == ("node-1", "node-2", "node-3")
    by_name = {(one.query.kind, one.query.resource): one for one in report.queries}
    assert list(by_name) == [("node", "cpu"), ("node", "memory"), ("node", "gpu"), ("pod", "cpu"), ("pod", "memory")]
    cpu = by_name["node", "cpu"]
    assert (cpu.query.origin, cpu.series, cpu.label, cpu.matched) == (
        "node-exporter",
        3,
        "instance",
        ("node-1", "node-2"),
    )
    assert cpu.without_series == ("node-3",)
    assert (cpu.unmatched, cpu.unmatched_examples) == (1, ("{instance='10.9.9.9:9100'}",))
    gpu = by_name["node", "gpu"]
    assert gpu.error is not None
    assert "parse error" in gpu.error
    assert gpu.without_series == report.nodes
    pods = by_name["pod", "cpu"]
    assert (pods.matched, pods.without_series) == (("shop/web-1", "shop/web-2"), ())


def test_the_report_on_a_dead_source_holds_its_errors(collect: Collect) -> None:
    with FakePrometheus() as gone:
        url = gone.url
    report = collect(url=url).match_report()
    assert [one.query.resource for one in report.queries] == ["cpu", "memory"]
    assert all("Connection refused" in (one.error or "") for one in report.queries)


def test_the_report_needs_no_nodes(fake: FakePrometheus, collect: Collect) -> None:
    node_exporter(fake, (1.0,), (1e9,))
    report = collect(nodes=()).match_report()
    assert (report.nodes, report.queries[0].unmatched) == ((), 1)


# -- Pods' past ------------------------------------------------------------------------------------------------------


def pod_past(fake: FakePrometheus, **cores: Value) -> None:
    """What pods of the shop used, in cores; each has a gigabyte as long as it has cores."""
    names = {name: {"namespace": "shop", "pod": name.replace("_", "-")} for name in cores}

    def memory(value: Value) -> Value:
        return lambda at: None if (value(at) if callable(value) else value) is None else 1e9

    fake.gives("container_cpu_usage_seconds_total", *((names[name], value) for name, value in cores.items()))
    fake.gives("container_memory_working_set_bytes", *((names[name], memory(value)) for name, value in cores.items()))


def test_pods_past_comes_oldest_first_far_apart_and_without_nodes(fake: FakePrometheus, collect: Collect) -> None:
    pod_past(fake, web_1=lambda at: at - 1_699_990_000)
    collector = collect(pods=True)
    assert isinstance(collector, HasPodHistory)
    readings = list(collector.pod_history(NOW - 1200))
    times = [1_699_998_900, 1_699_999_200, 1_699_999_500, 1_699_999_800]
    assert [reading.time for reading in readings] == times
    assert all(not reading.nodes.names for reading in readings)
    assert [reading.pods.usage.tolist() for reading in readings if reading.pods] == [
        [[at - 1_699_990_000, 1e9]] for at in times
    ]


def test_a_pod_that_is_gone_is_in_the_past_under_the_name_it_had(fake: FakePrometheus, collect: Collect) -> None:
    pod_past(fake, web_1=1.0, gone_1=lambda at: 2.0 if at < NOW - 600 else None)
    readings = list(collect(pods=True).pod_history(NOW - 1200))
    names = [reading.pods.names for reading in readings if reading.pods]
    assert names == [("shop/gone-1", "shop/web-1")] * 2 + [("shop/web-1",)] * 2


def test_many_pods_are_read_further_apart_and_in_more_pieces(
    fake: FakePrometheus, collect: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert past_step(6 * 3600.0, 1000) == 300.0
    assert past_step(6 * 3600.0, 150_000) == 1620.0  # 6 h * 150,000 pods / 2,000,000 samples
    assert past_step(6 * 3600.0, 0) == 300.0
    monkeypatch.setattr("collectors.prometheus.collector.MOST_SAMPLES", 4)
    pod_past(fake, web_1=1.0, web_2=1.0)
    readings = list(collect(pods=True).pod_history(NOW - 3000))
    assert np.diff([reading.time for reading in readings]).tolist() == [300.0] * 9
    assert sum(seen.path.endswith("query_range") for seen in fake.requests) == 2 * 5  # two instants of two pods each


def test_without_pods_there_is_no_past_of_them(fake: FakePrometheus, collect: Collect) -> None:
    pod_past(fake, web_1=1.0)
    assert list(collect(pods=False).pod_history(NOW - 3000)) == []
    assert fake.requests == []


def test_a_past_of_pods_that_cannot_be_read_says_why(fake: FakePrometheus, collect: Collect) -> None:
    pod_past(fake, web_1=1.0)
    fake.serves("/api/v1/query_range", complaint(422, "query processing would load too many samples"))
    with pytest.raises(SourceRefusedError, match="too many samples"):
        list(collect(pods=True).pod_history(NOW - 3000))
