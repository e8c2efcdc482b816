import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.errors import SourceRefusedError, SourceUnreachableError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod
from collectors.writes import bind_pod, node_exists, write_event
from tests.collectors.fake_api_server import FakeApiServer, status_of

BINDING = "/api/v1/namespaces/shop/pods/web-1/binding"
EVENTS = "/api/v1/namespaces/shop/events"
POD = Pod(namespace="shop", name="web-1", uid="uid-1")
SLY = ["a/../../b", "..", ".", "a?b=c", "a#b", "a%2Fb", "a b"]


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> Iterator[KubernetesApi]:
    with server.api(tmp_path) as api:
        yield api


def test_a_binding_names_pod_uid_and_node(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(BINDING, {}, 201)
    bind_pod(api, "shop", "web-1", "uid-1", "node-a")
    (asked,) = server.requests
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")
    assert json.loads(asked.body) == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "uid-1"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-a"},
    }


def test_a_binding_without_a_uid_asks_for_whatever_pod_has_the_name(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(BINDING, {}, 201)
    bind_pod(api, "shop", "web-1", "", "node-a")
    assert "uid" not in json.loads(server.requests[0].body)["metadata"]


def test_a_refusal_carries_the_api_servers_own_words(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(BINDING, status_of(404, 'pods "web-1" not found'), 404)
    with pytest.raises(SourceRefusedError, match='404: pods "web-1" not found'):
        bind_pod(api, "shop", "web-1", "uid-1", "node-a")


def test_an_api_server_that_is_gone_is_unreachable(server: FakeApiServer, api: KubernetesApi) -> None:
    server.__exit__(None, None, None)
    with pytest.raises(SourceUnreachableError):
        bind_pod(api, "shop", "web-1", "uid-1", "node-a")


def test_an_event_is_a_warning_on_the_pod_as_of_now(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(EVENTS, {}, 201)
    write_event(api, POD, "LoadRulesRelaxed", "every node is busy")
    event = json.loads(server.asked(EVENTS)[0].body)
    assert event["metadata"] == {"generateName": "web-1.", "namespace": "shop"}
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web-1",
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "LoadRulesRelaxed", "every node is busy")
    assert (event["source"], event["count"]) == ({"component": "loadaware"}, 1)
    assert event["firstTimestamp"] == event["lastTimestamp"]
    assert event["lastTimestamp"].endswith("Z")
    age = datetime.now(UTC) - datetime.fromisoformat(event["lastTimestamp"])
    assert timedelta(seconds=-1) <= age < timedelta(minutes=1)


def test_whether_a_node_exists_is_asked_and_only_not_found_means_no(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer("/api/v1/nodes/here", {"metadata": {"name": "here"}})
    server.answer("/api/v1/nodes/secret", status_of(403, "nodes is forbidden"), 403)
    assert node_exists(api, "here")
    assert not node_exists(api, "gone")
    with pytest.raises(SourceRefusedError, match="nodes is forbidden"):
        node_exists(api, "secret")


@pytest.mark.parametrize("name", SLY)
def test_no_name_leads_to_another_path(server: FakeApiServer, api: KubernetesApi, name: str) -> None:
    with pytest.raises(SourceRefusedError):
        bind_pod(api, name, name, "", "node-a")
    with pytest.raises(SourceRefusedError):
        write_event(api, Pod(namespace=name, name="web-1"), "R", "m")
    assert not node_exists(api, name)
    segments = [asked.path.split("/") for asked in server.requests]
    assert [len(parts) for parts in segments] == [8, 6, 5]
    assert all(parts[:3] == ["", "api", "v1"] for parts in segments)
    assert all(asked.query == {} for asked in server.requests)
