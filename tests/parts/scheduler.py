"""Runs a real kube-scheduler against the API server of a test.

The bargain: a started `Scheduler` is ready, with the configuration it was given; the only things changed in it
are those a configuration cannot know beforehand.
"""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.parts.builder import binary
from tests.parts.certificates import KeyPair
from tests.parts.kubernetes_api import KubernetesApi
from tests.parts.processes import Process, free_port, wait_for

PLAIN_SCHEDULER = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"
"""The defaults, without any extender."""


class Scheduler:
    """One kube-scheduler; started on entry unless it runs already, stopped on exit."""

    def __init__(
        self,
        *,
        folder: Path,
        config: str,
        kubeconfig: Path,
        serving: KeyPair,
        authority: Path,
        metrics_token: str,
    ) -> None:
        port = free_port()
        config_file = folder / f"kube-scheduler-{port}.json"
        config_file.write_text(json.dumps(completed(config, kubeconfig), indent=2))
        flags = [
            f"--config={config_file}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            "--v=2",
        ]
        self.process = Process("kube-scheduler", [binary("kube-scheduler"), *flags], folder / "logs")
        self._endpoint = KubernetesApi(f"https://127.0.0.1:{port}", metrics_token, authority)

    def start(self) -> Self:
        """Run it and wait until it is ready."""
        self.process.start()
        try:
            wait_for(lambda: self._endpoint.text("/readyz"), "kube-scheduler", self.process)
        except BaseException:
            self.stop()
            raise
        return self

    def __enter__(self) -> Self:
        return self if self.process.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it now; doing so twice does no harm."""
        self.process.stop()
        self._endpoint.close()

    def metrics(self) -> str:
        """What it tells Prometheus."""
        return self._endpoint.text("/metrics")


def completed(config: str, kubeconfig: Path) -> dict[str, Any]:
    """The configuration with the kubeconfig filled in; no leader is elected unless it asks for one."""
    content: dict[str, Any] = yaml.safe_load(config)
    content.setdefault("clientConnection", {})["kubeconfig"] = str(kubeconfig)
    content.setdefault("leaderElection", {}).setdefault("leaderElect", False)
    return content
