import msgspec
import pytest

from collectors.manifests import Pod, pod_from_object
from loadaware.simulation.manifest import manifest_of, rfc3339
from loadaware.simulation.scenario import Scenario


@pytest.mark.parametrize("index", range(0, 200, 9))
def test_reading_a_written_manifest_gives_the_same_facts(scenario: Scenario, index: int) -> None:
    pod = scenario.pod(index)
    read = pod_from_object(msgspec.json.decode(msgspec.json.encode(manifest_of(pod))))
    assert pod.created_at is not None
    assert read == msgspec.structs.replace(pod, created_at=float(int(pod.created_at)))


def test_a_bare_pod_has_no_owner_and_a_bound_one_names_its_node() -> None:
    manifest = manifest_of(Pod(name="alone", node="node-3"))
    assert manifest["metadata"]["ownerReferences"] is None
    assert manifest["metadata"]["creationTimestamp"] is None
    assert manifest["spec"]["nodeName"] == "node-3"


def test_times_are_written_as_the_api_server_writes_them() -> None:
    assert rfc3339(1_767_600_000.7) == "2026-01-05T08:00:00Z"
