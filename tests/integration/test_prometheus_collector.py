"""The default queries against a real Prometheus, with series labelled as node-exporter, cAdvisor and kubelet do.

A known past is backfilled once: two hours of it, in which the load of node-1 triples after the first and
node-exporter is installed only then. A second Prometheus scrapes exporters whose counters grow as we look.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pytest

from collectors.errors import EmptyReadingError, MalformedAnswerError, SourceRefusedError
from collectors.prometheus import Prometheus, PrometheusSettings
from collectors.reading import NodeIdentity, Reading
from tests.parts.processes import NotYetError, wait_for
from tests.parts.prometheus_server import MetricsExporter, PrometheusServer

pytestmark = pytest.mark.integration

GIBIBYTE = 2.0**30
HOUR = 3600.0
STEP = 30.0


@dataclass(frozen=True)
class NodeLoad:
    """What a node truly uses: cores before and after the change, bytes, and one pod's share of them."""

    name: str
    address: str
    cores: tuple[float, float]
    memory: float
    pod_share: float = 0.25

    def cpu_seconds(self, since_change: float) -> float:
        """A counter of core seconds, zero at the change plus an offset that keeps it far from its start."""
        return 1e6 + self.cores[since_change > 0] * since_change


LOADS = (
    NodeLoad("node-1", "10.0.0.1", (1.0, 3.0), 4 * GIBIBYTE),
    NodeLoad("node-2", "10.0.0.2", (0.5, 0.5), 2 * GIBIBYTE),
    NodeLoad("node-3", "10.0.0.3", (2.0, 2.0), 8 * GIBIBYTE),
)
IDENTITIES = tuple(NodeIdentity(load.name, (load.address, load.name)) for load in LOADS)
MODES = {"user": 0.7, "system": 0.2, "nice": 0.05, "irq": 0.0, "softirq": 0.05}


def sample(name: str, labels: Mapping[str, str], value: float) -> tuple[str, float]:
    inner = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inner}}}", value


def node_exporter(load: NodeLoad, at: float, target: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Two cores' modes, busy ones adding up to the load; memory in use is total less available."""
    busy = load.cpu_seconds(at)
    for core in ("0", "1"):
        for mode, share in MODES.items():
            yield sample("node_cpu_seconds_total", {**target, "cpu": core, "mode": mode}, busy * share / 2)
        for mode in ("idle", "iowait", "steal"):
            yield sample("node_cpu_seconds_total", {**target, "cpu": core, "mode": mode}, 2e6 + at)
    yield sample("node_memory_MemTotal_bytes", target, 16 * GIBIBYTE)
    yield sample("node_memory_MemAvailable_bytes", target, 16 * GIBIBYTE - load.memory)
    yield sample("node_memory_MemFree_bytes", target, GIBIBYTE)


def cadvisor(load: NodeLoad, at: float, target: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """The root cgroup; below it one pod of two containers with its pause container and its own sum."""
    pod = {"namespace": "shop", "pod": f"web-{load.name}"}
    folder = f"/kubepods.slice/pod-{load.name}"
    cgroups = [
        ({"id": "/"}, 1.0),
        ({"id": "/kubepods.slice"}, 0.9),
        ({"id": folder, **pod}, load.pod_share),
        ({"id": f"{folder}/a", "container": "app", "image": "app:1", "name": "a", **pod}, load.pod_share * 0.8),
        ({"id": f"{folder}/b", "container": "log", "image": "log:1", "name": "b", **pod}, load.pod_share * 0.2),
        ({"id": f"{folder}/c", "container": "POD", "image": "pause:3", "name": "c", **pod}, 0.5),
    ]
    for labels, share in cgroups:
        everything = {**target, **labels}
        yield sample("container_cpu_usage_seconds_total", {**everything, "cpu": "total"}, load.cpu_seconds(at) * share)
        yield sample("container_memory_working_set_bytes", everything, load.memory * share)


def kubelet(load: NodeLoad, at: float, target: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """The kubelet's resource metrics."""
    pod = {**target, "namespace": "shop", "pod": f"web-{load.name}"}
    yield sample("node_cpu_usage_seconds_total", target, load.cpu_seconds(at))
    yield sample("node_memory_working_set_bytes", target, load.memory)
    yield sample("pod_cpu_usage_seconds_total", pod, load.cpu_seconds(at) * load.pod_share)
    yield sample("pod_memory_working_set_bytes", pod, load.memory * load.pod_share)


def target_of(load: NodeLoad, job: str) -> dict[str, str]:
    """The labels that a scrape of this job adds."""
    ports = {"node-exporter": 9100, "kubelet": 10250, "kubelet-again": 10250, "resource": 10250}
    named = {} if job == "node-exporter" else {"node": load.name}
    return {"job": job, "instance": f"{load.address}:{ports[job]}", **named}


# -- A known past ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Past:
    """A Prometheus that knows two hours: from change - 1 h to change + 1 h."""

    url: str
    change: float

    def collector(self, at: float, **settings: object) -> Prometheus:
        """A collector whose clock stands at so many seconds after the change."""
        chosen = PrometheusSettings(url=self.url, **settings)  # type: ignore[arg-type]
        return Prometheus(chosen, lambda: IDENTITIES, lambda: self.change + at)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    change = (time.time() - HOUR - 60) // 60 * 60
    server = PrometheusServer(tmp_path_factory.mktemp("past"))
    server.backfill(openmetrics(change))
    with server:
        server.wait_for_series(f"node_memory_MemTotal_bytes @ {change + HOUR:.0f}")
        yield Past(server.url, change)


def openmetrics(change: float) -> str:
    """Every series' samples together, as the format wants them."""
    by_series: dict[str, list[str]] = {}
    for at in np.arange(-HOUR, HOUR + STEP, STEP):
        for series, value in samples_at(float(at)):
            by_series.setdefault(series, []).append(f"{series} {value!r} {change + at:.0f}")
    families = sorted(by_series, key=lambda series: series.partition("{")[0])
    return "\n".join(line for series in families for line in by_series[series]) + "\n"


def samples_at(at: float) -> Iterator[tuple[str, float]]:
    for load in LOADS:
        yield from cadvisor(load, at, target_of(load, "kubelet"))
        yield from cadvisor(load, at, target_of(load, "kubelet-again"))
        yield from kubelet(load, at, target_of(load, "resource"))
        if at >= 0:
            yield from node_exporter(load, at, target_of(load, "node-exporter"))


def usage(reading: Reading) -> dict[str, tuple[float, float]]:
    rows = zip(reading.nodes.names, reading.nodes.usage, strict=True)
    return {name: (round(float(row[0]), 6), float(row[1])) for name, row in rows}


TRUE_LATE = {load.name: (load.cores[1], load.memory) for load in LOADS}
TRUE_EARLY = {load.name: (load.cores[0], load.memory) for load in LOADS}


def test_node_exporter_is_read_by_the_default_queries(past: Past) -> None:
    with past.collector(HOUR) as collector:
        reading = collector.read()
        report = collector.match_report()
    assert usage(reading) == TRUE_LATE
    assert list(reading.nodes.times) == [past.change + HOUR] * 3
    assert list(reading.nodes.windows) == [120.0] * 3
    nodes = [query for query in report.queries if query.query.kind == "node"]
    assert {query.query.origin for query in nodes} == {"node-exporter"}
    assert {query.label for query in nodes} == {"instance"}
    assert {query.matched for query in nodes} == {("node-1", "node-2", "node-3")}


def test_pods_are_read_once_though_two_jobs_scrape_the_kubelet(past: Past) -> None:
    with past.collector(HOUR) as collector:
        pods = collector.read().pods
    assert pods is not None
    assert pods.names == ("shop/web-node-1", "shop/web-node-2", "shop/web-node-3")
    expected = [[load.cores[1] * load.pod_share, load.memory * load.pod_share] for load in LOADS]
    np.testing.assert_allclose(pods.usage, expected, rtol=1e-6)


def test_cadvisor_is_read_where_node_exporter_has_nothing(past: Past) -> None:
    with past.collector(-HOUR / 2) as collector:
        reading = collector.read()
    assert usage(reading) == TRUE_EARLY
    assert reading.notes[0] == "node cpu and memory: no series of node-exporter, read from cAdvisor instead"
    assert any("more than one series" in note for note in reading.notes)


def test_the_kubelet_s_resource_metrics_are_read_if_chosen(past: Past) -> None:
    with past.collector(HOUR, default_set="kubelet") as collector:
        reading = collector.read()
    assert usage(reading) == TRUE_LATE
    assert reading.notes == ()
    assert reading.pods is not None
    assert reading.pods.usage[0, 0] == pytest.approx(0.75)


def test_a_history_tells_the_load_before_and_after_the_change(past: Past) -> None:
    with past.collector(HOUR, default_set="cadvisor", history_pods=True) as collector:
        readings = list(collector.history(past.change - HOUR / 2))
    times = np.array([reading.time for reading in readings]) - past.change
    assert times.tolist() == np.arange(-HOUR / 2, HOUR + STEP, STEP).tolist()
    for at, reading in zip(times, readings, strict=True):
        if at <= 0 or at >= 120:
            assert usage(reading) == (TRUE_EARLY if at <= 0 else TRUE_LATE)
        assert reading.pods is not None
        assert len(reading.pods.names) == 3


def test_a_history_begins_where_the_source_begins(past: Past) -> None:
    with past.collector(HOUR, default_set="node-exporter") as collector:
        readings = list(collector.history(past.change - HOUR))
    assert readings[0].time - past.change == pytest.approx(0, abs=2 * STEP)
    assert usage(readings[-1]) == TRUE_LATE


def test_a_history_longer_than_one_query_may_answer_comes_in_pieces(past: Past) -> None:
    """14,401 instants, where Prometheus refuses a query for more than 11,000."""
    with past.collector(HOUR, default_set="kubelet", step_seconds=0.25) as collector:
        times = [reading.time for reading in collector.history(past.change)]
    assert len(times) == 14_401
    assert set(np.diff(times)) == {0.25}


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        ("sum(", SourceRefusedError, "answered 400: bad_data: .*parse error"),
        (
            "node_cpu_seconds_total - on (job) node_memory_MemTotal_bytes",
            SourceRefusedError,
            "422: execution: found duplicate series",
        ),
        ("42", MalformedAnswerError, "it is a scalar"),
        ("node_memory_MemTotal_bytes[5m]", MalformedAnswerError, "it is a matrix"),
        ("no_such_metric", EmptyReadingError, "it gives no series"),
        ("sum(node_memory_MemTotal_bytes)", EmptyReadingError, "none of its 1 series, such as {}, names a node"),
    ],
)
def test_what_prometheus_says_of_a_bad_query_is_passed_on(
    past: Past, query: str, error: type[Exception], text: str
) -> None:
    with (
        past.collector(HOUR, node_queries={"cpu": query}) as collector,
        pytest.raises(error, match=text) as caught,
    ):
        collector.read()
    assert query in str(caught.value)


def test_an_own_query_for_another_resource_is_a_column_of_its_own(past: Past) -> None:
    queries = {"idle": 'sum without (cpu, mode) (rate(node_cpu_seconds_total{mode="idle"}[$window]))'}
    with past.collector(HOUR, node_queries=queries) as collector:
        reading = collector.read()
    assert reading.resources == ("cpu", "memory", "idle")
    np.testing.assert_allclose(reading.nodes.usage[:, 2], 2.0)


def test_get_serves_as_well_as_post(past: Past) -> None:
    with past.collector(HOUR, method="GET") as collector:
        assert usage(collector.read()) == TRUE_LATE
        assert len(list(collector.history(past.change + HOUR - 300))) == 11


# -- As it is scraped ------------------------------------------------------------------------------------------------


class GrowingExporter(MetricsExporter):
    """Counters that grow with the clock."""

    def __init__(self, load: NodeLoad, exports: Callable[..., Iterator[tuple[str, float]]]) -> None:
        self._load = load
        self._exports = exports
        self._began = time.time()
        super().__init__()

    @property
    def text(self) -> str:
        samples = self._exports(self._load, time.time() - self._began, {})
        return "".join(f"{series.replace('{}', '')} {value!r}\n" for series, value in samples)

    @text.setter
    def text(self, _: str) -> None:
        """Only the clock changes it."""


def scrape_config(targets: list[tuple[str, NodeLoad, str]]) -> str:
    """One job each for node-exporter and the kubelet, with the labels that service discovery gives."""
    jobs = [
        {
            "job_name": job,
            "static_configs": [
                {"targets": [address], "labels": {**target_of(load, job), "job": job}}
                for address, load, its_job in targets
                if its_job == job
            ],
        }
        for job in ("node-exporter", "kubelet")
    ]
    timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    return json.dumps({"global": timing, "scrape_configs": jobs})


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    exporters = [
        (GrowingExporter(load, exports), load, job)
        for load in LOADS
        for job, exports in (("node-exporter", node_exporter), ("kubelet", cadvisor))
    ]
    config = scrape_config([(exporter.target, load, job) for exporter, load, job in exporters])
    with ExitStack() as running:
        for exporter, _, _ in exporters:
            running.enter_context(exporter)
        yield running.enter_context(PrometheusServer(tmp_path_factory.mktemp("live"), config=config)).url


@pytest.mark.parametrize("default_set", ["node-exporter", "cadvisor"])
def test_scraped_series_give_the_true_load(live: str, default_set: str) -> None:
    settings = PrometheusSettings(url=live, default_set=default_set, rate_window_seconds=5)
    expected = np.array([[load.cores[1], load.memory] for load in LOADS])

    with Prometheus(settings, lambda: IDENTITIES) as collector:

        def true_reading() -> Reading:
            try:
                reading = collector.read()
            except EmptyReadingError as error:
                raise NotYetError(str(error)) from error
            if reading.pods is None or reading.nodes.usage.shape != expected.shape:
                raise NotYetError(str(reading.notes))
            if not np.allclose(reading.nodes.usage, expected, rtol=0.05):
                raise NotYetError(str(reading.nodes.usage))
            if not np.isfinite(reading.pods.usage).all():
                raise NotYetError(str(reading.pods.usage))
            return reading

        reading = wait_for(true_reading, "a full window of scrapes")
    assert reading.nodes.names == ("node-1", "node-2", "node-3")
    assert reading.pods is not None


def test_pods_past_is_read_far_apart_and_tells_the_load_before_and_after_the_change(past: Past) -> None:
    with past.collector(HOUR, default_set="cadvisor") as collector:
        readings = list(collector.pod_history(past.change - HOUR / 2))
    times = [reading.time for reading in readings]
    assert np.diff(times).tolist() == [300.0] * (len(times) - 1)
    assert len(times) in (18, 19)  # an hour and a half
    for reading in readings:
        assert reading.pods is not None
        assert len(reading.pods.names) == 3
        if reading.time <= past.change or reading.time >= past.change + 120:
            cores = [load.cores[reading.time > past.change] * load.pod_share for load in LOADS]
            np.testing.assert_allclose(reading.pods.usage[:, 0], cores, rtol=1e-6)
