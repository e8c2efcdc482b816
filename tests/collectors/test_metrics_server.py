import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import (
    EmptyReadingError,
    MalformedAnswerError,
    QuantityError,
    SourceRefusedError,
    SourceUnreachableError,
)
from collectors.kubernetes_api import KubernetesApi
from collectors.metrics_server import (
    NODES_PATH,
    PODS_PATH,
    MetricsServer,
    _amount,
    node_measurements,
    parse_duration,
    pod_measurements,
)
from collectors.quantity import parse_quantity
from collectors.reading import Collector
from tests.collectors.fake_api_server import FakeApiServer, status_of

RECORDED = Path(__file__).parent.parent / "recorded" / "metrics_server"
NODES = (RECORDED / "nodes.json").read_bytes()
PODS = (RECORDED / "pods.json").read_bytes()
EIGHT_FIFTEEN = 1772439300.0
"""2026-03-02T08:15:00Z"""


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> Iterator[KubernetesApi]:
    with server.api(tmp_path) as api:
        yield api


def node_list(*items: Any) -> bytes:
    return json.dumps({"kind": "NodeMetricsList", "metadata": {}, "items": items}).encode()


def pod_list(*items: Any) -> bytes:
    return json.dumps({"kind": "PodMetricsList", "metadata": {}, "items": items}).encode()


def pod(name: str, *usages: Any) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "usage": usage} for i, usage in enumerate(usages)]
    return {"metadata": {"name": name, "namespace": "s"}, "containers": containers}


# -- A reading ------------------------------------------------------------------------------------------------


def test_nodes_and_pods_are_read_with_their_times_and_windows(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES_PATH, NODES)
    server.answer(PODS_PATH, PODS)
    reading = MetricsServer(api, now=lambda: 1234.5).read()
    assert (reading.source, reading.time, reading.base) == ("metrics-server", 1234.5, "absolute")
    assert reading.resources == ("cpu", "memory")
    assert reading.nodes.names == ("kind-control-plane", "kind-worker", "kind-worker2")
    assert reading.nodes.usage.tolist() == [
        [0.156340345, 1018732 * 1024.0],
        [2.013, 4 * 2.0**30],
        [0.000041, 2.0**29],
    ]
    assert (reading.nodes.times - EIGHT_FIFTEEN).tolist() == [18.0, 21.0, 13.0]
    assert reading.nodes.windows.tolist() == [10.062, 60.5, 20.01]
    assert reading.pods is not None
    assert reading.pods.names[:2] == ("kube-system/coredns-668d6bf9bc-7xk2p", "shop/shop-7d9c5b8f6d-lk4wq")
    assert (reading.pods.times - EIGHT_FIFTEEN).tolist() == [15.0, 19.0, 19.0, 8.0]
    assert reading.pods.windows.tolist() == [18.247, 15.331, 15.331, 12.9]
    assert reading.notes == ()


def test_a_pods_usage_is_the_sum_of_its_containers() -> None:
    rows = pod_measurements(PODS, [])
    assert rows.usage[1].tolist() == [0.2625, (204800 + 50 * 1024) * 1024.0]
    assert rows.usage[3].tolist() == [0.0, 344 * 1024.0]


def test_it_is_a_collector(api: KubernetesApi) -> None:
    assert isinstance(MetricsServer(api), Collector)


def test_pods_are_not_asked_for_when_they_are_not_wanted(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES_PATH, NODES)
    assert MetricsServer(api, pods=False).read().pods is None
    assert [asked.path for asked in server.requests] == [NODES_PATH]


def test_a_cluster_without_pods_is_not_the_same_as_pods_that_may_not_be_read(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES_PATH, NODES)
    server.answer(PODS_PATH, {"kind": "PodMetricsList", "items": None})
    reading = MetricsServer(api).read()
    assert reading.pods is not None
    assert reading.pods.names == ()
    assert reading.pods.usage.shape == (0, 2)


# -- What is refused ------------------------------------------------------------------------------------------


def test_pods_that_may_not_be_read_are_left_out_with_a_note(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES_PATH, NODES)
    server.answer(PODS_PATH, (RECORDED / "pods-forbidden.json").read_bytes(), status=403)
    reading = MetricsServer(api).read()
    assert reading.pods is None
    assert len(reading.notes) == 1
    assert reading.notes[0].startswith("no pod metrics: pods.metrics.k8s.io is forbidden")
    assert reading.notes[0].endswith("allow get and list on nodes and pods of metrics.k8s.io")


def test_pods_that_are_not_served_are_left_out_with_a_note(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES_PATH, NODES)
    reading = MetricsServer(api).read()
    assert reading.pods is None
    assert "no pod metrics" in reading.notes[0]


def test_pods_that_fail_for_another_reason_fail_the_whole_reading(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES_PATH, NODES)
    server.answer(PODS_PATH, b"service unavailable\n", status=503)
    with pytest.raises(SourceRefusedError):
        MetricsServer(api).read()
    server.answer(PODS_PATH, PODS, cut=True)
    server.answer(PODS_PATH, PODS, cut=True)
    with pytest.raises((SourceRefusedError, SourceUnreachableError)):
        MetricsServer(api).read()


@pytest.mark.parametrize(
    ("status", "body", "hint"),
    [
        (403, status_of(403, "nodes is forbidden"), "nodes is forbidden; allow get and list on nodes and pods"),
        (404, b"404 page not found\n", "metrics.k8s.io is not served here: install metrics-server"),
        (503, b"service unavailable\n", "metrics-server is registered but does not answer"),
        (500, status_of(500, "oops"), "answered 500: oops"),
    ],
)
def test_refused_nodes_fail_the_reading_with_a_hint(
    server: FakeApiServer, api: KubernetesApi, status: int, body: Any, hint: str
) -> None:
    server.answer(NODES_PATH, body, status=status)
    with pytest.raises(SourceRefusedError, match=hint) as caught:
        MetricsServer(api).read()
    assert caught.value.status == status


@pytest.mark.parametrize(
    "body",
    [
        (RECORDED / "nodes-just-started.json").read_bytes(),
        node_list({"metadata": {"name": "n"}}),
    ],
)
def test_not_one_measured_node_is_an_empty_reading(server: FakeApiServer, api: KubernetesApi, body: bytes) -> None:
    server.answer(NODES_PATH, body)
    with pytest.raises(EmptyReadingError, match="metrics-server reported no node: it may still be starting"):
        MetricsServer(api).read()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"{}",
        b"[]",
        PODS,
        b'{"kind": "NodeMetricsList"}',
        b'{"kind": "NodeMetricsList", "items": [{}]}',
        b'{"kind": "NodeMetricsList", "items": [3]}',
        NODES[:-20],
    ],
)
def test_a_body_that_is_no_list_of_node_metrics_is_malformed(
    server: FakeApiServer, api: KubernetesApi, body: bytes
) -> None:
    server.answer(NODES_PATH, body)
    with pytest.raises(MalformedAnswerError, match=f"{NODES_PATH} did not answer with a NodeMetricsList"):
        MetricsServer(api).read()


# -- What is missing or bad in single rows --------------------------------------------------------------------


def test_a_resource_left_out_is_not_measured() -> None:
    rows = node_measurements(
        node_list(
            {"metadata": {"name": "a"}, "usage": {"cpu": "1"}},
            {"metadata": {"name": "b"}, "usage": {"memory": "1Ki"}},
            {"metadata": {"name": "c"}, "usage": None},
        ),
        [],
    )
    np.testing.assert_equal(rows.usage, [[1.0, math.nan], [math.nan, 1024.0], [math.nan, math.nan]])


def test_a_time_or_window_left_out_is_not_known() -> None:
    notes: list[str] = []
    rows = node_measurements(node_list({"metadata": {"name": "a"}, "timestamp": None, "usage": {"cpu": "1"}}), notes)
    assert np.isnan(rows.times).all()
    assert np.isnan(rows.windows).all()
    assert notes == []


def test_a_pod_with_an_unmeasured_container_is_not_measured_in_that_resource() -> None:
    rows = pod_measurements(
        pod_list(
            pod("half", {"cpu": "1", "memory": "1Ki"}, {"memory": "1Ki"}),
            pod("none"),
            {"metadata": {"name": "null", "namespace": "s"}, "containers": None},
            pod("whole", {"cpu": "250m", "memory": "0"}),
        ),
        [],
    )
    assert rows.names == ("s/half", "s/none", "s/null", "s/whole")
    np.testing.assert_equal(rows.usage, [[math.nan, 2048.0], [math.nan, math.nan], [math.nan, math.nan], [0.25, 0.0]])


@pytest.mark.parametrize("bad", ["lots", "", "1_0n", "٣n", "n", "Ki", True, [1], {"a": 1}, 10**400])
def test_a_bad_quantity_spoils_only_itself_and_is_noted(bad: Any) -> None:
    notes: list[str] = []
    rows = pod_measurements(
        pod_list(pod("a", {"cpu": "1n", "memory": "1Ki"}), pod("b", {"cpu": bad, "memory": "2Ki"})), notes
    )
    np.testing.assert_equal(rows.usage, [[1e-9, 1024.0], [math.nan, 2048.0]])
    assert len(notes) == 1
    assert notes[0].startswith("cpu of 1 cannot be read, such as s/b with ")


def test_many_bad_quantities_are_noted_once() -> None:
    notes: list[str] = []
    items = [{"metadata": {"name": f"n{i}"}, "usage": {"cpu": "x", "memory": "1"}} for i in range(100)]
    node_measurements(node_list(*items), notes)
    assert notes == ["cpu of 100 cannot be read, such as n0 with 'x'"]


def test_bad_times_and_windows_are_not_known_and_noted() -> None:
    notes: list[str] = []
    row = {"metadata": {"name": "a"}, "timestamp": "yesterday", "window": "a while", "usage": {"cpu": "1"}}
    rows = node_measurements(node_list(row, row), notes)
    assert np.isnan(rows.times).all()
    assert np.isnan(rows.windows).all()
    assert notes == [
        "1 timestamps cannot be read, such as 'yesterday'",
        "1 windows cannot be read, such as 'a while'",
    ]


def test_members_that_nobody_reads_may_have_any_shape() -> None:
    body = node_list({"metadata": {"name": "a", "labels": 3}, "usage": {"cpu": "1", "gpu": []}, "else": {}})
    assert node_measurements(body, []).usage[0, 0] == 1.0


@given(st.text(alphabet="0123456789nKium.eE+-_ ", max_size=8) | st.integers(0, 2**70).map(str))
def test_the_short_way_agrees_with_the_general_parser(text: str) -> None:
    try:
        expected = parse_quantity(text)
    except QuantityError:
        with pytest.raises(QuantityError):
            _amount(text)
    else:
        assert _amount(text) == expected


@pytest.mark.parametrize("suffix", ["n", "Ki", "u", "m", "Mi", ""])
@given(number=st.integers(0, 2**63))
def test_the_short_way_agrees_on_what_metrics_server_writes(suffix: str, number: int) -> None:
    assert _amount(f"{number}{suffix}") == parse_quantity(f"{number}{suffix}")


def test_decoding_refuses_what_is_no_json() -> None:
    with pytest.raises(msgspec.DecodeError):
        pod_measurements(b"nonsense", [])


# -- Durations ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("10.062s", 10.062),
        ("20.5s", 20.5),
        ("1m0s", 60.0),
        ("1m0.5s", 60.5),
        ("1h2m3.5s", 3723.5),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("10ns", 1e-8),
        ("-1.5s", -1.5),
        ("+2s", 2.0),
    ],
)
def test_a_duration_is_read_as_go_writes_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "1s ", " 1s", "1 s", "1s2", "--1s", "1,5s", "1m-1s", "1S"])
def test_what_is_no_duration_is_not_known(text: str) -> None:
    assert math.isnan(parse_duration(text))


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59_999))
def test_every_duration_go_writes_is_read_back(hours: int, minutes: int, milliseconds: int) -> None:
    text = f"{hours}h{minutes}m{milliseconds // 1000}.{milliseconds % 1000:03d}s"
    assert parse_duration(text) == pytest.approx(hours * 3600 + minutes * 60 + milliseconds / 1000, abs=1e-9)
