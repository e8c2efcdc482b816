"""The two things that are written to the API server: a binding when /bind is asked for, and an event for people.

Everything else only reads. Each raises CollectorError with the API server's own words.
"""

from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

import msgspec

from collectors.errors import SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod

NOT_FOUND = 404
LONGEST_MESSAGE_BYTES = 1024
EventKind = Literal["Normal", "Warning"]


def bind_pod(api: KubernetesApi, namespace: str, name: str, uid: str, node: str) -> None:
    """Bind a pod to a node."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/{_segment(namespace)}/pods/{_segment(name)}/binding"
    api.post(path, msgspec.json.encode(binding))


def node_exists(api: KubernetesApi, name: str) -> bool:
    """Whether there is such a node: the API server binds a pod to any name."""
    try:
        api.get(f"/api/v1/nodes/{_segment(name)}")
    except SourceRefusedError as error:
        if error.status == NOT_FOUND:
            return False
        raise
    return True


def write_event(api: KubernetesApi, pod: Pod, reason: str, message: str, kind: EventKind = "Warning") -> None:
    """An event on a pod. The API server takes 1024 bytes of message."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{pod.name}.", "namespace": pod.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
        "reason": reason,
        "message": message.encode()[:LONGEST_MESSAGE_BYTES].decode(errors="ignore"),
        "type": kind,
        "source": {"component": "loadaware"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    api.post(f"/api/v1/namespaces/{_segment(pod.namespace)}/events", msgspec.json.encode(event))


def _segment(name: str) -> str:
    """A name as one segment of a path, whatever somebody put into it: it must not lead anywhere else."""
    return quote(name, safe="").replace(".", "%2E") if set(name) == {"."} else quote(name, safe="")
