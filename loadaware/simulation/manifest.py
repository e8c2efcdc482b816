"""A pod's facts written back as the JSON that kube-scheduler sends: the other direction of collectors.manifests."""

from datetime import UTC, datetime
from typing import Any

from collectors.manifests import Container, Pod, Resources


def manifest_of(pod: Pod) -> dict[str, Any]:
    """A v1 Pod. Reading it back gives the same facts, times to the second."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": _metadata(pod),
        "spec": {
            "containers": [_container(pod, number, c) for number, c in enumerate(pod.shape.containers)],
            "schedulerName": pod.scheduler_name,
            "priority": pod.priority,
            "restartPolicy": "Never" if pod.owner and pod.owner.kind == "Job" else "Always",
            **({"nodeName": pod.node} if pod.node else {}),
        },
        "status": {"phase": pod.phase},
    }


def _metadata(pod: Pod) -> dict[str, Any]:
    owner = pod.owner
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "labels": dict(pod.labels),
        "annotations": dict(pod.annotations),
        "creationTimestamp": None if pod.created_at is None else rfc3339(pod.created_at),
        "ownerReferences": [{"kind": owner.kind, "name": owner.name, "controller": True}] if owner else None,
    }


def _container(pod: Pod, number: int, container: Container) -> dict[str, Any]:
    return {
        "name": f"main-{number}",
        "image": pod.images[number] if number < len(pod.images) else "",
        "resources": {"requests": _quantities(container.requests), "limits": _quantities(container.limits)},
    }


def _quantities(resources: Resources) -> dict[str, str]:
    return {name: f"{round(amount * 1000)}m" if name == "cpu" else f"{round(amount)}" for name, amount in resources}


def rfc3339(time: float) -> str:
    """Seconds since 1970 as the API server writes them."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
