"""The laws that every collector keeps. A new collector adds one row to COLLECTORS, and nothing else here.

A row knows how to set its source up in four states: healthy (node-a measured in full, node-b's memory not), dead,
talking nonsense, and refusing while it repeats the secret it was shown. The laws know nothing of the source.
"""

import json
import logging
import math
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from collectors.errors import CollectorError, SourceRefusedError, SourceUnreachableError
from collectors.http_access import HttpAccess
from collectors.reading import Collector, HasHistory, Measurements, NodeIdentity, Reading
from tests.collectors.fake_prometheus import FakePrometheus, Reply, success

SECRET = "sesame-open-thyself"
NODES = (NodeIdentity("node-a", ("10.0.0.1",)), NodeIdentity("node-b", ("10.0.0.2",)))
NONSENSE = (
    b"",
    b"nonsense",
    b"null",
    b"[]",
    b"{}",
    b'{"status": 1, "items": 2, "data": 3}',
    b'{"status": "success", "data": {"resultType": "vector", "result": [{"metric"',
    b"\xff\xfe\x00",
    b"<html><title>Sign in</title></html>",
    b"[" * 5000,
)


class Source(Protocol):
    """A source in one of its states, to be opened by a collector. Opening may fail as reading may."""

    def healthy(self) -> Collector: ...
    def dead(self) -> Collector: ...
    def nonsense(self, body: bytes) -> Collector: ...


# -- Sources on the web ----------------------------------------------------------------------------------------------


@dataclass
class WebSource:
    """A scripted server, and a collector that shows it SECRET."""

    name: str
    fake: FakePrometheus
    script: Callable[[FakePrometheus], None]
    open: Callable[[str], Collector]

    def healthy(self) -> Collector:
        self.script(self.fake)
        return self.open(self.fake.url)

    def dead(self) -> Collector:
        with FakePrometheus() as gone:
            url = gone.url
        return self.open(url)

    def nonsense(self, body: bytes) -> Collector:
        return self.replying(Reply(body=body))

    def replying(self, reply: Reply) -> Collector:
        self.fake.gives("", reply=reply)
        return self.open(self.fake.url)


Opener = Callable[[ExitStack, Path], Callable[[str], Collector]]


def web(name: str, script: Callable[[FakePrometheus], None], opener: Opener) -> Callable[[Path], Any]:
    """A row for a source that is reached by HTTP."""

    @contextmanager
    def made(folder: Path) -> Iterator[WebSource]:
        with ExitStack() as opened:
            fake = opened.enter_context(FakePrometheus())
            yield WebSource(name, fake, script, opener(opened, folder))

    return made


def token_access(folder: Path) -> HttpAccess:
    (folder / "token").write_text(SECRET)
    return HttpAccess(timeout_seconds=0.3, bearer_token_file=folder / "token")


def prometheus_script(fake: FakePrometheus) -> None:
    fake.gives(
        "node_cpu_seconds_total", ({"node": "node-a"}, 1.5), ({"instance": "10.0.0.2:9100", "node": "node-b"}, 2)
    )
    fake.gives("node_memory_MemAvailable_bytes", ({"node": "node-a"}, 4e9))
    fake.gives("container_cpu_usage_seconds_total{cont", ({"namespace": "shop", "pod": "web"}, 0.5))
    fake.gives("container_memory_working_set_bytes{cont", ({"namespace": "shop", "pod": "web"}, 1e9))


def open_prometheus(opened: ExitStack, folder: Path) -> Callable[[str], Collector]:
    from collectors.prometheus import Prometheus, PrometheusSettings

    access = token_access(folder)
    return lambda url: opened.enter_context(Prometheus(PrometheusSettings(url, access), lambda: NODES))


def load_watcher_script(fake: FakePrometheus) -> None:
    cpu, memory = ({"type": kind, "operator": "AVG", "value": 50.0} for kind in ("CPU", "Memory"))
    hosts = {"node-a": {"metrics": [cpu, memory]}, "10.0.0.2:9100": {"metrics": [cpu]}}
    answer = {"timestamp": time.time(), "window": {"duration": "15m"}, "data": {"NodeMetricsMap": hosts}}
    fake.serves("/watcher", Reply(body=json.dumps(answer)))


def open_load_watcher(opened: ExitStack, folder: Path) -> Callable[[str], Collector]:
    from collectors.load_watcher import LoadWatcher

    access = token_access(folder)
    return lambda url: opened.enter_context(LoadWatcher(url, access, lambda: NODES))


def metrics_server_script(fake: FakePrometheus) -> None:
    when = {"timestamp": "2026-01-01T00:00:00Z", "window": "10.2s"}
    nodes = [
        {"metadata": {"name": "node-a"}, **when, "usage": {"cpu": "1500m", "memory": "4Gi"}},
        {"metadata": {"name": "node-b"}, **when, "usage": {"cpu": "2"}},
    ]
    containers = [{"name": "app", "usage": {"cpu": "500m", "memory": "1Gi"}}]
    pods = [{"metadata": {"name": "web", "namespace": "shop"}, **when, "containers": containers}]
    for kind, items in (("Node", nodes), ("Pod", pods)):
        listed = {"kind": f"{kind}MetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": items}
        fake.serves(f"/apis/metrics.k8s.io/v1beta1/{kind.lower()}s", Reply(body=json.dumps(listed)))


def open_metrics_server(opened: ExitStack, folder: Path) -> Callable[[str], Collector]:
    from collectors.kubernetes_api import Credentials, KubernetesApi
    from collectors.metrics_server import MetricsServer

    def opener(url: str) -> Collector:
        kubeconfig = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": url}}],
            "users": [{"name": "me", "user": {"token": SECRET}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
        api = opened.enter_context(KubernetesApi(Credentials(str(folder / "kubeconfig"))))
        return MetricsServer(api, timeout_seconds=0.3)

    return opener


# -- Sources on disk -------------------------------------------------------------------------------------------------


@dataclass
class RecordedSource:
    """A folder of recorded readings."""

    folder: Path

    def healthy(self) -> Collector:
        from collectors.history.writer import HistoryWriter

        usage = np.array([[1.5, 4e9], [2.0, np.nan]])
        rows = Measurements(("node-a", "node-b"), usage, np.full(2, 1e9), np.full(2, 10.0))
        pods = Measurements(("shop/web",), np.array([[0.5, 1e9]]), np.array([1e9]), np.array([10.0]))
        with HistoryWriter(self.folder / "history") as writer:
            writer.write_reading(Reading("recorded", 1e9, ("cpu", "memory"), rows, pods))
        return self._opened()

    def dead(self) -> Collector:
        return self._opened()

    def nonsense(self, body: bytes) -> Collector:
        self.healthy()
        for file in (self.folder / "history").rglob("*.parquet"):
            file.write_bytes(body)
        return self._opened()

    def _opened(self) -> Collector:
        from collectors.replay import Replay

        return Replay(self.folder / "history", speed=math.inf)


@contextmanager
def recorded(folder: Path) -> Iterator[RecordedSource]:
    """The row for a recorded history."""
    yield RecordedSource(folder)


# -- The table -------------------------------------------------------------------------------------------------------

WEB = {
    "prometheus": web("prometheus", prometheus_script, open_prometheus),
    "load_watcher": web("load_watcher", load_watcher_script, open_load_watcher),
    "metrics_server": web("metrics_server", metrics_server_script, open_metrics_server),
}
COLLECTORS = {**WEB, "replay": recorded}


@pytest.fixture(params=list(COLLECTORS))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Source]:
    with COLLECTORS[request.param](tmp_path) as made:
        yield made


@pytest.fixture(params=list(WEB))
def web_source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WebSource]:
    with WEB[request.param](tmp_path) as made:
        yield made


# -- The laws of a reading -------------------------------------------------------------------------------------------


def test_a_collector_reads_a_reading(source: Source) -> None:
    collector = source.healthy()
    assert isinstance(collector, Collector)
    reading = collector.read()
    assert isinstance(reading, Reading)
    assert reading.source
    assert reading.base in {"absolute", "capacity"}


def test_cpu_and_memory_come_first(source: Source) -> None:
    assert source.healthy().read().resources[:2] == ("cpu", "memory")


def test_nodes_carry_the_cluster_s_names_and_each_name_once(source: Source) -> None:
    reading = source.healthy().read()
    assert set(reading.nodes.names) == {"node-a", "node-b"}
    for rows in (reading.nodes, reading.pods):
        assert rows is None or len(set(rows.names)) == len(rows.names)


def test_what_was_not_measured_is_nan_and_what_was_is_not(source: Source) -> None:
    nodes = source.healthy().read().nodes
    first, second = nodes.usage[nodes.names.index("node-a")], nodes.usage[nodes.names.index("node-b")]
    assert np.isfinite(first[:2]).all()
    assert (first[:2] > 0).all()
    assert np.isfinite(second[0])
    assert math.isnan(second[1])


def test_pods_are_named_by_namespace_and_name(source: Source) -> None:
    pods = source.healthy().read().pods
    assert pods is None or pods.names == ("shop/web",)


def test_times_are_finite_and_windows_are_positive_where_told(source: Source) -> None:
    reading = source.healthy().read()
    assert math.isfinite(reading.time)
    for rows in (reading.nodes, reading.pods):
        if rows is not None:
            assert np.isfinite(rows.times).all()
            assert (np.isnan(rows.windows) | (rows.windows > 0)).all()


def test_a_reading_cannot_be_changed(source: Source) -> None:
    reading = source.healthy().read()
    for rows in (reading.nodes, reading.pods):
        for array in () if rows is None else (rows.usage, rows.times, rows.windows):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    if reading.node_deviation is not None:
        assert reading.node_deviation.shape == reading.nodes.usage.shape


def test_a_history_if_there_is_one_comes_oldest_first(source: Source) -> None:
    collector = source.healthy()
    if isinstance(collector, HasHistory):
        times = [reading.time for reading in collector.history(time.time() - 300)]
        assert times == sorted(times)


# -- The laws of failure ---------------------------------------------------------------------------------------------


def test_a_dead_source_raises_a_collector_error(source: Source) -> None:
    with pytest.raises(CollectorError):
        source.dead().read()


@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_raises_a_collector_error(source: Source, body: bytes) -> None:
    with pytest.raises(CollectorError) as caught:
        source.nonsense(body).read()
    assert len(str(caught.value)) < 1000
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reply", [Reply(body="{", broken=True), Reply(silent=True)], ids=["broken", "silent"])
def test_an_answer_that_does_not_come_to_its_end_raises_a_collector_error(web_source: WebSource, reply: Reply) -> None:
    with pytest.raises(SourceUnreachableError):
        web_source.replying(reply).read()


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 429, 500, 503])
def test_a_refusal_is_told_with_its_status(web_source: WebSource, status: int) -> None:
    with pytest.raises(SourceRefusedError) as caught:
        web_source.replying(Reply(status, "no", "text/plain")).read()
    assert caught.value.status == status


def test_a_secret_that_the_source_repeats_is_not_passed_on(
    web_source: WebSource, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"kind": "Status", "status": "error", "message": f"{SECRET}?", "error": f"no {SECRET}"}
    with pytest.raises(SourceRefusedError) as caught:
        web_source.replying(Reply(403, json.dumps(echo))).read()
    assert any(SECRET in str(seen.headers) for seen in web_source.fake.requests)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in told + caplog.text


def test_a_source_that_recovers_is_read_again(web_source: WebSource) -> None:
    collector = web_source.replying(Reply(503, "busy"))
    with pytest.raises(CollectorError):
        collector.read()
    web_source.fake.gives("", reply=success([]))
    web_source.script(web_source.fake)
    assert len(collector.read().nodes.names) == 2
