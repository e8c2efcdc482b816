"""Requests as kube-scheduler writes them, ready as bytes: what the client does for each must cost next to nothing."""

import json
import random
from collections.abc import Sequence
from typing import Any

from tests.benchmarks.big_cluster import APPS, node_name

LABELS = 14
IMAGES = 38


def by_name(count: int, nodes: int, pods: int, path: str = "/prioritize") -> list[bytes]:
    """`pods` requests about `count` names each, sampled anew each time from `nodes`."""
    dice = random.Random(count)
    names = [node_name(number) for number in range(nodes)]
    return [
        request(path, {"Pod": pending_pod(n), "Nodes": None, "NodeNames": dice.sample(names, count)})
        for n in range(pods)
    ]


def whole(count: int, pods: int, path: str = "/prioritize") -> list[bytes]:
    """`pods` requests with `count` whole nodes each, some 8 KB a node."""
    items = ",".join(json.dumps(whole_node(number), separators=(",", ":")) for number in range(count))
    nodes = '{"metadata":{},"items":[' + items + "]}"
    return [
        framed(path, f'{{"Pod":{json.dumps(pending_pod(n), separators=(",", ":"))},"Nodes":{nodes},"NodeNames":null}}')
        for n in range(pods)
    ]


UID = "11111111-0000-4000-8000-"
UID_DIGITS = 12


class Requests:
    """Requests over and over, each about a pod that was never asked about before: only its uid is written anew."""

    def __init__(self, prepared: Sequence[bytes]) -> None:
        self._prepared = [(bytearray(one), one.index(UID.encode()) + len(UID)) for one in prepared]
        self._number = 0

    def __next__(self) -> bytearray:
        self._number += 1
        request, at = self._prepared[self._number % len(self._prepared)]
        request[at : at + UID_DIGITS] = b"%012d" % self._number
        return request


def request(path: str, arguments: dict[str, Any]) -> bytes:
    return framed(path, json.dumps(arguments, separators=(",", ":")))


def framed(path: str, text: str) -> bytes:
    body = text.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:8090\r\nUser-Agent: Go-http-client/1.1\r\n"
    head += f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n"
    return head.encode() + body


def pending_pod(number: int) -> dict[str, Any]:
    """A pod of one of the cluster's apps, as a controller makes it: 2.5 KB."""
    app = f"service-{number % APPS:04d}"
    container = {
        "name": "main",
        "image": "registry.example/team/service:1.27.3",
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(8)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "token", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    not_ready = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ]
    return {
        "metadata": {
            "name": f"{app}-new-{number:05d}",
            "generateName": f"{app}-",
            "namespace": f"team-{number % APPS % 200:03d}",
            "uid": f"{UID}{number:012d}",
            "creationTimestamp": "2026-03-02T08:15:31Z",
            "labels": {"app.kubernetes.io/name": app, "pod-template-hash": f"{number % APPS:010x}"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-{number % APPS:010x}", "uid": "u",
                 "controller": True, "blockOwnerDeletion": True}
            ],
        },
        "spec": {
            "volumes": [{"name": "token", "projected": {"sources": [], "defaultMode": 420}}],
            "containers": [container],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": not_ready,
            "priority": 0,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }  # fmt: skip


def whole_node(number: int) -> dict[str, Any]:
    """A node as a kubelet reports it."""
    amounts = {"cpu": "64", "ephemeral-storage": "101430960Ki", "memory": "263952Mi", "pods": "110"}
    now = "2026-03-02T08:15:31Z"
    conditions = [
        {"type": kind, "status": "False", "lastHeartbeatTime": now, "lastTransitionTime": now,
         "reason": f"KubeletHasSufficient{kind}", "message": f"kubelet has sufficient {kind} available"}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]  # fmt: skip
    images = [
        {"names": [f"registry.example/team/image-{n}@sha256:{n:064x}", f"registry.example/team/image-{n}:1.{n}"],
         "sizeBytes": 10_000_000 + n}
        for n in range(IMAGES)
    ]  # fmt: skip
    return {
        "metadata": {
            "name": node_name(number),
            "uid": f"22222222-0000-4000-8000-{number:012d}",
            "resourceVersion": "123456",
            "creationTimestamp": now,
            "labels": {f"example.com/label-{n}": f"value-{n}" for n in range(LABELS)},
            "annotations": {f"example.com/annotation-{n}": "some longer text " * 3 for n in range(6)},
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///zone/{number}"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kernelVersion": "6.1", "kubeletVersion": "v1.36.3", "operatingSystem": "linux"},
            "images": images,
        },
    }
