"""What the observer's loop is told and publishes, and what the server answers, is replayed to the same answers."""

import asyncio
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen, Relisted
from collectors.errors import HistoryError, SourceRefusedError
from collectors.history import HistoryLimits, HistoryReader, HistoryWriter, Mark
from loadaware.asked_aside import AskedAside
from loadaware.config import Config, parse
from loadaware.config_text import config_text, without_secrets
from loadaware.extender import cluster_verbs
from loadaware.observer_process import Order
from loadaware.recorded import Asked, AskedBatch, Configured, Recorded
from loadaware.recorder import BEGAN, Beginning, Recorder, beginning_of, limits_of, remember
from loadaware.refresh import Item, PastReading, ReadingFailed, Refresh
from loadaware.replay.ordering import ASKED, pairs
from loadaware.replay.outcome import ReplayOutcome, ReplaySettings
from loadaware.replay.run import replay
from loadaware.replaying import recorded_config
from loadaware.wiring import make_recorder, make_service, make_sources
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.builders import Clock
from tests.loadaware.decided import ask
from tests.loadaware.fake_cluster import quick_config, serve_cluster, serve_usage
from tests.loadaware.recorded_runs import START, node, pod, reading
from tests.loadaware.running_server import counted
from tests.loadaware.test_observer_process import Observing
from tests.parts.processes import PATIENCE_SECONDS, NotYetError, free_port, wait_for

NODES = ("a", "b", "c")
LISTS: tuple[Event, ...] = (
    *(NodeSeen(node(name)) for name in NODES),
    Relisted("nodes", frozenset(NODES)),
    Relisted("pods", frozenset()),
    Relisted("namespaces", frozenset()),
)


class BindingApi:
    """An API server that binds, or refuses to."""

    def __init__(self, refused: bool, meanwhile: Callable[[], None]) -> None:
        self._refused = refused
        self._meanwhile = meanwhile

    def get(self, path: str) -> bytes:
        return b"{}"

    def post(self, path: str, body: bytes) -> bytes:
        self._meanwhile()
        if self._refused:
            raise SourceRefusedError(path, 409, "already assigned")
        return b"{}"


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
        self.service.on_asked = self.asked.note
        self.asked.start()

    def bind(self, name: str, where: str, *, refused: bool = False, meanwhile: Callable[[], None] | None = None) -> str:
        """kube-scheduler asks us to bind; what was wrong. Something may happen while the API server is asked."""
        self.service.api = BindingApi(refused, meanwhile or (lambda: None))  # type: ignore[assignment]
        facts = {"PodName": name, "PodNamespace": "shop", "PodUID": f"uid-{name}", "Node": where}
        answer = asyncio.run(cluster_verbs.bind(self.service, msgspec.json.encode(facts), None))
        return str(msgspec.json.decode(answer)["Error"])

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


def asked_meanwhile(halves: TwoHalves, name: str) -> None:
    halves.clock.now += 0.01
    ask(halves.service, "prioritize", *NODES, pod=name)
    halves.clock.now += 0.01
    halves.deliver(1)


def step(halves: TwoHalves, dice: np.random.Generator, number: int) -> None:
    """Something happens."""
    halves.clock.now += float(dice.uniform(0.01, 20.0))
    name, where = f"web-{number}", str(dice.choice(NODES))
    match int(dice.integers(8)):
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
        case 6:
            ask(halves.service, "prioritize", *NODES, pod=name)
            halves.clock.now += 0.01
            refused = bool(dice.random() < 0.5)
            halves.bind(name, where, refused=refused, meanwhile=lambda: asked_meanwhile(halves, f"{name}-meanwhile"))
            ask(halves.service, "prioritize", *NODES, pod=f"{name}-after")
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


def verbs_and_verdicts(folder: Path) -> list[tuple[str, str, tuple[str, ...], tuple[str | None, ...]]]:
    asked = [asked for _, asked in pairs(HistoryReader(folder).records(kinds=ASKED))]
    return [(a.request.verb, a.request.pod.name, a.request.node_names, a.answer.verdicts) for a in asked if a.answer]


def test_a_pod_that_we_bound_ourselves_counts_where_it_was_bound_in_the_replay_too(tmp_path: Path) -> None:
    halves = two_readings(tmp_path)
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 1.0, "c": 1.0}, {}))
    halves.deliver()
    for number in range(6):
        halves.clock.now += 0.1
        ask(halves.service, "prioritize", *NODES, pod=f"web-{number}")
        assert halves.bind(f"web-{number}", "b") == ""  # wherever we would have it
    assert halves.bind("web-9", "a", refused=True, meanwhile=lambda: asked_meanwhile(halves, "web-10")) != ""
    ask(halves.service, "prioritize", *NODES, pod="web-11")
    halves.clock.now += 60.0
    halves.take(reading(halves.clock(), {"a": 1.0, "b": 1.0, "c": 1.0}, {}))
    counts = halves.replayed().counts
    assert (counts.answers_recorded, counts.answers_differing, counts.late) == (8, 0, 0)
    bound = [(name, nodes, verdicts) for verb, name, nodes, verdicts in verbs_and_verdicts(tmp_path) if verb == "bind"]
    assert bound[:6] == [(f"web-{number}", ("b",), (None,)) for number in range(6)]
    (booked, failed) = bound[6:]
    assert booked == ("web-9", ("a",), (None,))
    assert failed[:2] == ("web-9", ("a",))
    assert "already assigned" in str(failed[2])


def test_a_binding_is_told_behind_the_decision_before_it(tmp_path: Path) -> None:
    halves = two_readings(tmp_path)
    ask(halves.service, "prioritize", *NODES, pod="web-1")
    halves.bind("web-1", "a")
    ask(halves.service, "prioritize", *NODES, pod="web-2")
    halves.service.hindsight.decisions.settle_all()
    halves.bind("web-2", "a")  # its decision was told already
    halves.close()
    told = [(verb, name) for verb, name, _, _ in verbs_and_verdicts(tmp_path)]
    assert told == [("prioritize", "web-1"), ("bind", "web-1"), ("prioritize", "web-2"), ("bind", "web-2")]


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


# -- What is missing is counted ----------------------------------------------------------------------------------------

LOST = "loadaware_history_lost_records_total"


def test_what_the_disk_refuses_for_too_long_shows_in_the_metrics(tmp_path: Path) -> None:
    folder, clock, service = tmp_path / "history", Clock(START), make_service(Config())
    writer = HistoryWriter(folder, HistoryLimits(buffered_bytes=10_000), clock, flush_on_write=False)
    recorder = Recorder(writer, beginning_of(Config(), requests=True))
    refresh = Refresh(make_sources(Order(Config())).observer, service.take, clock, recorder=recorder)
    refresh.take([(reading(START, {"a": 1.0}, {}), 0.0)])
    assert counted(service, LOST, reason="not_written") == 0
    writer.flush()
    shutil.move(folder, tmp_path / "away")
    for number in range(45):  # each counts as 1,000 bytes in memory: ten at a time are given up
        recorder.event(NodeSeen(node(f"n-{number}")), START)
    refresh.take([(ReadingFailed("away"), 0.0)])
    shutil.move(tmp_path / "away", folder)
    recorder.close()
    written = sum(isinstance(record.content, NodeSeen) for record in HistoryReader(folder).records())
    assert (counted(service, LOST, reason="not_written"), written) == (40, 5)


def test_answers_that_could_not_be_sent_are_counted_once_each(tmp_path: Path) -> None:
    service, there = make_service(Config(), clock=Clock(START)), threading.Event()
    batches: list[AskedBatch] = []

    def send(told: AskedBatch | Configured) -> bool:
        if there.is_set() and isinstance(told, AskedBatch):
            batches.append(told)
        return there.is_set()

    asked = AskedAside(service.hindsight.decisions, send)
    service.answers_lost = lambda: asked.lost
    asked.start()
    for number in range(3):
        ask(service, "prioritize", *NODES, pod=f"web-{number}")
    service.hindsight.decisions.settle_all()
    asked.configured("{}", START)
    wait_for(lambda: asked.lost == 4, "all of it to be given up")
    there.set()
    ask(service, "prioritize", *NODES, pod="web-3")
    service.hindsight.decisions.settle_all()
    asked.close()
    assert [(len(batch.asked), batch.lost) for batch in batches] == [(1, 4)]
    for _ in range(2):
        service.update_gauges()
        assert counted(service, LOST, reason="not_handed_over") == 4


# -- In a process of its own -------------------------------------------------------------------------------------------


def test_an_observer_process_records_what_it_sees_and_what_it_is_told_of_answers(tmp_path: Path) -> None:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "1"}, {"web": "a"})
        config = quick_config(history={"folder": str(tmp_path / "history"), "flush": "1s"})
        observing = Observing(Order(config, server.kubeconfig(tmp_path)))
        observing.process.start()
        try:
            observing.next_snapshot()
            told = wait_for(lambda: [m for m in list(observing.messages.queue) if isinstance(m, Recorded)], "a mark")
            batch = AskedBatch(
                (Asked(1, START, "prioritize", "p", pod("web-2"), ("a", "b"), (3, 0), heard=told[0].sequence),)
            )
            wait_for(lambda: observing.process.ask(batch), "the child to listen")
            wait_for(lambda: any(tmp_path.glob("history/part-*/requests.parquet")), "the request on disk")
        finally:
            observing.process.stop()
    records = list(HistoryReader(tmp_path / "history").records())
    kinds = {type(record.content).__name__ for record in records}
    assert {"NodeSeen", "PodSeen", "Relisted", "Reading", "Mark", "Request", "Answer"} <= kinds


def test_answers_told_right_before_the_end_are_recorded(tmp_path: Path) -> None:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m"})
        config = quick_config(history={"folder": str(tmp_path / "history")})
        observing = Observing(Order(config, server.kubeconfig(tmp_path)))
        observing.process.start()
        observing.next_snapshot()
        for number in range(200):
            asked = Asked(number, START, "prioritize", "p", pod(f"web-{number}"), ("a",), (3,))
            assert observing.process.ask(AskedBatch((asked,)))
        observing.process.stop()
    assert HistoryReader(tmp_path / "history").summary().verbs == {"prioritize": 200}


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
        server.answer("/api/v1/namespaces/shop/pods/new-0/binding", {}, 201)
        command = [sys.executable, "-m", "loadaware", "serve", "--config", str(config)]
        process = subprocess.Popen([*command, "--kubeconfig", server.kubeconfig(tmp_path)], stderr=subprocess.PIPE)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60.0) as client:
                wait_for(lambda: _measured(client), "the first reading")
                for number in range(5):
                    manifest = {"metadata": {"name": f"new-{number}", "namespace": "shop", "uid": f"u-{number}"}}
                    client.post("/prioritize", json={"Pod": manifest, "NodeNames": ["a", "b"]}).raise_for_status()
                    if number == 0:
                        where = {"PodName": "new-0", "PodNamespace": "shop", "PodUID": "u-0", "Node": "b"}
                        assert client.post("/bind", json=where).json() == {"Error": ""}
                metrics = httpx.get(f"http://127.0.0.1:{people}/metrics", trust_env=False, timeout=60.0).text
                serve_usage(server, {"a": "600m", "b": "3"})
                wait_for(lambda: len(list(folder.glob("part-*/nodes.parquet"))) > 1, "readings on disk")
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    counts = replay(folder, recorded_config(folder), ReplaySettings(warm_up_seconds=0.0)).counts
    assert (counts.answers_recorded, counts.answers_differing, counts.late) == (5, 0, 0)
    assert HistoryReader(folder).summary().verbs == {"bind": 1, "prioritize": 5}
    assert {f'{LOST}{{reason="{reason}"}} 0.0' for reason in ("not_written", "not_handed_over")} <= {
        *metrics.split("\n")
    }


def _measured(client: httpx.Client) -> bool:
    try:
        return bool(client.get("/readyz").json()["measured"])
    except httpx.TransportError as error:
        raise NotYetError(str(error)) from error
