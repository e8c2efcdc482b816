"""The two things that are written to the API server: a binding when /bind is asked for, and an event for people.

Everything else only reads. Each raises CollectorError with the API server's own words.
"""

from datetime import UTC, datetime

import msgspec

from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod


def bind_pod(api: KubernetesApi, namespace: str, name: str, uid: str, node: str) -> None:
    """Bind a pod to a node."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    api.post(f"/api/v1/namespaces/{namespace}/pods/{name}/binding", msgspec.json.encode(binding))


def write_event(api: KubernetesApi, pod: Pod, reason: str, message: str) -> None:
    """A warning event on a pod."""
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
        "message": message,
        "type": "Warning",
        "source": {"component": "loadaware"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    api.post(f"/api/v1/namespaces/{pod.namespace}/events", msgspec.json.encode(event))
