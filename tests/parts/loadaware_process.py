"""The real loadaware, as a process of its own, for tests beside real parts.

The bargain: it is started exactly as a person starts it (`loadaware serve ...`), and entering gives one that answers.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests
import yaml
from requests.adapters import HTTPAdapter

from loadaware.doctor import ServerFiles, examine
from loadaware.doctor.bounded import Limits
from loadaware.doctor.finding import Finding
from tests.parts.certificates import KeyPair
from tests.parts.processes import PATIENCE_SECONDS, NotYetError, Process, free_port, wait_for

TIMEOUT_SECONDS = 30.0
LIMITS = Limits(whole_seconds=4 * PATIENCE_SECONDS, check_seconds=PATIENCE_SECONDS, call_seconds=TIMEOUT_SECONDS)
SHIPPED_TIMEOUT = "httpTimeout: 2s"


class _Named(HTTPAdapter):
    """Asks an address for the certificate of a name."""

    def __init__(self, name: str) -> None:
        self._name = name
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **settings: Any) -> None:
        super().init_poolmanager(*arguments, **settings, server_hostname=self._name, assert_hostname=self._name)


class LoadAware:
    """`loadaware serve` with a configuration, on a free port of loopback."""

    def __init__(
        self,
        folder: Path,
        *,
        config: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        kubeconfig: Path | None = None,
        log_level: str = "debug",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.config_file = folder / "config.yaml"
        people = {"port": None}  # several of them run on this machine
        self.config_file.write_text(yaml.safe_dump({"people": people, **(config or {})}))
        command = [sys.executable, "-m", "loadaware", "serve", "--address", "127.0.0.1", "--port", str(port)]
        command += ["--config", str(self.config_file), "--log-level", log_level]
        if state is not None:
            (folder / "state.yaml").write_text(yaml.safe_dump(dict(state)))
            command += ["--state", str(folder / "state.yaml")]
        if kubeconfig is not None:
            command += ["--kubeconfig", str(kubeconfig)]
        self.process = Process("loadaware", command, folder / "logs")
        self._session = requests.Session()
        self._session.trust_env = False

    def trust(self, authority: Path, shown: KeyPair | None = None, *, name: str = "") -> Self:
        """Its configuration makes it serve https: believe it by this authority (and if its certificate has another name
        than its address, by that), and show it that certificate.
        """
        self.url = self.url.replace("http:", "https:")
        if name:
            self._session.mount("https://", _Named(name))
        self._session.verify = str(authority)
        self._session.cert = (str(shown.certificate), str(shown.key)) if shown else None
        return self

    def __enter__(self) -> Self:
        return self.start()

    def start(self) -> Self:
        """Run it, again if it was ended, and wait until it answers."""
        self.process.start()
        try:
            wait_for(lambda: self.get("/healthz").ok, "loadaware", self.process)
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

    def schedule_config(self, *options: str, url: str | None = None, timeout: str = "30s") -> str:
        """What `loadaware schedule-config` prints for this process, or for another address that leads to it; but
        kube-scheduler is more patient than it would be with that, so that it does without nobody on a slow machine.
        """
        plain = ["--url", url or self.url, "--no-leader-elect", "--kubeconfig-path", ""]
        printed = self.command("schedule-config", "--config", str(self.config_file), *plain, *options)
        assert SHIPPED_TIMEOUT in printed
        return printed.replace(SHIPPED_TIMEOUT, f"httpTimeout: {timeout}")

    def examined(self, kubeconfig: Path, files: ServerFiles | None = None) -> list[Finding]:
        """What `loadaware doctor` finds of it, without hurry."""
        return examine(str(self.config_file), str(kubeconfig), None, self.url, LIMITS, files=files)

    def command(self, *arguments: str) -> str:
        """What a `loadaware` command prints; any exit code but 0 raises."""
        command = [sys.executable, "-m", "loadaware", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def explained(self, pod: str) -> dict[str, Any]:
        """What `loadaware explain` tells of a pod of the default namespace, as soon as it is told of its node."""

        def told() -> dict[str, Any]:
            answer: dict[str, Any] = self.get(f"/explain?pod=default/{pod}&nodes=1000").json()
            if "chosen" not in answer or answer["chosen"] is None:
                raise NotYetError(json.dumps(answer)[:500])
            return answer

        return wait_for(told, f"an explanation of {pod}", self.process)

    def measured(self) -> set[str]:
        """Names of the nodes whose CPU usage is known now."""
        nodes = json.loads(self.get("/nodes").content)["nodes"]
        return {node["name"] for node in nodes if node["usage"]["cpu"]["mean"] is not None}

    def wait_until_measured(self, names: set[str], deadline_seconds: float = PATIENCE_SECONDS) -> None:
        """Until usage of all these nodes is known."""
        wait_for(
            lambda: names <= self.measured(),
            f"usage of {sorted(names)}",
            self.process,
            deadline_seconds=deadline_seconds,
        )

    def usage(self) -> dict[str, float | None]:
        """The mean CPU usage of each node, in cores, as it is believed now."""
        return {node["name"]: node["usage"]["cpu"]["mean"] for node in self.get("/nodes").json()["nodes"]}

    def wait_until_usage(self, cores: Mapping[str, float]) -> None:
        """Until the mean usage of these nodes is believed to be so many cores, or off by a tenth."""

        def as_expected() -> bool:
            told = self.usage()
            if any(abs((told.get(name) or 0.0) - expected) > 0.1 * expected for name, expected in cores.items()):
                raise NotYetError(f"{told}")
            return True

        wait_for(as_expected, f"usage of {dict(cores)}", self.process)

    def total(self, series: str) -> float:
        """The sum of all samples of a series."""
        lines = [line for line in self.get("/metrics").text.splitlines() if line.startswith(f"{series}{{")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def metric(self, line_start: str) -> float:
        """The value of the sample whose line starts so; zero if there is none."""
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(line_start):
                return float(line.rpartition(" ")[2])
        return 0.0
