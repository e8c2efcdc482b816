"""A small cluster on a fake API server: nodes, pods and what they use, for observer processes to watch."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from loadaware.config import Config, parse
from tests.collectors.fake_api_server import FakeApiServer

USAGE_OF_NODES = "/apis/metrics.k8s.io/v1beta1/nodes"
USAGE_OF_PODS = "/apis/metrics.k8s.io/v1beta1/pods"


def quick_config(**sections: Any) -> Config:
    """The defaults, reading every second."""
    import yaml

    return parse(yaml.safe_dump({"interval": "1s", **sections}))


def serve_cluster(server: FakeApiServer, cpu: Mapping[str, str], pods: Mapping[str, str] | None = None) -> None:
    """Answer with these nodes, what each uses, and these pods by the node that each is on."""
    server.answer("/api/v1/nodes", _list(*(_node(name) for name in cpu)))
    server.answer("/api/v1/pods", _list(*(pod(name, on) for name, on in (pods or {}).items())))
    server.answer("/api/v1/namespaces", _list())
    serve_usage(server, cpu)
    server.answer(USAGE_OF_PODS, {"kind": "PodMetricsList", "items": []})


def serve_usage(server: FakeApiServer, cpu: Mapping[str, str]) -> None:
    """Answer with this usage from now on."""
    now = datetime.fromtimestamp(time.time(), UTC).isoformat()
    usages = [
        {
            "metadata": {"name": name},
            "timestamp": now,
            "window": "15s",
            "usage": {"cpu": used, "memory": "1Gi"},
        }
        for name, used in cpu.items()
    ]
    server.answer(USAGE_OF_NODES, {"kind": "NodeMetricsList", "items": usages})


def pod(name: str, node: str, **status: Any) -> dict[str, Any]:
    """A bound pod that requests one core."""
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": "11"},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", **status},
    }


def _node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "16Gi"}
    return {
        "metadata": {"name": name, "resourceVersion": "9", "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _list(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": "10"}, "items": list(items)}
