"""A scripted HTTP source on loopback. It stands in for what a real Prometheus or load-watcher does not do on demand:
refuse, break off, trickle, answer with a login page, forget a series, tell a NaN.

Answers are scripted by a part of the query; a query that no script knows gets an empty vector, as from a Prometheus
that has no such metric. Every request is kept in `requests`.
"""

import json
import math
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

Value = float | Callable[[float], float | None]
"""A sample's value, or its course over time (None: no sample then)."""


@dataclass(frozen=True)
class Reply:
    """One HTTP answer, or a way of not giving one."""

    status: int = 200
    body: str | bytes = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    """Say nothing until the server stops."""
    broken: bool = False
    """Promise more bytes than come."""
    trickling: bool = False
    """A byte at a time, for ever."""


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query_string: str
    fields: Mapping[str, str]
    headers: Mapping[str, str]


def success(result: Sequence[Any], result_type: str = "vector", **more: Any) -> Reply:
    """What Prometheus answers when all is well."""
    data = {"resultType": result_type, "result": result}
    return Reply(body=json.dumps({"status": "success", "data": data, **more}))


def complaint(status: int, error: str, error_type: str = "bad_data") -> Reply:
    """What Prometheus answers when it cannot do what it is asked."""
    return Reply(status, json.dumps({"status": "error", "errorType": error_type, "error": error}))


class FakePrometheus:
    """The server; a context manager. With `certificate` (and `key`) it speaks TLS, with `client_ca` it asks for a
    client's certificate too.
    """

    def __init__(self, certificate: Path | None = None, key: Path | None = None, client_ca: Path | None = None) -> None:
        self.requests: list[Seen] = []
        self.stopping = threading.Event()
        self._scripts: list[tuple[str, Reply | Sequence[tuple[Mapping[str, str], Value]]]] = []
        self._paths: dict[str, Reply] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        if certificate:
            self._server.socket = _tls(certificate, key, client_ca).wrap_socket(self._server.socket, server_side=True)

    def gives(self, part: str, *series: tuple[Mapping[str, str], Value], reply: Reply | None = None) -> Self:
        """Answer queries that contain `part` with these series, or with this reply. The latest script wins."""
        self._scripts.insert(0, (part, series if reply is None else reply))
        return self

    def serves(self, path: str, reply: Reply) -> Self:
        """Answer every request for a path with this reply."""
        self._paths[path] = reply
        return self

    @property
    def queries(self) -> list[str]:
        return [seen.fields.get("query", "") for seen in self.requests]

    def reply_to(self, seen: Seen) -> Reply:
        if seen.path in self._paths:
            return self._paths[seen.path]
        for part, script in self._scripts:
            if part in seen.fields.get("query", ""):
                return script if isinstance(script, Reply) else _evaluated(script, seen)
        return success([], "matrix" if seen.path.endswith("query_range") else "vector")

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or whose certificate is no good, is what some tests are about."""


def _tls(certificate: Path, key: Path | None, client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _evaluated(script: Sequence[tuple[Mapping[str, str], Value]], seen: Seen) -> Reply:
    if seen.path.endswith("query_range"):
        start, end, step = (float(seen.fields[name]) for name in ("start", "end", "step"))
        times = [start + step * number for number in range(round((end - start) / step) + 1)]
        rows = [{"metric": labels, "values": _samples(value, times)} for labels, value in script]
        return success([row for row in rows if row["values"]], "matrix")
    at = float(seen.fields.get("time", time.time()))
    found = [(labels, _samples(value, [at])) for labels, value in script]
    return success([{"metric": labels, "value": samples[0]} for labels, samples in found if samples])


def _samples(value: Value, times: Sequence[float]) -> list[tuple[float, str]]:
    told = [(at, value(at) if callable(value) else value) for at in times]
    return [(at, _written(number)) for at, number in told if number is not None]


def _written(number: float) -> str:
    """As Go writes it."""
    return {math.inf: "+Inf", -math.inf: "-Inf"}.get(number, "NaN" if math.isnan(number) else repr(number))


def _handler(fake: FakePrometheus) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            place = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            fields = dict(parse_qsl(body or place.query, keep_blank_values=True))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.command, place.path, place.query, fields, headers)
            fake.requests.append(seen)
            self._send(fake.reply_to(seen))

        def do_POST(self) -> None:
            self.do_GET()

        def _send(self, reply: Reply) -> None:
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            if reply.silent:
                fake.stopping.wait()
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            missing = 1_000_000 if reply.trickling or reply.broken else 0
            self.send_header("Content-Length", str(len(body) + missing))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            while reply.trickling and not fake.stopping.wait(0.01):
                self.wfile.write(b" ")
            self.close_connection = bool(missing)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            """A test's output is no place for an access log."""

    return Handler
