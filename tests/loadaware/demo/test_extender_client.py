import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from loadaware.demo.extender_client import HttpExtender, NoAdvice
from tests.parts.processes import PATIENCE_SECONDS

POD: dict[str, Any] = {"metadata": {"name": "web-1"}}
NODES = ["a", "b", "c"]


class Extender(ThreadingHTTPServer):
    """Answers what it is told to, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[tuple[str, dict[str, Any], str]] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, verb: str, body: object, status: int = 200) -> None:
        self.answers[verb] = (status, body if isinstance(body, bytes) else json.dumps(body).encode())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Extender

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, json.loads(body), self.headers["Content-Type"]))
        status, answer = self.server.answers[self.path]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@pytest.fixture
def extender() -> Iterator[Extender]:
    server = Extender()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(extender: Extender) -> Iterator[HttpExtender]:
    client = HttpExtender(extender.url, weight=2, timeout_seconds=PATIENCE_SECONDS)
    yield client
    client.close()


def test_it_asks_as_kube_scheduler_does_over_one_connection(extender: Extender, client: HttpExtender) -> None:
    extender.answer("/filter", {"NodeNames": ["a", "c"], "Nodes": None, "FailedNodes": {"b": "hot"}, "Error": ""})
    extender.answer("/prioritize", [{"Host": "a", "Score": 3}, {"Host": "c", "Score": 10}])
    assert client.filter(POD, NODES) == ["a", "c"]
    client.prioritize(POD, ["a", "c"])
    asked = {"Pod": POD, "Nodes": None, "NodeNames": NODES}
    assert extender.asked[0] == ("/filter", asked, "application/json")
    assert extender.asked[1] == ("/prioritize", {**asked, "NodeNames": ["a", "c"]}, "application/json")
    assert extender.connections == 1
    assert client.median_milliseconds() > 0.0


def test_scores_are_multiplied_by_weight_and_ten_and_a_node_left_out_gets_nothing(
    extender: Extender, client: HttpExtender
) -> None:
    extender.answer("/prioritize", [{"Host": "c", "Score": 30}, {"Host": "a", "Score": 7}])
    assert client.prioritize(POD, NODES).tolist() == [7 * 2 * 10, 0, 30 * 2 * 10]


def test_no_list_at_all_means_that_no_node_passes(extender: Extender, client: HttpExtender) -> None:
    extender.answer("/filter", {"NodeNames": None, "Nodes": None})
    assert client.filter(POD, NODES) == []
    assert client.failures == 0


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"NodeNames": ["a"], "Error": "no metrics"}, 200, "/filter said: no metrics"),
        ({"NodeNames": ["a", "z"]}, 200, "/filter named a node that was not asked for"),
        ({"NodeNames": ["a"]}, 500, "/filter answered 500"),
        (b"<html>", 200, "malformed"),
        ({"NodeNames": "a"}, 200, "Expected `array | null`"),
    ],
)
def test_a_wrong_filter_answer_is_counted_and_all_nodes_pass(
    extender: Extender, client: HttpExtender, body: object, status: int, said: str
) -> None:
    extender.answer("/filter", body, status)
    assert client.filter(POD, NODES) == NODES
    assert client.failures == 1
    assert said in client.last_failure


@pytest.mark.parametrize(("body", "status"), [(b"", 200), ({"Host": "a"}, 200), ([], 404)])
def test_a_wrong_prioritize_answer_is_counted_and_adds_nothing(
    extender: Extender, client: HttpExtender, body: object, status: int
) -> None:
    extender.answer("/prioritize", body, status)
    assert client.prioritize(POD, NODES).tolist() == [0, 0, 0]
    assert client.failures == 1


def test_scheduling_goes_on_when_nobody_answers() -> None:
    client = HttpExtender("http://127.0.0.1:1", timeout_seconds=0.5)
    assert client.filter(POD, NODES) == NODES
    assert client.prioritize(POD, NODES).tolist() == [0, 0, 0]
    assert client.failures == 2
    client.close()


def test_no_advice_passes_all_and_adds_nothing() -> None:
    assert NoAdvice().filter(POD, NODES) == NODES
    assert NoAdvice().prioritize(POD, NODES).tolist() == [0, 0, 0]
