"""A cluster of any size on an API server that only repeats what was written beforehand, as a process of its own:

    python -m tests.benchmarks.big_cluster --nodes 5000 --pods 150000 --port 8001

Nodes, pods and namespaces are listed in pages, watches stay silent, and what metrics-server would answer carries the
time of the moment it is asked, so that each reading is a new one.
"""

import argparse
import json
import random
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

NOW = "2026-03-02T08:15:31Z"
"""Stands for the moment at which metrics are asked for."""
APPS = 3000


def node_name(number: int) -> str:
    """As the table of the extender in Go has it."""
    return f"worker-{number:05d}.zone-{number % 3}.cluster.internal"


def node(number: int) -> dict[str, Any]:
    """A node with what the observer reads of it."""
    labels = {
        "kubernetes.io/hostname": node_name(number),
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "node.kubernetes.io/instance-type": f"type-{number % 7}",
    }
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "metadata": {"name": node_name(number), "uid": f"node-{number}", "resourceVersion": "9", "labels": labels},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions},
    }


def pod(number: int, nodes: int) -> dict[str, Any]:
    """A running pod of one of the apps."""
    app = f"service-{number % APPS:04d}"
    owner = {"kind": "ReplicaSet", "name": f"{app}-{number % APPS:010x}", "controller": True}
    requests = {"cpu": f"{50 * (1 + number % 9)}m", "memory": f"{128 * (1 + number % 7)}Mi"}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    return {
        "metadata": {
            "name": f"{app}-{number:06d}",
            "namespace": f"team-{number % APPS % 200:03d}",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": "9",
            "labels": {"app.kubernetes.io/name": app, "pod-template-hash": f"{number % APPS:010x}"},
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": node_name(number % nodes),
            "schedulerName": "default-scheduler",
            "containers": [container, {"name": "proxy", "resources": {"requests": {"cpu": "10m"}}}][: 1 + number % 2],
        },
        "status": {"phase": "Running", "startTime": "2026-03-02T07:00:00Z"},
    }


def node_metrics(number: int, dice: random.Random) -> dict[str, Any]:
    usage = {"cpu": f"{dice.randrange(5, 45) * 10**9 + dice.randrange(10**9)}n", "memory": f"{dice.randrange(10**8)}Ki"}
    return {"metadata": {"name": node_name(number)}, "timestamp": NOW, "window": "15.012s", "usage": usage}


def pod_metrics(number: int, dice: random.Random) -> dict[str, Any]:
    metadata = pod(number, 1)["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels")} | {"creationTimestamp": NOW}
    usage = [
        {"cpu": f"{dice.randrange(10**9)}n", "memory": f"{dice.randrange(10**6)}Ki"} for _ in range(1 + number % 2)
    ]
    containers = [{"name": name, "usage": used} for name, used in zip(("main", "proxy"), usage, strict=False)]
    return {"metadata": kept, "timestamp": NOW, "window": "14.873s", "containers": containers}


def written(items: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(item, separators=(",", ":")).encode() for item in items]


def a_list(items: list[bytes], following: str = "") -> bytes:
    return b'{"metadata":{"resourceVersion":"10","continue":"%b"},"items":[%b]}' % (
        following.encode(),
        b",".join(items),
    )


class Cluster:
    """The answers."""

    def __init__(self, nodes: int, pods: int) -> None:
        dice = random.Random(7)
        self.lists = {
            "/api/v1/nodes": written([node(number) for number in range(nodes)]),
            "/api/v1/pods": written([pod(number, nodes) for number in range(pods)]),
            "/api/v1/namespaces": written([{"metadata": {"name": f"team-{n:03d}"}} for n in range(200)]),
        }
        metrics = "/apis/metrics.k8s.io/v1beta1"
        self.metrics = {
            f"{metrics}/nodes": a_list(written([node_metrics(number, dice) for number in range(nodes)])),
            f"{metrics}/pods": a_list(written([pod_metrics(number, dice) for number in range(pods)])),
        }

    def answer(self, path: str, query: dict[str, list[str]]) -> bytes | None:
        """None: nothing is there."""
        if path in self.metrics:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            return self.metrics[path].replace(NOW.encode(), now.encode())
        if path in self.lists:
            items, limit = self.lists[path], int(query.get("limit", ["500"])[0])
            begin = int(query.get("continue", ["0"])[0])
            return a_list(items[begin : begin + limit], str(begin + limit) if begin + limit < len(items) else "")
        return None


def handler(cluster: Cluster, ended: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            if "watch" in query:
                self._watch()
                return
            body = cluster.answer(url.path, query)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def _watch(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            ended.wait(3600.0)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
            """Say nothing."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--port", type=int, required=True)
    settings = parser.parse_args()
    ended = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", settings.port), handler(Cluster(settings.nodes, settings.pods), ended))
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
