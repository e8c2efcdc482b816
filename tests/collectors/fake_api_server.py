"""A fake API server on loopback: it stands in for failures that a real one does not produce on demand.

It answers as told (`answer`), remembers what it was asked (`requests`), and hands every watch that reaches it to
the test (`next_stream`), which pushes events into it, ends it properly, or drops the connection. It knows nothing
of Kubernetes beyond the shape of its answers. What a real API server does is tried against a real one elsewhere.
"""

import json
import queue
import socket
import ssl
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from collectors.kubernetes_api import Credentials, KubernetesApi
from tests.parts.processes import PATIENCE_SECONDS

"""How long a test waits for something that should happen at once."""


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    port: int
    """Of the client: equal ports are one connection."""


@dataclass(frozen=True)
class Answer:
    """What to answer: bytes as they are, anything else as JSON. A cut answer breaks off in the middle."""

    status: int
    body: bytes
    cut: bool = False


class FakeStream:
    """One watch that a client has open. The test speaks, the server's thread writes."""

    def __init__(self, query: dict[str, str]) -> None:
        self.query = query
        self.pieces: queue.Queue[bytes | Literal["end", "drop"]] = queue.Queue()

    def send(self, kind: str, thing: Any) -> None:
        """One event, as a line."""
        self.send_bytes(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    def send_bytes(self, piece: bytes) -> None:
        """Any bytes, as one chunk."""
        self.pieces.put(piece)

    def end(self) -> None:
        """End as an API server does when timeoutSeconds have passed."""
        self.pieces.put("end")

    def drop(self) -> None:
        """Cut the connection."""
        self.pieces.put("drop")


class FakeApiServer:
    """Serves from a thread of its own while inside `with`."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Asked] = []
        self._answers: dict[str, deque[Answer]] = defaultdict(deque)
        self._watch_refusals: deque[Answer] = deque()
        self._streams: queue.Queue[FakeStream] = queue.Queue()
        self._open: list[FakeStream] = []
        self._server = _Server(self)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path: str, body: Any = b"", status: int = 200, *, cut: bool = False) -> None:
        """Answer the next request of this path so; the last answer given is repeated for ever."""
        self._answers[path].append(Answer(status, body if isinstance(body, bytes) else _json(body), cut))

    def refuse_watch(self, status: int, message: str = "refused") -> None:
        """Refuse the next watch, whatever its path."""
        self._watch_refusals.append(Answer(status, _json(status_of(status, message))))

    def next_stream(self) -> FakeStream:
        """The next watch that a client opens."""
        return self._streams.get(timeout=PATIENCE_SECONDS)

    def asked(self, path: str, *, watch: bool = False) -> list[Asked]:
        """What was asked of this path."""
        return [a for a in self.requests if a.path == path and ("watch" in a.query) == watch]

    def kubeconfig(self, directory: Path, **user: str) -> str:
        """A kubeconfig that leads here, with the given members of a user."""
        return str(write_kubeconfig(directory / "kubeconfig", self.url, None, **user))

    def api(self, directory: Path, **user: str) -> KubernetesApi:
        """A client of this server."""
        credentials = Credentials(self.kubeconfig(directory, **user), environment={})
        return KubernetesApi(credentials, timeout_seconds=PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for stream in self._open:
            stream.drop()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)

    def take_answer(self, path: str) -> Answer:
        answers = self._answers[path]
        if not answers:
            return Answer(404, _json(status_of(404, "the server could not find the requested resource")))
        return answers.popleft() if len(answers) > 1 else answers[0]

    def take_watch_refusal(self) -> Answer | None:
        return self._watch_refusals.popleft() if self._watch_refusals else None

    def open_stream(self, query: dict[str, str]) -> FakeStream:
        stream = FakeStream(query)
        self._open.append(stream)
        self._streams.put(stream)
        return stream


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, fake: FakeApiServer) -> None:
        self.fake = fake
        self._connections: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.append(connection)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or did not like our certificate, is what some tests are about."""

    def server_close(self) -> None:
        super().server_close()
        for connection in self._connections:
            _cut(connection)
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        asked = self._note(b"")
        if "watch" not in asked.query:
            self._answer(self.server.fake.take_answer(asked.path))
            return
        refusal = self.server.fake.take_watch_refusal()
        if refusal is not None:
            self._answer(refusal)
        else:
            self._stream(self.server.fake.open_stream(asked.query))

    def do_POST(self) -> None:
        asked = self._note(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self._answer(self.server.fake.take_answer(asked.path))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is http.server's)
        """Tests are quiet."""

    def _note(self, body: bytes) -> Asked:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body, self.client_address[1])
        self.server.fake.requests.append(asked)
        return asked

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if answer.cut:
            self.wfile.write(answer.body[: len(answer.body) // 2])
            self._hang_up()
        else:
            self.wfile.write(answer.body)

    def _stream(self, stream: FakeStream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while isinstance(piece := stream.pieces.get(), bytes):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if piece == "end":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        _cut(self.connection)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _json(thing: Any) -> bytes:
    return json.dumps(thing).encode()


def status_of(code: int, message: str, reason: str = "") -> dict[str, Any]:
    """A metav1.Status, as the API server puts into refusals and error events."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def write_kubeconfig(path: Path, server: str, cluster: dict[str, Any] | None = None, **user: str) -> Path:
    """A kubeconfig with one cluster, one user and one context (JSON is YAML)."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "fake", "cluster": {"server": server} | (cluster or {})}],
        "users": [{"name": "someone", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "fake", "user": "someone"}}],
    }
    path.write_text(json.dumps(content))
    return path
