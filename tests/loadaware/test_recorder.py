"""What the observer's loop is told and publishes, and what the server answers, is replayed to the same answers."""

import logging
import os
import queue
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen, Relisted
from collectors.errors import HistoryError
from collectors.history import HistoryLimits, HistoryReader, HistoryWriter, Mark
from loadaware.asked_aside import AskedAside
from loadaware.config import Config, parse
from loadaware.config_text import config_text, without_secrets
from loadaware.observer_process import Order
from loadaware.recorded import Asked, AskedBatch, Configured, Recorded
from loadaware.recorder import BEGAN, Beginning, Recorder, beginning_of, limits_of, remember
from loadaware.refresh import Item, PastReading, ReadingFailed, Refresh
from loadaware.replay.outcome import ReplayOutcome, ReplaySettings
from loadaware.replay.run import replay
from loadaware.replaying import recorded_config
from loadaware.wiring import make_recorder, make_service, make_sources
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.builders import Clock
from tests.loadaware.decided import ask
from tests.loadaware.fake_cluster import quick_config, serve_cluster, serve_usage
from tests.loadaware.recorded_runs import START, node, pod, reading
from tests.loadaware.test_observer_process import Observing
from tests.parts.processes import NotYetError, free_port, wait_for

NODES = ("a", "b", "c")
LISTS: tuple[Event, ...] = (
    *(NodeSeen(node(name)) for name in NODES),
    Relisted("nodes", frozenset(NODES)),
    Relisted("pods", frozenset()),
    Relisted("namespaces", frozenset()),
)


class TwoHalves:
    """The observer's loop and the server, in this process; messages may be kept from the server for a while."""

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        self.config = config or Config()
        self.folder = folder
        self.clock = Clock(START)
        self.service = make_service(self.config, clock=self.clock)
        self.observer = make_sources(Order(self.config)).observer
        self.waiting: list[object] = []
        self.inbox: queue.Queue[AskedBatch | Configured] = queue.Queue()
        self.recorder = make_recorder(self.config, str(folder), self.waiting.append, requests=True)
        self.recorder.began(self.clock())
        self.refresh = Refresh(self.observer, self.waiting.append, self.clock, recorder=self.recorder)
        self.asked = AskedAside(self.service.hindsight.decisions, self._send)
        self.service.on_recorded = self.asked.heard
        self.asked.start()

    def _send(self, told: AskedBatch | Configured) -> bool:
        self.inbox.put(told)
        return True

    def take(self, *items: Item) -> None:
        """One thread takes everything, as with a real inbox."""
        answers: list[tuple[Item, float]] = []
        while not self.inbox.empty():
            answers.append((self.inbox.get(), 0.0))
        self.refresh.take([*answers, *((item, 0.0) for item in items)])

    def deliver(self, count: int | None = None) -> None:
        """Hand messages to the server: all, or so many."""
        for _ in range(len(self.waiting) if count is None else min(count, len(self.waiting))):
            self.service.take(self.waiting.pop(0))  # type: ignore[arg-type]

    def close(self) -> None:
        self.service.hindsight.close()
        self.asked.close()
        self.take()
        self.recorder.close()

    def replayed(self, config: Config | None = None) -> ReplayOutcome:
        self.close()
        return replay(self.folder, config or self.config, ReplaySettings(warm_up_seconds=0.0))


def step(halves: TwoHalves, dice: np.random.Generator, number: int) -> None:
    """Something happens."""
    halves.clock.now += float(dice.uniform(0.01, 20.0))
    name, where = f"web-{number}", str(dice.choice(NODES))
    match int(dice.integers(7)):
        case 0:
            halves.take(
                reading(halves.clock(), dict(zip(NODES, dice.uniform(0, 4, 3), strict=True)), {"shop/web-1": 0.5})
            )
        case 1:
            halves.take(
                *(PodSeen(pod(f"{name}-{n}", where, bound_at=halves.clock())) for n in range(int(dice.integers(1, 60))))
            )
        case 2:
            halves.take(PodGone(f"uid-web-{int(dice.integers(number + 1))}-0"))
        case 3:
            halves.take(ReadingFailed("away"))
        case 4:
            halves.deliver(int(dice.integers(1, 4)))
        case 5:
            halves.take(NodeGone("c") if dice.random() < 0.5 else NodeSeen(node("c")))
        case _:
            for burst in range(int(dice.integers(1, 5))):
                halves.clock.now += 0.01
                ask(halves.service, "filter", *NODES, pod=f"{name}-{burst}")
                ask(halves.service, "prioritize", *NODES, pod=f"{name}-{burst}")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_whatever_happens_the_same_answers_come_out_again(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    halves, dice = TwoHalves(tmp_path_factory.mktemp("histories") / "history"), np.random.default_rng(seed)
    halves.take(PodSeen(pod("early", "a")), *LISTS, reading(START, {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    halves.deliver()
    for number in range(40):
        step(halves, dice, number)
    halves.clock.now += 60.0
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    counts = halves.replayed().counts
    assert (counts.answers_differing, counts.filters_differing, counts.late) == (0, 0, 0)
    assert counts.asked == counts.answers_recorded


def two_readings(folder: Path, config: Config | None = None) -> TwoHalves:
    halves = TwoHalves(folder, config)
    halves.take(*LISTS, reading(START, {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    halves.deliver()
    halves.clock.now += 60.0
    return halves


def test_an_answer_made_before_the_server_took_a_snapshot_is_replayed_from_the_one_before(tmp_path: Path) -> None:
    halves = two_readings(tmp_path)
    halves.take(reading(halves.clock(), {"a": 4.0, "b": 0.0, "c": 0.0}, {}))
    ask(halves.service, "prioritize", *NODES)
    halves.deliver()
    ask(halves.service, "prioritize", *NODES, pod="web-2")
    counts = halves.replayed().counts
    assert (counts.answers_recorded, counts.answers_differing) == (2, 0)


def test_a_configuration_taken_meanwhile_lets_bookings_go_in_the_replay_too(tmp_path: Path) -> None:
    halves = two_readings(tmp_path)
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 1.0, "c": 1.0}, {}))
    halves.deliver()
    for number in range(3):
        ask(halves.service, "prioritize", *NODES, pod=f"web-{number}")
    halves.service.adviser.configure(halves.service.adviser.settings)
    halves.service.hindsight.decisions.settle_all()
    halves.asked.configured(config_text(halves.config), halves.clock())
    halves.close()
    names = [r.content.name for r in HistoryReader(tmp_path).records(kinds=["marks"]) if isinstance(r.content, Mark)]
    assert names.count("configured") == 1


def test_answers_that_kube_scheduler_never_heard_are_told_apart(tmp_path: Path) -> None:
    halves = two_readings(tmp_path, parse("mode: shadow"))
    ask(halves.service, "prioritize", *NODES)
    halves.service.hindsight.shadow._aside.finish()
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    counts = halves.replayed(Config()).counts
    assert (counts.asked, counts.answers_recorded) == (1, 0)


def test_what_was_only_learned_from_is_told_apart_from_readings(tmp_path: Path) -> None:
    halves = TwoHalves(tmp_path)
    halves.take(PastReading(reading(START - 600.0, {}, {"shop/web-1": 0.5})))
    halves.take(*LISTS, reading(START, {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    halves.clock.now += 60.0
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 2.0, "c": 3.0}, {}))
    assert halves.replayed().counts.readings == 2


def test_a_checkpoint_holds_whatever_is_there(tmp_path: Path) -> None:
    there: dict[str, Event] = {}
    for event in (*LISTS[:3], PodSeen(pod("x", "a")), PodSeen(pod("y", "a")), PodGone("uid-x"), NodeGone("b")):
        remember(there, event)
    assert sorted(there) == ["node a", "node c", "pod uid-y"]
    remember(there, Relisted("nodes", frozenset({"c"})))
    remember(there, Relisted("pods", frozenset()))
    assert sorted(there) == ["node c"]


def test_the_configuration_is_recorded_without_headers_and_names(tmp_path: Path) -> None:
    access = "headers: {Authorization: secret}, basicAuth: {username: me, passwordFile: /x}"
    config = parse(f"source: {{type: Prometheus, url: 'http://p', {access}}}")
    halves = TwoHalves(tmp_path, config)
    halves.close()
    (mark,) = [r.content for r in HistoryReader(tmp_path).records(kinds=["marks"]) if isinstance(r.content, Mark)]
    told = msgspec.msgpack.decode(mark.detail, type=Beginning)
    assert mark.name == BEGAN
    assert "secret" not in told.config
    assert "username" not in told.config
    assert parse(told.config) == without_secrets(config)


def test_limits_are_those_of_the_configuration() -> None:
    limits = limits_of(parse("history: {folder: x, maxSize: 1Gi, maxAge: 2d, flush: 10s}").history)
    assert limits == HistoryLimits(flush_seconds=10.0, max_bytes=2**30, max_age_seconds=2 * 86400.0)


# -- When writing fails ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is refused to root")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HistoryError):
        make_recorder(Config(), str(tmp_path / "x"), requests=True)


class RefusingWriter:
    """A disk that is full, until it is not."""

    checkpoint_wanted = False
    last_sequence = 7

    def __init__(self) -> None:
        self.full = True

    def write(self, content: object, sequence: int | None = None, time: float | None = None) -> int:
        self.flush()
        return 8

    def flush(self) -> None:
        if self.full:
            raise HistoryError("history", "cannot be written: No space left on device")

    close = flush


def test_a_full_disk_is_told_once_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    writer, told = RefusingWriter(), list[int]()
    recorder = Recorder(writer, beginning_of(Config(), requests=True), told.append)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        recorder.event(NodeSeen(node("a")), START)
        recorder.snapshot(START)
        recorder._guarded(writer.flush)
        recorder._guarded(writer.flush)
    assert told == [7]
    assert caplog.text.count("No space left on device") == 1
    writer.full = False
    recorder._guarded(writer.flush)
    recorder.close()


# -- In a process of its own -------------------------------------------------------------------------------------------


def test_an_observer_process_records_what_it_sees_and_what_it_is_told_of_answers(tmp_path: Path) -> None:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "1"}, {"web": "a"})
        config = quick_config(history={"folder": str(tmp_path / "history"), "flush": "1s"})
        observing = Observing(Order(config, server.kubeconfig(tmp_path)))
        observing.process.start()
        try:
            observing.next_snapshot()
            told = wait_for(
                lambda: [m for m in list(observing.messages.queue) if isinstance(m, Recorded)], 20.0, "a mark"
            )
            batch = AskedBatch(
                (Asked(1, START, "prioritize", "p", pod("web-2"), ("a", "b"), (3, 0), heard=told[0].sequence),)
            )
            wait_for(lambda: observing.process.ask(batch), 10.0, "the child to listen")
            wait_for(lambda: any(tmp_path.glob("history/part-*/requests.parquet")), 20.0, "the request on disk")
        finally:
            observing.process.stop()
    records = list(HistoryReader(tmp_path / "history").records())
    kinds = {type(record.content).__name__ for record in records}
    assert {"NodeSeen", "PodSeen", "Relisted", "Reading", "Mark", "Request", "Answer"} <= kinds


def test_a_history_that_another_writes_is_no_reason_not_to_observe(tmp_path: Path) -> None:
    with FakeApiServer() as server, HistoryWriter(tmp_path / "history"):
        serve_cluster(server, {"a": "500m"})
        config = quick_config(history={"folder": str(tmp_path / "history")})
        observing = Observing(Order(config, server.kubeconfig(tmp_path)))
        observing.process.start()
        try:
            assert observing.next_snapshot().names == ("a",)
        finally:
            observing.process.stop()


def test_a_server_records_what_it_answers_and_a_replay_answers_the_same(tmp_path: Path) -> None:
    folder, port, people = tmp_path / "history", free_port(), free_port()
    config = tmp_path / "config.yaml"
    sections = f"server: {{port: {port}, address: 127.0.0.1, leaving: 0s}}\npeople: {{port: {people}}}\n"
    config.write_text(f"interval: 1s\n{sections}history: {{folder: {folder}, flush: 1s}}\n", encoding="utf-8")
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "3"}, {"web": "a"})
        command = [sys.executable, "-m", "loadaware", "serve", "--config", str(config)]
        process = subprocess.Popen([*command, "--kubeconfig", server.kubeconfig(tmp_path)], stderr=subprocess.PIPE)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60.0) as client:
                wait_for(lambda: _measured(client), 30.0, "the first reading")
                for number in range(5):
                    manifest = {"metadata": {"name": f"new-{number}", "namespace": "shop", "uid": f"u-{number}"}}
                    client.post("/prioritize", json={"Pod": manifest, "NodeNames": ["a", "b"]}).raise_for_status()
                serve_usage(server, {"a": "600m", "b": "3"})
                wait_for(lambda: len(list(folder.glob("part-*/nodes.parquet"))) > 1, 30.0, "readings on disk")
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    counts = replay(folder, recorded_config(folder), ReplaySettings(warm_up_seconds=0.0)).counts
    assert (counts.answers_recorded, counts.answers_differing, counts.late) == (5, 0, 0)


def _measured(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/readyz").json()["measured"])
    except httpx.TransportError as error:
        raise NotYetError(str(error)) from error
