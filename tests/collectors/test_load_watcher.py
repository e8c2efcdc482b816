"""The load-watcher collector against scripted answers in load-watcher's own form."""

import json
import math
from collections.abc import Iterator
from typing import Any

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
from collectors.load_watcher import LoadWatcher
from collectors.reading import Collector, NodeIdentity
from tests.collectors.fake_prometheus import FakePrometheus, Reply

END = 1_700_000_000


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with FakePrometheus() as server:
        yield server


@pytest.fixture
def watcher(fake: FakePrometheus) -> Iterator[LoadWatcher]:
    with LoadWatcher(fake.url) as collector:
        yield collector


def metric(kind: str, operator: str, value: float | None) -> dict[str, Any]:
    return {"name": f"host.{kind}", "type": kind, "operator": operator, "rollup": "15m", "value": value}


def told(hosts: dict[str, list[dict[str, Any]]], **changes: Any) -> Reply:
    """What /watcher answers."""
    answer = {
        "timestamp": END + 3,
        "window": {"duration": "15m", "start": END - 900, "end": END},
        "source": "Prometheus",
        "data": {
            "NodeMetricsMap": {
                host: {"metrics": metrics, "tags": {}, "metadata": {"dataCenter": "x"}}
                for host, metrics in hosts.items()
            }
        },
        **changes,
    }
    return Reply(body=json.dumps(answer))


FULL = [
    metric("CPU", "AVG", 40.0),
    metric("CPU", "STD", 5.0),
    metric("Memory", "AVG", 30.0),
    metric("Memory", "STD", 2.0),
    metric("Bandwidth", "AVG", 1e6),
]


def test_percent_of_capacity_become_fractions_of_it(fake: FakePrometheus, watcher: LoadWatcher) -> None:
    fake.serves("/watcher", told({"node-1": FULL}))
    reading = watcher.read()
    assert isinstance(watcher, Collector)
    assert (reading.source, reading.base) == ("load-watcher", "capacity")
    assert reading.resources == ("cpu", "memory")
    assert reading.nodes.names == ("node-1",)
    np.testing.assert_allclose(reading.nodes.usage, [[0.4, 0.3]])
    assert reading.node_deviation is not None
    np.testing.assert_allclose(reading.node_deviation, [[0.05, 0.02]])
    assert reading.pods is None
    assert (fake.requests[0].method, fake.requests[0].path) == ("GET", "/watcher")


def test_the_end_of_the_window_is_the_time_of_every_node(fake: FakePrometheus, watcher: LoadWatcher) -> None:
    fake.serves("/watcher", told({"node-1": FULL, "node-2": FULL}))
    reading = watcher.read()
    assert reading.time == END + 3
    assert list(reading.nodes.times) == [END, END]
    assert list(reading.nodes.windows) == [900.0, 900.0]


@pytest.mark.parametrize(
    ("window", "end", "seconds"),
    [
        ({"duration": "10m", "start": 0, "end": 0}, END + 3, 600.0),
        ({"duration": "1h30m"}, END + 3, 5400.0),
        ({"duration": "soon", "end": END}, END, math.nan),
        ({}, END + 3, math.nan),
    ],
)
def test_a_window_without_ends_is_known_by_its_duration(
    fake: FakePrometheus, watcher: LoadWatcher, window: dict[str, object], end: float, seconds: float
) -> None:
    fake.serves("/watcher", told({"node-1": FULL}, window=window))
    nodes = watcher.read().nodes
    np.testing.assert_array_equal([nodes.times[0], nodes.windows[0]], [end, seconds])


@pytest.mark.parametrize(
    ("metrics", "cpu"),
    [
        ([metric("CPU", "Latest", 50.0), metric("CPU", "AVG", 40.0)], 0.4),
        ([metric("CPU", "AVG", 40.0), metric("CPU", "Latest", 50.0)], 0.4),
        ([metric("CPU", "Latest", 50.0)], 0.5),
        ([metric("CPU", "", 50.0)], 0.5),
        ([metric("cpu", "avg", 40.0)], 0.4),
        ([metric("CPU", "AVG", None), metric("CPU", "Latest", 50.0)], 0.5),
        ([metric("CPU", "AVG", 0.0)], 0.0),
        ([metric("CPU", "AVG", 130.0)], 1.3),
    ],
)
def test_the_average_counts_and_else_the_latest(
    fake: FakePrometheus, watcher: LoadWatcher, metrics: list[dict[str, Any]], cpu: float
) -> None:
    fake.serves("/watcher", told({"node-1": metrics}))
    reading = watcher.read()
    np.testing.assert_allclose(reading.nodes.usage, [[cpu, math.nan]])
    assert reading.node_deviation is None


def test_a_node_with_only_a_deviation_is_not_idle(fake: FakePrometheus, watcher: LoadWatcher) -> None:
    fake.serves("/watcher", told({"node-1": FULL, "node-2": [metric("CPU", "STD", 5.0)]}))
    reading = watcher.read()
    assert reading.nodes.names == ("node-1", "node-2")
    assert np.isnan(reading.nodes.usage[1]).all()
    assert reading.node_deviation is not None
    np.testing.assert_allclose(reading.node_deviation[1], [0.05, math.nan])


def test_hosts_are_matched_to_nodes_if_these_are_known(fake: FakePrometheus) -> None:
    fake.serves(
        "/watcher",
        told({"10.0.0.1:9100": FULL, "node-2.example": FULL, "10.9.9.9:9100": FULL}),
    )
    nodes = [NodeIdentity("node-1", ("10.0.0.1",)), NodeIdentity("node-2")]
    with LoadWatcher(fake.url, nodes=lambda: nodes) as watcher:
        reading = watcher.read()
    assert reading.nodes.names == ("node-1", "node-2")
    assert reading.notes == ("1 of 3 hosts match no node: 10.9.9.9:9100",)


def test_of_two_hosts_that_are_one_node_the_higher_counts(fake: FakePrometheus) -> None:
    low, high = [metric("CPU", "AVG", 10.0)], [metric("CPU", "AVG", 20.0)]
    fake.serves("/watcher", told({"node-1": high, "10.0.0.1": low}))
    with LoadWatcher(fake.url, nodes=lambda: [NodeIdentity("node-1", ("10.0.0.1",))]) as watcher:
        assert watcher.read().nodes.usage[0, 0] == 0.2


@pytest.mark.parametrize(
    ("reply", "expected", "text"),
    [
        (Reply(404), SourceRefusedError, "404: an empty answer"),
        (Reply(500, "unable to get any latest metrics", "text/plain"), SourceRefusedError, "unable to get any"),
        (Reply(body="nonsense"), MalformedAnswerError, "nonsense"),
        (Reply(body="<title>Sign in</title>", content_type="text/html"), MalformedAnswerError, "Sign in"),
        (Reply(body='{"timestamp": 1, "data": {}}'), MalformedAnswerError, "NodeMetricsMap"),
        (told({"node-1": FULL}, timestamp=0), MalformedAnswerError, "timestamp is 0"),
        (told({}), EmptyReadingError, "it names no host at all"),
        (told({"node-1": []}), EmptyReadingError, "it tells no usage"),
        (told({"node-1": [metric("CPU", "STD", 5.0)]}), EmptyReadingError, "it tells no usage"),
        (Reply(body="half", broken=True), SourceUnreachableError, "IncompleteRead"),
    ],
)
def test_what_cannot_be_used_fails_the_reading(
    fake: FakePrometheus, watcher: LoadWatcher, reply: Reply, expected: type[CollectorError], text: str
) -> None:
    fake.serves("/watcher", reply)
    with pytest.raises(expected, match=text):
        watcher.read()


def test_hosts_that_are_all_strangers_are_an_empty_reading(fake: FakePrometheus) -> None:
    fake.serves("/watcher", told({"10.9.9.9:9100": FULL}))
    with (
        LoadWatcher(fake.url, nodes=lambda: [NodeIdentity("node-1")]) as watcher,
        pytest.raises(EmptyReadingError, match=r"such as 10\.9\.9\.9:9100, is a node"),
    ):
        watcher.read()


def test_a_slow_service_is_given_up_after_the_timeout(fake: FakePrometheus) -> None:
    fake.serves("/watcher", Reply(silent=True))
    with (
        LoadWatcher(fake.url + "/", HttpAccess(timeout_seconds=0.2)) as watcher,
        pytest.raises(SourceUnreachableError, match="no whole answer"),
    ):
        watcher.read()


def test_health_is_asked_at_its_own_path(fake: FakePrometheus, watcher: LoadWatcher) -> None:
    fake.serves("/watcher/health", Reply(body="ok"))
    watcher.check_health()
    fake.serves("/watcher/health", Reply(503, "no metrics provider"))
    with pytest.raises(SourceRefusedError, match="no metrics provider"):
        watcher.check_health()


def test_an_address_that_holds_a_password_is_refused() -> None:
    with pytest.raises(ValueError, match="name them by username"):
        LoadWatcher("http://anna:secret@load-watcher:2020")
