"""A client light enough not to hide the servers: raw sockets, ready bytes, no parsing but where an answer ends.

Run as a program it is a bad client, for others to be measured beside:

    python -m tests.benchmarks.wire_client PORT large-nodes|large-names|slow
"""

import contextlib
import json
import selectors
import socket
import ssl
import sys
import time
from collections.abc import Sequence

from tests.benchmarks.wire_requests import Requests, framed, pending_pod, whole

BUFFER_BYTES = 2**20
CHUNKS_END = b"0\r\n\r\n"
LARGE_BYTES = 60_000_000
SLOW_CLIENTS = 20


class Connection:
    """One connection; an answer's end is found by its length, or by its last chunk."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60.0)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._missing: int | None = None
        self._begun = False

    def ask(self, request: bytes | bytearray) -> None:
        """Send, and wait for the whole answer."""
        self.send(request)
        while not self.receive():
            pass

    def send(self, request: bytes | bytearray) -> None:
        self._begun = False
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Some more; whether that was the end."""
        count = self.socket.recv_into(self._buffer)
        if not count:
            raise ConnectionError("closed in the middle of an answer")
        if not self._begun:
            self._begin(count)
        elif self._missing is not None:
            self._missing -= count
        if self._missing is not None:
            return self._missing <= 0
        return bytes(self._buffer[max(count - 5, 0) : count]) == CHUNKS_END

    def _begin(self, count: int) -> None:
        begin = bytes(self._buffer[: min(count, 600)])
        if not begin.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"answered {begin[:200]!r}")
        head, _, _ = begin.partition(b"\r\n\r\n")
        _, found, after = head.lower().partition(b"content-length:")
        self._begun = True
        self._missing = int(after.split(b"\r\n")[0]) + len(head) + 4 - count if found else None

    def close(self) -> None:
        self.socket.close()


def one_by_one(connection: Connection, requests: Requests, count: int, pause_seconds: float = 0.0) -> list[float]:
    """Seconds that each of `count` requests took, on one connection, each so long after the last answer."""
    took = []
    for _ in range(count):
        request = next(requests)
        if pause_seconds:
            time.sleep(pause_seconds)
        started = time.perf_counter()
        connection.ask(request)
        took.append(time.perf_counter() - started)
    return took


def side_by_side(connections: Sequence[Connection], requests: Requests, count: int) -> list[float]:
    """The same on several connections at once, each sending its next request when it has its answer."""
    took: list[float] = []
    waiting = (next(requests) for _ in range(count))
    with selectors.EpollSelector() as selector:
        begun: dict[Connection, float] = {}

        def go_on(connection: Connection) -> None:
            request = next(waiting, None)
            if request is not None:
                begun[connection] = time.perf_counter()
                connection.send(request)

        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            go_on(connection)
        while begun:
            for key, _ in selector.select():
                if key.data.receive():
                    took.append(time.perf_counter() - begun.pop(key.data))
                    go_on(key.data)
    return took


def large(kind: str) -> bytes:
    """A valid request of 60 MB."""
    if kind == "large-nodes":
        one = len(whole(1, 1)[0])
        return whole(LARGE_BYTES // one, 1)[0]
    names = [f"n{number}" for number in range(LARGE_BYTES // 11)]
    return framed("/prioritize", json.dumps({"Pod": pending_pod(0), "NodeNames": names}, separators=(",", ":")))


def _dawdle(connections: Sequence[Connection], request: bytes) -> None:
    for byte in request:
        for connection in connections:
            connection.socket.send(bytes([byte]))
        time.sleep(0.05)


def behave_badly(port: int, kind: str) -> None:
    """Until ended."""
    while kind == "slow":
        with contextlib.suppress(ConnectionError):  # its patience is bounded; then again
            _dawdle([Connection(port) for _ in range(SLOW_CLIENTS)], whole(100, 1)[0])
    connection, request = Connection(port), large(kind)
    while True:
        connection.ask(request)


if __name__ == "__main__":
    behave_badly(int(sys.argv[1]), sys.argv[2])
