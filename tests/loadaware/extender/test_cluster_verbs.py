import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.kubernetes_api import KubernetesApi
from loadaware import questions
from loadaware.adviser import Adviser
from loadaware.announcements import Announcements
from loadaware.hindsight_settings import HindsightSettings, Mode
from loadaware.preemption import Freed
from loadaware.queries import PodReply, PodsQuery, Reply
from loadaware.recorded import Asked
from loadaware.service import Service
from tests.collectors.fake_api_server import FakeApiServer, status_of
from tests.loadaware.builders import cpu_mean, make_pod, snapshot_of
from tests.loadaware.running_server import POD, AppClient, arguments, counted, errors, frozen_service, new_service
from tests.parts.processes import PATIENCE_SECONDS, wait_for

BINDING_PATH = "/api/v1/namespaces/shop/pods/web-1/binding"
EVENTS_PATH = "/api/v1/namespaces/shop/events"


@pytest.fixture
def service() -> Service:
    """Nodes of four cores; the threshold is 65 %."""
    service = new_service()
    service.take(snapshot_of({"calm": cpu_mean(70), "busy": cpu_mean(90), "idle": cpu_mean(10), "unmeasured": {}}))
    return service


@pytest.fixture
def client(service: Service) -> Iterator[AppClient]:
    with AppClient(service) as client:
        yield client


# -- Preempt ------------------------------------------------------------------------------------------------------


class Knowing:
    """An observer that knows what some pods use, in cores."""

    def __init__(self, service: Service, cores: dict[str, float]) -> None:
        self.asked: list[PodsQuery] = []
        self._service = service
        self._cores = cores
        service.questions.send = self.ask

    def ask(self, query: PodsQuery) -> bool:
        self.asked.append(query)
        known = [uid for uid in query.identities if uid in self._cores]
        self._service.take(Reply(query.number, tuple(PodReply(u, "", {"cpu": self._cores[u]}) for u in known)))
        return True


def by_uid(**victims: list[str]) -> bytes:
    nodes = {node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0} for node, uids in victims.items()}
    return json.dumps({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": nodes}).encode()


def whole(**victims: dict[str, str]) -> bytes:
    nodes = {
        node: {
            "Pods": [
                {"metadata": {"uid": uid}, "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}}
                for uid, cpu in pods.items()
            ]
        }
        for node, pods in victims.items()
    }
    return json.dumps({"Pod": POD, "NodeNameToVictims": nodes, "NodeNameToMetaVictims": None}).encode()


def kept(client: AppClient, body: bytes, path: str = "/preempt") -> list[str]:
    answer = client.post(path, body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["NodeNameToMetaVictims"])


def test_a_node_that_stays_too_busy_is_dropped_and_the_others_keep_their_victims(
    service: Service, client: AppClient
) -> None:
    knowing = Knowing(service, {"u1": 0.4, "u2": 0.4})
    answer = client.post("/preempt", by_uid(busy=["u1"], calm=["u2"])).json()
    # busy: 90 - 10 = 80 % > 65 %; calm: 70 - 10 = 60 %.
    assert answer == {"NodeNameToMetaVictims": {"calm": {"Pods": [{"UID": "u2"}], "NumPDBViolations": 0}}}
    assert knowing.asked[0].identities == ("u1", "u2")


def test_never_are_all_candidates_dropped(service: Service, client: AppClient) -> None:
    Knowing(service, {"u1": 0.0, "u2": 0.0})
    assert kept(client, by_uid(busy=["u1"], calm=["u2"])) == ["busy", "calm"]


def test_victims_of_one_node_are_counted_together(service: Service, client: AppClient) -> None:
    Knowing(service, {"u1": 0.5, "u2": 0.6, "u3": 0.1})
    # busy: 3.6 - 0.5 - 0.6 = 2.5 of 4 cores, 62.5 %; calm: 2.8 - 0.1 = 2.7 of 4 cores, 67.5 %.
    assert kept(client, by_uid(busy=["u1", "u2"], calm=["u3"])) == ["busy"]


def test_a_node_with_a_victim_that_nobody_knows_is_not_dropped(service: Service, client: AppClient) -> None:
    Knowing(service, {"u1": 0.0})
    assert kept(client, by_uid(busy=["u1"], calm=["u1", "stranger"], idle=["u1"])) == ["calm", "idle"]


def test_nodes_that_were_not_measured_or_that_nobody_told_of_are_not_dropped(
    service: Service, client: AppClient
) -> None:
    Knowing(service, {"u1": 0.0})
    candidates = by_uid(busy=["u1"], unmeasured=["u1"], stranger=["u1"])
    assert kept(client, candidates) == ["unmeasured", "stranger"]


def test_whole_victims_count_by_their_requests_when_the_observer_does_not_know_them(client: AppClient) -> None:
    assert kept(client, whole(busy={"u1": "400m"}, calm={"u2": "400m"})) == ["calm"]


def test_what_was_measured_of_a_whole_victim_goes_before_what_it_requests(service: Service, client: AppClient) -> None:
    Knowing(service, {"u2": 0.0})
    assert kept(client, whole(busy={"u1": "1500m"}, calm={"u2": "400m"})) == ["busy"]


def test_a_silent_observer_costs_a_moment_and_nothing_is_dropped_for_it(
    service: Service, client: AppClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "WAIT_SECONDS", 0.25)
    service.questions.send = lambda _: True
    assert kept(client, by_uid(busy=["u1"], idle=["u2"])) == ["busy", "idle"]


def test_a_question_that_cannot_even_be_sent_costs_no_more_than_a_moment(
    service: Service, client: AppClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "WAIT_SECONDS", 0.25)
    release = threading.Event()
    service.questions.send = lambda _: release.wait(PATIENCE_SECONDS)
    try:
        started = time.monotonic()
        for _ in range(3):
            assert kept(client, by_uid(busy=["u1"], idle=["u2"])) == ["busy", "idle"]
        assert time.monotonic() - started < PATIENCE_SECONDS
    finally:
        release.set()


def test_no_candidates_are_answered_with_none(client: AppClient) -> None:
    assert kept(client, by_uid()) == []


def test_the_profile_in_the_path_decides_and_an_unknown_one_is_refused(service: Service, client: AppClient) -> None:
    Knowing(service, {"u1": 0.0, "u2": 0.0})
    body = by_uid(busy=["u1"], idle=["u2"])
    assert kept(client, body, "/open/preempt") == ["busy", "idle"]
    assert client.post("/nowhere/preempt", body).status_code == 404
    assert counted(service, "loadaware_requests_total", verb="preempt", profile="open") == 1
    assert errors(service, "preempt", "unknown_profile") == 1


def test_a_pod_that_opted_out_loses_no_candidate(service: Service, client: AppClient) -> None:
    Knowing(service, {"u1": 0.0, "u2": 0.0})
    body = json.loads(by_uid(busy=["u1"], idle=["u2"]))
    body["Pod"] = {"metadata": {"name": "x", "annotations": {"loadaware.io/ignore": "true"}}}
    assert kept(client, json.dumps(body).encode()) == ["busy", "idle"]


def test_what_goes_wrong_unforeseen_is_counted_and_drops_nobody(
    service: Service, client: AppClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Adviser, pod: object, freed: Freed, profile: str | None = None) -> list[str]:
        raise ZeroDivisionError

    monkeypatch.setattr(Adviser, "preempt", fail)
    assert kept(client, by_uid(busy=["u1"], idle=["u2"])) == ["busy", "idle"]
    assert errors(service, "preempt", "internal") == 1
    assert "no candidate is dropped" in caplog.text


@pytest.mark.parametrize("path", ["/preempt", "/bind"])
def test_a_body_that_makes_no_sense_is_refused_and_counted(service: Service, client: AppClient, path: str) -> None:
    answer = client.post(path, b"[]")
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]
    assert errors(service, path[1:], "bad_json") == 1


# -- Bind ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path, service: Service) -> Iterator[KubernetesApi]:
    with server.api(tmp_path) as api:
        service.api = api
        yield api


def binding(node: str = "idle", **members: Any) -> bytes:
    facts = {"PodName": "web-1", "PodNamespace": "shop", "PodUID": "uid-1", "Node": node}
    return json.dumps(facts | members).encode()


def pods_on(service: Service) -> dict[str, float]:
    return {entry["name"]: entry["pods"] for entry in service.nodes() if entry["pods"]}


@pytest.mark.usefixtures("api")
def test_a_pod_is_bound_through_the_api_server_and_counts_on_its_node_at_once(
    service: Service, client: AppClient, server: FakeApiServer
) -> None:
    server.answer(BINDING_PATH, {"kind": "Status", "status": "Success"}, 201)
    service.adviser.rank(make_pod("web-1", cpu=1.0, uid="uid-1"), ["calm"])
    assert client.post("/bind", binding("idle")).json() == {"Error": ""}
    sent = json.loads(server.asked(BINDING_PATH)[0].body)
    assert sent["target"] == {"apiVersion": "v1", "kind": "Node", "name": "idle"}
    assert sent["metadata"] == {"name": "web-1", "namespace": "shop", "uid": "uid-1"}
    assert pods_on(service) == {"idle": 1.0}
    requested = {entry["name"]: entry["requested"]["cpu"] for entry in service.nodes()}
    assert (requested["idle"], requested["calm"]) == (pytest.approx(1.0), pytest.approx(0.0))
    assert counted(service, "loadaware_requests_total", verb="bind", profile="") == 1


def test_the_pod_is_booked_while_the_api_server_is_still_asked(
    service: Service, client: AppClient, server: FakeApiServer, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, float]] = []

    def post(path: str, body: bytes) -> bytes:
        seen.append(pods_on(service))
        return b""

    monkeypatch.setattr(api, "post", post)
    assert client.post("/bind", binding("idle")).json() == {"Error": ""}
    assert seen == [{"idle": 1.0}]


@pytest.mark.usefixtures("api")
def test_the_api_servers_own_words_are_the_error_and_the_booking_is_let_go(
    service: Service, client: AppClient, server: FakeApiServer
) -> None:
    words = 'Operation cannot be fulfilled on pods/binding "web-1": pod web-1 is already assigned to node "busy"'
    server.answer(BINDING_PATH, status_of(409, words), 409)
    service.adviser.rank(make_pod("web-1", cpu=1.0, uid="uid-1"), ["idle"])
    answer = client.post("/bind", binding("idle"))
    assert answer.status_code == 200
    assert words in answer.json()["Error"]
    assert pods_on(service) == {}


@pytest.mark.usefixtures("api")
def test_a_node_that_does_not_exist_is_refused_before_anything_is_bound(
    service: Service, client: AppClient, server: FakeApiServer
) -> None:
    answer = client.post("/bind", binding("stranger")).json()
    assert answer == {"Error": "node 'stranger' does not exist"}
    assert [(asked.method, asked.path) for asked in server.requests] == [("GET", "/api/v1/nodes/stranger")]
    assert len(service.adviser.in_flight) == 0


@pytest.mark.usefixtures("api")
def test_a_node_that_only_the_api_server_knows_yet_is_bound_to(client: AppClient, server: FakeApiServer) -> None:
    server.answer("/api/v1/nodes/brand-new", {"metadata": {"name": "brand-new"}})
    server.answer(BINDING_PATH, {}, 201)
    assert client.post("/bind", binding("brand-new")).json() == {"Error": ""}


@pytest.mark.usefixtures("api")
def test_a_node_that_may_not_be_looked_up_is_refused_in_the_api_servers_words(
    client: AppClient, server: FakeApiServer
) -> None:
    server.answer("/api/v1/nodes/stranger", status_of(403, "nodes is forbidden"), 403)
    assert "nodes is forbidden" in client.post("/bind", binding("stranger")).json()["Error"]


def test_an_api_server_that_is_gone_is_an_error_and_nothing_stays_booked(
    service: Service, client: AppClient, server: FakeApiServer, api: KubernetesApi
) -> None:
    server.__exit__(None, None, None)
    assert "cannot be reached" in client.post("/bind", binding()).json()["Error"]
    assert pods_on(service) == {}


def test_without_an_api_server_binding_says_that_it_is_not_configured(service: Service, client: AppClient) -> None:
    assert "no API server" in client.post("/bind", binding()).json()["Error"]
    assert pods_on(service) == {}


def test_what_goes_wrong_unforeseen_is_an_error_and_nothing_stays_booked(
    service: Service, client: AppClient, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def post(path: str, body: bytes) -> bytes:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(api, "post", post)
    answer = client.post("/bind", binding())
    assert (answer.status_code, answer.json()) == (200, {"Error": "ZeroDivisionError: division by zero"})
    assert errors(service, "bind", "internal") == 1
    assert pods_on(service) == {}


def test_a_path_with_an_unknown_profile_is_refused_and_makes_no_series_of_its_own(
    service: Service, client: AppClient
) -> None:
    for number in range(3):
        assert client.post(f"/made-up-{number}/bind", binding()).status_code == 404
    assert "made-up" not in client.get("/metrics").text
    assert errors(service, "bind", "unknown_profile") == 3


# -- What is told for a history ---------------------------------------------------------------------------------------


@pytest.fixture
def told(service: Service) -> list[Asked]:
    told: list[Asked] = []
    service.on_asked = told.append
    return told


@pytest.mark.usefixtures("api")
def test_a_binding_is_told_when_it_is_booked(client: AppClient, server: FakeApiServer, told: list[Asked]) -> None:
    server.answer(BINDING_PATH, {}, 201)
    client.post("/bind", binding("idle"))
    (asked,) = told
    assert (asked.verb, asked.pod.identity, asked.pod.key) == ("bind", "uid-1", "shop/web-1")
    assert (asked.node_names, asked.verdicts) == (("idle",), (None,))


@pytest.mark.usefixtures("api")
def test_a_binding_that_failed_is_told_a_second_time_with_the_reason(client: AppClient, told: list[Asked]) -> None:
    answer = client.post("/bind", binding("stranger")).json()
    assert [asked.verdicts for asked in told] == [(None,), (answer["Error"],)]


def test_nothing_is_told_of_a_binding_that_was_not_tried(client: AppClient, told: list[Asked]) -> None:
    client.post("/bind", binding())
    assert told == []


@pytest.mark.parametrize("mode", ["active", "shadow"])
def test_of_a_preemption_the_candidates_are_told_and_which_of_them_are_in_vain(
    service: Service, client: AppClient, told: list[Asked], mode: Mode
) -> None:
    service.hindsight.configure(HindsightSettings(mode=mode))
    Knowing(service, {"small": 0.1, "large": 3.0})
    client.post("/preempt", by_uid(busy=["small"], calm=["large"]))
    (asked,) = told
    assert (asked.verb, asked.node_names) == ("preempt", ("busy", "calm"))
    assert asked.verdicts == ("would still be too busy without its victims", None)
    assert asked.aside == (mode == "shadow")


# -- Events -------------------------------------------------------------------------------------------------------


def test_relaxed_load_rules_are_an_event_on_the_pod_and_the_answer_does_not_wait_for_it(
    server: FakeApiServer, tmp_path: Path
) -> None:
    server.answer(EVENTS_PATH, {}, 201)
    service = frozen_service()
    with server.api(tmp_path) as api, AppClient(service) as client:
        service.announcements = Announcements(api, service.clock)
        answer = client.post("/filter", arguments("busy"))
        assert answer.json()["NodeNames"] == ["busy"]
        wait_for(lambda: client.get("/healthz").is_success and bool(server.asked(EVENTS_PATH)), "the event")
    event = json.loads(server.asked(EVENTS_PATH)[0].body)
    assert event["reason"] == "LoadRulesRelaxed"
    assert event["involvedObject"] | {"apiVersion": "v1"} == event["involvedObject"]
    assert (event["involvedObject"]["name"], event["involvedObject"]["uid"]) == ("web-1", "uid-1")
    assert counted(service, "loadaware_relaxed_filters_total", profile="default-scheduler") == 1
