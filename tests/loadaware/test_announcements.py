import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.kubernetes_api import KubernetesApi
from loadaware.announcements import PAUSE_SECONDS, Announcements
from tests.collectors.fake_api_server import FakeApiServer, status_of
from tests.loadaware.builders import Clock, make_pod

EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        server.answer(EVENTS, {}, 201)
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> Iterator[KubernetesApi]:
    with server.api(tmp_path) as api:
        yield api


def announce(announcements: Announcements, *names: str, reason: str = "LoadRulesRelaxed") -> None:
    """Announce, and let what is under way end."""

    async def all_of_them() -> None:
        for name in names:
            announcements.announce(make_pod(name), reason, "a message")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)

    asyncio.run(all_of_them())


def announced(server: FakeApiServer) -> list[str]:
    return [json.loads(asked.body)["involvedObject"]["name"] for asked in server.asked(EVENTS)]


def test_one_event_of_a_reason_is_written_until_the_pause_has_passed(server: FakeApiServer, api: KubernetesApi) -> None:
    clock = Clock()
    announcements = Announcements(api, clock)
    announce(announcements, "first", "second", "third")
    clock.advance(PAUSE_SECONDS - 1.0)
    announce(announcements, "fourth")
    assert announced(server) == ["first"]
    clock.advance(1.0)
    announce(announcements, "fifth")
    assert announced(server) == ["first", "fifth"]


def test_each_reason_has_its_own_pause(server: FakeApiServer, api: KubernetesApi) -> None:
    announcements = Announcements(api, Clock())
    announce(announcements, "first")
    announce(announcements, "second", reason="SomethingElse")
    assert announced(server) == ["first", "second"]


def test_a_burst_is_never_more_than_one_event_under_way(server: FakeApiServer, api: KubernetesApi) -> None:
    announce(Announcements(api, Clock()), *(f"pod-{number}" for number in range(500)))
    assert announced(server) == ["pod-0"]


def test_a_pod_without_a_name_and_a_service_without_an_api_server_announce_nothing(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    announce(Announcements(api, Clock()), "")
    announce(Announcements(None, Clock()), "first")
    assert server.requests == []


def test_forbidden_switches_events_off_for_an_hour_with_one_log_line(
    server: FakeApiServer, api: KubernetesApi, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer(EVENTS, status_of(403, 'events is forbidden: User "x" cannot create resource "events"'), 403)
    server.take_answer(EVENTS)
    clock = Clock()
    announcements = Announcements(api, clock)
    with caplog.at_level(logging.WARNING):
        for number in range(60):
            announce(announcements, f"pod-{number}")
            clock.advance(PAUSE_SECONDS)
    assert announced(server) == ["pod-0"]
    assert caplog.text.count("events is forbidden") == 1
    announce(announcements, "an-hour-later")
    assert announced(server) == ["pod-0", "an-hour-later"]


def test_other_refusals_are_logged_and_tried_again_after_the_pause(
    server: FakeApiServer, api: KubernetesApi, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer(EVENTS, status_of(500, "etcd is unwell"), 500)
    server.take_answer(EVENTS)
    clock = Clock()
    announcements = Announcements(api, clock)
    with caplog.at_level(logging.WARNING):
        announce(announcements, "first")
        clock.advance(PAUSE_SECONDS)
        announce(announcements, "second")
    assert announced(server) == ["first", "second"]
    assert caplog.text.count("etcd is unwell") == 2


def test_an_api_server_that_is_gone_is_a_log_line_and_nothing_more(
    server: FakeApiServer, api: KubernetesApi, caplog: pytest.LogCaptureFixture
) -> None:
    server.__exit__(None, None, None)
    announce(Announcements(api, Clock()), "first")
    assert "cannot be reached" in caplog.text


def test_whoever_announces_does_not_wait_for_the_api_server(
    api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, reached = threading.Event(), threading.Event()

    def post(path: str, body: bytes) -> bytes:
        reached.set()
        release.wait(10.0)
        return b""

    async def talk() -> bool:
        Announcements(api, Clock()).announce(make_pod(), "LoadRulesRelaxed", "a message")
        while not reached.is_set():
            await asyncio.sleep(0.001)
        waiting = not release.is_set()
        release.set()
        return waiting

    monkeypatch.setattr(api, "post", post)
    assert asyncio.run(talk())
