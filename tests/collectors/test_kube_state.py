import pytest

from collectors.errors import EmptyReadingError, SourceRefusedError
from collectors.http_access import HttpAccess
from collectors.manifests import Owner
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.kube_state import ClusterPast, KubeState
from tests.collectors.fake_prometheus import FakePrometheus, complaint

NOW = 1_750_000_000.0
POD = {"namespace": "shop", "pod": "web-7d4b9c6f5d-x7k2p", "uid": "u-1"}
OWNED = {"created_by_kind": "ReplicaSet", "created_by_name": "web-7d4b9c6f5d"}


def cluster() -> FakePrometheus:
    fake = FakePrometheus()
    fake.gives("last_over_time(kube_node_status_allocatable", ({"node": "a", "resource": "cpu"}, 4.0))
    for side, shift in (("min", 600.0), ("max", 60.0)):
        fake.gives(f"{side}_over_time(timestamp(kube_node", ({"node": "a"}, NOW - shift))
        both = [({**POD, **OWNED, "node": "a", "job": job}, NOW - shift - n) for n, job in enumerate(("one", "two"))]
        pending = ({**POD, **OWNED, "node": ""}, NOW - 900.0)
        fake.gives(f"{side}_over_time(timestamp(kube_pod_info", *both, pending)
    fake.gives("last_over_time(kube_pod_info", ({**POD, **OWNED, "node": "a"}, 1.0), ({**POD, "node": ""}, 1.0))
    return fake


def past(fake: FakePrometheus) -> ClusterPast:
    client = PrometheusClient(fake.url, HttpAccess(timeout_seconds=5.0))
    try:
        return KubeState(client).between(NOW - 3600.0, NOW)
    finally:
        client.close()


def test_a_pod_told_of_by_two_exporters_is_one_and_counts_from_when_it_has_a_node() -> None:
    with cluster() as fake:
        (life,) = past(fake).pods
    assert (life.first_seen, life.last_seen) == (NOW - 601.0, NOW - 60.0)
    assert life.pod.node == "a"
    assert life.pod.bound_at == life.first_seen


def test_requests_of_all_containers_make_the_shape() -> None:
    with cluster() as fake:
        rows = [({**POD, "container": c, "resource": r}, v) for c, r, v in (("a", "cpu", 0.5), ("b", "cpu", 0.25))]
        fake.gives("kube_pod_container_resource_requests", *rows, ({**POD, "container": "a", "resource": "gpu"}, 1.0))
        (life,) = past(fake).pods
    assert life.pod.shape.requests == (("cpu", 0.75),)


def test_a_replica_sets_owner_tells_the_template_hash() -> None:
    with cluster() as fake:
        owner = {"namespace": "shop", "replicaset": "web-7d4b9c6f5d", "owner_kind": "Deployment", "owner_name": "web"}
        fake.gives("kube_replicaset_owner", (owner, 1.0))
        (life,) = past(fake).pods
    assert life.pod.owner == Owner("ReplicaSet", "web-7d4b9c6f5d")
    assert life.pod.labels == {"pod-template-hash": "7d4b9c6f5d"}


def test_the_scheduled_time_goes_before_the_start() -> None:
    with cluster() as fake:
        fake.gives("kube_pod_start_time", (POD, NOW - 500.0))
        assert past(fake).pods[0].pod.bound_at == NOW - 500.0
        fake.gives("kube_pod_status_scheduled_time", (POD, NOW - 510.0))
        assert past(fake).pods[0].pod.bound_at == NOW - 510.0


def test_what_is_optional_may_be_refused_and_what_is_not_may_not() -> None:
    with cluster() as fake:
        fake.gives("kube_node_labels", reply=complaint(422, "no"))
        assert past(fake).nodes[0].node.labels == {}
        fake.gives("kube_pod_info", reply=complaint(422, "no"))
        with pytest.raises(SourceRefusedError, match="kube_pod_info"):
            past(fake)


def test_no_node_at_all_says_what_to_look_for() -> None:
    with FakePrometheus() as fake, pytest.raises(EmptyReadingError, match="is kube-state-metrics scraped"):
        past(fake)
