import json
import logging
import queue
import threading
from collections.abc import Iterator, Sequence

import pytest

from collectors.cluster import (
    Event,
    Forbidden,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.errors import SourceUnreachableError
from collectors.manifests import Namespace
from collectors.reading import Reading
from loadaware.changes import PodBound, PodLeft
from loadaware.demand_format import decode
from loadaware.kin import kin_of
from loadaware.observer import Observer
from loadaware.queries import DemandQuery, Piece, StateQuery
from loadaware.recorded import Asked, AskedBatch, Configured
from loadaware.refresh import (
    MOST_CHANGES,
    Inbox,
    Item,
    PastReading,
    ReadingFailed,
    Refresh,
    bring_past_pods,
    keep_reading,
)
from loadaware.service import Message
from loadaware.snapshot import OPT_OUT_ANNOTATION, Snapshot
from loadaware.status import Status
from tests.loadaware.builders import Clock, make_node, make_pod, make_reading
from tests.loadaware.learned import reading_of, rows_of, running_pod
from tests.parts.processes import PATIENCE_SECONDS

ASKED = Asked(1, 0.0, "prioritize", "p", make_pod("web"), ("a",), (3,))
LISTS: tuple[Event, ...] = (
    NodeSeen(make_node("a")),
    Relisted("nodes", frozenset({"a"})),
    Relisted("pods", frozenset()),
    Relisted("namespaces", frozenset()),
)


class Telling:
    """A refresh under a clock one can turn, and what it published."""

    def __init__(self, *, hold_seconds: float = 60.0, resuming: bool = False) -> None:
        self.clock = Clock()
        self.observer = Observer()
        self.messages: list[Message] = []
        self.refresh = Refresh(
            self.observer, self.messages.append, self.clock, hold_seconds=hold_seconds, resuming=resuming
        )

    def take(self, *items: Item) -> list[Message]:
        """What is published because of these items."""
        self.messages.clear()
        self.refresh.take([(item, 0.0) for item in items])
        return list(self.messages)

    def later(self, seconds: float, *items: Item) -> list[Message]:
        self.clock.advance(seconds)
        return self.take(*items)

    def reading(self, cpu: float = 1.0) -> Reading:
        return make_reading({"a": (cpu, 1.0)}, self.clock())


def begun() -> Telling:
    """One that has published its first picture: node `a`, measured."""
    telling = Telling()
    telling.take(*LISTS, telling.reading())
    return telling


def kinds(messages: Sequence[Message]) -> list[str]:
    return [type(message).__name__ for message in messages]


def snapshots(messages: Sequence[Message]) -> list[Snapshot]:
    return [message for message in messages if isinstance(message, Snapshot)]


def last_status(messages: Sequence[Message]) -> Status:
    return [message for message in messages if isinstance(message, Status)][-1]


def bound(name: str) -> PodSeen:
    return PodSeen(make_pod(name, cpu=1.0, node="a"))


# -- The beginning ------------------------------------------------------------------------------------------------


def test_nothing_but_status_is_published_before_the_picture_is_whole() -> None:
    telling = Telling()
    assert telling.take(NodeSeen(make_node("a")), bound("early")) == []
    assert telling.take(Relisted("nodes", frozenset({"a"}))) == []
    assert kinds(telling.take(telling.reading())) == ["Status"]
    assert telling.later(5.0, Relisted("namespaces", frozenset())) == []
    (first,) = telling.take(Relisted("pods", frozenset({"uid-early"})))
    assert isinstance(first, Snapshot)
    assert first.names == ("a",)
    assert first.pod_counts.tolist() == [1.0]
    assert first.statistics.latest[0, 0] == 1.0


def test_what_may_not_be_listed_is_not_waited_for() -> None:
    telling = Telling()
    telling.take(NodeSeen(make_node("a")), Relisted("nodes", frozenset({"a"})), telling.reading())
    assert telling.take(Forbidden("pods", "lost")) == []
    (first,) = snapshots(telling.take(Forbidden("namespaces", "lost")))
    assert not first.pods_known


def test_a_source_that_fails_from_the_start_is_not_waited_for() -> None:
    telling = Telling()
    assert kinds(telling.take(*LISTS, ReadingFailed("no answer"))) == ["Status", "Snapshot"]


def test_one_that_resumes_waits_for_a_good_reading_because_there_is_an_older_picture() -> None:
    telling = Telling(resuming=True)
    assert kinds(telling.take(*LISTS, ReadingFailed("no answer"))) == ["Status"]
    assert kinds(telling.later(15.0, ReadingFailed("no answer"))) == ["Status"]
    assert kinds(telling.later(15.0, telling.reading())) == ["Status", "Snapshot"]


@pytest.mark.parametrize("resuming", [False, True])
def test_the_whole_picture_is_not_waited_for_without_end(resuming: bool) -> None:
    telling = Telling(hold_seconds=60.0, resuming=resuming)
    telling.take(NodeSeen(make_node("a")), bound("early"))
    assert telling.later(59.0) == []
    (first,) = snapshots(telling.later(1.0))
    assert first.pod_counts.tolist() == [1.0]


def test_after_the_beginning_pods_are_news() -> None:
    telling = Telling()
    telling.take(*LISTS, bound("early"), telling.reading())
    (news,) = telling.take(bound("late"))
    pod = make_pod(cpu=1.0)
    bound_late = PodBound("uid-late", "a", pod.shape, telling.clock(), workload="default/Pod/late", kin=kin_of(pod))
    assert news == (bound_late,)


def test_the_nodes_count_as_listed_when_the_observer_knows_them_or_never_will() -> None:
    for event in (Relisted("nodes", frozenset({"a"})), Forbidden("nodes", "lost")):
        telling = Telling()
        telling.take(NodeSeen(make_node("a")), Relisted("pods", frozenset()))
        assert not telling.refresh.nodes_listed.is_set()
        telling.take(event)
        assert telling.refresh.nodes_listed.is_set()


# -- Order --------------------------------------------------------------------------------------------------------


def test_what_was_told_before_a_reading_is_published_before_its_snapshot_and_what_came_after_it_after() -> None:
    telling = begun()
    before, snapshot, status, after = telling.take(bound("before"), telling.reading(), bound("after"))
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    assert [change.identity for change in before] == ["uid-before"]
    assert [change.identity for change in after] == ["uid-after"]
    assert isinstance(snapshot, Snapshot)
    assert snapshot.pod_counts.tolist() == [1.0]
    assert isinstance(status, Status)


def test_many_changes_are_published_in_small_messages_in_their_order() -> None:
    telling = begun()
    names = [f"p{number}" for number in range(2 * MOST_CHANGES + 1)]
    messages = telling.take(*(bound(name) for name in names))
    assert all(isinstance(message, tuple) for message in messages)
    changes = [list(message) for message in messages if isinstance(message, tuple)]
    assert [len(message) for message in changes] == [MOST_CHANGES, MOST_CHANGES, 1]
    assert [change.identity for message in changes for change in message] == [f"uid-{name}" for name in names]


def test_a_pod_that_leaves_is_news_at_once() -> None:
    telling = begun()
    telling.take(bound("web"))
    (news,) = telling.take(PodGone("uid-web"))
    assert isinstance(news, tuple)
    (left,) = news
    assert isinstance(left, PodLeft)
    assert left.node == "a"


def test_events_that_change_nothing_publish_nothing() -> None:
    telling = begun()
    telling.take(bound("web"))
    assert telling.take(bound("web")) == []
    assert telling.take() == []


# -- Nodes and namespaces -----------------------------------------------------------------------------------------


def test_new_nodes_are_published_after_a_second_and_together() -> None:
    telling = begun()
    assert telling.later(0.0, NodeSeen(make_node("b"))) == []
    assert telling.later(0.6, NodeSeen(make_node("c"))) == []
    (snapshot,) = snapshots(telling.later(0.5))
    assert snapshot.names == ("a", "b", "c")
    assert telling.later(5.0) == []


def test_nodes_that_come_without_end_publish_at_most_once_a_second() -> None:
    telling = begun()
    messages = [telling.later(0.1, NodeSeen(make_node(f"n{number}"))) for number in range(100)]
    assert 8 <= sum(len(snapshots(each)) for each in messages) <= 10


def test_a_reading_publishes_new_nodes_at_once() -> None:
    telling = begun()
    (snapshot,) = snapshots(telling.take(NodeSeen(make_node("b")), telling.reading()))
    assert snapshot.names == ("a", "b")
    assert telling.later(5.0) == []


def test_a_heartbeat_of_a_node_is_no_reason_for_a_snapshot() -> None:
    telling = begun()
    telling.take(NodeSeen(make_node("a", annotations={"beat": "1"})))
    assert telling.later(5.0, NodeSeen(make_node("a", annotations={"beat": "2"}))) == []


@pytest.mark.parametrize(
    "changed",
    [make_node("a", labels={"zone": "b"}), make_node("a", cpu=8.0), make_node("a", allocatable=(("cpu", 1.0),))],
    ids=["labels", "capacity", "allocatable"],
)
def test_a_node_that_changed_is_published(changed: object) -> None:
    telling = begun()
    assert isinstance(changed, type(make_node()))
    telling.take(NodeSeen(changed))
    assert len(snapshots(telling.later(1.0))) == 1


@pytest.mark.parametrize("event", [NodeGone("a"), Relisted("nodes", frozenset())])
def test_a_node_that_left_is_published_however_it_is_told(event: Event) -> None:
    telling = begun()
    telling.take(event)
    (snapshot,) = snapshots(telling.later(1.0))
    assert snapshot.names == ()
    telling.take(NodeSeen(make_node("a")))
    assert snapshots(telling.later(1.0))[0].names == ("a",)


def test_a_namespace_that_opts_out_is_published_without_a_reading() -> None:
    telling = begun()
    telling.take(NamespaceSeen(Namespace("quiet", {OPT_OUT_ANNOTATION: "true"})))
    (snapshot,) = snapshots(telling.later(1.0))
    assert snapshot.exempt_namespaces == {"quiet"}


# -- Failures -----------------------------------------------------------------------------------------------------


def test_failures_are_counted_logged_once_and_so_is_the_recovery(caplog: pytest.LogCaptureFixture) -> None:
    telling = begun()
    with caplog.at_level(logging.INFO, "loadaware.refresh"):
        for _ in range(3):
            messages = telling.later(15.0, ReadingFailed("no answer"))
        status = last_status(messages)
        assert (status.readings, status.failures, status.consecutive_failures) == (1, 3, 3)
        assert status.last_error == "no answer"
        for _ in range(2):
            messages = telling.later(15.0, telling.reading())
    status = last_status(messages)
    assert (status.readings, status.failures, status.consecutive_failures) == (3, 3, 0)
    assert (status.last_success, status.source) == (telling.clock(), "test")
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert levels == [
        ("WARNING", "reading failed, the last one stays in force: no answer"),
        ("INFO", "readings from test work again"),
    ]


def test_while_the_source_is_dead_pods_still_reach_the_snapshots_and_samples_stay() -> None:
    telling = begun()
    telling.take(bound("web"))
    (snapshot,) = snapshots(telling.later(15.0, ReadingFailed("no answer")))
    assert snapshot.pod_counts.tolist() == [1.0]
    assert snapshot.statistics.latest[0, 0] == 1.0


def test_the_status_tells_what_is_forbidden_until_it_is_allowed() -> None:
    telling = begun()
    telling.take(Forbidden("pods", "bookings end by time alone"))
    status = last_status(telling.take(telling.reading()))
    assert status.forbidden == ("bookings end by time alone",)
    telling.take(Relisted("pods", frozenset()))
    assert last_status(telling.later(15.0, telling.reading())).forbidden == ()


def test_the_status_counts_nodes_and_pods_and_times_the_reading() -> None:
    telling = begun()
    telling.messages.clear()
    telling.refresh.take([(bound("web"), 0.0), (telling.reading(), 0.75)])
    status = last_status(telling.messages)
    assert (status.nodes, status.pods) == (1, 1)
    assert status.reading_seconds == pytest.approx(0.75)


def test_notes_of_a_reading_are_passed_on_but_not_thousands_of_them() -> None:
    telling = begun()
    reading = telling.reading()
    noted = Reading(
        reading.source, reading.time, reading.resources, reading.nodes, notes=tuple(f"note {n}" for n in range(5000))
    )
    assert last_status(telling.take(noted)).notes == tuple(f"note {n}" for n in range(20))


# -- The inbox and the loop ---------------------------------------------------------------------------------------


def test_a_full_inbox_makes_the_bringer_wait_until_there_is_room() -> None:
    inbox = Inbox(items=queue.Queue(1))
    inbox.put(ReadingFailed("first"))
    bringer = threading.Thread(target=inbox.put, args=(ReadingFailed("second"),))
    bringer.start()
    assert inbox.items.get(timeout=PATIENCE_SECONDS)[0] == ReadingFailed("first")
    assert inbox.items.get(timeout=PATIENCE_SECONDS)[0] == ReadingFailed("second")
    bringer.join(PATIENCE_SECONDS)
    assert not bringer.is_alive()


def test_whoever_waits_at_a_full_inbox_is_let_go_when_it_stops() -> None:
    inbox = Inbox(items=queue.Queue(1))
    inbox.put(ReadingFailed("first"))
    bringer = threading.Thread(target=inbox.put, args=(ReadingFailed("second"),))
    bringer.start()
    inbox.stopping.set()
    bringer.join(PATIENCE_SECONDS)
    assert not bringer.is_alive()
    assert inbox.items.qsize() == 1


def test_the_inbox_is_bounded_by_default() -> None:
    assert 0 < Inbox().items.maxsize <= 1_000


def test_events_brought_together_are_taken_one_by_one_among_the_others_in_their_order() -> None:
    inbox, failed = Inbox(), ReadingFailed("in between")
    inbox.put(LISTS)
    inbox.put(failed, 2.0)
    inbox.put(LISTS[:1])
    assert inbox.drain(0.0) == [*((event, 0.0) for event in LISTS), (failed, 2.0), (LISTS[0], 0.0)]
    assert inbox.drain(0.0) == []


def test_a_batch_that_is_large_enough_leaves_the_rest_for_the_next() -> None:
    inbox, page = Inbox(), [NodeGone(f"n{number}") for number in range(500)]
    for _ in range(5):
        inbox.put(page)
    assert [len(inbox.drain(0.0)) for _ in range(2)] == [2000, 500]


def test_the_loop_takes_what_comes_until_it_is_told_to_stop() -> None:
    telling, inbox = Telling(), Inbox()
    published: queue.Queue[Message] = queue.Queue()
    refresh = Refresh(telling.observer, published.put, telling.clock)
    loop = threading.Thread(target=refresh.run, args=(inbox,))
    loop.start()
    for event in LISTS:
        inbox.put(event)
    inbox.put(telling.reading(), 0.5)
    assert isinstance(published.get(timeout=PATIENCE_SECONDS), Status)
    assert isinstance(published.get(timeout=PATIENCE_SECONDS), Snapshot)
    inbox.stopping.set()
    loop.join(PATIENCE_SECONDS)
    assert not loop.is_alive()


# -- Reading, again and again -------------------------------------------------------------------------------------


class Waits(threading.Event):
    """Waits for nothing, remembers how long it was asked to, and is set after so many times."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []
        self.most = 1

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        if len(self.seconds) >= self.most:
            self.set()
        return self.is_set()


class Script:
    """A collector that does what it is told, each time something else; the loop ends when all was done."""

    def __init__(
        self, inbox: Inbox, *steps: Reading | Exception, clock: Clock | None = None, takes: float = 0.0
    ) -> None:
        self._steps, self._clock, self._takes = list(steps), clock or Clock(), takes
        assert isinstance(inbox.stopping, Waits)
        inbox.stopping.most = len(steps)

    def read(self) -> Reading:
        self._clock.advance(self._takes)
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class WithPast(Script):
    """The same, with a past."""

    past: Sequence[Reading] = ()
    trouble: Exception | None = None
    since: float | None = None

    def history(self, since: float) -> Iterator[Reading]:
        self.since = since
        yield from self.past
        if self.trouble is not None:
            raise self.trouble


def brought(inbox: Inbox) -> list[Item]:
    return [item for item, _ in inbox.drain(0.01)]


def new_inbox() -> Inbox:
    return Inbox(stopping=Waits())


READING = make_reading({"a": (1.0, 1.0)}, 1000.0)
UNREACHABLE = SourceUnreachableError("http://source", "timed out")


def test_each_reading_is_brought_with_the_time_it_took() -> None:
    inbox, clock = new_inbox(), Clock()
    keep_reading(Script(inbox, READING, clock=clock, takes=2.0), inbox, 15.0, clock)
    assert inbox.items.get_nowait() == (READING, 2.0)


def test_a_source_that_fails_is_told_and_read_again() -> None:
    inbox = new_inbox()
    keep_reading(Script(inbox, UNREACHABLE, READING), inbox, 15.0, Clock())
    assert brought(inbox) == [ReadingFailed("http://source cannot be reached: timed out"), READING]


def test_something_unforeseen_does_not_end_the_loop_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    inbox = new_inbox()
    keep_reading(Script(inbox, ZeroDivisionError("oh"), READING), inbox, 15.0, Clock())
    assert brought(inbox) == [ReadingFailed("ZeroDivisionError: oh"), READING]
    assert "unforeseen" in caplog.text


@pytest.mark.parametrize(
    ("takes", "waited"), [(0.0, 15.0), (4.0, 11.0), (20.0, 0.1), (-3600.0, 15.0)], ids=["0", "4", "20", "set back"]
)
def test_it_reads_at_each_interval_however_long_a_reading_takes(takes: float, waited: float) -> None:
    inbox, clock = new_inbox(), Clock()
    keep_reading(Script(inbox, READING, READING, clock=clock, takes=takes), inbox, 15.0, clock)
    assert isinstance(inbox.stopping, Waits)
    assert inbox.stopping.seconds == [pytest.approx(waited)] * 2


def test_the_past_is_brought_first_if_it_is_wanted_and_there_is_one() -> None:
    inbox, clock = new_inbox(), Clock(1000.0)
    source = WithPast(inbox, READING)
    source.past = (make_reading({"a": (0.5, 1.0)}, 400.0), make_reading({"a": (0.6, 1.0)}, 700.0))
    keep_reading(source, inbox, 15.0, clock, warm_seconds=900.0)
    assert source.since == 100.0
    assert brought(inbox) == [*source.past, READING]


def test_the_past_is_left_alone_if_it_is_not_wanted() -> None:
    inbox = new_inbox()
    source = WithPast(inbox, READING)
    keep_reading(source, inbox, 15.0, Clock())
    assert source.since is None


def test_a_source_without_a_past_is_read_from_now_on() -> None:
    inbox = new_inbox()
    keep_reading(Script(inbox, READING), inbox, 15.0, Clock(), warm_seconds=900.0)
    assert brought(inbox) == [READING]


@pytest.mark.parametrize("trouble", [UNREACHABLE, ZeroDivisionError("oh")])
def test_a_past_that_cannot_be_read_does_not_keep_from_reading_on(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = new_inbox()
    source = WithPast(inbox, READING)
    source.past, source.trouble = (READING,), trouble
    keep_reading(source, inbox, 15.0, Clock(), warm_seconds=900.0)
    assert brought(inbox) == [READING, READING]
    assert "the window fills from now on" in caplog.text


# -- What was learned ---------------------------------------------------------------------------------------------


def taught() -> Telling:
    telling = Telling()
    telling.take(*LISTS, PodSeen(running_pod("web-0")))
    telling.take(reading_of({"web-0": (0.5, 2.0**30)}, telling.clock()))
    return telling


def answer(messages: list[Message]) -> list[Piece]:
    return [message for message in messages if isinstance(message, Piece)]


def test_who_asks_for_what_was_learned_is_given_it_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadaware.observer_answers.PIECE_BYTES", 100)
    telling = taught()
    pieces = answer(telling.take(StateQuery(7)))
    assert len(pieces) > 3
    assert {piece.number for piece in pieces} == {7}
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    state = decode(b"".join(piece.data for piece in pieces))
    assert rows_of(state) == rows_of(telling.observer.export(telling.clock()))


def test_before_anything_is_learned_there_is_nothing_to_hand_over() -> None:
    telling = Telling()
    telling.take(*LISTS)
    assert answer(telling.take(StateQuery(7))) == [Piece(7, b"", True)]


def test_who_asks_for_demand_is_given_the_report_and_who_asks_wrongly_the_reason() -> None:
    telling = taught()
    (piece,) = answer(telling.take(DemandQuery(8, "cpu", 10, "shop")))
    assert [entry["workload"] for entry in json.loads(piece.data)["workloads"]] == ["shop/Pod/web"]
    (refused,) = answer(telling.take(DemandQuery(9, "disk", 10)))
    assert (refused.number, refused.last) == (9, True)
    assert refused.refused.startswith("sort is name, pods or one of")


def test_the_past_teaches_and_changes_neither_the_window_nor_the_status() -> None:
    telling = Telling()
    telling.take(*LISTS, PodSeen(running_pod("web-0")))
    assert telling.take(PastReading(reading_of({"web-0": (0.5, 2.0**30)}, 400.0))) == []
    assert telling.observer.worth_keeping
    assert telling.observer.export(1000.0).newest == 400.0


def test_the_loop_calls_what_is_to_be_done_between_batches() -> None:
    telling, inbox = Telling(), Inbox()
    called: list[int] = []

    def between() -> None:
        called.append(len(called))
        if len(called) == 3:
            inbox.stopping.set()

    telling.refresh.run(inbox, between)
    assert called == [0, 1, 2]


def test_pods_that_are_listed_or_forbidden_are_known_to_be() -> None:
    for event in (Relisted("pods", frozenset()), Forbidden("pods", "pods are not counted")):
        telling = Telling()
        assert not telling.refresh.pods_listed.is_set()
        telling.take(event)
        assert telling.refresh.pods_listed.is_set()


class WithPodPast(Script):
    """A source that knows what pods used."""

    past: Sequence[Reading] = ()
    trouble: Exception | None = None

    def pod_history(self, since: float) -> Iterator[Reading]:
        for reading in self.past:
            self._clock.advance(self._takes)
            yield reading
        if self.trouble is not None:
            raise self.trouble


PAST = tuple(reading_of({"web-0": (0.5, 1.0)}, 100.0 * number) for number in range(1, 5))


def test_pods_past_is_brought_oldest_first() -> None:
    inbox = new_inbox()
    source = WithPodPast(inbox)
    source.past = PAST
    bring_past_pods(source, inbox, 0.0, Clock())
    assert brought(inbox) == [PastReading(reading) for reading in PAST]


def test_a_source_that_knows_no_past_of_pods_is_not_asked() -> None:
    inbox = new_inbox()
    bring_past_pods(Script(inbox), inbox, 0.0, Clock())
    assert brought(inbox) == []


@pytest.mark.parametrize("trouble", [UNREACHABLE, ZeroDivisionError("oh")])
def test_a_past_of_pods_that_cannot_be_read_is_one_line_in_the_log(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = new_inbox()
    source = WithPodPast(inbox)
    source.past, source.trouble = PAST[:1], trouble
    bring_past_pods(source, inbox, 0.0, Clock())
    assert brought(inbox) == [PastReading(PAST[0])]
    assert caplog.text.count("learned from now on") == 1


def test_a_slow_source_does_not_keep_the_first_reading_waiting_for_long(caplog: pytest.LogCaptureFixture) -> None:
    inbox, clock = new_inbox(), Clock()
    source = WithPodPast(inbox, clock=clock, takes=15.0)
    source.past = PAST
    bring_past_pods(source, inbox, 0.0, clock, patience_seconds=20.0)
    assert len(brought(inbox)) == 2
    assert "longer than 20 s" in caplog.text


# -- A history that cannot be written ---------------------------------------------------------------------------------


def test_answers_that_nobody_can_record_are_counted() -> None:
    telling = begun()
    *_, status = telling.take(AskedBatch((ASKED, ASKED)), Configured(0.0, "{}", 0), telling.reading())
    assert isinstance(status, Status)
    assert status.history_lost == 3
