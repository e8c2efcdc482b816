"""A real Prometheus on loopback, with series that a test knows beforehand.

The bargain: series get in by `backfill` (a past of any length, at once, before the start) or by scraping, for
example a `MetricsExporter` whose text the test changes; entering a `PrometheusServer` gives one that answers.
"""

import json
import subprocess
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from tests.parts.builder import binary
from tests.parts.processes import NotYetError, Process, free_port, wait_for

TIMEOUT_SECONDS = 10.0
END_OF_FILE = "# EOF\n"


class PrometheusServer:
    """One Prometheus; started on entry, stopped on exit.

    `scrape_targets` are host:port pairs scraped as the job "test"; `config` replaces the whole configuration.
    Remote write and OTLP are accepted too.
    """

    def __init__(
        self,
        folder: Path,
        *,
        scrape_targets: Sequence[str] = (),
        scrape_interval_seconds: int = 1,
        config: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data = folder / "data"
        self.url = f"http://127.0.0.1:{free_port()}"
        self._config = config or scrape_config(scrape_targets, scrape_interval_seconds)
        self._session = requests.Session()
        self._session.trust_env = False

    def backfill(self, openmetrics: str) -> None:
        """Put samples with timestamps in seconds (OpenMetrics text) into the data; only before the start."""
        samples = self.folder / "backfill.txt"
        samples.write_text(openmetrics.removesuffix(END_OF_FILE).rstrip("\n") + "\n" + END_OF_FILE)
        paths = [str(samples), str(self.data)]
        command = [str(binary("promtool")), "tsdb", "create-blocks-from", "openmetrics", *paths]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise ValueError(f"promtool refused the samples: {made.stdout}{made.stderr}")

    def __enter__(self) -> Self:
        config_file = self.folder / "prometheus.yml"
        config_file.write_text(self._config)
        flags = [
            f"--config.file={config_file}",
            f"--storage.tsdb.path={self.data}",
            "--storage.tsdb.retention.time=10y",
            f"--web.listen-address={self.url.removeprefix('http://')}",
            "--web.enable-remote-write-receiver",
            "--web.enable-otlp-receiver",
            "--scrape.discovery-reload-interval=100ms",  # the first scrape comes at once, not after 5 s
        ]
        self.process = Process("prometheus", [binary("prometheus"), *flags], self.folder / "logs").start()
        try:
            wait_for(self._ready, "Prometheus", self.process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it now; doing so twice does no harm."""
        self.process.stop()
        self._session.close()

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """The instant vector of a PromQL expression, now or at a time in Unix seconds."""
        values = {"query": expression} | ({} if at is None else {"time": str(at)})
        response = self._session.post(f"{self.url}/api/v1/query", data=values, timeout=TIMEOUT_SECONDS)
        answer = response.json()
        if answer["status"] != "success":
            raise ValueError(f"{expression}: {answer['error']}")
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def wait_for_series(self, expression: str) -> list[dict[str, Any]]:
        """Wait until an expression gives at least one series."""

        def found() -> list[dict[str, Any]]:
            return self.query(expression)

        return wait_for(found, f"Prometheus to know {expression}", self.process)

    def _ready(self) -> bool:
        response = self._session.get(f"{self.url}/-/ready", timeout=TIMEOUT_SECONDS)
        if not response.ok:
            raise NotYetError(f"{response.status_code} {response.text}")
        return True


def scrape_config(targets: Sequence[str], interval_seconds: int) -> str:
    """A configuration with one job for these targets, or with none; JSON, which is YAML too."""
    jobs = [{"job_name": "test", "static_configs": [{"targets": list(targets)}]}] if targets else []
    interval = f"{interval_seconds}s"
    timing = {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval}
    return json.dumps({"global": timing, "scrape_configs": jobs}, indent=2)


class MetricsExporter:
    """Serves `text` at /metrics on a free loopback port; set it to change what the next scrape sees."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.target = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                """A test's output is no place for an access log."""

        return Handler
