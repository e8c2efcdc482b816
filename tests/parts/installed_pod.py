"""The pod of an installed workload, run on this machine as a kubelet would run it, without a container around it.

The bargain: command line, environment, ports and probes are those of the object that the API server holds, and its
ConfigMaps and Secrets are the files that the process reads. Only what no kubelet is there for is done here: each
mounted folder is one below `folder`, and the account's credentials come by KUBECONFIG. `execute` is `kubectl exec`.
"""

import base64
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from tests.parts.kubernetes_api import KubernetesApi
from tests.parts.processes import NotYetError, Process, wait_for

TIMEOUT_SECONDS = 5.0


class InstalledPod:
    """Started on entry, once its startup probe is content; stopped on exit."""

    def __init__(self, api: KubernetesApi, workload: dict[str, Any], folder: Path, kubeconfig: Path) -> None:
        pod = workload["spec"]["template"]["spec"]
        (self._container,) = pod["containers"]
        self._folders = {
            mount["mountPath"]: folder / mount["mountPath"].lstrip("/") for mount in self._container["volumeMounts"]
        }
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in self._container["volumeMounts"]:
            here = self._folders[mount["mountPath"]]
            here.mkdir(parents=True)
            for name, text in _files(api, workload["metadata"]["namespace"], volumes[mount["name"]]).items():
                (here / name).write_text(self._mapped(text))
        given = {each["name"]: self._mapped(each["value"]) for each in self._container["env"]}
        self.environment = {**given, "KUBECONFIG": str(kubeconfig)}
        command = _command(self._container["args"])
        self.process = Process("loadaware", command, folder / "logs", environment=self.environment)

    def __enter__(self) -> Self:
        self.process.start()
        try:
            wait_for(lambda: self.probe("startupProbe"), "its start", self.process)
        except BaseException:
            self.process.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.stop()

    def port(self, name: str) -> int:
        """The container's port of that name."""
        (found,) = (each["containerPort"] for each in self._container["ports"] if each["name"] == name)
        return int(found)

    def probe(self, name: str) -> bool:
        """Whether a probe of the container is content."""
        probe = self._container[name]
        if "tcpSocket" in probe:
            socket.create_connection(("127.0.0.1", self.port(probe["tcpSocket"]["port"])), TIMEOUT_SECONDS).close()
            return True
        asks = probe["httpGet"]
        answer = requests.get(f"http://127.0.0.1:{self.port(asks['port'])}{asks['path']}", timeout=TIMEOUT_SECONDS)
        if not answer.ok:
            raise NotYetError(f"{answer.status_code} {answer.text}")
        return True

    def execute(self, words: Sequence[str]) -> str:
        """What a `loadaware` command prints in the pod; any exit code but 0 raises, with what it printed."""
        done = self.run(words)
        assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """The same, whatever the exit code."""
        assert words[0] == "loadaware"
        return subprocess.run(
            _command([self._mapped(word) for word in words[1:]]),
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def _mapped(self, text: str) -> str:
        """With the folders of the pod where they are on this machine."""
        longest_first = sorted(self._folders, key=len, reverse=True)
        pattern = "|".join(rf"{re.escape(path)}(?=/|\b)(?!-)" for path in longest_first)
        return re.sub(pattern, lambda found: str(self._folders[found[0]]), text)


def _command(words: Sequence[str]) -> list[str]:
    """The image's entry point is `loadaware`."""
    return [sys.executable, "-m", "loadaware", *words]


def _files(api: KubernetesApi, namespace: str, volume: dict[str, Any]) -> dict[str, str]:
    """What a volume brings: the files of a ConfigMap or of a Secret, or nothing."""
    if "configMap" in volume:
        made: dict[str, str] = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{volume['configMap']['name']}")[
            "data"
        ]
        return made
    return secret_files(api, namespace, volume["secret"]["secretName"]) if "secret" in volume else {}


def secret_files(api: KubernetesApi, namespace: str, name: str) -> dict[str, str]:
    """Name -> content of what a Secret holds."""
    data = api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}")["data"]
    return {name: base64.b64decode(content).decode() for name, content in data.items()}
