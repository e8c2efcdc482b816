"""The short way gives the same bytes as the plain way, counts the same, and keeps out of what is unusual."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadaware.extender.connections import BoundedConnections
from loadaware.extender.hot_path import HotPath
from loadaware.service import Service
from tests.loadaware.running_server import POD, RunningServer, answer_on, arguments, counted, errors, frozen_service
from tests.parts.processes import wait_for

BODY_LIMIT = 4096
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Pair:
    """Two servers over equal services: one as it is, one without the short way."""

    def __init__(self, stack: ExitStack) -> None:
        self.services = frozen_service(), frozen_service()
        self.servers = [RunningServer(service, body_limit=BODY_LIMIT) for service in self.services]
        self.servers[1].server.config.http_protocol_class = BoundedConnections
        for server in self.servers:
            stack.enter_context(server)

    def answers(self, pieces: list[bytes]) -> tuple[bytes, bytes]:
        hot, plain = (exchanged(server, pieces) for server in self.servers)
        return hot, plain

    def counts(self) -> tuple[dict[Any, float], dict[Any, float]]:
        hot, plain = (samples(service) for service in self.services)
        return hot, plain


def exchanged(server: RunningServer, pieces: list[bytes]) -> bytes:
    """All that comes back until the end, without the date."""
    received = []
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                connection.sendall(piece)
            while more := connection.recv(65536):
                received.append(more)
        except ConnectionError:  # refused before all was sent
            received.append(b"")
    return re.sub(rb"date: [^\r]*\r\n", b"", b"".join(received))


def samples(service: Service) -> dict[Any, float]:
    """All that is counted, but for the time it took."""
    families = service.telemetry.registry.collect()
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if not re.search("duration_seconds_(bucket|sum)|_created$", sample.name)
    }


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(stack)


def framed(method: str, path: str, body: bytes, framing: str, headers: tuple[bytes, ...]) -> bytes:
    head = [f"{method} {path} HTTP/1.1".encode(), b"Host: x", *headers]
    if framing == "chunked":
        cut = len(body) // 2
        chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part]
        return b"\r\n".join([*head, b"Transfer-Encoding: chunked", b"", b""]) + b"".join(chunks) + b"0\r\n\r\n"
    return b"\r\n".join([*head, b"Content-Length: %d" % len(body), b"", body])


NAMES = st.lists(st.sampled_from(["idle", "near", "busy", "unmeasured", "stranger", 'quo"te', "grün", ""]), max_size=8)
PODS = st.sampled_from(
    [
        POD,
        POD | {"spec": {"schedulerName": "open"}},
        POD | {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}},
        POD | {"metadata": {"name": "other", "annotations": {"loadaware.io/opt-out": "true"}}},
        {},
        None,
    ]
)
BODIES = st.one_of(
    st.builds(lambda names, pod: arguments(*names, Pod=pod), NAMES, PODS),
    st.builds(
        lambda names, pod: json.dumps(
            {"Pod": pod, "Nodes": {"items": [{"metadata": {"name": name}, "spec": {}} for name in names]}}
        ).encode(),
        NAMES,
        PODS,
    ),
    st.builds(lambda names: json.dumps({"pod": POD, "nodenames": names}).encode(), NAMES),
    st.sampled_from(
        [
            b"",
            b"{",
            b"null",
            b"[]",
            b'{"Pod": {}, "Nodes": [1]}',
            b'{"Pod": {}, "Nodes": null, "NodeNames": null}',
            b'{"Pod": {}, "Nodes": {"items": null}}',
            b'{"Pod": {}, "NodeNames": ["a", 1]}',
            b'{"Pod": {}, "Nodes": [1], "NodeNames": ["a"]}',
            b"x" * (BODY_LIMIT + 1),
            b"[" * 2000,
        ]
    ),
    st.binary(max_size=40),
)
REQUESTS = st.builds(
    framed,
    st.sampled_from(["POST"] * 8 + ["GET", "HEAD", "PUT", "OPTIONS"]),
    st.sampled_from(
        ["/filter", "/prioritize"] * 3
        + ["/open/filter", "/open/prioritize", "/nonsense/prioritize", "/filter?x=1", "/prioritize/", "/%66ilter"]
        + ["/a/b/filter", "//filter", "/preempt", "/readyz"]
    ),
    BODIES,
    st.sampled_from(["length", "length", "length", "chunked"]),
    st.sampled_from(
        [
            (),
            (b"Content-Type: application/json", b"Accept-Encoding: gzip"),
            (b"Content-Type: text/plain",),
            (b"Expect: 100-continue",),
            (b"Connection: keep-alive",),
        ]
    ),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests=st.lists(REQUESTS, min_size=1, max_size=4), cuts=st.lists(st.floats(0.0, 1.0), max_size=2))
def test_both_ways_answer_with_the_same_bytes_and_count_the_same(
    pair: Pair, requests: list[bytes], cuts: list[float]
) -> None:
    sent = b"".join(requests) + LAST
    at = [0, *sorted(int(cut * len(sent)) for cut in cuts), len(sent)]
    hot, plain = pair.answers([sent[begin:end] for begin, end in pairwise(at) if end > begin])
    assert hot == plain
    assert hot.endswith(b"\r\n\r\nok\n")
    counted_hot, counted_plain = pair.counts()
    assert counted_hot == counted_plain


@pytest.mark.parametrize(
    "request_line",
    [b"POST /filter HTTP/1.0", b"POST /filter HTTP/1.1\r\nHost: x\r\nConnection: close", b"POST /filter HTTP/9.9"],
)
def test_both_ways_end_a_connection_alike(pair: Pair, request_line: bytes) -> None:
    body = arguments("idle", "busy")
    hot, plain = pair.answers([request_line + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body])
    assert hot == plain
    assert b"connection: close" in hot


@pytest.mark.parametrize("lengths", [(b"5", b"6"), (b"-1",), (b"nonsense",), (b"9" * 30,)])
def test_both_ways_refuse_nonsensical_lengths_alike(pair: Pair, lengths: tuple[bytes, ...]) -> None:
    head = b"POST /filter HTTP/1.1\r\nHost: x\r\n" + b"".join(b"Content-Length: %b\r\n" % each for each in lengths)
    hot, plain = pair.answers([head + b"\r\n"])
    assert hot == plain
    assert hot.startswith(b"HTTP/1.1 400 ")


def post(path: bytes, body: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (path, len(body), body)


class Watched:
    """A server whose connections tell how many requests took the plain way."""

    def __init__(self, **section: Any) -> None:
        self.service = frozen_service()
        self.running = RunningServer(self.service, **section)
        self.plain: list[str] = []
        config = self.running.server.config
        app = config.loaded_app

        async def noting(scope: Any, receive: Any, send: Any) -> None:
            self.plain.append(scope["path"])
            await app(scope, receive, send)

        config.loaded_app = noting


def test_what_kube_scheduler_asks_takes_the_short_way_and_all_else_the_plain_one() -> None:
    watched = Watched()
    with watched.running as running, running.connect() as connection:
        for path in (b"/filter", b"/prioritize", b"/open/prioritize"):
            connection.sendall(post(path, arguments("idle", "busy")))
            assert answer_on(connection)[0] == 200
        assert watched.plain == []
        for path in (b"/filter?x", b"/preempt"):
            connection.sendall(post(path, arguments("idle", "busy")))
            answer_on(connection)
        assert watched.plain == ["/filter", "/preempt"]


def test_a_request_to_upgrade_takes_the_plain_way() -> None:
    watched = Watched()
    request = post(b"/filter", arguments("idle")).replace(b"Host: x", b"Connection: Upgrade\r\nUpgrade: h2c")
    with watched.running as running, running.connect() as connection:
        connection.sendall(request)
        wait_for(lambda: watched.plain, "the request")


def test_only_the_first_of_many_requests_sent_at_once_takes_the_short_way() -> None:
    watched = Watched()
    with watched.running as running, running.connect() as connection:
        connection.sendall(post(b"/filter", arguments("idle")) * 3 + LAST)
        while connection.recv(65536):
            pass
    assert watched.plain == ["/filter", "/filter", "/healthz"]
    assert counted(watched.service, "loadaware_requests_total", verb="filter", profile="default-scheduler") == 3


def test_a_body_that_comes_in_many_pieces_takes_the_short_way_too() -> None:
    watched = Watched()
    with watched.running as running, running.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in post(b"/prioritize", arguments("idle", "near")):
            connection.sendall(bytes([byte]))
        assert [host["Host"] for host in json.loads(answer_on(connection)[2])] == ["idle", "near"]
    assert watched.plain == []


def test_a_client_that_goes_away_in_the_middle_is_counted_once() -> None:
    watched = Watched()
    with watched.running as running:
        with running.connect() as connection:
            connection.sendall(post(b"/prioritize", arguments("idle"))[:-3])
        with running.connect() as connection:
            connection.sendall(LAST)
            assert answer_on(connection)[0] == 200
    assert errors(watched.service, "prioritize", "disconnected") == 1
    assert watched.plain == ["/healthz"]


def test_a_connection_falls_idle_after_a_hot_answer() -> None:
    with RunningServer(frozen_service(), keep_alive=1.0) as running, running.connect() as connection:
        connection.sendall(post(b"/filter", arguments("idle")))
        assert answer_on(connection)[0] == 200
        assert connection.recv(1) == b""


def test_every_server_has_answers_of_its_own() -> None:
    one, two = Watched(), Watched()
    with one.running as first, two.running:
        assert issubclass(first.server.config.http_protocol_class, HotPath)
        with first.connect() as connection:
            connection.sendall(post(b"/filter", arguments("idle")))
            answer_on(connection)
    assert counted(one.service, "loadaware_request_nodes_count", verb="filter", profile="default-scheduler") == 1
    assert counted(two.service, "loadaware_request_nodes_count", verb="filter", profile="default-scheduler") == 0
