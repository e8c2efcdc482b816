"""Speaks to the API server of a test in plain JSON over HTTP, to see it as no client library shows it.

The bargain: a path and a body go in, the decoded answer comes out, and any other answer than success raises
`ApiError` with the server's own words. What tests do all the time (a ready node, a pod, where a pod went) has
a method of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests

from tests.parts import objects
from tests.parts.objects import Json
from tests.parts.processes import PATIENCE_SECONDS, NotYetError, wait_for

NODES = "/api/v1/nodes"
DEFAULT_PODS = "/api/v1/namespaces/default/pods"
MERGE_PATCH = "application/merge-patch+json"
TIMEOUT_SECONDS = 30.0


class ApiError(OSError):
    """The API server refused; an OSError, so that `wait_for` takes it as not yet."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status


class KubernetesApi:
    """One user's access to an API server."""

    def __init__(self, url: str, token: str, authority: Path) -> None:
        self.url = url
        self.token = token
        self._session = requests.Session()
        self._session.trust_env = False  # else REQUESTS_CA_BUNDLE wins over our authority
        self._session.verify = str(authority)
        self._session.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Let go of the connections."""
        self._session.close()

    def get(self, path: str, **query: str) -> Json:
        """The object or list at that path."""
        return self._call("GET", path, query=query)

    def text(self, path: str) -> str:
        """What is not JSON: health endpoints and metrics."""
        return self._answer("GET", path).text

    def create(self, path: str, body: Json) -> Json:
        """Post to a collection, or to a subresource such as binding or token."""
        return self._call("POST", path, body=body)

    def patch(self, path: str, body: Json) -> Json:
        """Merge a patch into an object or its status."""
        return self._call("PATCH", path, body=body, content_type=MERGE_PATCH)

    def delete(self, path: str) -> Json:
        """Delete an object or a whole collection at once; there is no kubelet to wait for."""
        return self._call("DELETE", path, query={"gracePeriodSeconds": "0"})

    def add_ready_node(
        self,
        name: str,
        *,
        cpu: str = "4",
        memory: str = "16Gi",
        pods: str = "110",
        allocatable: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Json:
        """Create a node and say of it what its kubelet would; `allocatable` names what is below capacity."""
        self.create(NODES, objects.node(name, labels=labels, annotations=annotations))
        capacity = {"cpu": cpu, "memory": memory, "pods": pods}
        status = objects.ready_status(name, capacity, capacity | dict(allocatable or {}))
        return self.patch(f"{NODES}/{name}/status", status)

    def add_pod(self, name: str, **of_pod: Any) -> Json:
        """Create a pod in the default namespace; the settings are those of `objects.pod`."""
        return self.create(DEFAULT_PODS, objects.pod(name, **of_pod))

    def node_of(self, pod_name: str) -> str:
        """Wait until a pod of the default namespace is bound, and name its node."""

        def bound_node() -> str:
            found = self.get(f"{DEFAULT_PODS}/{pod_name}")
            node_name: str | None = found["spec"].get("nodeName")
            if node_name is None:
                raise NotYetError(f"unbound, conditions {found['status'].get('conditions', [])}")
            return node_name

        return wait_for(bound_node, f"pod {pod_name} to be bound")

    def add_pods(self, names: Iterable[str], **of_pod: Any) -> list[str]:
        """Create pods that differ in their names alone, one right after the other."""
        made = list(names)
        for name in made:
            self.add_pod(name, **of_pod)
        return made

    def nodes_of(self, pod_names: Sequence[str], deadline_seconds: float = PATIENCE_SECONDS) -> dict[str, str]:
        """Wait until these pods of the default namespace are bound, and name the node of each."""

        def bound() -> dict[str, str]:
            pods = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in self.get(DEFAULT_PODS)["items"]}
            unbound = [name for name in pod_names if not pods.get(name)]
            if unbound:
                raise NotYetError(f"{len(unbound)} of {len(pod_names)} unbound, such as {unbound[:3]}")
            return {name: pods[name] for name in pod_names}

        return wait_for(bound, f"{len(pod_names)} pods to be bound", deadline_seconds=deadline_seconds)

    def clear(self) -> None:
        """Delete every node, and every pod of the default namespace: a clean table for the next test."""
        self.delete(DEFAULT_PODS)
        self.delete(NODES)

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        answer: Json = self._answer(method, path, body=body, query=query, content_type=content_type).json()
        return answer

    def _answer(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> requests.Response:
        response = self._session.request(
            method,
            self.url + path,
            json=body,
            params=query,
            headers={"Content-Type": content_type},
            timeout=TIMEOUT_SECONDS,
        )
        if not response.ok:
            raise ApiError(method, path, response.status_code, _message(response))
        return response


def _message(response: requests.Response) -> str:
    """The server's own words: the message of a Status object, or the text as it came."""
    try:
        return str(response.json()["message"])
    except (requests.JSONDecodeError, KeyError, TypeError):
        return response.text[:1000]
