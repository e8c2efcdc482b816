import dataclasses
import json
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from collectors.cluster import Event, NodeGone, NodeSeen, PodSeen
from loadaware import observer_process
from loadaware.changes import Change, PodBound
from loadaware.config import Config
from loadaware.observer import Observer
from loadaware.observer_process import ObserverProcess, Order, Receiver, Sender
from loadaware.queries import PodReply, PodsQuery, Reply
from loadaware.service import Message
from loadaware.snapshot import Snapshot
from loadaware.status import Status
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.builders import make_node, make_pod, make_reading, make_shape
from tests.loadaware.fake_cluster import USAGE_OF_NODES, USAGE_OF_PODS, pod, quick_config, serve_cluster
from tests.parts.processes import PATIENCE_SECONDS, freeze, is_alive, wait_for


class Observing:
    """An observer process and what it delivered."""

    def __init__(self, order: Order) -> None:
        self.messages: queue.Queue[Message] = queue.Queue()
        self.process = ObserverProcess(order, self.messages.put, restart_seconds=(0.1, 0.2))

    def next_snapshot(self) -> Snapshot:
        while True:
            message = self.messages.get(timeout=PATIENCE_SECONDS)
            if isinstance(message, Snapshot):
                return message

    def next_status(self) -> Status:
        while True:
            message = self.messages.get(timeout=PATIENCE_SECONDS)
            if isinstance(message, Status):
                return message

    def next_reply(self) -> Reply:
        while True:
            message = self.messages.get(timeout=PATIENCE_SECONDS)
            if isinstance(message, Reply):
                return message

    def next_change(self) -> Change:
        while True:
            message = self.messages.get(timeout=PATIENCE_SECONDS)
            if isinstance(message, tuple):
                change: Change = message[0]
                return change

    def child(self) -> int:
        process_id = self.process.process_id
        assert process_id is not None
        return process_id


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "1"}, {"web": "a"})
        yield server


@pytest.fixture
def order(server: FakeApiServer, tmp_path: Path) -> Order:
    return Order(quick_config(), server.kubeconfig(tmp_path))


@pytest.fixture
def observing(order: Order) -> Iterator[Observing]:
    observing = Observing(order)
    observing.process.start()
    yield observing
    observing.process.stop()


# -- A real child -------------------------------------------------------------------------------------------------


def test_the_first_snapshot_has_the_whole_picture_and_what_happens_next_follows(
    observing: Observing, server: FakeApiServer
) -> None:
    assert observing.messages.get(timeout=PATIENCE_SECONDS) == Status()
    first = observing.next_snapshot()
    assert first.names == ("a", "b")
    assert first.pod_counts.tolist() == [1.0, 0.0]
    assert first.requested[:, 0].tolist() == [1.0, 0.0]
    assert first.statistics.latest[:, 0].tolist() == [0.5, 1.0]
    assert first.labels[0]["kubernetes.io/hostname"] == "a"
    assert not first.capacity.flags.writeable
    streams = [server.next_stream() for _ in range(3)]
    for stream in streams:
        stream.send("BOOKMARK", {"metadata": {"resourceVersion": "10"}})
    for stream in streams:
        if "fieldSelector" in stream.query:
            stream.send("ADDED", pod("late", "b"))
    change = observing.next_change()
    assert isinstance(change, PodBound)
    assert (change.identity, change.node) == ("uid-late", "b")


def test_a_question_about_pods_goes_to_the_child_and_its_reply_comes_back(observing: Observing) -> None:
    observing.next_snapshot()
    assert observing.process.ask(PodsQuery(7, ("uid-web", "uid-stranger")))
    assert observing.next_reply() == Reply(7, (PodReply("uid-web", "a", {"cpu": 1.0}),))
    many = PodsQuery(8, ("uid-web", *(f"uid-{number}" for number in range(20_000))))  # more than a pipe holds
    assert observing.process.ask(many)
    assert [pod.identity for pod in observing.next_reply().pods] == ["uid-web"]


def test_what_was_measured_of_a_pod_is_told_and_its_request_where_nothing_was(
    observing: Observing, server: FakeApiServer
) -> None:
    usage = {"containers": [{"name": "main", "usage": {"cpu": "250m"}}], "timestamp": "2026-01-01T00:00:00Z"}
    metrics = {"metadata": {"name": "web", "namespace": "shop"}, "window": "15s", **usage}
    server.answer(USAGE_OF_PODS, {"kind": "PodMetricsList", "items": [metrics]})
    observing.next_snapshot()

    def cpu() -> float:
        observing.process.ask(PodsQuery(1, ("uid-web",)))
        return observing.next_reply().pods[0].usage["cpu"]

    wait_for(lambda: cpu() == 0.25, "the measurement")


def test_a_process_that_was_not_started_or_has_ended_cannot_be_asked(order: Order) -> None:
    observing = Observing(order)
    assert not observing.process.ask(PodsQuery(1, ("uid-web",)))
    observing.process.start()
    observing.next_snapshot()
    observing.process.stop()
    assert not observing.process.ask(PodsQuery(2, ("uid-web",)))


def test_a_question_that_comes_before_the_order_does_not_take_its_place(observing: Observing) -> None:
    """Asked without pause from the start, the child must still begin, at once, with its order."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not observing.process.ask(PodsQuery(1, ("uid-web",))):
        assert time.monotonic() < deadline
    observing.next_reply()
    assert observing.next_status().restarts == 0


def test_stopping_does_not_wait_for_a_question_that_a_frozen_child_does_not_take(
    observing: Observing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_process, "ENDING_SECONDS", 0.5)
    observing.next_snapshot()
    freeze(observing.child())
    stuck = PodsQuery(1, tuple(f"uid-{number}" for number in range(20_000)))
    asking = threading.Thread(target=observing.process.ask, args=(stuck,), daemon=True)
    asking.start()
    asking.join(0.2)
    assert asking.is_alive()
    observing.process.stop()
    asking.join(PATIENCE_SECONDS)
    assert not asking.is_alive()


def test_a_child_that_is_killed_is_started_again_and_says_so_and_no_pod_is_news_twice(
    observing: Observing, caplog: pytest.LogCaptureFixture
) -> None:
    observing.next_snapshot()
    killed = observing.child()
    with caplog.at_level(logging.ERROR):
        os.kill(killed, signal.SIGKILL)
        status = observing.next_status()
        while not status.restarts:
            status = observing.next_status()
    assert status.last_error == "the observer process ended with status -9"
    assert (status.readings, status.restarts, status.pods) == (0, 1, 1)
    assert "answers go on" in caplog.text
    after = observing.messages.get(timeout=PATIENCE_SECONDS)
    while not isinstance(after, Snapshot):
        assert isinstance(after, Status), "a pod was told again to one who knows it"
        assert after.restarts == 1
        after = observing.messages.get(timeout=PATIENCE_SECONDS)
    assert after.pod_counts.tolist() == [1.0, 0.0]
    assert after.statistics.latest[:, 0].tolist() == [0.5, 1.0]
    assert observing.child() != killed


def test_counts_of_the_child_that_ended_are_not_told_as_those_of_the_next(order: Order) -> None:
    observing = Observing(order)
    observing.process._status = Status(readings=9, failures=4, history_lost=5, restarts=1)
    observing.process._tell_of_restart("it ended")
    status = observing.next_status()
    assert (status.readings, status.failures, status.history_lost, status.restarts) == (0, 0, 0, 2)


def test_a_child_that_is_started_again_does_not_replace_what_is_known_while_the_source_is_dead(
    observing: Observing, server: FakeApiServer
) -> None:
    observing.next_snapshot()
    server.answer(USAGE_OF_NODES, b"", status=503)
    status = observing.next_status()
    while not status.failures:
        status = observing.next_status()
    os.kill(observing.child(), signal.SIGKILL)
    while not (status.restarts and status.failures >= 2):
        message = observing.messages.get(timeout=PATIENCE_SECONDS)
        if isinstance(message, Status):
            status = message
        else:
            assert not isinstance(message, Snapshot) or not status.restarts


def test_a_source_that_is_dead_from_the_start_shows_and_the_cluster_is_known_all_the_same(
    server: FakeApiServer, order: Order
) -> None:
    server.answer(USAGE_OF_NODES, b"", status=503)
    server.take_answer(USAGE_OF_NODES)
    observing = Observing(order)
    observing.process.start()
    try:
        snapshot = observing.next_snapshot()
        assert snapshot.names == ("a", "b")
        assert np.isnan(snapshot.statistics.latest).all()
        assert "answered 503" in observing.next_status().last_error
    finally:
        observing.process.stop()


def test_a_child_that_is_told_to_end_does_so_by_itself(observing: Observing) -> None:
    observing.next_snapshot()
    child = observing.process._process
    assert child is not None
    observing.process.stop()
    assert not is_alive(child.pid)
    assert child.returncode != -signal.SIGKILL
    observing.process.stop()


def test_stopping_right_after_the_start_leaves_no_process(order: Order) -> None:
    for _ in range(5):
        process = ObserverProcess(order, lambda message: None)
        process.start()
        process.stop()
        assert process.process_id is None or not is_alive(process.process_id)


def test_a_child_that_cannot_begin_is_tried_again_and_shows(tmp_path: Path) -> None:
    config = quick_config(source={"type": "Replay", "folder": str(tmp_path / "nowhere")})
    observing = Observing(Order(config, str(tmp_path / "no-kubeconfig")))
    observing.process.start()
    try:
        assert observing.next_status() == Status()
        status = observing.next_status()
        assert status.restarts == 1
        assert status.last_error == "the observer process ended with status 1"
    finally:
        observing.process.stop()


PARENT = """
import json, sys, time
from loadaware.config import parse
from loadaware.observer_process import ObserverProcess, Order

process = ObserverProcess(Order(parse('{"interval": "1s"}'), sys.argv[1]), lambda message: None)
process.start()
while process.process_id is None:
    time.sleep(0.01)
print(process.process_id, flush=True)
time.sleep(60)
"""


def test_a_child_ends_when_its_parent_is_gone(server: FakeApiServer, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, server.kubeconfig(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_for(lambda: server.asked("/api/v1/pods"), "the child to work")
        parent.kill()
    wait_for(lambda: not is_alive(child), "the child to end")


def test_ctrl_c_in_the_terminal_is_the_parents_business(observing: Observing) -> None:
    child = wait_for(lambda: observing.process.process_id, "the child")
    status = Path(f"/proc/{child}/status").read_text()
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    assert blocked & 1 << signal.SIGINT - 1


# -- On the pipe --------------------------------------------------------------------------------------------------


def test_an_order_survives_the_pipe() -> None:
    order = Order(Config(), "/some/kubeconfig", "here", resuming=True)
    assert pickle.loads(pickle.dumps(order)) == order


def equal(one: Snapshot, other: Snapshot) -> bool:
    """Field by field."""
    return all(_equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(Snapshot))


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return all(_equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return one == other


def test_snapshots_arrive_as_they_were_whatever_came_went_or_changed_between_them() -> None:
    observer, sender, receiver = Observer(), Sender(), Receiver()
    steps: list[Event] = [
        NodeSeen(make_node("a", labels={"zone": "1"})),
        PodSeen(make_pod("one", cpu=1.0, node="a")),
        NodeSeen(make_node("b", labels={})),
        NodeSeen(make_node("a", labels={"zone": "2"})),
        PodSeen(make_pod("two", cpu=2.0, node="b")),
        NodeGone("a"),
        NodeSeen(make_node("c", labels={"zone": "1"})),
        NodeSeen(make_node("a", labels={"zone": "3"})),
    ]
    for number, step in enumerate(steps):
        now = 1000.0 + 15 * number
        observer.tell(step, now)
        observer.feed(make_reading({"a": (1.0, 1.0), "c": (2.0, 2.0)}, now), now)
        snapshot = observer.snapshot(now)
        arrived = receiver.unpack(sender.pack(snapshot))
        assert isinstance(arrived, Snapshot)
        assert equal(arrived, snapshot)
        assert not arrived.capacity.flags.writeable


def test_shapes_arrive_as_they_were_after_they_were_numbered_anew() -> None:
    sender, receiver = Sender(), Receiver()
    one, two, three = (make_shape(cpu=float(number)) for number in (1, 2, 3))
    empty = Snapshot.empty()
    for shapes in ((), (one,), (one, two), (one, three), (three,), (three, one, two), ()):
        arrived = receiver.unpack(sender.pack(dataclasses.replace(empty, shapes=shapes)))
        assert isinstance(arrived, Snapshot)
        assert arrived.shapes == shapes


def test_what_the_other_side_has_is_not_sent_again() -> None:
    observer, sender = Observer(), Sender()
    for number in range(100):
        labels = {f"label-{n}": f"value-{n}-of-{number}" for n in range(20)}
        observer.tell(NodeSeen(make_node(f"n{number}", labels=labels)), 0.0)
    first, second = (len(sender.pack(observer.snapshot(now))) for now in (1000.0, 1001.0))
    observer.tell(NodeSeen(make_node("n7", labels={"label": "new"})), 1002.0)
    third = len(sender.pack(observer.snapshot(1002.0)))
    assert second < first - 100 * len(json.dumps(labels)) / 2
    assert third < second + 1000


def test_changes_and_status_pass_as_they_are() -> None:
    sender, receiver = Sender(), Receiver()
    changes = (PodBound("u1", "a", make_shape(cpu=1.0), 1000.0),)
    assert receiver.unpack(sender.pack(changes)) == changes
    assert receiver.unpack(sender.pack(Status(readings=3))) == Status(readings=3)
