from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from collectors.cluster import NodeSeen
from collectors.load_watcher import LoadWatcher
from collectors.reading import CPU, MEMORY
from loadaware.extender.watcher import watcher_metrics
from loadaware.ladder import Staleness
from loadaware.observer import Observer, ObserverSettings
from loadaware.service import Service
from loadaware.snapshot import Snapshot
from tests.loadaware.builders import GIB, Clock, cpu_mean, make_node, make_reading, snapshot_of
from tests.loadaware.running_server import AppClient, RunningServer, new_service

NOW = 10_000.0


class GoMetric(msgspec.Struct, forbid_unknown_fields=True):
    """As the Go client's types have it: every member, with its type, and none besides."""

    name: str
    type: str
    operator: str
    rollup: str
    value: float


class GoNodeMetrics(msgspec.Struct, forbid_unknown_fields=True):
    metrics: list[GoMetric]
    tags: dict[str, str]
    metadata: dict[str, str]


class GoData(msgspec.Struct, forbid_unknown_fields=True):
    NodeMetricsMap: dict[str, GoNodeMetrics]


class GoWindow(msgspec.Struct, forbid_unknown_fields=True):
    duration: str
    start: int
    end: int


class GoWatcherMetrics(msgspec.Struct, forbid_unknown_fields=True):
    timestamp: int
    window: GoWindow
    source: str
    data: GoData


def answer(snapshot: Snapshot, now: float = NOW, host: str | None = None) -> GoWatcherMetrics | None:
    """Through the wire and back."""
    metrics = watcher_metrics(snapshot, now, "loadaware", Staleness(), host)
    return None if metrics is None else msgspec.json.decode(msgspec.json.encode(metrics), type=GoWatcherMetrics)


def told(snapshot: Snapshot, now: float = NOW) -> GoWatcherMetrics:
    metrics = answer(snapshot, now)
    assert metrics is not None
    return metrics


def values(metrics: GoWatcherMetrics, node: str) -> dict[tuple[str, str], float]:
    return {(m.type, m.operator): m.value for m in metrics.data.NodeMetricsMap[node].metrics}


def observed(*samples: tuple[float, float], settings: ObserverSettings | None = None) -> Snapshot:
    """A node of four cores and 16Gi: (seconds before now, cores used), memory always 4Gi."""
    observer = Observer(settings)
    observer.tell(NodeSeen(make_node("a")), NOW)
    for age, cores in samples:
        observer.feed(make_reading({"a": (cores, 4 * GIB)}, NOW - age), NOW - age)
    return observer.snapshot(NOW)


# -- Format and numbers -------------------------------------------------------------------------------------------


def test_each_node_has_average_deviation_and_latest_in_percent_of_capacity() -> None:
    metrics = told(observed((30.0, 1.0), (15.0, 2.0), (0.0, 3.0)))
    assert values(metrics, "a") == {
        ("CPU", "AVG"): pytest.approx(100 * (1 + 2 + 3) / 3 / 4),
        ("CPU", "STD"): pytest.approx(100 * np.sqrt(2 / 3) / 4),
        ("CPU", "Latest"): pytest.approx(100 * 3 / 4),
        ("Memory", "AVG"): pytest.approx(25.0),
        ("Memory", "STD"): pytest.approx(0.0),
        ("Memory", "Latest"): pytest.approx(25.0),
    }
    assert metrics.source == "loadaware"
    assert metrics.timestamp == NOW


def test_percent_are_of_capacity_and_not_of_what_is_allocatable() -> None:
    state = {"allocatable": {CPU: "2", MEMORY: "8Gi"}, "usage": {CPU: {"mean": "1"}}}
    assert values(told(snapshot_of({"a": state})), "a") == {("CPU", "AVG"): 25.0}


def test_what_was_not_measured_is_left_out_and_never_zero() -> None:
    nodes: dict[str, Any] = {
        "mean-only": cpu_mean(40),
        "latest-only": {"usage": {MEMORY: {"latest": "50%"}}},
        "nothing": {},
        "no-capacity": {"capacity": {CPU: "0"}, "usage": {CPU: {"mean": "1"}}},
    }
    metrics = told(snapshot_of(nodes))
    assert metrics.data.NodeMetricsMap.keys() == {"mean-only", "latest-only"}
    assert values(metrics, "mean-only") == {("CPU", "AVG"): 40.0}
    assert values(metrics, "latest-only") == {("Memory", "Latest"): 50.0}


def test_an_idle_node_is_told_as_zero() -> None:
    assert values(told(snapshot_of({"a": cpu_mean(0)})), "a") == {("CPU", "AVG"): 0.0}


def test_nothing_measured_is_no_answer() -> None:
    assert answer(Snapshot.empty()) is None
    assert answer(snapshot_of({"a": {}})) is None
    assert answer(observed()) is None


def test_a_state_that_never_ages_is_told_as_of_now() -> None:
    metrics = told(snapshot_of({"a": cpu_mean(40)}))
    assert (metrics.window.duration, metrics.window.start, metrics.window.end) == ("15m", NOW - 900, NOW)


def test_one_host_can_be_asked_for() -> None:
    snapshot = snapshot_of({"a": cpu_mean(40), "b": cpu_mean(50)})
    one = answer(snapshot, host="b")
    assert one is not None
    assert one.data.NodeMetricsMap.keys() == {"b"}
    assert answer(snapshot, host="stranger") is None


# -- Windows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reach", "duration", "seconds"),
    [(0.0, "5m", 300), (299.0, "5m", 300), (301.0, "10m", 600), (599.0, "10m", 600), (885.0, "15m", 900)],
)
def test_the_window_is_no_longer_than_the_past_that_there_is(reach: float, duration: str, seconds: int) -> None:
    samples = [(reach, 1.0), (0.0, 3.0)] if reach else [(0.0, 2.0)]
    metrics = told(observed(*samples))
    assert (metrics.window.duration, metrics.window.start) == (duration, NOW - seconds)
    assert {metric.rollup for metric in metrics.data.NodeMetricsMap["a"].metrics} == {duration}
    assert values(metrics, "a")["CPU", "AVG"] == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("main", "others", "duration", "average"),
    [
        (1800.0, (300.0, 600.0, 900.0), "15m", (2 + 3 + 4) / 3),
        (1800.0, (300.0, 600.0), "10m", (3 + 4) / 2),
        (300.0, (600.0,), "5m", 4.0),
        (600.0, (), "10m", (3 + 4) / 2),
        (120.0, (300.0, 600.0), "10m", (3 + 4) / 2),
        (1800.0, (), "5m", (1 + 2 + 3 + 4) / 4),
    ],
)
def test_whatever_windows_are_kept_the_longest_that_fits_is_told(
    main: float, others: tuple[float, ...], duration: str, average: float
) -> None:
    settings = ObserverSettings(window_seconds=main, other_windows_seconds=others)
    metrics = told(observed((1500.0, 1.0), (840.0, 2.0), (420.0, 3.0), (0.0, 4.0), settings=settings))
    assert metrics.window.duration == duration
    assert values(metrics, "a")["CPU", "AVG"] == pytest.approx(100 * average / 4)


def test_a_deviation_that_the_source_reports_is_passed_on_from_the_first_sample() -> None:
    observer = Observer()
    observer.tell(NodeSeen(make_node("a")), NOW)
    observer.feed(make_reading({"a": (2.0, 4 * GIB)}, NOW, deviation=[(0.4, np.nan)]), NOW)
    told_of = values(told(observer.snapshot(NOW)), "a")
    assert told_of["CPU", "STD"] == pytest.approx(10.0)


# -- Old data -----------------------------------------------------------------------------------------------------


def test_the_windows_end_is_the_newest_sample_and_not_now() -> None:
    metrics = told(observed((45.0, 1.0)))
    assert metrics.window.end == NOW - 45


def test_nodes_whose_data_expired_are_left_out_while_others_go_on() -> None:
    observer = Observer()
    for name in ("a", "b"):
        observer.tell(NodeSeen(make_node(name)), NOW)
    observer.feed(make_reading({"a": (1.0, GIB), "b": (1.0, GIB)}, NOW - 1000.0), NOW - 1000.0)
    observer.feed(make_reading({"b": (1.0, GIB)}, NOW), NOW)
    snapshot = observer.snapshot(NOW)
    assert told(snapshot).data.NodeMetricsMap.keys() == {"b"}
    assert answer(snapshot, NOW + 1000.0) is None


# -- Over HTTP ----------------------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Service:
    return new_service(clock=Clock(NOW))


@pytest.fixture
def client(service: Service) -> Iterator[AppClient]:
    with AppClient(service) as client:
        yield client


def test_health_and_metrics_say_that_nothing_is_measured_until_something_is(
    service: Service, client: AppClient
) -> None:
    assert client.get("/watcher").status_code == 404
    assert client.get("/watcher/health").status_code == 503
    service.take(snapshot_of({"a": cpu_mean(40)}))
    assert client.get("/watcher/health").status_code == 200
    shown = client.get("/watcher")
    assert shown.headers["content-type"] == "application/json"
    assert msgspec.json.decode(shown.content, type=GoWatcherMetrics) == told(snapshot_of({"a": cpu_mean(40)}))
    assert client.get("/watcher?host=a").json() == shown.json()
    assert client.get("/watcher?host=b").status_code == 404


def test_our_own_collector_reads_it_as_it_reads_load_watcher(service: Service) -> None:
    service.take(observed((30.0, 1.0), (15.0, 2.0), (0.0, 3.0)))
    with RunningServer(service) as running, LoadWatcher(running.url) as collector:
        collector.check_health()
        reading = collector.read()
    assert reading.nodes.names == ("a",)
    assert reading.nodes.times.tolist() == [NOW]
    assert reading.nodes.usage.tolist() == [[pytest.approx(0.5), pytest.approx(0.25)]]
    assert reading.node_deviation is not None
    assert reading.node_deviation[0, 0] == pytest.approx(np.sqrt(2 / 3) / 4)
