"""The few Kubernetes objects that tests need, as plain JSON values.

The bargain: functions here only make values; who sends them where is the caller's business. There is no
kubelet in these tests, so `ready_status` says what a kubelet would say.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

PAUSE_IMAGE = "pause:1"
"""Never pulled: nothing runs containers here."""


def node(name: str, *, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None) -> Json:
    """A node as one registers it: known by name, not ready yet."""
    every_label = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}
    metadata = {"name": name, "labels": every_label, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def ready_status(
    name: str, capacity: Mapping[str, str], allocatable: Mapping[str, str], address: str = "127.0.0.1"
) -> Json:
    """A patch for the status of a node that is up and has that much to give."""
    addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "no kubelet, but ready"}
    return {
        "status": {
            "capacity": dict(capacity),
            "allocatable": dict(allocatable),
            "addresses": addresses,
            "conditions": [ready],
        }
    }


def pod(
    name: str,
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A pod of one container; `spec` adds to its spec, for example a nodeSelector or a schedulerName."""
    resources = {"requests": dict(requests or {}), "limits": dict(limits or {})}
    container = {"name": "main", "image": PAUSE_IMAGE, "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
        "spec": {"containers": [container], **(spec or {})},
    }


def is_ready(node_object: Json) -> bool:
    """Whether a node read from the API says it is ready."""
    conditions = node_object.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
