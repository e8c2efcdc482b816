import pytest

from collectors.manifests import Owner, Pod
from loadaware.workload import workload_of

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
