"""The real loadaware, as a process of its own, for tests beside real parts.

The bargain: it is started exactly as a person starts it (`loadaware serve ...`), and entering gives one that answers.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests
import yaml

from tests.parts.processes import NotYetError, Process, free_port, wait_for

START_SECONDS = 30.0
TIMEOUT_SECONDS = 5.0


class LoadAware:
    """`loadaware serve` with a configuration, on a free port of loopback."""

    def __init__(
        self,
        folder: Path,
        *,
        config: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        kubeconfig: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.config_file = folder / "config.yaml"
        self.config_file.write_text(yaml.safe_dump(dict(config or {})))
        command = [sys.executable, "-m", "loadaware", "serve", "--address", "127.0.0.1", "--port", str(port)]
        command += ["--config", str(self.config_file), "--log-level", "debug"]
        if state is not None:
            (folder / "state.yaml").write_text(yaml.safe_dump(dict(state)))
            command += ["--state", str(folder / "state.yaml")]
        if kubeconfig is not None:
            command += ["--kubeconfig", str(kubeconfig)]
        self.process = Process("loadaware", command, folder / "logs")
        self._session = requests.Session()
        self._session.trust_env = False

    def __enter__(self) -> Self:
        self.process.start()
        try:
            wait_for(lambda: self.get("/healthz").ok, START_SECONDS, "loadaware", self.process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._session.close()
        self.process.stop()

    def get(self, path: str) -> requests.Response:
        """A GET; a connection refused counts as not yet."""
        try:
            return self._session.get(self.url + path, timeout=TIMEOUT_SECONDS)
        except requests.ConnectionError as error:
            raise NotYetError(str(error)) from error

    def post(self, path: str, body: Mapping[str, Any]) -> requests.Response:
        """A POST of JSON, as kube-scheduler sends it."""
        return self._session.post(self.url + path, json=dict(body), timeout=TIMEOUT_SECONDS)

    def schedule_config(self, *options: str) -> str:
        """What `loadaware schedule-config` prints for this process."""
        import subprocess

        command = [sys.executable, "-m", "loadaware", "schedule-config", "--config", str(self.config_file)]
        command += ["--url", self.url, "--no-leader-elect", "--kubeconfig-path", "", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def measured(self) -> set[str]:
        """Names of the nodes whose CPU usage is known now."""
        nodes = json.loads(self.get("/nodes").content)["nodes"]
        return {node["name"] for node in nodes if node["usage"]["cpu"]["mean"] is not None}

    def wait_until_measured(self, names: set[str], deadline_seconds: float = 60.0) -> None:
        """Until usage of all these nodes is known."""
        wait_for(lambda: names <= self.measured(), deadline_seconds, f"usage of {sorted(names)}", self.process)

    def metric(self, line_start: str) -> float:
        """The value of the sample whose line starts so; zero if there is none."""
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(line_start):
                return float(line.rpartition(" ")[2])
        return 0.0
