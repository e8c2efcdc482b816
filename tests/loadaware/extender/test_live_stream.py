"""GET /live over the real server: bounded in number and in what a bad reader costs."""

import json
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from loadaware.config import PeopleSection, ServerSection
from loadaware.extender import live_stream
from loadaware.extender.connections import BoundedConnections
from loadaware.live import LiveFrames
from loadaware.quantities import Duration
from loadaware.server import Server, make_server
from loadaware.service import Service
from tests.loadaware.builders import cpu_mean, snapshot_of
from tests.loadaware.decided import ask
from tests.loadaware.running_server import arguments, frozen_service
from tests.parts.processes import PATIENCE_SECONDS, wait_for


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of a second instead of one."""
    monkeypatch.setattr(live_stream.LiveStreams.__init__, "__defaults__", (0.01,))


@contextmanager
def running(service: Service, **people: Any) -> Iterator[tuple[Server, str]]:
    section = ServerSection(address="127.0.0.1", port=0, leaving=Duration(0.0), connections=2000)
    server = make_server(service, section, people=PeopleSection(port=None, **people))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the server")
    yield server, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def streams_of(server: Server) -> live_stream.LiveStreams:
    assert server._streams is not None
    return server._streams


def messages(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in stream.iter_lines():
        yield json.loads(line)


def connected(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect((host, int(port)))
    connection.sendall(b"GET /live HTTP/1.1\r\nhost: x\r\n\r\n")
    return connection


def test_a_page_is_told_all_it_needs_and_then_what_is_new() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", pod="web-1")
    with running(service) as (_, url), httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS) as stream:
        assert stream.headers["content-type"] == "application/x-ndjson"
        told = messages(stream)
        hello, nodes, tick = (next(told) for _ in range(3))
        assert [each["kind"] for each in (hello, nodes, tick)] == ["hello", "nodes", "tick"]
        assert hello["features"]["explain"] is True
        assert nodes["names"] == ["idle", "near", "busy", "unmeasured"]
        assert nodes["cpu"] == [0.0, 0.35, 0.9, None]
        assert [each["pod"] for each in tick["decisions"]] == ["shop/web-1"]
        assert tick["decisions"][0]["sentence"].startswith("idle won with ")
        httpx.post(
            f"{url}/prioritize",
            content=arguments("idle", "near", Pod={"metadata": {"name": "new"}}),
            timeout=PATIENCE_SECONDS,
        )
        new = next(each for each in told if each["kind"] == "tick" and each["decisions"])
        assert [each["pod"] for each in new["decisions"]] == ["default/new"]


def test_decisions_are_left_out_where_explaining_is_switched_off() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near", pod="web-1")
    with (
        running(service, explain=False) as (_, url),
        httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS) as stream,
    ):
        told = messages(stream)
        hello, _, tick = (next(told) for _ in range(3))
    assert hello["features"]["explain"] is False
    assert tick["decisions"] == []


def test_so_many_streams_and_further_ones_are_told_to_come_back() -> None:
    with running(frozen_service(), streams=2) as (server, url), ExitStack() as stack:
        both = [
            messages(stack.enter_context(httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS)))
            for _ in range(2)
        ]
        assert [next(each)["kind"] for each in both] == ["hello", "hello"]
        refused = httpx.get(f"{url}/live", timeout=PATIENCE_SECONDS)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert "2 pages are open already (people.streams)" in refused.json()["error"]
        stack.close()
        wait_for(lambda: len(streams_of(server)) == 0, "streams to be forgotten")
        with httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS) as stream:
            assert next(messages(stream))["kind"] == "hello"


def test_a_client_that_never_reads_is_cut_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedConnections, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(LiveFrames.__init__, "__defaults__", (math.inf,))
    service = frozen_service()
    service.take(snapshot_of({f"node-{number:04}": cpu_mean(number % 90) for number in range(5000)}))
    with running(service) as (server, url), connected(url) as silent:
        wait_for(lambda: streams_of(server)._ticking is not None, "the stream")
        wait_for(lambda: len(streams_of(server)) == 0, "the silent one to be cut")
        wait_for(lambda: not server.server_state.connections, "its connection to be closed")
        answer = httpx.post(f"{url}/prioritize", content=arguments("node-0001", "node-0002"), timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200
        assert silent.fileno() > 0


def test_a_thousand_at_once_leave_scheduling_unharmed() -> None:
    with running(frozen_service()) as (server, url), ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(connected(url))
        wait_for(lambda: len(streams_of(server)) == 32, "the streams that there may be")
        with httpx.Client(base_url=url, timeout=60.0) as client:
            for _ in range(50):
                answer = client.post("/prioritize", content=arguments("idle", "busy"))
                assert (answer.status_code, len(answer.json())) == (200, 2)
        assert len(streams_of(server)) <= 32
    assert len(streams_of(server)) == 0


def test_without_anybody_who_looks_nothing_is_made() -> None:
    service = frozen_service()
    with running(service) as (server, url):
        with httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS) as stream:
            assert next(messages(stream))["kind"] == "hello"
        wait_for(lambda: len(streams_of(server)) == 0, "the stream to be forgotten")
        task = streams_of(server)._ticking
        assert task is not None
        wait_for(task.done, "the ticking to end")


def test_one_frame_is_shared_by_all() -> None:
    service = frozen_service()
    with running(service) as (server, url), ExitStack() as stack:
        readers = [
            messages(stack.enter_context(httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS)))
            for _ in range(5)
        ]
        ticks = [{next(reader)["time"] if n > 1 else next(reader)["kind"] for n in range(3)} for reader in readers]
        assert len(ticks) == 5
        made = []
        frames = streams_of(server)._frames
        original = frames.next

        async def counted() -> bytes:
            made.append(1)
            return await original()

        frames.next = counted  # type: ignore[method-assign]
        before = len(made)
        for reader in readers:
            for _ in range(20):
                next(reader)
        assert len(made) - before < 60  # not a hundred: five pages, twenty lines each


def test_a_tick_that_cannot_be_made_is_logged_and_the_next_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    service = frozen_service()
    with running(service) as (_, url), httpx.stream("GET", f"{url}/live", timeout=PATIENCE_SECONDS) as stream:
        told = messages(stream)
        assert [next(told)["kind"] for _ in range(3)] == ["hello", "nodes", "tick"]
        service.beside = lambda: {"x": 1 / 0}
        wait_for(lambda: "a tick of the live page cannot be made" in caplog.text, "the log")
        service.beside = lambda: {"x": 1}
        assert next(each for each in told if each.get("beside"))["beside"] == {"x": 1}
