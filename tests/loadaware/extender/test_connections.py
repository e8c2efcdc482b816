"""Slow clients cost a connection for a while, and nobody else anything."""

import json

import pytest

from tests.loadaware.running_server import RunningServer, answer_on, arguments, errors, frozen_service
from tests.parts.processes import PATIENCE_SECONDS, wait_for


def impatient(running: RunningServer, seconds: float = 0.3) -> RunningServer:
    running.server.config.http_protocol_class.PATIENCE_SECONDS = seconds  # type: ignore[attr-defined]
    return running


def post(path: bytes, body: bytes, *, declared: int | None = None) -> bytes:
    length = len(body) if declared is None else declared
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (path, length, body)


@pytest.mark.parametrize(
    "beginning",
    [b"P", b"POST /filter HTTP/1.1\r\nHost:", post(b"/filter", b"{", declared=100), post(b"/bind", b"{", declared=100)],
    ids=["line", "headers", "hot body", "plain body"],
)
def test_a_request_that_does_not_come_to_its_end_is_given_up(beginning: bytes) -> None:
    with impatient(RunningServer(frozen_service())) as running, running.connect() as connection:
        connection.sendall(beginning)
        assert connection.recv(1) == b""


def test_a_request_given_up_is_counted_as_a_client_that_went_away() -> None:
    service = frozen_service()
    with impatient(RunningServer(service)) as running, running.connect() as connection:
        connection.sendall(post(b"/filter", b"{", declared=100))
        wait_for(lambda: errors(service, "filter", "disconnected") == 1, "the count")


def test_a_client_that_takes_its_time_between_requests_is_none_of_those() -> None:
    with impatient(RunningServer(frozen_service()), 0.1) as running, running.connect() as connection:
        for _ in range(3):
            connection.settimeout(PATIENCE_SECONDS)
            connection.sendall(post(b"/filter", arguments("idle")))
            assert answer_on(connection)[0] == 200
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)


def test_a_client_that_does_not_read_its_answers_is_given_up() -> None:
    names = ["x" * 200 + str(number) for number in range(3000)]
    body = json.dumps({"Pod": {}, "NodeNames": names}).encode()
    with impatient(RunningServer(frozen_service())) as running, running.connect() as connection:
        connection.settimeout(PATIENCE_SECONDS)
        with pytest.raises(ConnectionError):
            connection.sendall(200 * post(b"/prioritize", body))


def test_others_are_answered_while_a_slow_client_sends_byte_by_byte() -> None:
    with RunningServer(frozen_service()) as running, running.connect() as slow, running.connect() as other:
        request = post(b"/prioritize", arguments("idle"))
        for byte in request[:-1]:
            slow.sendall(bytes([byte]))
            other.sendall(request)
            assert answer_on(other)[0] == 200
        slow.sendall(request[-1:])
        assert answer_on(slow)[0] == 200
