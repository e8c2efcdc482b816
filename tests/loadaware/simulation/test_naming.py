import pytest

from collectors.manifests import Owner
from loadaware.simulation.catalogue import Controller, Workload
from loadaware.simulation.curves import Pattern
from loadaware.simulation.naming import Birth, pod_of

MEBIBYTE = 2**20


def workload(controller: Controller, limit: int | None = None) -> Workload:
    return Workload(
        name="orders-7",
        namespace="shop",
        family="api",
        controller=controller,
        image="registry.example.com/api/orders:1.4",
        request_millicores=250,
        request_bytes=512 * MEBIBYTE,
        limit_millicores=limit,
        limit_bytes=768 * MEBIBYTE,
        factor=1.0,
        memory_use=0.6,
        pattern=Pattern.STABLE,
        peak_seconds=0.0,
        depth=0.5,
        slot_seconds=900.0,
        busy=0.2,
    )


def birth(index: int = 12, incarnation: int = 0, ordinal: int = 3) -> Birth:
    return Birth(index=index, incarnation=incarnation, workload=2, ordinal=ordinal, burst=17, time=5.0)


def test_a_deployments_pod_is_owned_by_a_replica_set_with_its_template_hash() -> None:
    pod = pod_of(workload("Deployment"), birth())
    template = pod.labels["pod-template-hash"]
    assert pod.owner == Owner("ReplicaSet", f"orders-7-{template}")
    assert pod.name.startswith(f"orders-7-{template}-")
    assert pod.labels["app.kubernetes.io/component"] == "api"


def test_a_stateful_sets_pod_is_named_by_ordinal_and_keeps_its_name() -> None:
    pods = [pod_of(workload("StatefulSet"), birth(incarnation=i)) for i in (0, 1)]
    assert [pod.name for pod in pods] == ["orders-7-3", "orders-7-3"]
    assert pods[0].owner == Owner("StatefulSet", "orders-7")
    assert pods[0].uid != pods[1].uid


def test_a_cron_jobs_pod_belongs_to_a_job_of_its_burst() -> None:
    pod = pod_of(workload("CronJob"), birth())
    assert pod.owner == Owner("Job", "orders-7-29000017")
    assert pod.labels["batch.kubernetes.io/job-name"] == "orders-7-29000017"


def test_names_and_uids_are_unique_over_pods_and_incarnations() -> None:
    births = [birth(index, incarnation) for index in range(2000) for incarnation in range(3)]
    pods = [pod_of(workload("Deployment"), each) for each in births]
    assert len({pod.name for pod in pods}) == len({pod.uid for pod in pods}) == 6000


@pytest.mark.parametrize(("limit", "expected"), [(None, 0.0), (500, 0.5)])
def test_declared_resources_are_in_base_units_and_a_limit_only_where_there_is_one(
    limit: int | None, expected: float
) -> None:
    shape = pod_of(workload("Deployment", limit), birth()).shape
    assert dict(shape.requests) == {"cpu": 0.25, "memory": 512.0 * MEBIBYTE}
    assert shape.limit("cpu") == expected
    assert shape.limit("memory") == 768.0 * MEBIBYTE
