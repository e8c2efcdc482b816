"""Listens on the wire between kube-scheduler and loadaware: passes each request on, and keeps it with its answer.

The bargain: kube-scheduler is given the tap's URL in place of loadaware's, and gets loadaware's own bytes; `calls` is
what was said so far, in order, decoded. While `broken`, it answers every request with an error instead.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import requests

TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Call:
    """One request and its answer."""

    verb: str
    asked: dict[str, Any]
    answered: Any

    @property
    def pod(self) -> str:
        """The name of the pod that it is about."""
        name: str = self.asked["PodName"] if self.verb == "bind" else self.asked["Pod"]["metadata"]["name"]
        return name


class WireTap:
    """A proxy on a free loopback port while inside `with`."""

    def __init__(self, to: str) -> None:
        self.to = to
        self.calls: list[Call] = []
        self.broken = False
        self.refused = 0
        """How many requests were answered with an error."""
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def of(self, verb: str) -> list[Call]:
        """The calls of one verb."""
        return [call for call in self.calls if call.verb == verb]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, tap: WireTap) -> None:
        self.tap = tap
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        tap = self.server.tap
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if tap.broken:
            tap.refused += 1
            self._answer(500, "text/plain", b"broken")
            return
        headers = {"Content-Type": self.headers["Content-Type"]}
        answer = requests.post(tap.to + self.path, data=body, headers=headers, timeout=TIMEOUT_SECONDS)
        tap.calls.append(Call(self.path.rpartition("/")[2], json.loads(body), json.loads(answer.content)))
        self._answer(answer.status_code, answer.headers["Content-Type"], answer.content)

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Tests are quiet."""
