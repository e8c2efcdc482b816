"""POST /what-if: scored like a request, without a trace; bad manifests are told apart."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from loadaware.extender.what_if import LARGEST_BYTES
from loadaware.service import Service
from tests.loadaware.builders import make_profile, make_settings
from tests.loadaware.decided import ask, learned_service
from tests.loadaware.moody_plugins import Moody
from tests.loadaware.running_server import AppClient, arguments, frozen_service, new_service

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - resources: {requests: {cpu: 100m}}
"""


@pytest.fixture
def service() -> Service:
    return frozen_service()


@pytest.fixture
def client(service: Service) -> Iterator[AppClient]:
    with AppClient(service) as client:
        yield client


def told(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def problem(answer: httpx.Response, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


def test_it_says_where_a_manifest_would_go_and_why(client: AppClient) -> None:
    answer = told(client.post("/what-if", MANIFEST.encode()))
    assert answer["pod"] == "shop/web"
    assert [node["node"] for node in answer["nodes"]] == ["near", "unmeasured", "idle"]
    assert answer["sentence"].startswith("near would win with ")
    assert "busy would be rejected: mean cpu usage 90 % > 65 %" in answer["sentence"]
    assert "bound" not in answer["sentence"]
    assert answer["requests"] == {"cpu": 0.1}


def test_json_is_taken_as_well_and_a_pod_needs_no_name(client: AppClient) -> None:
    manifest = {"spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}]}}
    assert told(client.post("/what-if", json.dumps(manifest).encode()))["pod"] == "default/what-if"


def test_another_profile_can_be_named(client: AppClient) -> None:
    answer = told(client.post("/what-if?profile=open", MANIFEST.encode()))
    assert (answer["profile"], answer["rejected"]) == ("open", {})
    assert "no profile is called 'none'" in problem(client.post("/what-if?profile=none", MANIFEST.encode()))


def test_nothing_is_booked_kept_or_counted(service: Service, client: AppClient) -> None:
    before = client.get("/metrics").text
    runs = sum(each.runs for each in service.adviser.breaker.spent.values())
    ledger = service.adviser.in_flight.requested.copy()
    for _ in range(5):
        told(client.post("/what-if", MANIFEST.encode()))
    assert not len(service.adviser.in_flight)
    assert (service.adviser.in_flight.requested == ledger).all()
    assert not len(service.hindsight.decisions)
    assert sum(each.runs for each in service.adviser.breaker.spent.values()) == runs
    changed = set(client.get("/metrics").text.splitlines()) ^ set(before.splitlines())
    assert not [line for line in changed if "request" in line or "decision" in line or "shadow" in line], changed


def test_a_plugin_that_fails_here_is_not_switched_off_for_kube_scheduler() -> None:
    service = frozen_service(make_settings(make_profile(Moody())))
    with AppClient(service) as client:
        for _ in range(5):
            answer = told(client.post("/what-if", MANIFEST.replace("name: web", "name: raise").encode()))
            assert "the pod asked for it" in answer["skipped"]["Moody"]
        assert not service.adviser.breaker.switched_off()
        assert not service.adviser.breaker.failures
        assert len({each["Score"] for each in client.post("/prioritize", arguments("idle", "busy")).json()}) == 2


def test_the_answer_is_the_one_that_kube_scheduler_would_get() -> None:
    service = learned_service()
    with AppClient(service) as client:
        manifest = {
            "metadata": {"name": "web-1", "namespace": "shop"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
        }
        answer = told(client.post("/what-if", json.dumps(manifest).encode()))
        ask(service, "prioritize", *[node["node"] for node in answer["nodes"]])
        real = client.get("/explain?pod=shop/web-1").json()
    assert {node["node"]: node["score"] for node in answer["nodes"]} == {
        node["node"]: node["score"] for node in real["nodes"]
    }


def test_nodes_without_room_are_left_out_and_counted(client: AppClient) -> None:
    large = MANIFEST.replace("100m", "5")
    answer = told(client.post("/what-if", large.encode()))
    assert (answer["withoutRoom"], answer["nodes"]) == (4, [])
    assert answer["sentence"] == "no node has room for what it requests"


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("", "manifest: is empty; paste a manifest of kind Pod"),
        ("a: [", "manifest: is not YAML"),
        ("kind: Deployment\nspec: {}", "manifest: expected a manifest of kind Pod"),
        ("- a\n- b", "manifest: expected a manifest of kind Pod"),
        ("just text", "manifest: expected a manifest of kind Pod"),
        ("a: 1\na: 2", "stands twice"),
        ("spec: {containers: [{resources: {requests: {cpu: nonsense}}}]}", "nonsense"),
        ("spec: {containers: 7}", "Expected"),
        ("a: &a [1]\nb: *a", "anchors and aliases are not taken here"),
        ("- " * 200 + "x", "nested more than 64 levels deep"),
        ("[" * 2001, "more than 2000 brackets"),
        ('{"kind": "Pod", ', "manifest: is not YAML"),
        ('{"a":' * 3000, "more than 2000 brackets"),
    ],
)
def test_what_is_no_manifest_is_refused_in_words(client: AppClient, manifest: str, words: str) -> None:
    assert words in problem(client.post("/what-if", manifest.encode()))


def test_what_is_no_text_is_refused(client: AppClient) -> None:
    assert problem(client.post("/what-if", b"\xff\xfe")) == "manifest: is not UTF-8"


def test_a_manifest_is_bounded_in_size(client: AppClient) -> None:
    padding = "#" * (LARGEST_BYTES - len(MANIFEST))
    assert told(client.post("/what-if", (MANIFEST + padding).encode()))
    assert problem(client.post("/what-if", (MANIFEST + padding + "#").encode()), 413) == (
        "the manifest is larger than 64 KiB"
    )


def test_an_unknown_parameter_is_refused(client: AppClient) -> None:
    assert "no parameter called node" in problem(client.post("/what-if?node=a", MANIFEST.encode()))


def test_before_any_node_is_known_it_says_so() -> None:
    with AppClient(new_service()) as client:
        assert problem(client.post("/what-if", MANIFEST.encode())) == "manifest: no node is known yet"
