"""Writes down what the core is told, as it is told: beside the observer, in its process.

    mark began         an observer starts with nothing: configuration, and whether requests are recorded
    event, reading     told and fed to the observer; a reading after the mark `past` was only learned from
    mark changes       so many of the changes told since were published
    mark snapshot      a snapshot was made and published
    request, answer    what the server was asked and answered; see recorded.py
    mark lost          so many answers came faster than they could be recorded, some time before
    mark configured    the server took another configuration
    checkpoint         everything that is there, and what was learned: where a replay may begin

Told in this order to a new observer and adviser, the same answers come out (replay/retelling.py). The bargain: whoever
records never pays with its life. What cannot be written is told in one warning, until writing works again; the writer
gives up what waits for too long, and counts it.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from collectors.cluster import (
    Event,
    Forbidden,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.errors import HistoryError
from collectors.history import Answer, Content, HistoryLimits, HistoryWriter, Request
from collectors.history.records import Mark
from collectors.reading import Reading
from loadaware.config import Config, HistorySection
from loadaware.config_text import config_text, without_secrets
from loadaware.demand_format import encode
from loadaware.demand_state import DemandState
from loadaware.recorded import Asked, AskedBatch, Configured, pack_detail

logger = logging.getLogger(__name__)

BEGAN, PAST, CHANGES, SNAPSHOT, CONFIGURED, LOST = "began", "past", "changes", "snapshot", "configured", "lost"
"""Names of marks."""


class Beginning(msgspec.Struct, frozen=True):
    """The detail of the mark `began`, and what a checkpoint says of it again."""

    config: str
    requests: bool
    """Whether requests are recorded. If not, a replay asks about each pod when it is bound."""


class CheckpointState(msgspec.Struct, frozen=True):
    """Everything that is there: tell it to a new observer, restore what was learned, and go on."""

    beginning: Beginning
    events: list[Event]
    demand: bytes
    """As demand_format writes it; empty: nothing was learned."""


def beginning_of(config: Config, *, requests: bool) -> Beginning:
    """For the mark `began`."""
    return Beginning(config_text(without_secrets(config)), requests)


def limits_of(section: HistorySection) -> HistoryLimits:
    """The writer's limits from the configuration's."""
    return HistoryLimits(flush_seconds=section.flush, max_bytes=int(section.max_size), max_age_seconds=section.max_age)


class Recorder:
    """One thread tells it, the observer's; another, its own, writes. `tell` hears the number of each publication."""

    def __init__(
        self,
        writer: HistoryWriter,
        beginning: Beginning,
        tell: Callable[[int], None] = lambda _: None,
        flush_seconds: float = 5.0,
    ) -> None:
        self._writer = writer
        self._beginning = beginning
        self._tell = tell
        self._flush_seconds = flush_seconds
        self._there: dict[str, Event] = {}
        self._failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_flushing, name="history", daemon=True)

    def start(self) -> None:
        """Flush every few seconds, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Write what waits, and let the folder go."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._guarded(self._writer.close)

    @property
    def lost(self) -> int:
        """Records that could not be written, and were given up."""
        return self._writer.dropped

    # -- Told -------------------------------------------------------------------------------------------------------

    def began(self, now: float, learned: Sequence[DemandState] = ()) -> None:
        """An observer starts with nothing but what was learned before."""
        self._there = {}
        self._write(Mark(BEGAN, msgspec.msgpack.encode(self._beginning)), now)
        for state in learned:
            self._checkpoint(now, state)

    def event(self, event: Event, now: float) -> None:
        """The observer was told this."""
        remember(self._there, event)
        self._write(event, now)

    def reading(self, reading: Reading, now: float) -> None:
        """The observer was fed this."""
        self._write(reading, now)

    def past(self, reading: Reading, now: float) -> None:
        """The observer learned from this."""
        self._write(Mark(PAST), now)
        self._write(reading, now)

    def changes(self, count: int, now: float) -> None:
        """So many changes are published next."""
        self._publish(Mark(CHANGES, str(count).encode()), now)

    def snapshot(self, now: float) -> None:
        """A snapshot is published next."""
        self._publish(Mark(SNAPSHOT), now)

    def asked(self, batch: AskedBatch) -> None:
        """The server answered these."""
        if batch.lost and batch.asked:
            self._write(Mark(LOST, str(batch.lost).encode()), batch.asked[0].time)
        for asked in batch.asked:
            number = self._write(request_of(asked), asked.time)
            if number is not None:
                self._write(Answer(number, priorities=asked.priorities, verdicts=asked.verdicts), asked.time)
        if batch.lost:
            logger.warning("%d answers came faster than they could be recorded, and are not in the history", batch.lost)

    def configured(self, told: Configured) -> None:
        """The server took another configuration."""
        self._beginning = msgspec.structs.replace(self._beginning, config=told.config)
        self._write(Mark(CONFIGURED, msgspec.msgpack.encode(told)), told.time)

    def checkpoint(self, learned: Callable[[], DemandState | None], now: float) -> None:
        """Keep everything that is there, if the writer wants a checkpoint now."""
        if self._writer.checkpoint_wanted and self._there:
            self._checkpoint(now, learned())

    def _checkpoint(self, now: float, learned: DemandState | None) -> None:
        demand = b"" if learned is None else encode(learned)
        state = CheckpointState(self._beginning, list(self._there.values()), demand)
        self._guarded(lambda: self._writer.write_checkpoint(msgspec.msgpack.encode(state), time=now))

    # -- Written ----------------------------------------------------------------------------------------------------

    def _publish(self, mark: Mark, now: float) -> None:
        number = self._write(mark, now)
        if number is not None:
            self._tell(number)

    def _write(self, content: Content, now: float) -> int | None:
        number: int | None = None
        with suppress(HistoryError):  # the disk refuses: the thread that flushes says so
            number = self._writer.write(content, time=now)
        return self._writer.last_sequence if number is None else number

    def _keep_flushing(self) -> None:
        while not self._stopping.wait(self._flush_seconds):
            self._guarded(self._writer.flush)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except HistoryError as error:
            if not self._failing:
                logger.warning("the history is not written: %s", error)
            self._failing = True
        except Exception:
            logger.exception("the history could not be written")
        else:
            self._failing = False


def request_of(asked: Asked) -> Request:
    """As it is recorded."""
    return Request(asked.verb, asked.profile, asked.pod, asked.node_names, pack_detail(asked))


def remember(there: dict[str, Event], event: Event) -> None:
    """Keep what a list would tell now."""
    match event:
        case PodSeen(pod=pod):
            there[f"pod {pod.identity}"] = event
        case PodGone(identity=identity):
            there.pop(f"pod {identity}", None)
        case NodeSeen(node=node):
            there[f"node {node.name}"] = event
        case NodeGone(name=name):
            there.pop(f"node {name}", None)
        case NamespaceSeen(namespace=namespace):
            there[f"namespace {namespace.name}"] = event
        case NamespaceGone(name=name):
            there.pop(f"namespace {name}", None)
        case Relisted(kind=kind, present=present):
            _forget(there, kind.removesuffix("s"), present)
        case Forbidden():
            pass


def _forget(there: dict[str, Event], kind: str, present: Iterable[str]) -> None:
    kept = {f"{kind} {name}" for name in present}
    for key in [key for key in there if key.startswith(f"{kind} ") and key not in kept]:
        del there[key]
