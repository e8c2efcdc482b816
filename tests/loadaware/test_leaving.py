"""After SIGTERM clients are asked to go, and only then is the port closed."""

import json
import signal
import socket

import pytest

from tests.loadaware.running_server import RunningServer, answer_on, arguments, frozen_service
from tests.parts.processes import wait_for

READYZ = b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = arguments("idle")
PRIORITIZE = b"POST /prioritize HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def ask(connection: socket.socket, request: bytes) -> tuple[int, dict[str, str], bytes]:
    connection.sendall(request)
    return answer_on(connection)


def told_to_leave(running: RunningServer) -> bool:
    return any(name == b"connection" for name, _ in running.server.server_state.default_headers)


@pytest.mark.parametrize("request_", [PRIORITIZE, READYZ], ids=["the short way", "the plain way"])
def test_after_sigterm_whoever_asks_is_answered_and_told_to_go_elsewhere(request_: bytes) -> None:
    with RunningServer(frozen_service(), leaving=60.0) as running, running.connect() as kept:
        assert "connection" not in ask(kept, request_)[1]
        running.server.handle_exit(signal.SIGTERM, None)
        wait_for(lambda: told_to_leave(running), "the farewell")
        assert ask(kept, request_)[1]["connection"] == "close"
        with running.connect() as late:  # from a balancer that has not looked yet
            status, headers, body = ask(late, READYZ)
            assert (status, headers["connection"]) == (503, "close")
            assert json.loads(body)["leaving"] is True
        running.server.handle_exit(signal.SIGTERM, None)  # hurry up


def test_the_port_is_closed_when_the_time_is_over() -> None:
    with RunningServer(frozen_service(), leaving=0.2) as running, running.connect() as kept:
        ask(kept, PRIORITIZE)
        running.server.handle_exit(signal.SIGTERM, None)
        assert kept.recv(1) == b""


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]], ids=["Ctrl-C", "twice"])
def test_somebody_who_waits_for_the_end_does_not_wait_for_clients(signals: list[signal.Signals]) -> None:
    with RunningServer(frozen_service(), leaving=300.0) as running, running.connect() as kept:
        ask(kept, PRIORITIZE)
        for number in signals:
            running.server.handle_exit(number, None)
        assert kept.recv(1) == b""


def test_nobody_is_waited_for_if_nobody_is_connected() -> None:
    running = RunningServer(frozen_service(), leaving=300.0)
    with running:
        running.server.handle_exit(signal.SIGTERM, None)
    assert running.server._service.leaving
