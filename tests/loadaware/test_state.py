import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.snapshot import Snapshot
from loadaware.state import load_pod, load_state, parse_pod, parse_state
from tests.loadaware.builders import GIB

WHOLE = """
nodes:
- name: node-1
  labels: {zone: a}
  capacity: {cpu: "4", memory: 16Gi}
  allocatable: {cpu: 3800m, memory: 15Gi}
  usage:
    cpu: {mean: 40%, deviation: 5%, latest: 42%, maximum: 2}
    memory: {mean: 4Gi}
  windows: {cpu: {5m: {mean: 45%, maximum: 60%}, 1h: {maximum: 70%}, 1d: {mean: 1520m}}}
  metrics: {node_health: 3}
  pods:
  - metadata: {name: old}
    spec: {containers: [{resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: "1"}}}]}
  inFlight:
  - metadata: {name: new}
    spec: {containers: [{resources: {requests: {cpu: 250m}}}]}
- name: node-2
"""


@pytest.fixture
def whole(tmp_path: Path) -> Snapshot:
    file = tmp_path / "state.yaml"
    file.write_text(WHOLE, encoding="utf-8")
    return load_state(file)


def state_of(**node: Any) -> Snapshot:
    return parse_state({"nodes": [{"name": "a", "capacity": {"cpu": 4, "memory": "16Gi"}, **node}]}, "state.yaml")


def problem_of(value: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_state(value, "state.yaml", strict=True)
    return str(caught.value)


def test_nodes_keep_their_order_names_and_labels(whole: Snapshot) -> None:
    assert whole.names == ("node-1", "node-2")
    assert whole.labels == ({"zone": "a"}, {})


def test_capacity_and_allocatable_are_in_base_units_and_not_known_where_not_told(whole: Snapshot) -> None:
    np.testing.assert_array_equal(whole.capacity[:, :2], [[4.0, 16 * GIB], [math.nan, math.nan]])
    np.testing.assert_array_equal(whole.allocatable[:, :2], [[3.8, 15 * GIB], [math.nan, math.nan]])


def test_what_is_allocatable_is_the_capacity_unless_told() -> None:
    assert state_of().allocatable.tolist() == [[4.0, 16 * GIB]]


def test_percentages_are_of_the_capacity_and_quantities_are_absolute(whole: Snapshot) -> None:
    statistics = whole.statistics
    assert statistics.mean[0, :2].tolist() == [pytest.approx(1.6), 4 * GIB]
    assert statistics.deviation[0, 0] == pytest.approx(0.2)
    assert statistics.latest[0, 0] == pytest.approx(1.68)
    assert statistics.maximum[0, 0] == 2.0


def test_what_is_left_out_was_not_measured(whole: Snapshot) -> None:
    assert np.isnan([whole.statistics.deviation[0, 1], whole.statistics.latest[0, 1]]).all()
    assert np.isnan(whole.statistics.mean[1]).all()


def test_a_state_never_ages(whole: Snapshot) -> None:
    assert whole.sampled_at.tolist() == [math.inf, math.inf]


def test_windows_are_kept_by_their_length(whole: Snapshot) -> None:
    nodes = Nodes.of(whole)
    assert nodes.usage("mean", "cpu", 300.0)[0] == pytest.approx(1.8)
    assert nodes.usage("maximum", "cpu", 300.0)[0] == pytest.approx(2.4)
    assert nodes.usage("maximum", "cpu", 3600.0)[0] == pytest.approx(2.8)
    assert nodes.usage("mean", "cpu", 86400.0)[0] == pytest.approx(1.52)
    assert np.isnan(nodes.usage("mean", "cpu", 3600.0)).all()
    assert np.isnan(nodes.usage("mean", "cpu", 7.0)).all()


def test_named_metrics_are_resources_of_their_own(whole: Snapshot) -> None:
    assert "node_health" in whole.resources
    values = Nodes.of(whole).usage("latest", "node_health")
    np.testing.assert_array_equal(values, [3.0, math.nan])


def test_bound_pods_count_whether_measured_or_in_flight(whole: Snapshot) -> None:
    assert whole.requested[0, :2].tolist() == [0.75, GIB]
    assert whole.limits[0, :2].tolist() == [1.25, GIB]
    assert whole.pod_counts.tolist() == [2.0, 0.0]


def test_pods_in_flight_were_bound_after_all_samples_and_the_others_long_ago(whole: Snapshot) -> None:
    assert whole.placed.rows.tolist() == [0, 0]
    assert whole.placed.bound_at.tolist() == [-math.inf, math.inf]


def test_json_is_a_state_file_too(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"nodes": [{"name": "a", "usage": {"cpu": {"latest": 1}}}]}), encoding="utf-8")
    assert load_state(file).statistics.latest[0, 0] == 1.0


def test_a_file_without_nodes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    file.write_text("nodes: []", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"state\.yaml: nodes: no nodes: at least one is needed"):
        load_state(file)


def test_applications_are_known_by_the_pods_labels() -> None:
    def pod(app: str) -> dict[str, Any]:
        return {"metadata": {"namespace": "shop", "labels": {"app": app}}}

    first = {"name": "a", "pods": [pod("web"), pod("db"), {"metadata": {"name": "nameless"}}]}
    applications = parse_state({"nodes": [first, {"name": "b", "inFlight": [pod("web")]}]}).applications
    assert applications.rows_of("shop/web").tolist() == [0, 1]
    assert applications.rows_of("shop/db").tolist() == [0]
    assert applications.rows_of("shop/other").tolist() == []


def test_pods_with_a_time_of_deletion_are_about_to_go() -> None:
    going = {"metadata": {"name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    snapshot = parse_state({"nodes": [{"name": "a"}, {"name": "b", "pods": [going, {"metadata": {"name": "here"}}]}]})
    assert Nodes.of(snapshot).terminating_pods().tolist() == [0.0, 1.0]


def test_usage_may_be_of_a_resource_that_another_node_has_or_that_is_a_metric() -> None:
    usage = {"gpu": {"latest": 1}, "heat": {"maximum": 60}}
    nodes = [{"name": "a", "usage": usage}, {"name": "b", "capacity": {"gpu": 2}, "metrics": {"heat": 40}}]
    assert parse_state({"nodes": nodes}).resources == ("cpu", "memory", "gpu", "heat")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "state.yaml: nodes is required and missing"),
        (None, "state.yaml: Expected object, got null"),
        ({"node": []}, "state.yaml: node: there is no such setting; did you mean 'nodes'?"),
        ({"nodes": [{}]}, "state.yaml: nodes[0]: name is required and missing"),
        (
            {"nodes": [{"name": "a", "usages": {}}]},
            "state.yaml: nodes[0].usages: there is no such setting; did you mean 'usage'?",
        ),
        ({"nodes": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, "state.yaml: nodes: named twice: a"),
        (
            {"nodes": [{"name": "a"}, {"name": "b", "capacity": {"cpu": "four"}}]},
            "state.yaml: nodes[1].capacity: 'four' is not a quantity such as 250m, 2, 1.5Gi or 12e6",
        ),
        (
            {"nodes": [{"name": "a", "usage": {"cpu": {"mean": "40 percent"}}}]},
            "state.yaml: nodes[0].usage.cpu.mean: expected a percentage or a quantity, not '40 percent'",
        ),
        (
            {"nodes": [{"name": "a", "usage": {"cpu": {"mean": "x%"}}}]},
            "state.yaml: nodes[0].usage.cpu.mean: expected a percentage or a quantity, not 'x%'",
        ),
        (
            {"nodes": [{"name": "a", "usage": {"cpu": {"average": "40%"}}}]},
            "state.yaml: nodes[0].usage[cpu].average: there is no such setting; "
            "there are: deviation, latest, maximum, mean",
        ),
        (
            {"nodes": [{"name": "a", "usage": {"cpu": {"mean": "nan%"}}}]},
            "state.yaml: nodes[0].usage.cpu.mean: expected a percentage or a quantity, not 'nan%'",
        ),
        (
            {"nodes": [{"name": "a"}, {"name": "b", "usage": {"cppu": {"mean": "5%"}}}]},
            "state.yaml: nodes[1].usage.cppu: no node has capacity for it, nor is it named under metrics; "
            "did you mean 'cpu'?",
        ),
        (
            {"nodes": [{"name": "a", "windows": {"memry": {"5m": {"mean": 1}}}}]},
            "state.yaml: nodes[0].windows.memry: no node has capacity for it, nor is it named under metrics; "
            "did you mean 'memory'?",
        ),
        (
            {"nodes": [{"name": "a", "windows": {"cpu": {"5 minutes": {}}}}]},
            "state.yaml: nodes.windows: expected a duration such as 15s, 2m30s or 1h, not '5 minutes'",
        ),
        (
            {"nodes": [{"name": "a", "pods": [{"kind": "Deployment"}]}]},
            "state.yaml: nodes[0].pods[0]: expected a manifest of kind Pod",
        ),
        (
            {
                "nodes": [
                    {
                        "name": "a",
                        "inFlight": [{"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}],
                    }
                ]
            },
            "state.yaml: nodes[0].inFlight[0]: 'much' is not a quantity such as 250m, 2, 1.5Gi or 12e6",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_path(value: Any, problem: str) -> None:
    assert problem_of(value) == problem


def test_a_file_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    for load in (load_state, load_pod):
        with pytest.raises(ConfigError, match=r"nothing\.yaml: cannot be read: "):
            load(tmp_path / "nothing.yaml")


POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  schedulerName: load-aware
  containers:
  - {name: main, image: web, resources: {requests: {cpu: 250m}}}
"""


@pytest.mark.parametrize(
    "text", [POD, f"---{POD}", f"{POD}---\nkind: Service\n"], ids=["plain", "marked", "first of two"]
)
def test_a_pod_is_read_from_an_ordinary_manifest(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(text, encoding="utf-8")
    pod = load_pod(file)
    assert (pod.key, pod.scheduler_name, pod.shape.request("cpu")) == ("shop/web", "load-aware", 0.25)


@pytest.mark.parametrize("manifest", [None, [], "web", {"kind": "Deployment"}])
def test_anything_else_than_a_pod_is_refused(manifest: Any) -> None:
    with pytest.raises(ConfigError, match=r"pod\.yaml: expected a manifest of kind Pod"):
        parse_pod(manifest, "pod.yaml")


def test_a_mapping_that_is_no_manifest_at_all_is_refused_with_what_it_holds() -> None:
    with pytest.raises(ConfigError, match=r"expected a manifest of kind Pod, with metadata and spec, not nodes$"):
        parse_pod({"nodes": []}, "state.yaml")
    with pytest.raises(ConfigError, match=r"expected a manifest of kind Pod, with metadata and spec$"):
        parse_pod({}, "pod.yaml")


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("", []),
        ("---\n", []),
        ("---\nkind: Service\n", ["holds 2 documents; only the first is used"]),
        ("---\nkind: [\n", ["holds 2 documents; only the first is used"]),
    ],
    ids=["one", "an empty one behind it", "two", "the second is no YAML"],
)
def test_of_several_documents_the_first_is_used_and_that_is_said(tmp_path: Path, rest: str, told: list[str]) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD + rest, encoding="utf-8")
    said: list[str] = []
    assert load_pod(file, said.append).key == "shop/web"
    assert said == [f"{file}: {text}" for text in told]


def test_a_pod_with_a_wrong_member_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"pod\.yaml: Expected array \| null, got str - at spec\.containers"):
        parse_pod({"spec": {"containers": "web"}}, "pod.yaml")


def test_an_empty_pod_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="expected a manifest of kind Pod"):
        load_pod(file)
