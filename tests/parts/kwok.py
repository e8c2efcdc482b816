"""kwok plays the kubelets of a test: nodes and pods come up at once, and use what is written on the pods.

The bargain: entering a `Kwok` gives one that answers; `add_node` gives a node that is up, whose load is one pod of its
own (`set_load` changes it at any time). metrics-server and Prometheus both read the usage at kwok's port, as they
would at a kubelet's. Give every node a name of its own: kwok's counters outlive a node that is deleted.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests

from tests.parts import objects
from tests.parts.builder import binary
from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import NODES
from tests.parts.processes import NotYetError, Process, free_port, wait_for

CONFIG = Path(__file__).with_name("kwok.yaml")
CPU = "kwok.x-k8s.io/usage-cpu"
MEMORY = "kwok.x-k8s.io/usage-memory"
LOADS = "loads"
"""The namespace of the pods that are a node's load."""
LOAD_REQUESTS = {"cpu": "4", "memory": "1Gi"}
"""About what loads use on average, as in a cluster whose requests are meant: loads teach what other pods may use."""
TIMEOUT_SECONDS = 10.0


class Kwok:
    """One kwok that plays every kubelet of the cluster; started on entry, stopped on exit."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._api = control_plane.api
        self.port = free_port()
        flags = [
            f"--kubeconfig={control_plane.kubeconfig}",
            f"--config={CONFIG}",
            "--manage-all-nodes",
            "--node-ip=127.0.0.1",
            f"--node-port={self.port}",
            f"--server-address=127.0.0.1:{self.port}",
        ]
        self.process = Process("kwok", [binary("kwok"), *flags], control_plane.logs)

    def __enter__(self) -> Self:
        self.process.start()
        try:
            wait_for(self._answers, "kwok", self.process)
            self._api.create("/api/v1/namespaces", {"metadata": {"name": LOADS}})
        except BaseException:
            self.process.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.stop()

    def add_node(
        self,
        name: str,
        *,
        cpu: str = "8",
        memory: str = "32Gi",
        pods: str = "110",
        load: str | None = None,
        labels: Mapping[str, str] | None = None,
        measured: bool = True,
    ) -> None:
        """A node that is up. With a load, such as "6500m", a pod of its own uses so much CPU. metrics-server finds its
        usage if it is to be `measured`.
        """
        annotations = {"metrics.k8s.io/resource-metrics-path": resource_path(name)} if measured else {}
        body = objects.node(name, labels=labels, annotations=annotations)
        capacity = {"cpu": cpu, "memory": memory, "pods": pods}
        self._api.create(NODES, body | {"status": {"capacity": capacity, "allocatable": capacity}})
        if load is not None:
            usage = usage_annotations(load, "1Gi")
            self._api.create(f"/api/v1/namespaces/{LOADS}/pods", load_pod(name, usage))
        wait_for(lambda: objects.is_ready(self._api.get(f"{NODES}/{name}")), f"{name} up", self.process)

    def set_load(self, node: str, cpu: str) -> None:
        """Let the load of a node use so much CPU from now on."""
        self._api.patch(f"/api/v1/namespaces/{LOADS}/pods/on-{node}", {"metadata": {"annotations": {CPU: cpu}}})

    def _answers(self) -> bool:
        answer = requests.get(f"http://127.0.0.1:{self.port}/healthz", timeout=TIMEOUT_SECONDS)
        if not answer.ok:
            raise NotYetError(f"{answer.status_code} {answer.text}")
        return True


def resource_path(node: str) -> str:
    """Where kwok tells what a node and its pods use."""
    return f"/metrics/nodes/{node}/metrics/resource"


def usage_annotations(cpu: str, memory: str = "1Mi") -> dict[str, str]:
    """What is written on a pod that uses so much."""
    return {CPU: cpu, MEMORY: memory}


def load_pod(node: str, usage: Mapping[str, str]) -> dict[str, Any]:
    """A pod that is a node's load. All request the same, so that only who measures tells the nodes apart."""
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 0}
    return objects.pod(f"on-{node}", requests=LOAD_REQUESTS, annotations=usage, spec=spec)
