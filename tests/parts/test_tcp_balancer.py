"""The promises of tcp_balancer.py, kept with the smallest HTTP server there is as the replica."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from tests.parts.processes import PATIENCE_SECONDS, wait_for
from tests.parts.tcp_balancer import TcpBalancer


class Replica(ThreadingHTTPServer):
    """Answers every question with its own port; ready unless told otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        self.ready = True
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_address[1]

    def end(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Replica

    def do_GET(self) -> None:
        self.send_response(200 if self.server.ready else 503)
        self.end_headers()
        self.wfile.write(str(self.server.port).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Tests are quiet."""


@pytest.fixture
def replicas() -> Iterator[list[Replica]]:
    with ExitStack() as stack:
        both = [Replica(), Replica()]
        for replica in both:
            stack.callback(replica.end)
        yield both


@pytest.fixture
def balancer(replicas: list[Replica]) -> Iterator[TcpBalancer]:
    with TcpBalancer([replica.port for replica in replicas]) as running:
        wait_for(lambda: len(running.ready) == 2, "both to be ready")
        yield running


def answers(balancer: TcpBalancer, times: int) -> set[int]:
    """Ports that answered."""
    return {int(requests.get(balancer.url, timeout=PATIENCE_SECONDS).text) for _ in range(times)}


def test_connections_go_round(replicas: list[Replica], balancer: TcpBalancer) -> None:
    assert answers(balancer, 4) == {replica.port for replica in replicas}


def test_one_that_is_unready_gets_no_new_connection_until_it_is_ready_again(
    replicas: list[Replica], balancer: TcpBalancer
) -> None:
    unready, ready = replicas
    unready.ready = False
    wait_for(lambda: balancer.ready == {ready.port}, "one to be unready")
    assert answers(balancer, 4) == {ready.port}
    unready.ready = True
    wait_for(lambda: len(balancer.ready) == 2, "both to be ready")
    assert answers(balancer, 4) == {unready.port, ready.port}


def test_one_that_takes_no_connection_is_passed_over_before_it_is_missed(replicas: list[Replica]) -> None:
    with TcpBalancer([1, replicas[0].port]) as balancer:
        assert answers(balancer, 4) == {replicas[0].port}
