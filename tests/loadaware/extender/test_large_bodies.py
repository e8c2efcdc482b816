"""Bodies that are read in another process are answered with the same bytes, and whatever fails there hurts nobody."""

import asyncio
import fcntl
import json
import logging
import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loadaware.errors import RequestError
from loadaware.extender import large_bodies
from loadaware.extender.answers import Answers
from loadaware.extender.body_reader import BodyReader
from loadaware.extender.large_bodies import (
    AT_ONCE_BYTES,
    MOST_AT_ONCE_BYTES,
    MOST_NODES,
    MOST_UNDER_WAY,
    LargeBodies,
    MemoryFile,
    as_file,
    read_at_once,
)
from loadaware.service import Service
from tests.loadaware.running_server import POD, RunningServer, answer_on, counted, errors, frozen_service
from tests.parts.processes import PATIENCE_SECONDS, freeze, wait_for

NAMES = ["idle", "near", "busy", "unmeasured", "stranger"]
PADDING = "x" * (AT_ONCE_BYTES // 4)


def written(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def whole(*names: str, padding: str = PADDING, **more: Any) -> bytes:
    items = [{"metadata": {"name": name, "annotations": {"padding": padding}}} for name in names]
    return written({"Pod": POD, "NodeNames": None, "Nodes": {"items": items}, **more})


LARGE = {
    "whole": whole(*NAMES),
    "names": written({"Pod": POD | {"padding": PADDING * 5}, "Nodes": None, "NodeNames": NAMES}),
    "any case": written({"pod": POD | {"padding": PADDING * 5}, "nodenames": NAMES}),
    "opted out": whole(*NAMES, Pod=POD | {"metadata": {"name": "a", "annotations": {"loadaware.io/opt-out": "true"}}}),
    "odd amount": whole(*NAMES, Pod=POD | {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}),
    "no pod": whole(*NAMES, Pod=None),
    "no nodes": written({"Pod": POD | {"padding": PADDING * 5}}),
    "bad nodes": whole(*NAMES, Nodes=[PADDING * 5]),
    "no JSON": whole(*NAMES)[:-1],
}


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Service, RunningServer]]:
    service = frozen_service()
    with RunningServer(service) as running:
        yield service, running


def post(path: str, body: bytes) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def asked(running: RunningServer, path: str, body: bytes) -> tuple[int, bytes]:
    with running.connect() as connection:
        connection.settimeout(PATIENCE_SECONDS)
        connection.sendall(post(path, body))
        status, headers, content = answer_on(connection)
    assert headers["content-type"] == "application/json"
    return status, content


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE.keys())
def test_large_bodies_are_answered_as_if_they_were_small(
    served: tuple[Service, RunningServer], verb: str, body: bytes
) -> None:
    assert not read_at_once(body)
    service, running = served
    plain = frozen_service()
    before = {reason: errors(service, verb, reason) for reason in ("bad_quantity", "bad_json", "bad_nodes", "no_pod")}
    kinds = "loadaware_request_nodes_count", "loadaware_request_duration_seconds_count"
    counted_before = [counted(service, kind, verb=verb) for kind in kinds]
    expected = Answers(plain, 2**30).answer(verb, body, None)
    service.adviser.in_flight.expire(float("inf"))
    assert asked(running, f"/{verb}", body) == expected
    assert {reason: errors(service, verb, reason) - count for reason, count in before.items()} == {
        reason: errors(plain, verb, reason) for reason in before
    }
    for kind, count in zip(kinds, counted_before, strict=True):
        assert counted(service, kind, verb=verb) - count == counted(plain, kind, verb=verb)


def test_an_unknown_profile_is_refused_and_the_next_body_is_read(served: tuple[Service, RunningServer]) -> None:
    _, running = served
    for verb in ("filter", "prioritize"):
        assert asked(running, f"/nonsense/{verb}", LARGE["whole"])[0] == 404
        assert asked(running, f"/open/{verb}", LARGE["whole"])[0] == 200


def test_too_many_nodes_change_nothing_and_are_counted(served: tuple[Service, RunningServer]) -> None:
    service, running = served
    names = [f"node-{number:048d}" for number in range(MOST_NODES + 1)]
    body = written({"Pod": POD, "NodeNames": names})
    assert not read_at_once(body)
    assert asked(running, "/prioritize", body) == (200, b"[]")
    status, content = asked(running, "/filter", body)
    assert (status, json.loads(content)["NodeNames"], json.loads(content)["Error"]) == (200, names, "")
    assert errors(service, "filter", "too_many_nodes") == errors(service, "prioritize", "too_many_nodes") == 1


def test_too_many_nodes_in_a_small_body_change_nothing_either() -> None:
    service = frozen_service()
    body = written({"Pod": POD, "NodeNames": [f"n{number}" for number in range(MOST_NODES + 1)]})
    assert read_at_once(body)
    answers = Answers(service, 2**30)
    assert answers.answer("prioritize", body, None).content == b"[]"
    assert len(json.loads(answers.answer("filter", body, None).content)["NodeNames"]) == MOST_NODES + 1
    assert answers.answer("filter", body, "nonsense").status == 404
    assert counted(service, "loadaware_requests_total", verb="filter", profile="default-scheduler") == 1


def test_large_preemptions_are_answered_and_large_bindings_refused(served: tuple[Service, RunningServer]) -> None:
    _, running = served
    pods = [{"metadata": {"name": "a", "uid": "uid-a", "annotations": {"padding": PADDING * 5}}}]
    body = written({"Pod": POD, "NodeNameToVictims": {"idle": {"Pods": pods}}})
    status, content = asked(running, "/preempt", body)
    assert (status, list(json.loads(content)["NodeNameToMetaVictims"])) == (200, ["idle"])
    crowd = {"idle": {"Pods": [{"UID": f"{number:060d}"} for number in range(MOST_NODES)]}}
    status, content = asked(running, "/preempt", written({"Pod": POD, "NodeNameToMetaVictims": crowd}))
    assert (status, len(json.loads(content)["NodeNameToMetaVictims"]["idle"]["Pods"])) == (200, MOST_NODES)
    assert asked(running, "/bind", b"x" * (AT_ONCE_BYTES + 1))[0] == 413


def test_what_go_writes_of_a_thousand_nodes_is_read_at_once_and_nothing_larger() -> None:
    def as_go_writes(size: int) -> bytes:
        return b'{"Pod":' + b" " * (size - 24) + b'"NodeNames":null}'

    assert len(as_go_writes(2000)) == 2000
    assert read_at_once(b"x" * AT_ONCE_BYTES)
    assert not read_at_once(b"x" * (AT_ONCE_BYTES + 1))
    assert read_at_once(as_go_writes(MOST_AT_ONCE_BYTES))
    assert read_at_once(as_go_writes(MOST_AT_ONCE_BYTES - 1) + b"\n")
    assert not read_at_once(as_go_writes(MOST_AT_ONCE_BYTES + 1))


# -- When the child fails -----------------------------------------------------------------------------------------


def using(bodies: LargeBodies, work: Callable[[LargeBodies], Any]) -> Any:
    async def run() -> Any:
        try:
            async with bodies.turn() as started:
                assert started
                return await work(bodies)
        finally:
            bodies.close()

    return asyncio.run(run())


def unread_bytes(bodies: LargeBodies) -> int:
    """What was sent to the child and not taken by it yet."""
    assert bodies._channel is not None
    return int.from_bytes(fcntl.ioctl(bodies._channel, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def test_a_child_that_dies_over_a_body_makes_it_refused_and_another_is_started(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = frozen_service()
    with RunningServer(service) as running:
        bodies = running.server._bodies
        assert asked(running, "/filter", LARGE["whole"])[0] == 200
        child = bodies._child
        assert child is not None
        freeze(child.pid)  # the body waits for it, and it dies over that
        with running.connect() as connection, running.connect() as other:
            connection.settimeout(PATIENCE_SECONDS)
            connection.sendall(post("/filter", LARGE["whole"]))
            other.sendall(post("/filter", whole("idle", padding="")))
            assert answer_on(other)[0] == 200
            wait_for(lambda: unread_bytes(bodies) > 0, "the body to be handed over")
            os.kill(child.pid, signal.SIGKILL)
            assert answer_on(connection)[0] == 503
        assert errors(service, "filter", "unread") == 1
        assert asked(running, "/filter", LARGE["whole"])[0] == 200
    assert "failed at one" in caplog.text


def test_a_child_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_bodies, "READING_SECONDS", 0.2)
    bodies = LargeBodies((sys.executable, "-c", "import time; time.sleep(60)"))

    async def ask(bodies: LargeBodies) -> None:
        with as_file(b"{}") as file:
            await bodies.ask("filter", file)

    with pytest.raises(RequestError, match="could not be read in time"):
        using(bodies, ask)


def test_without_any_child_the_server_reads_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    with RunningServer(frozen_service()) as running:
        running.server._bodies._command = ("/nonexistent/python",)
        for verb in ("filter", "prioritize"):
            assert asked(running, f"/{verb}", LARGE["whole"]) == Answers(frozen_service(), 2**30).answer(
                verb, LARGE["whole"], None
            )
    assert any(record.levelno == logging.WARNING and "can be started" in record.message for record in caplog.records)


def test_only_so_many_large_bodies_are_taken_at_once() -> None:
    service = frozen_service()
    head = b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{" % (MOST_AT_ONCE_BYTES + 1)
    with RunningServer(service) as running:
        connections = [running.connect() for _ in range(MOST_UNDER_WAY + 1)]
        for connection in connections:
            connection.sendall(head)
        wait_for(lambda: errors(service, "filter", "too_busy") == 1, "one to be refused")
        (refused,), _, _ = select.select(connections, [], [], PATIENCE_SECONDS)
        assert answer_on(refused)[0] == 503
        connections.remove(refused)
        assert select.select(connections, [], [], 0.1) == ([], [], [])
        for connection in (refused, *connections):
            connection.close()
    assert errors(service, "filter", "too_busy") == 1


def test_without_room_for_it_a_large_body_is_refused_and_small_ones_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(name: str) -> int:
        raise OSError(24, "Too many open files")

    with RunningServer(frozen_service()) as running:
        monkeypatch.setattr(os, "memfd_create", full)
        assert asked(running, "/filter", LARGE["whole"])[0] == 503
        assert asked(running, "/filter", whole("idle", padding=""))[0] == 200


def test_the_child_answers_nothing_about_a_body_that_it_has_not_read() -> None:
    with as_file(b"\x80\x05N.") as none:
        word, answer = BodyReader().answer("decided", none)
    with answer:
        assert word == "refused"


def test_an_empty_body_is_refused_like_any_other() -> None:
    with MemoryFile() as empty:
        word, answer = BodyReader().answer("filter", empty)
    with answer:
        assert word == "refused"
        assert b"bad_json" in answer.whole()
