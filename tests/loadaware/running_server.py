"""A service to ask: through the app alone, or through the real server in a thread, on a free port of loopback."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

import httpx
from prometheus_client import CollectorRegistry

from loadaware.adviser import Adviser, AdviserSettings
from loadaware.config import PeopleSection, ServerSection
from loadaware.extender.app import make_app
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.server import make_server
from loadaware.service import Service
from loadaware.telemetry import Telemetry
from tests.loadaware.builders import Clock, cpu_mean, make_profile, make_settings, snapshot_of
from tests.parts.processes import PATIENCE_SECONDS, wait_for

POD: dict[str, Any] = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "uid-1"},
    "spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
}


def default_settings() -> AdviserSettings:
    """A profile that rejects busy nodes, and one that rejects none."""
    scorer = TargetLoadPacking()
    return make_settings(make_profile(scorer, "default-scheduler", UsageThreshold()), make_profile(scorer, "open"))


def new_service(
    settings: AdviserSettings | None = None, clock: Callable[[], float] | None = None, grace_seconds: float = 60.0
) -> Service:
    """A service that knows nothing yet."""
    clock = clock or Clock()
    adviser = Adviser(settings or default_settings(), clock)
    return Service(adviser, Telemetry(CollectorRegistry(), "0.0.0"), clock, grace_seconds)


def frozen_service(settings: AdviserSettings | None = None) -> Service:
    """A service over four nodes that never age: idle, near the target, busy, and one that was not measured."""
    service = new_service(settings)
    service.take(snapshot_of({"idle": cpu_mean(0), "near": cpu_mean(35), "busy": cpu_mean(90), "unmeasured": {}}))
    return service


def counted(service: Service, name: str, **labels: str) -> float:
    """A sample of the service's telemetry, zero if it is not there."""
    return service.telemetry.registry.get_sample_value(name, labels) or 0.0


def errors(service: Service, verb: str, reason: str) -> float:
    """How many requests of a verb were refused, or answered neutrally, for a reason."""
    return counted(service, "loadaware_request_errors_total", verb=verb, reason=reason)


def arguments(*names: str, **members: Any) -> bytes:
    """The body of a request by names."""
    return json.dumps({"Pod": POD, "Nodes": None, "NodeNames": list(names), **members}).encode()


class AppClient:
    """Asks the app without a server between, while inside `with`."""

    def __init__(self, service: Service, body_limit: int = 4096) -> None:
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(make_app(service, body_limit))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://loadaware")

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def post(self, path: str, body: bytes, *headers: tuple[bytes, bytes]) -> httpx.Response:
        return self.request("POST", path, body, *headers)

    def request(self, method: str, path: str, body: bytes = b"", *headers: tuple[bytes, bytes]) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, content=body, headers=headers))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


class RunningServer:
    """The real server while inside `with`."""

    def __init__(self, service: Service, people: PeopleSection | None = None, **section: Any) -> None:
        self.server = make_server(service, ServerSection(address="127.0.0.1", port=0, **section), people=people)
        self._thread = threading.Thread(target=self.server.run, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.server.servers[0].sockets[0].getsockname()
        return host, port

    @property
    def url(self) -> str:
        return f"{'https' if self.server.config.is_ssl else 'http'}://{self.address[0]}:{self.address[1]}"

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(self.address, timeout=PATIENCE_SECONDS)

    def inside(self, call: Callable[[], None]) -> None:
        """Call it in the server's own thread, which alone may touch the service; come back when it is done."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
                done.set_exception(error)
            else:
                done.set_result(None)

        self.server.servers[0].get_loop().call_soon_threadsafe(run)
        done.result(PATIENCE_SECONDS)

    def begin_to_stop(self) -> None:
        """As SIGTERM does."""
        self.server.should_exit = True

    def __enter__(self) -> Self:
        self._thread.start()
        wait_for(lambda: self.server.started or not self._thread.is_alive(), "the server")
        assert self.server.started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.begin_to_stop()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()


def answer_on(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the next answer on a bare connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += _more(connection)
    return int(status.split()[1]), headers, body


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(65536)
    if not piece:
        raise ConnectionError("closed in the middle of an answer")
    return piece
