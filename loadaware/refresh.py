"""The loop: read, feed, publish; and between readings, what the cluster tells. Counts failures, ends for none.

Threads bring things in (one per watch, one for the metric source) and put them into one bounded inbox; the thread
that runs the loop alone touches the observer, so there is one order and no lock. What it publishes is a Snapshot after
each reading or failure (and, at most once a second, after nodes or namespaces changed), lists of changes, and a Status.

It begins with a whole picture: nothing but Status is published before every kind was listed and the source was read,
or `hold_seconds` have passed. Until then pods told are no news to whoever listens, who may still have the last picture
of an observer that died: told again they would count twice, and an empty window would wipe out a full one.
"""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from collectors.cluster import Event, Forbidden, Kind, NamespaceGone, NamespaceSeen, NodeGone, NodeSeen, Relisted
from collectors.errors import CollectorError
from collectors.manifests import Node
from collectors.reading import Collector, HasHistory, HasPodHistory, Reading
from loadaware.changes import Change
from loadaware.demand_state import DemandState
from loadaware.observer import Observer
from loadaware.observer_answers import answers
from loadaware.queries import Query
from loadaware.recorded import AskedBatch, Configured
from loadaware.recorder import Recorder
from loadaware.service import Message
from loadaware.status import Status

logger = logging.getLogger(__name__)

MOST_WAITING = 40
"""Things in the inbox, the largest a page of a list; a watch that brings more waits, and the API server keeps the rest.
"""
MOST_AT_ONCE = 2_000
"""Events told before changes are published, so that none waits long."""
MOST_CHANGES = 50
"""Changes in one message: taking it in takes the server's only thread some milliseconds."""
NODES_CHANGED_SECONDS = 1.0
HOLD_SECONDS = 60.0
"""How long the whole picture is waited for at the start."""
PAST_SECONDS = 20.0
"""How long pods' past may be read before the first reading; what is not there by then is not learned."""


@dataclass(frozen=True)
class ReadingFailed:
    """The metric source could not be read."""

    error: str


@dataclass(frozen=True)
class PastReading:
    """What pods used at a moment before the first reading: for learning alone."""

    reading: Reading


Item = Event | Reading | ReadingFailed | PastReading | Query | AskedBatch | Configured


@dataclass
class Inbox:
    """Where threads put what they bring. Bounded; full means that the bringer waits."""

    stopping: threading.Event = field(default_factory=threading.Event)
    items: "queue.Queue[tuple[Item | Sequence[Event], float]]" = field(
        default_factory=lambda: queue.Queue(MOST_WAITING)
    )

    def put(self, item: Item | Sequence[Event], seconds: float = 0.0) -> None:
        """Bring something, or several events at once; `seconds` is how long it took to read."""
        while not self.stopping.is_set():
            try:
                self.items.put((item, seconds), timeout=0.5)
            except queue.Full:
                continue
            return

    def drain(self, wait_seconds: float) -> list[tuple[Item, float]]:
        """Whatever waits, once there are MOST_AT_ONCE no more; a little patience for the first."""
        batch: list[tuple[Item, float]] = []
        with contextlib.suppress(queue.Empty):
            item, seconds = self.items.get(timeout=wait_seconds)
            while True:
                batch += ((event, 0.0) for event in item) if isinstance(item, Sequence) else ((item, seconds),)
                if len(batch) >= MOST_AT_ONCE:
                    break
                item, seconds = self.items.get_nowait()
        return batch


class Refresh:
    """Owns the observer. `resuming`: someone has an older picture, so a failed reading is no reason to begin.
    `recorder`: writes down what the observer is told, fed and publishes.
    """

    def __init__(
        self,
        observer: Observer,
        publish: Callable[[Message], None],
        clock: Callable[[], float],
        *,
        hold_seconds: float = HOLD_SECONDS,
        resuming: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self._observer = observer
        self._recorder = recorder
        self._publish = publish
        self._clock = clock
        self._status = Status()
        self._changed_at: float | None = None
        self._nodes: dict[str, Node] = {}
        self._forbidden: dict[str, str] = {}
        self._begun = False
        self._missing = {"reading", *get_args(Kind)}
        self._begins_at = clock() + hold_seconds
        self._resuming = resuming
        self._unrecorded = 0
        """Answers to be recorded that came here although there is no recorder: its folder cannot be written."""
        self.nodes_listed = threading.Event()
        """Set when the observer knows the nodes, or never will: a reading before that would be in vain."""
        self.pods_listed = threading.Event()
        """The same of pods."""

    def run(self, inbox: Inbox, between: Callable[[], None] = lambda: None) -> None:
        """Until the inbox says stop; `between` is called after each batch, and several times a second."""
        while not inbox.stopping.is_set():
            batch = inbox.drain(wait_seconds=0.25)
            self.take(batch)
            between()

    def record_rest(self, inbox: Inbox) -> None:
        """At the end: write down the answers that still wait."""
        while batch := inbox.drain(wait_seconds=0.25):
            for item, _ in batch:
                if isinstance(item, AskedBatch | Configured):
                    self._record_asked(item)

    def take(self, batch: Sequence[tuple[Item, float]]) -> None:
        """Tell and feed what came in, and publish what follows from it."""
        changes: list[Change] = []
        for item, seconds in batch:
            if isinstance(item, Reading):
                self._publish_changes(changes)
                self._fed(item, seconds)
            elif isinstance(item, PastReading):
                self._observer.feed_past(item.reading)
                if self._recorder is not None:
                    self._recorder.past(item.reading, self._clock())
            elif isinstance(item, AskedBatch | Configured):
                self._record_asked(item)
            elif isinstance(item, Query):
                for message in answers(self._observer, item, self._clock()):
                    self._publish(message)
            elif isinstance(item, ReadingFailed):
                self._publish_changes(changes)
                self._failed(item.error)
            else:
                changes += self._told(item)
        self._publish_changes(changes)
        if not self._begun:
            self._begin_if_whole()
        elif self._changed_at is not None and self._clock() - self._changed_at >= NODES_CHANGED_SECONDS:
            self._publish_snapshot()

    def _record_asked(self, item: AskedBatch | Configured) -> None:
        if self._recorder is None:
            self._unrecorded += len(item.asked) if isinstance(item, AskedBatch) else 1
        elif isinstance(item, AskedBatch):
            self._recorder.asked(item)
        else:
            self._recorder.configured(item)

    def _begin_if_whole(self) -> None:
        if not self._missing or self._clock() >= self._begins_at:
            self._begun = True
            self._publish_snapshot()

    def _told(self, event: Event) -> list[Change]:
        now = self._clock()
        changes = self._observer.tell(event, now)
        if self._recorder is not None:
            self._recorder.event(event, now)
        if isinstance(event, Forbidden):
            self._forbidden[event.kind] = event.lost
        elif isinstance(event, Relisted):
            self._forbidden.pop(event.kind, None)
        if isinstance(event, Forbidden | Relisted):
            self._missing.discard(event.kind)
            if event.kind == "nodes":
                self.nodes_listed.set()
            elif event.kind == "pods":
                self.pods_listed.set()
        if self._changed_at is None and self._changes_snapshot(event):
            self._changed_at = self._clock()
        return changes

    def _changes_snapshot(self, event: Event) -> bool:
        """Whether an event changes what only a snapshot tells. Most news of nodes are heartbeats: they do not."""
        if isinstance(event, NodeSeen):
            before = self._nodes.get(event.node.name)
            self._nodes[event.node.name] = event.node
            return before is None or _told_of(before) != _told_of(event.node)
        if isinstance(event, NodeGone):
            return self._nodes.pop(event.name, None) is not None
        if isinstance(event, Relisted) and event.kind == "nodes":
            self._nodes = {name: node for name, node in self._nodes.items() if name in event.present}
        return isinstance(event, Relisted | Forbidden | NamespaceSeen | NamespaceGone)

    def _publish_changes(self, changes: list[Change]) -> None:
        for start in range(0, len(changes) if self._begun else 0, MOST_CHANGES):
            some = tuple(changes[start : start + MOST_CHANGES])
            if self._recorder is not None:
                self._recorder.changes(len(some), self._clock())
            self._publish(some)
        changes.clear()

    def _fed(self, reading: Reading, seconds: float) -> None:
        started = self._clock()
        self._observer.feed(reading, started)
        if self._recorder is not None:
            self._recorder.reading(reading, started)
        if self._status.consecutive_failures:
            logger.info("readings from %s work again", reading.source)
        self._status = msgspec.structs.replace(
            self._status,
            readings=self._status.readings + 1,
            consecutive_failures=0,
            last_error="",
            last_success=started,
            source=reading.source,
            notes=reading.notes[:20],
        )
        self._missing.discard("reading")
        if self._begun:
            self._publish_snapshot()
        self._publish_status(reading_seconds=seconds + self._clock() - started)

    def _failed(self, error: str) -> None:
        if not self._status.consecutive_failures:
            logger.warning("reading failed, the last one stays in force: %s", error)
        self._status = msgspec.structs.replace(
            self._status,
            failures=self._status.failures + 1,
            consecutive_failures=self._status.consecutive_failures + 1,
            last_error=error,
        )
        if not self._resuming:
            self._missing.discard("reading")
        if self._begun:
            self._publish_snapshot()
        self._publish_status()

    def _publish_snapshot(self) -> None:
        self._changed_at = None
        now = self._clock()
        snapshot = self._observer.snapshot(now)
        if self._recorder is not None:
            self._recorder.snapshot(now)
        self._publish(snapshot)
        if self._recorder is not None:
            self._recorder.checkpoint(self._learned, now)

    def _learned(self) -> DemandState | None:
        return self._observer.export(self._clock()) if self._observer.worth_keeping else None

    def _publish_status(self, reading_seconds: float | None = None) -> None:
        self._status = msgspec.structs.replace(
            self._status,
            nodes=self._observer.node_count,
            pods=self._observer.pod_count,
            forbidden=tuple(self._forbidden.values()),
            history_lost=self._unrecorded if self._recorder is None else self._recorder.lost,
            reading_seconds=self._status.reading_seconds if reading_seconds is None else reading_seconds,
        )
        self._publish(self._status)


def _told_of(node: Node) -> tuple[object, ...]:
    """What a snapshot tells of a node."""
    return node.capacity, node.allocatable, node.labels


def keep_reading(
    collector: Collector, inbox: Inbox, interval_seconds: float, clock: Callable[[], float], warm_seconds: float = 0.0
) -> None:
    """Read at each interval until stopped; first the past, if the source has one."""
    if warm_seconds and isinstance(collector, HasHistory):
        _warm(collector, inbox, clock() - warm_seconds)
    while not inbox.stopping.is_set():
        started = clock()
        try:
            reading = collector.read()
            inbox.put(reading, clock() - started)
        except CollectorError as error:
            inbox.put(ReadingFailed(str(error)))
        except Exception as error:
            logger.exception("the collector failed in an unforeseen way")
            inbox.put(ReadingFailed(f"{type(error).__name__}: {error}"))
        elapsed = max(clock() - started, 0.0)  # a clock that was set back must not stop the readings
        inbox.stopping.wait(max(interval_seconds - elapsed, 0.1))


def _warm(collector: HasHistory, inbox: Inbox, since: float) -> None:
    try:
        for reading in collector.history(since):
            inbox.put(reading)
    except CollectorError as error:
        logger.warning("the past cannot be read, the window fills from now on: %s", error)
    except Exception:
        logger.exception("the past cannot be read, the window fills from now on")


def bring_past_pods(
    collector: Collector, inbox: Inbox, since: float, clock: Callable[[], float], patience_seconds: float = PAST_SECONDS
) -> None:
    """What pods used since that moment, oldest first, if the source knows: before the first reading, or not at all."""
    if not isinstance(collector, HasPodHistory):
        return
    started = clock()
    try:
        for reading in collector.pod_history(since):
            if inbox.stopping.is_set():
                return
            inbox.put(PastReading(reading))
            if clock() - started > patience_seconds:
                logger.warning(
                    "pods' past takes longer than %g s to read; the rest of it is left out", patience_seconds
                )
                return
    except CollectorError as error:
        logger.warning("pods' past cannot be read, what they use is learned from now on: %s", error)
    except Exception:
        logger.exception("pods' past cannot be read, what they use is learned from now on")
