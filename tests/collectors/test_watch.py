import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from collectors.cluster import (
    Event,
    Forbidden,
    Kind,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Namespace
from collectors.watch import Pace, Watch
from collectors.watched_kinds import UNFINISHED
from tests.collectors.fake_api_server import FakeApiServer, status_of
from tests.parts.processes import PATIENCE_SECONDS

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"


def node(name: str, version: str = "1", cpu: Any = "4") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi"}},
    }


def pod(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def listing(*items: dict[str, Any], version: str = "10", following: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": following}, "items": list(items)}


class Running:
    """A watch in a thread, as it is used: its events arrive in a queue, its waits are noted and not waited."""

    def __init__(
        self,
        api: KubernetesApi,
        kind: Kind,
        clock: Callable[[], float] = lambda: 0.0,
        waited: Callable[[], None] = lambda: None,
    ) -> None:
        self.waits: list[float] = []
        self.events: queue.Queue[Event] = queue.Queue()
        self.watch = Watch(api, kind, chance=lambda: 0.5, clock=clock, wait=self._wait)
        self._waited = waited
        self._thread = threading.Thread(target=self.watch.run, args=(self._heard,), daemon=True)

    def next(self) -> Event:
        return self.events.get(timeout=PATIENCE_SECONDS)

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.next()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.stop()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _heard(self, events: Sequence[Event]) -> None:
        for event in events:
            self.events.put(event)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._waited()


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


@pytest.fixture
def api(server: FakeApiServer, tmp_path: Path) -> Iterator[KubernetesApi]:
    with server.api(tmp_path) as api:
        yield api


# -- Listing --------------------------------------------------------------------------------------------------


def test_a_list_is_told_page_by_page_and_then_named_as_a_whole(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a"), node("b"), following="page-2"))
    server.answer(NODES, listing(node("c")))
    with Running(api, "nodes") as running:
        seen = [running.next() for _ in range(3)]
        assert [event.node.name for event in seen if isinstance(event, NodeSeen)] == ["a", "b", "c"]
        assert running.next() == Relisted("nodes", frozenset({"a", "b", "c"}))
    assert [asked.query for asked in server.asked(NODES)] == [
        {"limit": "500"},
        {"limit": "500", "continue": "page-2"},
    ]


def test_an_empty_list_still_says_that_nothing_is_there(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NAMESPACES, listing())
    with Running(api, "namespaces") as running:
        assert running.next() == Relisted("namespaces", frozenset())


def test_pods_are_told_by_identity_and_finished_ones_left_out_by_the_server(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    nameless = {"metadata": {"name": "static"}}
    server.answer(PODS, listing(pod("a", nodeName="n"), nameless))
    with Running(api, "pods") as running:
        seen = running.next()
        assert isinstance(seen, PodSeen)
        assert (seen.pod.key, seen.pod.node) == ("team/a", "n")
        running.skip(1)
        assert running.next() == Relisted("pods", frozenset({"uid-a", "default/static"}))
        assert server.next_stream().query["fieldSelector"] == UNFINISHED
    assert server.asked(PODS)[0].query["fieldSelector"] == UNFINISHED


def test_a_page_that_expired_starts_the_list_again_with_larger_pages(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a"), following="page-2"))
    server.answer(NODES, status_of(410, "The provided continue parameter is too old"), status=410)
    server.answer(NODES, listing(node("a"), node("b")))
    with Running(api, "nodes") as running:
        running.skip(3)
        assert running.next() == Relisted("nodes", frozenset({"a", "b"}))
        server.next_stream()
        assert running.watch.statistics.relists == 1
    assert [asked.query["limit"] for asked in server.asked(NODES)] == ["500", "500", "2000"]


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"metadata": {}, "items": []}', b'{"items": 3}', b"\xff"])
def test_an_answer_that_is_no_list_is_tried_again_after_a_while(
    server: FakeApiServer, api: KubernetesApi, body: bytes
) -> None:
    server.answer(NODES, body)
    server.answer(NODES, listing(node("a")))
    with Running(api, "nodes") as running:
        running.skip(1)
        assert running.next() == Relisted("nodes", frozenset({"a"}))
        assert running.waits == [0.5]
        assert "did not answer with a list of nodes" in running.watch.statistics.last_problem


# -- Watching -------------------------------------------------------------------------------------------------


def test_a_watch_starts_where_the_list_ended_and_asks_for_bookmarks(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes"):
        assert server.next_stream().query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "10",
            "timeoutSeconds": "450",
        }


def test_what_happens_is_told_in_its_order(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(PODS, listing())
    with Running(api, "pods") as running:
        running.skip(1)
        stream = server.next_stream()
        stream.send("ADDED", pod("a", "11"))
        stream.send("MODIFIED", pod("a", "12", nodeName="n"))
        stream.send("DELETED", pod("a", "13", nodeName="n"))
        added, modified = running.next(), running.next()
        assert isinstance(added, PodSeen)
        assert isinstance(modified, PodSeen)
        assert (added.pod.node, modified.pod.node) == (None, "n")
        assert running.next() == PodGone("uid-a")


def test_nodes_and_namespaces_go_by_name(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing())
    server.answer(NAMESPACES, listing())
    with Running(api, "nodes") as running:
        running.skip(1)
        server.next_stream().send("DELETED", node("a"))
        assert running.next() == NodeGone("a")
    space = {"metadata": {"name": "s", "uid": "u", "annotations": {"k": "v"}}}
    with Running(api, "namespaces") as running:
        running.skip(1)
        stream = server.next_stream()
        stream.send("ADDED", space)
        stream.send("DELETED", space)
        assert running.next() == NamespaceSeen(Namespace("s", {"k": "v"}))
        assert running.next() == NamespaceGone("s")


def test_after_the_servers_own_timeout_it_goes_on_from_the_last_version_at_once(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes") as running:
        stream = server.next_stream()
        stream.send("ADDED", node("a", "11"))
        stream.end()
        assert server.next_stream().query["resourceVersion"] == "11"
        assert running.waits == []
        assert running.watch.statistics.relists == 1


def test_a_bookmark_moves_the_version_and_tells_nothing(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes") as running:
        running.skip(1)
        stream = server.next_stream()
        stream.send("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": "99"}})
        stream.end()
        assert server.next_stream().query["resourceVersion"] == "99"
        assert running.events.empty()


def test_a_dropped_connection_is_taken_up_again_from_the_last_version(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes") as running:
        stream = server.next_stream()
        stream.send("ADDED", node("a", "11"))
        stream.send_bytes(b'{"type": "ADDED", "object": {"metadata"')
        stream.drop()
        assert server.next_stream().query["resourceVersion"] == "11"
        assert running.waits == [0.5]
        assert running.watch.statistics.dropped_connections == 1
        assert running.watch.statistics.relists == 1


def test_a_watch_that_ends_at_once_again_and_again_is_not_asked_for_in_a_hurry(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing())
    with Running(api, "nodes") as running:
        for _ in range(3):
            server.next_stream().end()
        server.next_stream()
        assert running.waits == [0.5, 1.0, 2.0]


def test_a_watch_that_lasted_without_news_is_no_failure(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing())
    with Running(api, "nodes", clock=itertools.count(0.0, 300.0).__next__) as running:
        server.next_stream().end()
        server.next_stream()
        assert running.waits == []


# -- 410 Gone -------------------------------------------------------------------------------------------------


def test_gone_as_a_status_means_listing_anew(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a"), version="10"))
    server.answer(NODES, listing(node("b"), version="20"))
    server.refuse_watch(410, "too old resource version")
    with Running(api, "nodes") as running:
        running.skip(3)
        assert running.next() == Relisted("nodes", frozenset({"b"}))
        assert server.next_stream().query["resourceVersion"] == "20"
        assert running.watch.statistics.relists == 2


def test_gone_as_an_event_means_listing_anew_at_once(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a"), version="10"))
    server.answer(NODES, listing(node("b"), version="20"))
    with Running(api, "nodes") as running:
        stream = server.next_stream()
        stream.send("MODIFIED", node("a", "11"))
        stream.send("ERROR", status_of(410, "too old resource version: 11 (15)", "Expired"))
        running.skip(4)
        assert running.next() == Relisted("nodes", frozenset({"b"}))
        assert server.next_stream().query["resourceVersion"] == "20"
        assert running.waits == []


def test_an_error_event_of_another_kind_is_a_failure_that_keeps_the_version(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes") as running:
        server.next_stream().send("ERROR", status_of(500, "etcd is unwell"))
        assert server.next_stream().query["resourceVersion"] == "10"
        assert running.watch.statistics.failures == 1
        assert "answered 500: etcd is unwell" in running.watch.statistics.last_problem


# -- Back-off -------------------------------------------------------------------------------------------------


def test_the_wait_doubles_up_to_a_bound_and_is_jittered_in_full(server: FakeApiServer, api: KubernetesApi) -> None:
    done = threading.Event()
    server.answer(NODES, status_of(503, "starting"), status=503)
    running = Running(api, "nodes", waited=lambda: done.set() if len(running.waits) > 7 else None)
    with running:
        assert done.wait(PATIENCE_SECONDS)
    assert running.waits[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    assert running.events.empty()


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.0), (0.25, 1.0), (1.0, 4.0)])
def test_chance_decides_between_nothing_and_the_bound(chance: float, wait: float) -> None:
    assert Pace().delay(3, chance) == wait


def test_the_bound_holds_after_any_number_of_failures() -> None:
    assert Pace().delay(10_000, 1.0) == 30.0


@pytest.mark.parametrize("status", [401, 429, 500, 503, 504])
def test_a_watch_refused_for_a_while_keeps_its_version(server: FakeApiServer, api: KubernetesApi, status: int) -> None:
    server.answer(NODES, listing(version="10"))
    server.refuse_watch(status)
    with Running(api, "nodes") as running:
        assert server.next_stream().query["resourceVersion"] == "10"
        assert running.waits == [0.5]
        assert running.watch.statistics.failures == 1
    assert len(server.asked(NODES)) == 1


def test_a_watch_refused_for_good_starts_from_a_new_list(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(version="10"))
    server.answer(NODES, listing(version="20"))
    server.refuse_watch(400, "invalid resource version")
    with Running(api, "nodes"):
        assert server.next_stream().query["resourceVersion"] == "20"


def test_a_line_that_is_no_event_starts_from_a_new_list(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(version="10"))
    server.answer(NODES, listing(version="20"))
    with Running(api, "nodes") as running:
        server.next_stream().send_bytes(b"what?\n")
        assert server.next_stream().query["resourceVersion"] == "20"
        assert "did not answer with a watch event" in running.watch.statistics.last_problem


def test_an_unreachable_server_is_tried_until_it_is_back(api: KubernetesApi, server: FakeApiServer) -> None:
    server.answer(NODES, b"0123456789", cut=True)
    server.answer(NODES, listing(node("a")))
    with Running(api, "nodes") as running:
        running.skip(1)
        assert running.next() == Relisted("nodes", frozenset({"a"}))
        assert running.watch.statistics.failures == 1
        assert running.watch.statistics.dropped_connections == 0


# -- Forbidden ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "path", "words"),
    [
        ("nodes", NODES, "nothing can be ranked"),
        ("pods", PODS, "known only from our own answers, and what bound pods request is not known"),
        ("namespaces", NAMESPACES, "namespaces cannot opt out by annotation"),
    ],
)
def test_what_is_forbidden_is_told_once_with_what_is_lost_and_tried_again_rarely(
    server: FakeApiServer, api: KubernetesApi, kind: Kind, path: str, words: str
) -> None:
    for _ in range(3):
        server.answer(path, status_of(403, f"{kind} is forbidden"), status=403)
    server.answer(path, listing())
    with Running(api, kind) as running:
        told = running.next()
        assert isinstance(told, Forbidden)
        assert told.kind == kind
        assert words in told.lost
        assert f"allow list and watch on {kind}" in told.lost
        assert running.next() == Relisted(kind, frozenset())
        assert running.waits == [300.0, 300.0, 300.0]


def test_a_kind_that_may_be_listed_but_not_watched_is_listed_now_and_then(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing(node("a")))
    server.refuse_watch(403)
    server.refuse_watch(403)
    with Running(api, "nodes") as running:
        kinds = [type(running.next()) for _ in range(5)]
        assert kinds == [NodeSeen, Relisted, Forbidden, NodeSeen, Relisted]
        server.next_stream()
        assert running.waits == [300.0, 300.0]


def test_being_forbidden_anew_after_being_allowed_is_told_anew(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, status_of(403, "no"), status=403)
    server.answer(NODES, listing())
    with Running(api, "nodes") as running:
        assert isinstance(running.next(), Forbidden)
        running.skip(1)
        stream = server.next_stream()
        stream.send("ADDED", node("a"))
        assert isinstance(running.next(), NodeSeen)
        assert not running.watch.statistics.forbidden
        server.refuse_watch(403)
        stream.end()
        assert isinstance(running.next(), Forbidden)
        server.next_stream()


# -- Objects that cannot be understood ------------------------------------------------------------------------


@pytest.mark.parametrize("cpu", ["four", {"cores": 4}, True, 10**400])
def test_an_object_on_a_page_that_cannot_be_understood_is_skipped_counted_and_still_named(
    server: FakeApiServer, api: KubernetesApi, cpu: Any
) -> None:
    server.answer(NODES, listing(node("a"), node("bad", cpu=cpu), node("c")))
    with Running(api, "nodes") as running:
        seen = [running.next(), running.next()]
        assert [event.node.name for event in seen if isinstance(event, NodeSeen)] == ["a", "c"]
        assert running.next() == Relisted("nodes", frozenset({"a", "bad", "c"}))
        assert running.watch.statistics.skipped_objects == 1


def test_an_object_without_a_readable_name_is_skipped_and_not_named(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a"), {"metadata": {"name": 3}}, {"metadata": "x"}))
    with Running(api, "nodes") as running:
        running.skip(1)
        assert running.next() == Relisted("nodes", frozenset({"a"}))
        assert running.watch.statistics.skipped_objects == 2


@pytest.mark.parametrize("cpu", ["four", {"cores": 4}])
def test_an_event_that_cannot_be_understood_is_skipped_and_the_watch_goes_on_after_it(
    server: FakeApiServer, api: KubernetesApi, cpu: Any
) -> None:
    server.answer(NODES, listing(version="10"))
    with Running(api, "nodes") as running:
        running.skip(1)
        stream = server.next_stream()
        stream.send("MODIFIED", node("bad", "11", cpu=cpu))
        stream.send("MODIFIED", node("a", "12"))
        seen = running.next()
        assert isinstance(seen, NodeSeen)
        assert seen.node.name == "a"
        stream.send("DELETED", node("bad", "13", cpu=cpu))
        assert running.next() == NodeGone("bad")
        stream.end()
        assert server.next_stream().query["resourceVersion"] == "13"
        assert running.watch.statistics.skipped_objects == 1


# -- Stopping -------------------------------------------------------------------------------------------------


def test_stopping_ends_a_silent_watch_at_once(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing())
    with Running(api, "nodes") as running:
        server.next_stream()
    assert running.watch.statistics.failures == 0
    assert running.watch.statistics.dropped_connections == 0


def test_stopping_in_the_middle_of_a_list_does_not_name_what_is_present(
    server: FakeApiServer, api: KubernetesApi
) -> None:
    server.answer(NODES, listing(node("a"), following="more"))
    events: list[Event] = []
    watch = Watch(api, "nodes")

    def emit(told: Sequence[Event]) -> None:
        events.extend(told)
        watch.stop()

    watch.run(emit)
    assert [type(event) for event in events] == [NodeSeen]


def test_stopping_ends_a_wait_at_once(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, status_of(403, "no"), status=403)
    told = threading.Event()
    watch = Watch(api, "nodes")
    thread = threading.Thread(target=watch.run, args=(lambda _: told.set(),), daemon=True)
    thread.start()
    assert told.wait(PATIENCE_SECONDS)
    watch.stop()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_a_watch_stopped_before_it_began_asks_nothing(server: FakeApiServer, api: KubernetesApi) -> None:
    watch = Watch(api, "nodes")
    watch.stop()
    watch.run(lambda _: None)
    assert server.requests == []


def test_what_the_listener_raises_ends_the_watch(server: FakeApiServer, api: KubernetesApi) -> None:
    server.answer(NODES, listing(node("a")))

    def emit(events: Sequence[Event]) -> None:
        raise RuntimeError(f"cannot take {type(events[0]).__name__}")

    with pytest.raises(RuntimeError, match="cannot take NodeSeen"):
        Watch(api, "nodes").run(emit)
