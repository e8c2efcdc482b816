import pytest

from collectors.manifests import Owner, Pod
from loadaware.workload import is_of_many_sizes, workload_of, workloads_named_like

CASES = [
    # owner, labels, pod's name -> workload
    (Owner("ReplicaSet", "web-7d4b9c6f5d"), {"pod-template-hash": "7d4b9c6f5d"}, "x", "shop/Deployment/web"),
    (Owner("ReplicaSet", "web-7d4b9c6f5d"), {}, "x", "shop/Deployment/web"),
    (Owner("ReplicaSet", "by-hand"), {}, "x", "shop/ReplicaSet/by-hand"),
    (Owner("Job", "backup-28912345"), {}, "x", "shop/CronJob/backup"),
    (Owner("Job", "migrate-2"), {}, "x", "shop/Job/migrate-2"),
    (Owner("StatefulSet", "db"), {}, "db-0", "shop/StatefulSet/db"),
    (Owner("DaemonSet", "agent"), {}, "agent-x7k2p", "shop/DaemonSet/agent"),
    (Owner("Rollout", "api"), {}, "x", "shop/Rollout/api"),
    (None, {}, "worker-3", "shop/Pod/worker"),
    (None, {}, "worker-x7k2p", "shop/Pod/worker"),
    (None, {}, "alone", "shop/Pod/alone"),
]


@pytest.mark.parametrize(("owner", "labels", "name", "expected"), CASES)
def test_a_pod_belongs_to_its_top_owner(owner: Owner | None, labels: dict[str, str], name: str, expected: str) -> None:
    assert workload_of(Pod(namespace="shop", name=name, owner=owner, labels=labels)) == expected


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("web-7d4b9c6f5d-x7k2p", "shop/Deployment/web"),
        ("backup-28912345-x7k2p", "shop/CronJob/backup"),
        ("agent-x7k2p", "shop/DaemonSet/agent"),
        ("db-0", "shop/StatefulSet/db"),
        ("alone", "shop/Pod/alone"),
    ],
)
def test_of_a_pod_that_is_gone_the_name_alone_tells_the_likeliest_workload(name: str, first: str) -> None:
    assert workloads_named_like(f"shop/{name}")[0] == first


@pytest.mark.parametrize(("owner", "labels", "_", "expected"), CASES)
def test_whoever_owned_a_pod_is_among_those_that_its_name_tells(
    owner: Owner | None, labels: dict[str, str], _: str, expected: str
) -> None:
    if owner is None or owner.kind == "Rollout":  # a bare pod may be called anything; others' controllers are not known
        return
    ending = "0" if owner.kind == "StatefulSet" else "x7k2p"
    assert expected in workloads_named_like(f"shop/{owner.name}-{ending}")


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_a_controller_that_has_a_template_makes_pods_alike(kind: str) -> None:
    assert not is_of_many_sizes(f"shop/{kind}/web")


@pytest.mark.parametrize("workload", ["shop/Pod/web", "kube-system/Node/cp-1", "ml/Workflow/train", "web", ""])
def test_pods_of_others_may_be_of_many_sizes(workload: str) -> None:
    assert is_of_many_sizes(workload)
