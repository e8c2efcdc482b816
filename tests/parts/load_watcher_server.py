"""A load-watcher on loopback that tells whatever CPU load a test sets: the smallest metric source there is."""

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class LoadWatcherServer:
    """Serves from a thread of its own while inside `with`; each answer is of this very moment."""

    def __init__(self, cpu_percent: Mapping[str, float]) -> None:
        self.cpu_percent = dict(cpu_percent)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self) -> dict[str, Any]:
        """What GET /watcher answers now."""
        now = int(time.time())
        nodes = {
            name: {"metrics": [{"type": "CPU", "operator": "AVG", "rollup": "5m", "value": percent}]}
            for name, percent in self.cpu_percent.items()
        }
        window = {"duration": "5m", "start": now - 300, "end": now}
        return {"timestamp": now, "window": window, "source": "test", "data": {"NodeMetricsMap": nodes}}

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

    def __init__(self, watcher: LoadWatcherServer) -> None:
        self.watcher = watcher
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        body = json.dumps(self.server.watcher.answer()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is http.server's)
        """Tests are quiet."""
