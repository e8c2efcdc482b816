import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.filters.filter import Filter
from loadaware.in_flight import InFlight
from loadaware.nodes import Nodes
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.scorer import Scorer
from loadaware.service import Service
from loadaware.snapshot import Snapshot
from loadaware.window import Bools
from tests.loadaware.builders import Clock, make_profile, make_settings
from tests.loadaware.running_server import (
    POD,
    AppClient,
    RunningServer,
    answer_on,
    arguments,
    counted,
    errors,
    frozen_service,
    new_service,
)

BODY_LIMIT = 4096
ALL = ["idle", "near", "busy", "unmeasured"]


@pytest.fixture
def service() -> Service:
    return frozen_service()


@pytest.fixture
def client(service: Service) -> Iterator[AppClient]:
    with AppClient(service) as client:
        yield client


def whole(*names: str) -> bytes:
    items = [{"metadata": {"name": name}, "status": {"capacity": {"cpu": "4"}}} for name in names]
    return json.dumps({"Pod": POD, "NodeNames": None, "Nodes": {"items": items}}).encode()


def scores(answer: httpx.Response) -> dict[str, int]:
    assert answer.status_code == 200, answer.text
    return {host["Host"]: host["Score"] for host in answer.json()}


# -- Answers ------------------------------------------------------------------------------------------------------


def test_prioritize_answers_every_node_within_the_wires_range_and_the_fuller_one_below_the_target_best(
    client: AppClient,
) -> None:
    answer = client.post("/prioritize", arguments(*ALL, "stranger"))
    assert answer.headers["content-type"] == "application/json"
    found = scores(answer)
    assert list(found) == [*ALL, "stranger"]
    assert all(0 <= score <= 30 for score in found.values())
    assert found["near"] > found["idle"] > found["busy"]
    assert found["unmeasured"] == found["stranger"] == sorted([found["near"], found["idle"], found["busy"]])[1]


def test_filter_rejects_the_busy_node_with_a_reason_and_passes_the_others_in_order(client: AppClient) -> None:
    answer = client.post("/filter", arguments("busy", "unmeasured", "idle", "stranger")).json()
    assert answer["NodeNames"] == ["unmeasured", "idle", "stranger"]
    assert "cpu usage 90 %" in answer["FailedNodes"]["busy"]
    assert answer["FailedAndUnresolvableNodes"] == {}
    assert answer["Error"] == ""


def test_whole_nodes_are_filtered_and_ranked_as_names_are(client: AppClient) -> None:
    by_name = client.post("/prioritize", arguments(*ALL))
    assert client.post("/prioritize", whole(*ALL)).json() == by_name.json()
    passing = client.post("/filter", whole(*ALL)).json()
    assert passing["NodeNames"] is None
    assert [item["metadata"]["name"] for item in passing["Nodes"]["items"]] == ["idle", "near", "unmeasured"]


def test_a_profile_in_the_path_wins_over_the_pods_scheduler_name(client: AppClient) -> None:
    body = arguments("busy", "idle", Pod=POD | {"spec": {"schedulerName": "default-scheduler"}})
    assert client.post("/filter", body).json()["NodeNames"] == ["idle"]
    assert client.post("/open/filter", body).json()["NodeNames"] == ["busy", "idle"]


def test_unknown_nodes_alone_are_all_equal_and_all_pass(client: AppClient) -> None:
    body = arguments("x", "y", "z")
    assert len(set(scores(client.post("/prioritize", body)).values())) == 1
    assert client.post("/filter", body).json()["NodeNames"] == ["x", "y", "z"]


def test_empty_lists_are_answered_with_empty_lists(client: AppClient) -> None:
    assert client.post("/prioritize", arguments()).json() == []
    assert client.post("/filter", arguments()).json()["NodeNames"] == []
    assert client.post("/filter", whole()).json()["Nodes"] == {"items": []}


def test_a_name_asked_for_twice_is_answered_twice_and_alike(client: AppClient) -> None:
    answer = client.post("/prioritize", arguments("idle", "near", "idle")).json()
    assert [host["Host"] for host in answer] == ["idle", "near", "idle"]
    assert answer[0] == answer[2]
    assert client.post("/filter", arguments("idle", "idle")).json()["NodeNames"] == ["idle", "idle"]


def test_the_content_type_does_not_matter_if_the_body_is_json(client: AppClient) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post("/prioritize", arguments("idle"), (b"content-type", content_type.encode()))
        assert answer.status_code == 200


def test_keys_in_any_case_are_answered(client: AppClient) -> None:
    body = json.dumps({"pod": POD, "nodenames": ["idle"]}).encode()
    assert list(scores(client.post("/prioritize", body))) == ["idle"]


def test_requests_nodes_rejections_and_time_are_counted_under_the_profile(client: AppClient, service: Service) -> None:
    client.post("/filter", arguments(*ALL))
    client.post("/open/prioritize", arguments(*ALL))
    assert counted(service, "loadaware_requests_total", verb="filter", profile="default-scheduler") == 1
    assert counted(service, "loadaware_requests_total", verb="prioritize", profile="open") == 1
    by_filter = {"profile": "default-scheduler", "filter": "UsageThreshold"}
    assert counted(service, "loadaware_rejected_nodes_total", **by_filter) == 1
    assert counted(service, "loadaware_request_nodes_sum", verb="filter", profile="default-scheduler") == 4
    assert counted(service, "loadaware_request_duration_seconds_count", verb="prioritize", profile="open") == 1


def test_a_filter_that_would_reject_every_node_is_relaxed_and_counted(client: AppClient, service: Service) -> None:
    assert client.post("/filter", arguments("busy")).json()["NodeNames"] == ["busy"]
    assert counted(service, "loadaware_relaxed_filters_total", profile="default-scheduler") == 1


def test_a_pod_with_an_amount_that_is_none_is_placed_all_the_same_and_counted(
    client: AppClient, service: Service
) -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}
    answer = client.post("/prioritize", arguments("idle", Pod=POD | {"spec": spec}))
    assert list(scores(answer)) == ["idle"]
    assert errors(service, "prioritize", "bad_quantity") == 1


# -- Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{nonsense", "bad_json"),
        (b"", "bad_json"),
        (b"pod=web&nodes=a", "bad_json"),
        (b"\x1f\x8b\x08\x00", "bad_json"),
        (b'{"Pod": null, "NodeNames": ["a"]}', "no_pod"),
        (b'{"Pod": {}, "NodeNames": null, "Nodes": null}', "no_nodes"),
        (b'{"Pod": {}, "Nodes": [1]}', "bad_nodes"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_in_json_and_counted(
    client: AppClient, service: Service, verb: str, content: bytes, reason: str
) -> None:
    answer = client.post(f"/{verb}", content)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert "Traceback" not in answer.text
    assert errors(service, verb, reason) == 1
    assert counted(service, "loadaware_requests_total", verb=verb, profile="default-scheduler") == 0


def test_an_unknown_profile_is_refused_with_those_that_there_are(client: AppClient, service: Service) -> None:
    answer = client.post("/nonsense/prioritize", arguments("idle"))
    assert answer.status_code == 404
    assert "'nonsense'; there are: default-scheduler, open" in answer.json()["error"]
    assert errors(service, "prioritize", "unknown_profile") == 1


@pytest.mark.parametrize(
    ("method", "path", "status", "verb", "reason"),
    [
        ("GET", "/filter", 405, "filter", "wrong_method"),
        ("PUT", "/open/prioritize", 405, "prioritize", "wrong_method"),
        ("POST", "/readyz", 405, "other", "wrong_method"),
        ("POST", "/filtre", 404, "other", "unknown_path"),
        ("POST", "/a/b/filter", 404, "filter", "unknown_path"),
        ("GET", "/" + "x" * 500, 404, "other", "unknown_path"),
    ],
)
def test_a_wrong_path_or_method_is_refused_in_json_and_counted(  # noqa: PLR0917
    client: AppClient, service: Service, method: str, path: str, status: int, verb: str, reason: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert "GET / lists what there is" in answer.json()["error"]
    assert len(answer.text) < 250
    assert errors(service, verb, reason) == 1
    assert status != 405 or "allow" in answer.headers


def test_a_body_that_declares_more_than_the_limit_is_refused_before_it_is_read(
    client: AppClient, service: Service
) -> None:
    answer = client.post("/filter", b"x" * (BODY_LIMIT + 1))
    assert answer.status_code == 413
    assert str(BODY_LIMIT) in answer.json()["error"]
    assert errors(service, "filter", "too_large") == 1


@pytest.mark.parametrize("declared", ["²", "9" * 5000, "nonsense", "-1"])
def test_a_nonsensical_declared_length_does_not_matter_beside_the_real_one(client: AppClient, declared: str) -> None:
    answer = client.post("/filter", arguments("idle"), (b"content-length", declared.encode("latin-1")))
    assert answer.status_code == (413 if declared.startswith("9") else 200)


def test_a_streamed_body_is_cut_off_at_the_limit(service: Service) -> None:
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    head = b"POST /prioritize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with RunningServer(service, body_limit=BODY_LIMIT) as running, running.connect() as connection:
        connection.sendall(head + 5 * chunk)  # and no end of it
        status, _, body = answer_on(connection)
        assert status == 413
        assert "larger than 4096 bytes" in json.loads(body)["error"]
    assert errors(service, "prioritize", "too_large") == 1


def test_a_streamed_body_within_the_limit_is_answered(service: Service) -> None:
    body = arguments("idle")
    head = b"POST /prioritize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with RunningServer(service) as running, running.connect() as connection:
        connection.sendall(head + b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in body) + b"0\r\n\r\n")
        status, _, content = answer_on(connection)
        assert status == 200
        assert [host["Host"] for host in json.loads(content)] == ["idle"]


def test_a_client_that_goes_away_in_the_middle_of_its_body_is_counted_and_hurts_nobody(service: Service) -> None:
    with RunningServer(service) as running:
        with running.connect() as connection:
            connection.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        with running.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_on(connection)[0] == 200
    assert errors(service, "filter", "disconnected") == 1


# -- Fail open ----------------------------------------------------------------------------------------------------


class Broken(Scorer, frozen=True, kw_only=True):
    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        raise ZeroDivisionError("secret detail")


class Misshapen(Scorer, frozen=True, kw_only=True):
    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        return np.zeros(len(nodes) + 3)


class Endless(Scorer, frozen=True, kw_only=True):
    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        return np.array([np.inf, -np.inf, np.nan, 1e300])[: len(nodes)]


class BrokenFilter(Filter, frozen=True, kw_only=True):
    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        raise KeyError("secret detail")


class BrokenLedger(InFlight):
    """Fails where nobody expects it: outside every plugin."""

    def expire(self, now: float) -> None:
        raise ZeroDivisionError("secret detail")


class FullLedger(InFlight):
    """Takes no booking."""

    def book(self, *arguments: object, **more: object) -> None:
        raise ZeroDivisionError("secret detail")


def failing_service(ledger: type[InFlight] = BrokenLedger) -> Service:
    service = service_of(LowestUsage())
    service.adviser._ledger = ledger([])
    service.adviser._ledger.restart(service.adviser.snapshot)
    return service


def service_of(scorer: Scorer, *filters: Filter) -> Service:
    return frozen_service(make_settings(make_profile(scorer, "default-scheduler", *filters)))


def passing(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200
    said = answer.json()
    assert (said["FailedNodes"], said["FailedAndUnresolvableNodes"], said["Error"]) == ({}, {}, "")
    return said["NodeNames"] or [item["metadata"]["name"] for item in said["Nodes"]["items"]]


@pytest.mark.parametrize("scorer", [Broken(), Misshapen(), Endless()])
@pytest.mark.parametrize("body", [arguments(*ALL), whole(*ALL)], ids=["names", "whole"])
def test_a_scorer_that_fails_makes_all_nodes_equal_and_is_counted(scorer: Scorer, body: bytes) -> None:
    service = service_of(scorer)
    with AppClient(service) as client:
        answer = client.post("/prioritize", body)
    assert set(scores(answer)) == set(ALL)
    assert len(set(scores(answer).values())) == 1
    assert 0 <= scores(answer)["idle"] <= 30
    assert "secret" not in answer.text
    assert errors(service, "prioritize", "skipped_plugin") == 1


@pytest.mark.parametrize("body", [arguments(*ALL), whole(*ALL)], ids=["names", "whole"])
def test_a_filter_that_fails_passes_every_node_and_is_counted(body: bytes) -> None:
    service = service_of(Broken(), BrokenFilter())
    with AppClient(service) as client:
        assert passing(client.post("/filter", body)) == ALL
    assert errors(service, "filter", "skipped_plugin") == 1


def test_a_failing_plugin_is_named_in_the_log_when_it_begins_but_not_at_each_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = service_of(Broken())
    with AppClient(service) as client:
        for _ in range(50):
            client.post("/prioritize", arguments(*ALL))
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert lines[0].startswith("prioritize of profile default-scheduler goes on without Broken (ZeroDivisionError")
    assert len(lines) == 2  # it begins to fail, and it is switched off
    assert errors(service, "prioritize", "skipped_plugin") == 50


def test_a_plugin_that_is_switched_off_shows_in_readiness_and_metrics() -> None:
    service = service_of(Broken())
    with AppClient(service) as client:
        for _ in range(5):
            client.post("/prioritize", arguments(*ALL))
        assert "Broken" in client.get("/readyz").json()["switchedOff"]
        assert 'loadaware_plugin_failures_total{kind="raised",plugin="Broken"} 3.0' in client.get("/metrics").text
        assert 'loadaware_plugin_failures_total{kind="raised",plugin="Broken"} 3.0' in client.get("/metrics").text


@pytest.mark.parametrize("body", [arguments(*ALL), whole(*ALL)], ids=["names", "whole"])
def test_whatever_else_fails_makes_all_nodes_equal_and_is_counted_and_logged(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    service = failing_service()
    with AppClient(service) as client:
        answer = client.post("/prioritize", body)
    assert scores(answer) == dict.fromkeys(ALL, 0)
    assert "secret" not in answer.text
    assert errors(service, "prioritize", "internal") == 1
    assert [record.exc_info is not None for record in caplog.records if record.levelno >= logging.ERROR] == [True]
    assert "prioritize failed for pod shop/web-1: answered neutrally" in caplog.text


@pytest.mark.parametrize("body", [arguments("idle"), whole("idle")], ids=["names", "whole"])
def test_whatever_else_fails_in_a_filter_passes_every_node_and_is_counted(body: bytes) -> None:
    service = failing_service()
    with AppClient(service) as client:
        assert passing(client.post("/filter", body)) == ["idle"]
    assert errors(service, "filter", "internal") == 1


def test_a_booking_that_fails_spoils_neither_its_own_answer_nor_the_next(caplog: pytest.LogCaptureFixture) -> None:
    service = failing_service(FullLedger)
    with AppClient(service) as client:
        answers = [client.post("/prioritize", arguments(*ALL)) for _ in range(2)]
    assert [scores(answer)["idle"] > scores(answer)["busy"] for answer in answers] == [True, True]
    assert errors(service, "prioritize", "internal") == 1
    assert "the pod that was ranked last cannot be booked" in caplog.text


# -- Health -------------------------------------------------------------------------------------------------------


def test_it_is_alive_from_the_start() -> None:
    with AppClient(new_service()) as client:
        assert client.get("/healthz").text == "ok\n"
        assert "POST /filter" in client.get("/").text


def test_it_is_not_ready_before_the_first_reading_until_the_grace_has_passed() -> None:
    clock = Clock()
    with AppClient(new_service(clock=clock, grace_seconds=60.0)) as client:
        assert client.get("/readyz").status_code == 503
        assert client.get("/readyz").json()["ready"] is False
        clock.advance(59.0)
        assert client.get("/readyz").status_code == 503
        clock.advance(1.0)
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["ready"], answer.json()["measured"]) == (200, True, False)


def test_it_answers_neutrally_before_anything_is_known() -> None:
    with AppClient(new_service()) as newborn:
        assert len(set(scores(newborn.post("/prioritize", arguments("a", "b"))).values())) == 1
        assert newborn.post("/filter", arguments("a", "b")).json()["NodeNames"] == ["a", "b"]


def test_it_is_ready_after_the_first_good_reading(client: AppClient) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["measured"], answer.json()["nodes"]) == (200, True, 4)


# -- For people and Prometheus ------------------------------------------------------------------------------------


def test_metrics_are_what_prometheus_reads(client: AppClient) -> None:
    client.post("/filter", arguments(*ALL))
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["loadaware_nodes"].samples[0].value == 4
    assert families["loadaware_unmeasured_nodes"].samples[0].value == 1
    assert families["loadaware_build_info"].samples[0].labels == {"version": "0.0.0"}


def test_metrics_show_series_of_as_many_nodes_as_are_asked_for(client: AppClient) -> None:
    def shown(query: str) -> list[str]:
        families = text_string_to_metric_families(client.get(f"/metrics{query}").text)
        return [s.labels["node"] for f in families if f.name == "loadaware_node_score" for s in f.samples]

    assert shown("?nodes=0") == []
    assert shown("?nodes=2") == ["busy", "near"]
    assert sorted(shown("")) == sorted(shown("?nodes=all")) == sorted(ALL)


@pytest.mark.parametrize("nodes", ["some", "-1", "10001", "1e3", "", "99999999999999999999", "\u0663"])
def test_a_number_of_nodes_that_is_none_is_refused(client: AppClient, nodes: str) -> None:
    answer = client.get("/metrics?nodes=" + quote(nodes))
    assert answer.status_code == 400
    assert answer.json() == {"error": f"nodes is a number in 0..10000 or all, not {nodes}"}


def test_metrics_of_a_newborn_are_readable_too() -> None:
    with AppClient(new_service()) as client:
        families = list(text_string_to_metric_families(client.get("/metrics").text))
    assert any(family.name == "loadaware_data_age_seconds" for family in families)


def test_nodes_shows_what_is_believed_with_null_for_what_is_not_known(client: AppClient) -> None:
    nodes: list[dict[str, Any]] = client.get("/nodes").json()["nodes"]
    assert [entry["name"] for entry in nodes] == ALL
    assert nodes[2]["usage"]["cpu"]["mean"] == pytest.approx(3.6)
    assert nodes[2]["usage"]["cpu"]["deviation"] is None
    assert set(nodes[3]["usage"]["cpu"].values()) == {None}
    assert nodes[3]["capacity"]["cpu"] == 4.0


def test_nodes_of_a_newborn_is_an_empty_list() -> None:
    service = new_service()
    service.take(Snapshot.empty())
    with AppClient(service) as client:
        assert client.get("/nodes").json() == {"nodes": []}
