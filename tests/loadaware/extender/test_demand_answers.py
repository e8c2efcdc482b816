"""GET /demand and /demand/state over a service whose observer is a stand-in."""

import json
from collections.abc import Iterator

import pytest

from loadaware import demand_questions
from loadaware.queries import DemandQuery, Piece, Query, StateQuery
from loadaware.service import Service
from tests.loadaware.running_server import AppClient, RunningServer, arguments, frozen_service

LARGE = tuple(bytes([number]) * 2**20 for number in range(40))


class Telling:
    """An observer that tells these pieces of whatever it is asked, from a thread as the real one does."""

    def __init__(self, service: Service, *pieces: bytes, refused: str = "") -> None:
        self.asked: list[Query] = []
        self._service = service
        self._pieces = pieces
        self._refused = refused
        service.demand_questions.send = self

    def __call__(self, query: Query) -> bool:
        self.asked.append(query)
        for number, data in enumerate(self._pieces, start=1):
            self._service.take(Piece(query.number, data, number == len(self._pieces), self._refused))
        return True


@pytest.fixture
def service() -> Service:
    return frozen_service()


@pytest.fixture
def client(service: Service) -> Iterator[AppClient]:
    with AppClient(service) as client:
        yield client


def test_the_report_is_passed_on_as_the_observer_tells_it(service: Service, client: AppClient) -> None:
    observer = Telling(service, b'{"total": ', b"7}")
    answer = client.get("/demand?sort=memory&limit=3&namespace=shop")
    assert (answer.status_code, answer.json()) == (200, {"total": 7})
    assert client.get("/demand").headers["content-type"] == "application/json"
    assert observer.asked == [DemandQuery(1, "memory", 3, "shop"), DemandQuery(2, "cpu", 50, None)]


def test_all_that_was_learned_is_passed_on_byte_for_byte(service: Service, client: AppClient) -> None:
    observer = Telling(service, *LARGE)
    answer = client.get("/demand/state")
    assert answer.content == b"".join(LARGE)
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert observer.asked == [StateQuery(1)]


@pytest.mark.parametrize("limit", ["", "-1", "1.5", "many", "9999999999", "²"])
def test_a_limit_that_is_none_is_refused_before_anybody_is_asked(
    service: Service, client: AppClient, limit: str
) -> None:
    observer = Telling(service, b"{}")
    answer = client.get(f"/demand?limit={limit}")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("limit is a whole number")
    assert observer.asked == []


def test_what_the_observer_refuses_is_refused_with_its_reason(service: Service, client: AppClient) -> None:
    Telling(service, b"", refused="sort is name, or another")
    answer = client.get("/demand?sort=x")
    assert (answer.status_code, answer.json()) == (400, {"error": "sort is name, or another"})


@pytest.mark.parametrize("path", ["/demand", "/demand/state"])
@pytest.mark.parametrize("pieces", [None, (), (b"",)], ids=["no observer", "silent", "nothing learned"])
def test_while_nobody_tells_it_is_said(
    service: Service,
    client: AppClient,
    path: str,
    pieces: tuple[bytes, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demand_questions, "PATIENCE_SECONDS", 0.2)
    if pieces is not None:
        Telling(service, *pieces)
    answer = client.get(path)
    assert answer.status_code == 503
    assert "nothing is learned yet" in answer.json()["error"]


def test_while_much_is_handed_over_slowly_others_are_answered(service: Service) -> None:
    """Someone who asks for 40 MB and does not read them keeps nobody waiting."""
    Telling(service, *LARGE)
    with RunningServer(service) as running, running.connect() as slow, running.connect() as other:
        slow.sendall(b"GET /demand/state HTTP/1.1\r\nHost: a\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        body = arguments("idle", "busy")
        for _ in range(20):
            other.sendall(b"POST /prioritize HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            received = b""
            while not received.endswith(b"]"):
                received += other.recv(65536)
            assert len(json.loads(received.partition(b"\r\n\r\n")[2])) == 2


def test_the_front_page_names_both(client: AppClient) -> None:
    page = client.get("/").text
    assert "GET  /demand " in page
    assert "GET  /demand/state " in page
