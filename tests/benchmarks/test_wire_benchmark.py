"""The ruler is straight: requests are what they should be, answers are read to their end, ratios stand upright."""

import json
import socket
import threading
import time

import pytest

from loadaware.extender import protocol
from loadaware.extender.protocol import decode_arguments
from loadaware.question import Question
from loadaware.scorers.entropic_risk import EntropicRisk
from tests.benchmarks.big_cluster import Cluster, node_name
from tests.benchmarks.wire_client import Connection, one_by_one, side_by_side
from tests.benchmarks.wire_figures import Figures, ratio
from tests.benchmarks.wire_report import Report
from tests.benchmarks.wire_requests import Requests, by_name, whole
from tests.benchmarks.wire_stages import STAGES, OwnTimes, stage_microseconds
from tests.loadaware.running_server import RunningServer, counted, frozen_service


def body_of(request: bytes | bytearray) -> bytes:
    return bytes(request).partition(b"\r\n\r\n")[2]


def test_requests_are_what_kube_scheduler_would_send() -> None:
    arguments = decode_arguments(body_of(by_name(5, 10, 1)[0]))
    assert len(set(arguments.names)) == 5
    assert set(arguments.names) <= {node_name(number) for number in range(10)}
    assert dict(arguments.pod.shape.requests)["cpu"] == 0.25
    nodes = whole(3, 1)[0]
    assert decode_arguments(body_of(nodes)).names == [node_name(number) for number in range(3)]
    assert body_of(nodes).endswith(b'"NodeNames":null}')
    assert 7_000 < len(nodes) / 3 < 10_000


def test_no_pod_is_asked_about_twice() -> None:
    requests = Requests(by_name(2, 10, 3))
    uids = [decode_arguments(body_of(next(requests))).pod.uid for _ in range(20)]
    assert len(set(uids)) == 20


@pytest.mark.parametrize("connections", [1, 4])
def test_every_request_is_answered_and_timed_once(connections: int) -> None:
    service, requests = frozen_service(), Requests(by_name(50, 100, 4))
    with RunningServer(service) as running:
        opened = [Connection(running.address[1]) for _ in range(connections)]
        took = one_by_one(opened[0], requests, 21) if connections == 1 else side_by_side(opened, requests, 21)
        for connection in opened:
            connection.close()
    assert len(took) == 21
    assert min(took) > 0.0
    assert counted(service, "loadaware_request_nodes_count", verb="prioritize", profile="default-scheduler") == 21


def served(*pieces: bytes) -> Connection:
    """A connection whose other end answers with these pieces."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        other, _ = listener.accept()
        with listener, other:
            other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            other.recv(100)
            for piece in pieces:
                other.sendall(piece)

    threading.Thread(target=answer, daemon=True).start()
    return Connection(listener.getsockname()[1])


@pytest.mark.parametrize(
    "pieces",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", b"cd"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", b"0\r\n\r\n"),
    ],
)
def test_an_answer_is_read_to_its_end(pieces: tuple[bytes, ...]) -> None:
    connection = served(*pieces)
    connection.ask(b"x")
    assert connection.socket.recv(1) == b""
    connection.close()


def test_an_answer_that_is_none_is_an_error() -> None:
    connection = served(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(ConnectionError, match="503"):
        connection.ask(b"x")
    connection.close()


def test_a_ratio_above_one_means_that_we_are_faster() -> None:
    found = ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    assert (found.middle, round(found.low, 1), round(found.high, 1)) == (2.0, 2.0, 2.9)


def test_the_page_begins_with_what_must_hold() -> None:
    fast, slow = Figures(), Figures()
    fast.add([0.001, 0.001], 0.001)
    slow.add([0.003, 0.003], 0.004)
    report = Report()
    report.must("twice as fast", "3.00 x", holds=True)
    report.must("no memory at all", "5 MB", holds=False)
    report.compared("One connection", "HTTP.", {"500 names": {"loadaware": fast, "Go": slow}})
    page = report.text()
    assert page.index("| twice as fast | 3.00 x | yes |") < page.index("## One connection")
    assert "| no memory at all | 5 MB | **no** |" in page
    assert "| 500 names | loadaware | 1.00 | 1.00 | 1.00 | 0.50 |  | 3.00 (3.00 .. 3.00) |" in page
    assert "| 500 names | Go | 3.00 | 3.00 | 3.00 | 2.00 |  |  |" in page


def test_a_big_cluster_is_listed_in_pages_and_measured_at_the_moment_it_is_asked() -> None:
    cluster = Cluster(5, 7)
    first = json.loads(cluster.answer("/api/v1/pods", {"limit": ["4"]}) or b"")
    second = json.loads(
        cluster.answer("/api/v1/pods", {"limit": ["4"], "continue": [first["metadata"]["continue"]]}) or b""
    )
    assert [len(page["items"]) for page in (first, second)] == [4, 3]
    assert second["metadata"]["continue"] == ""
    metrics = cluster.answer("/apis/metrics.k8s.io/v1beta1/pods", {}) or b""
    assert len(json.loads(metrics)["items"]) == 7
    assert b"2026-03-02T08:15:31Z" not in metrics
    assert cluster.answer("/api/v1/secrets", {}) is None


def test_every_stage_of_a_request_is_entered_and_left_as_it_was() -> None:
    before = (protocol.decode_known, Question.__init__, EntropicRisk.score)
    stages = stage_microseconds(20, 60, 20)
    assert set(stages) == set(STAGES)
    assert min(stages.values()) > 0.0
    assert (protocol.decode_known, Question.__init__, EntropicRisk.score) == before


def test_a_stage_within_another_is_not_counted_twice() -> None:
    now = iter((0.0, 1.0, 3.0, 7.0))
    times = OwnTimes(lambda: next(now))
    inner = times.timed("formula", lambda: None)
    times.timed("decode, names to rows", inner)()
    assert (times.seconds["decode, names to rows"], times.seconds["formula"]) == (5.0, 2.0)


def test_a_pause_is_kept_before_each_request_and_not_counted() -> None:
    service, requests = frozen_service(), Requests(by_name(5, 10, 2))
    with RunningServer(service) as running:
        connection = Connection(running.address[1])
        one_by_one(connection, requests, 2)
        began = time.perf_counter()
        took = one_by_one(connection, requests, 5, pause_seconds=0.05)
        passed = time.perf_counter() - began
        connection.close()
    assert passed - sum(took) >= 5 * 0.05
