import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import QuantityError
from collectors.manifests import (
    Namespace,
    NamespaceManifest,
    Node,
    NodeManifest,
    Owner,
    Pod,
    PodManifest,
    namespace_from,
    node_from,
    node_from_object,
    parse_time,
    pod_from,
    pod_from_object,
    resources_from,
)

EIGHT_O_CLOCK = 1772438400.0
"""2026-03-02T08:00:00Z"""

Amounts = tuple[int, int]
"""cpu in millicores, memory in bytes."""


def quantities(amounts: Amounts) -> dict[str, str]:
    return {"cpu": f"{amounts[0]}m", "memory": str(amounts[1])}


def container(requests: Amounts | None = None, limits: Amounts | None = None, **members: Any) -> dict[str, Any]:
    declared = {"requests": requests, "limits": limits}
    return {"resources": {name: quantities(a) for name, a in declared.items() if a is not None}} | members


def pod_of(*containers: dict[str, Any], init: Any = (), overhead: dict[str, str] | None = None) -> Pod:
    spec = {"containers": containers, "initContainers": init, "overhead": overhead or {}}
    return pod_from_object({"metadata": {"name": "p"}, "spec": spec})


def declared(pod: Pod, what: str) -> Amounts:
    amount = pod.shape.request if what == "requests" else pod.shape.limit
    return round(amount("cpu") * 1000), round(amount("memory"))


# -- What a pod declares --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("containers", "init", "overhead_millicores", "expected"),
    [
        # the containers' sum wins over a smaller init container; the overhead is added
        ([(1000, 2048), (500, 1024)], (100, 512), 10, (1510, 3072)),
        # a larger init container wins over the sum, in each resource for itself
        ([(1000, 2048), (500, 1024)], (2000, 4096), 10, (2010, 4096)),
        # zeros declare nothing
        ([(0, 0), (0, 209715200), (1000, 419430400)], (0, 0), 0, (1000, 629145600)),
    ],
)
def test_requests_are_counted_as_the_peers_count_them(
    containers: list[Amounts], init: Amounts, overhead_millicores: int, expected: Amounts
) -> None:
    pod = pod_of(
        *(container(requests=amounts, limits=amounts) for amounts in containers),
        init=[container(requests=init)],
        overhead={"cpu": f"{overhead_millicores}m"},
    )
    assert declared(pod, "requests") == expected


@pytest.mark.parametrize(
    ("requests", "limits", "overhead_millicores", "expected"),
    [
        # one init container with requests (100, 512) and limits (2000, 4096) beside these
        ([(1000, 2048), (500, 1024)], [(1000, 2048), (500, 1024)], 10, (2010, 4096)),
        ([(1000, 2048), (500, 1024)], [(1000, 4096), (2500, 2048)], 10, (3510, 6144)),
        ([(1000, 2048), (500, 1024), (0, 0)], [(0, 0), (0, 2048), (1000, 0)], 0, (2000, 4096)),
    ],
)
def test_limits_are_counted_as_the_peers_count_them(
    requests: list[Amounts], limits: list[Amounts], overhead_millicores: int, expected: Amounts
) -> None:
    pod = pod_of(
        *(container(*both) for both in zip(requests, limits, strict=True)),
        init=[container(requests=(100, 512), limits=(2000, 4096))],
        overhead={"cpu": f"{overhead_millicores}m"},
    )
    assert declared(pod, "limits") == expected


def test_overhead_is_added_to_limits_only_where_some_limit_is_declared() -> None:
    overhead = {"cpu": "10m", "memory": "100"}
    assert declared(pod_of(container(requests=(100, 1000)), overhead=overhead), "limits") == (0, 0)
    limited = pod_of({"resources": {"limits": {"cpu": "1"}}}, overhead=overhead)
    assert declared(limited, "limits") == (1010, 0)
    assert declared(limited, "requests") == (10, 100)


def test_a_sidecar_runs_beside_the_containers_and_is_summed_with_them() -> None:
    sidecar = container(requests=(200, 20), limits=(400, 40), restartPolicy="Always")
    pod = pod_of(container(requests=(100, 10), limits=(100, 10)), init=[sidecar])
    assert declared(pod, "requests") == (300, 30)
    assert declared(pod, "limits") == (500, 50)


def test_an_init_container_runs_beside_the_sidecars_started_before_it_only() -> None:
    sidecar = container(requests=(200, 20), restartPolicy="Always")
    initial = container(requests=(250, 5))
    usual = container(requests=(100, 10))
    assert declared(pod_of(usual, init=[sidecar, initial]), "requests") == (450, 30)
    assert declared(pod_of(usual, init=[initial, sidecar]), "requests") == (300, 30)


def test_several_init_containers_run_one_after_the_other() -> None:
    init = [container(requests=(300, 1)), container(requests=(200, 50))]
    assert declared(pod_of(container(requests=(100, 10)), init=init), "requests") == (300, 50)


def test_a_pod_that_declares_nothing_requests_nothing() -> None:
    pod = pod_of({"image": "x"}, {"resources": None}, {"resources": {"requests": None}})
    assert (pod.shape.requests, pod.shape.limits) == ((), ())
    assert declared(pod, "requests") == (0, 0)


def test_other_resources_are_counted_too() -> None:
    pod = pod_of({"resources": {"requests": {"nvidia.com/gpu": "2"}}}, {"resources": {"requests": {"cpu": 1}}})
    assert pod.shape.requests == (("cpu", 1.0), ("nvidia.com/gpu", 2.0))


def test_replicas_share_one_shape() -> None:
    first, second = (pod_of(container(requests=(100, 7), limits=(200, 9))) for _ in range(2))
    assert first.shape is second.shape


@given(st.permutations([("cpu", "1"), ("memory", "1Gi"), ("disk", "5")]))
def test_the_order_of_resources_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    assert resources_from(dict(pairs)) == (("cpu", 1.0), ("disk", 5.0), ("memory", 2.0**30))


def test_a_bad_quantity_is_refused_by_name() -> None:
    with pytest.raises(QuantityError, match="'lots'"):
        pod_of({"resources": {"requests": {"cpu": "lots"}}})


# -- Pods -----------------------------------------------------------------------------------------------------

POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {
        "name": "shop-7d9c5b8f6d-lk4wq",
        "namespace": "shop",
        "uid": "0b9f",
        "labels": {"app": "shop"},
        "annotations": {"note": "x"},
        "creationTimestamp": "2026-03-02T08:00:00Z",
        "deletionTimestamp": "2026-03-02T09:00:00Z",
        "ownerReferences": [
            {"kind": "Tenant", "name": "someone"},
            {"kind": "ReplicaSet", "name": "shop-7d9c5b8f6d", "controller": True},
        ],
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {
        "nodeName": "n1",
        "schedulerName": "loadaware",
        "priority": 1000,
        "containers": [{"name": "shop", "image": "shop:1", "ports": [{"containerPort": 80}]}, {"name": "b"}],
        "tolerations": [{"operator": "Exists"}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-03-02T08:00:02Z",
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T08:00:09Z"},
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-03-02T08:00:01Z"},
        ],
        "nominatedNodeName": "",
    },
}


def test_a_pods_facts_are_read_from_its_manifest() -> None:
    pod = pod_from(msgspec.json.decode(json.dumps(POD), type=PodManifest))
    assert pod == Pod(
        namespace="shop",
        name="shop-7d9c5b8f6d-lk4wq",
        uid="0b9f",
        node="n1",
        phase="Running",
        shape=pod.shape,
        owner=Owner("ReplicaSet", "shop-7d9c5b8f6d"),
        labels={"app": "shop"},
        annotations={"note": "x"},
        images=("shop:1",),
        scheduler_name="loadaware",
        priority=1000,
        created_at=EIGHT_O_CLOCK,
        bound_at=EIGHT_O_CLOCK + 1,
        deleted_at=EIGHT_O_CLOCK + 3600,
        nominated_node=None,
    )
    assert (pod.key, pod.identity, pod.finished) == ("shop/shop-7d9c5b8f6d-lk4wq", "0b9f", False)


def test_a_bare_manifest_is_a_pending_pod_of_the_default_scheduler() -> None:
    pod = pod_from_object({"metadata": {"name": "p"}})
    assert pod == Pod(name="p")
    assert (pod.key, pod.identity, pod.node, pod.phase) == ("default/p", "default/p", None, "Pending")


def test_nulls_are_as_good_as_nothing() -> None:
    nulls = {
        "metadata": {"name": "p", "namespace": None, "labels": None, "ownerReferences": None},
        "spec": {"nodeName": None, "containers": None, "overhead": None, "priority": None},
        "status": {"conditions": None, "phase": None},
    }
    assert pod_from_object(nulls) == Pod(name="p")


@pytest.mark.parametrize(
    ("status", "bound_at"),
    [
        ({}, None),
        ({"startTime": "2026-03-02T08:00:00Z"}, EIGHT_O_CLOCK),
        ({"conditions": [{"type": "PodScheduled", "status": "False"}]}, None),
        (
            {"conditions": [{"type": "PodScheduled", "status": "True"}], "startTime": "2026-03-02T08:00:00Z"},
            EIGHT_O_CLOCK,
        ),
    ],
)
def test_a_pod_is_bound_when_it_was_scheduled_or_else_started(status: Any, bound_at: float | None) -> None:
    assert pod_from_object({"metadata": {"name": "p"}, "status": status}).bound_at == bound_at


def test_without_a_controller_the_first_owner_counts() -> None:
    references = [{"kind": "Tenant", "name": "a"}, {"kind": "Tenant", "name": "b"}]
    pod = pod_from_object({"metadata": {"name": "p", "ownerReferences": references}})
    assert pod.owner == Owner("Tenant", "a")


@pytest.mark.parametrize(("phase", "finished"), [("Running", False), ("Succeeded", True), ("Failed", True)])
def test_a_finished_pod_uses_nothing(phase: str, finished: bool) -> None:
    assert pod_from_object({"metadata": {"name": "p"}, "status": {"phase": phase}}).finished is finished


@pytest.mark.parametrize(
    "manifest", [{"metadata": 3}, {"metadata": {"name": 3}}, {"spec": []}, {"spec": {"containers": {}}}]
)
def test_a_manifest_of_the_wrong_shape_is_refused(manifest: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        pod_from_object(manifest)


# -- Nodes and namespaces -------------------------------------------------------------------------------------

NODE = {
    "metadata": {
        "name": "n1",
        "labels": {"kubernetes.io/hostname": "n1"},
        "annotations": {"a": "b"},
        "creationTimestamp": "2026-03-02T08:00:00Z",
    },
    "spec": {"unschedulable": True, "taints": [{"key": "x"}]},
    "status": {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "110"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "n1"}],
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
        "images": [{"names": ["x"], "sizeBytes": 1}],
    },
}


def test_a_nodes_facts_are_read_from_its_manifest() -> None:
    assert node_from(msgspec.json.decode(json.dumps(NODE), type=NodeManifest)) == Node(
        name="n1",
        labels={"kubernetes.io/hostname": "n1"},
        annotations={"a": "b"},
        capacity=(("cpu", 4.0), ("memory", 16 * 2.0**30), ("pods", 110.0)),
        allocatable=(("cpu", 3.92), ("memory", 15 * 2.0**30), ("pods", 110.0)),
        addresses=("10.0.0.7", "n1"),
        unschedulable=True,
        ready=True,
        created_at=EIGHT_O_CLOCK,
    )


def test_capacity_and_allocatable_stand_in_for_each_other() -> None:
    amounts = (("cpu", 4.0),)
    for told in ("capacity", "allocatable"):
        node = node_from_object({"metadata": {"name": "n"}, "status": {told: {"cpu": "4"}}})
        assert (node.capacity, node.allocatable) == (amounts, amounts)


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False)])
def test_a_node_is_ready_when_its_condition_says_so(status: str, ready: bool) -> None:
    conditions = [{"type": "Ready", "status": status}]
    assert node_from_object({"metadata": {"name": "n"}, "status": {"conditions": conditions}}).ready is ready


def test_a_bare_node_is_taken_for_ready() -> None:
    assert node_from_object({"metadata": {"name": "n"}}) == Node(name="n")


def test_a_namespace_is_its_name_and_annotations() -> None:
    body = b'{"metadata": {"name": "s", "annotations": {"k": "v"}}, "status": {"phase": "Active"}}'
    assert namespace_from(msgspec.json.decode(body, type=NamespaceManifest)) == Namespace("s", {"k": "v"})
    assert namespace_from(msgspec.json.decode(b'{"metadata": {"name": "s"}}', type=NamespaceManifest)) == Namespace("s")


# -- Times ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-03-02T08:00:00Z", EIGHT_O_CLOCK),
        ("2026-03-02T08:00:00.250000Z", EIGHT_O_CLOCK + 0.25),
        ("2026-03-02T09:00:00+01:00", EIGHT_O_CLOCK),
        ("", None),
        (None, None),
        ("yesterday", None),
    ],
)
def test_a_time_is_read_as_seconds_since_1970(text: str | None, seconds: float | None) -> None:
    assert parse_time(text) == seconds
