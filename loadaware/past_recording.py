"""A history made from a Prometheus alone: what nodes and pods used, and who was where as kube-state-metrics told.

It is written chunk by chunk, each whole or not at all, with a pause between so that a production Prometheus bears it.
A mark says how far it goes: the same command goes on from there, after an error or a week later. Requests are not in a
Prometheus, so a replay asks about each pod when it was bound.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen, Relisted
from collectors.errors import (
    CollectorError,
    EmptyReadingError,
    HistoryError,
    SourceRefusedError,
    SourceUnreachableError,
)
from collectors.history import HistoryLimits, HistoryReader, HistoryWriter, Mark
from collectors.prometheus import Prometheus, PrometheusSettings
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.kube_state import HINT, ClusterPast, KubeState, NodeLife, PodLife
from collectors.reading import NodeIdentity, Reading
from loadaware.config import Config
from loadaware.progress import Hear, moment
from loadaware.recorder import Recorder, beginning_of

COLLECTED = "collected"
"""The mark behind each chunk; its detail tells until when the past is there."""
LONGEST_CHUNK_SECONDS = 3600.0
SHORTEST_CHUNK_STEPS = 5
SAMPLES_PER_CHUNK = 500_000
"""Of one resource: what one range query brings."""
PATIENCE_SECONDS = (2.0, 10.0, 30.0)
"""Before each further try."""
T = TypeVar("T")
EVERYTHING = 10**9
"""More changes than there are: all of them are published at once."""


class Collected(msgspec.Struct, frozen=True):
    """How far the past is there."""

    until: float
    step_seconds: float
    since: float = 0.0
    """From when on it was asked for; 0 in folders of before."""


@dataclass(frozen=True)
class PastSettings:
    """Which past, and how gently it is asked for."""

    since: float
    until: float
    step_seconds: float = 60.0
    pause_seconds: float = 1.0


@dataclass(frozen=True)
class PastRecorded:
    """What came of it."""

    readings: int
    chunks: int
    empty_chunks: int
    since: float
    until: float


class PastInterruptedError(CollectorError):
    """Reading the past ended early; what was read is kept."""

    def __init__(self, cause: CollectorError, folder: str, until: float | None) -> None:
        kept = "nothing was read yet" if until is None else f"what lies before {moment(until)} is kept in {folder}"
        super().__init__(f"{cause}; {kept}, the same command goes on from there")
        self.until = until


def record_past(
    source: PrometheusSettings,
    folder: str,
    settings: PastSettings,
    *,
    config: Config | None = None,
    hear: Hear = lambda _: None,
    wait: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> PastRecorded:
    """Write the past to a folder. Raises HistoryError, PastInterruptedError.

    Whatever ends it, even Ctrl-C in the middle of a chunk, that chunk is not kept.
    """
    collected = collected_until(folder)
    if collected is not None:
        _check_same(folder, collected, settings)
    limits = HistoryLimits(buffered_bytes=2**40, max_bytes=2**62, max_age_seconds=float("inf"))
    with HistoryWriter(folder, limits, clock, flush_on_write=False) as writer:
        recorder = Recorder(writer, beginning_of(config or Config(), requests=False))
        past = _Past(source, settings, writer, recorder, wait)
        try:
            return past.record(folder, collected, hear)
        finally:
            writer.discard()


def collected_until(folder: str) -> Collected | None:
    """How far the past is in a folder; None if the folder is new. Raises HistoryError for a history of another kind."""
    try:
        reader = HistoryReader(folder)
        marks = reader.records(kinds=["marks"])
    except HistoryError:
        return None
    collected = None
    for record in marks:
        if isinstance(record.content, Mark) and record.content.name == COLLECTED:
            collected = msgspec.msgpack.decode(record.content.detail, type=Collected)
    if collected is None:
        raise HistoryError(folder, "was recorded live: give the past a folder of its own")
    return collected


def _check_same(folder: str, collected: Collected, settings: PastSettings) -> None:
    """Raises HistoryError if what is there cannot become what is asked for."""
    advice = "name another folder"
    if settings.step_seconds != collected.step_seconds:
        steps = f"{collected.step_seconds:g} s, not {settings.step_seconds:g} s"
        raise HistoryError(folder, f"was read with a step of {steps}: go on with that, or {advice}")
    if settings.since < collected.since - settings.step_seconds:
        problem = f"was read from {moment(collected.since)} on, and what lies before cannot be added"
        raise HistoryError(folder, f"{problem}: name a shorter --since, or {advice}")


class _Past:
    """Reads and writes chunk after chunk."""

    def __init__(
        self,
        source: PrometheusSettings,
        settings: PastSettings,
        writer: HistoryWriter,
        recorder: Recorder,
        wait: Callable[[float], object],
    ) -> None:
        self._settings = settings
        self._writer, self._recorder, self._wait = writer, recorder, wait
        self._client = PrometheusClient(source.url, source.access, source.method)
        self._state = KubeState(self._client, settings.step_seconds)
        self._identities: tuple[NodeIdentity, ...] = ()
        usage = replace(source, step_seconds=settings.step_seconds, history_pods=True)
        self._usage = Prometheus(usage, lambda: self._identities)
        self._nodes: dict[str, NodeLife] = {}
        self._pods: dict[str, PodLife] = {}
        self._rows = 0
        self._since = settings.since

    def record(self, folder: str, collected: Collected | None, hear: Hear) -> PastRecorded:
        start = self._settings.since if collected is None else max(collected.until, self._settings.since)
        self._since = (collected and collected.since) or self._settings.since
        if start >= self._settings.until - self._settings.step_seconds:
            return PastRecorded(0, 0, 0, start, start)
        at, readings, chunks, empty = start, 0, 0, 0
        try:
            while at < self._settings.until:
                until = self._trying(lambda at=at: self._chunk_end(at))  # type: ignore[misc]
                found = self._trying(lambda at=at, until=until: self._read(at, until))  # type: ignore[misc]
                if found is None:
                    empty += 1
                else:
                    if collected is None and not chunks:
                        self._recorder.began(at)
                    readings += self._write(*found, at, until, resuming=collected is not None and not chunks)
                    chunks += 1
                at = until
                if chunks:
                    self._keep(at)
                hear((at - start) / (self._settings.until - start))
                self._wait(self._settings.pause_seconds)
        except CollectorError as error:
            raise PastInterruptedError(error, folder, at if chunks or collected else None) from error
        finally:
            self._usage.close()
            self._client.close()
        if not chunks and collected is None:
            raise EmptyReadingError("kube-state-metrics", f"no node in all that time: {HINT}")
        return PastRecorded(readings, chunks, empty, start, at)

    def _chunk_end(self, at: float) -> float:
        """So that a query brings no more samples than it should; as long as nothing was read yet, pods are counted."""
        step, longest = self._settings.step_seconds, min(at + LONGEST_CHUNK_SECONDS, self._settings.until)
        rows = self._rows or self._state.count(at, longest)
        points = max(SAMPLES_PER_CHUNK // max(rows, 1), SHORTEST_CHUNK_STEPS)
        return min(longest, at + points * step)

    def _trying(self, work: Callable[[], T]) -> T:
        for patience in PATIENCE_SECONDS:
            try:
                return work()
            except SourceUnreachableError:
                self._wait(patience)
            except SourceRefusedError as error:
                if error.status < 500 and error.status != 429:
                    raise
                self._wait(patience)
        return work()

    def _read(self, since: float, until: float) -> tuple[ClusterPast, list[Reading]] | None:
        """A chunk, or None if nobody was there."""
        try:
            past = self._state.between(since, until)
            self._identities = tuple(NodeIdentity(life.node.name, life.node.addresses) for life in past.nodes)
            readings = list(self._usage.between(since, until - 1e-3))
        except EmptyReadingError:
            return None
        self._rows = len(past.nodes) + len(past.pods)
        return past, readings

    def _write(self, past: ClusterPast, readings: list[Reading], since: float, until: float, *, resuming: bool) -> int:
        told: list[tuple[float, int, Event | Reading]] = [(reading.time, 1, reading) for reading in readings]
        events = list(self._events(past, since, until))
        told += [(when, 0, event) for when, event in events]
        if resuming:
            told += [(since, 0, relisted) for relisted in _relisted(events, since)]
        told.sort(key=lambda item: item[:2])
        for when, _, item in told:
            if isinstance(item, Reading):
                self._recorder.reading(item, when)
                self._recorder.snapshot(when)
            else:
                self._recorder.event(item, when)
                self._recorder.changes(EVERYTHING, when)
        return len(readings)

    def _events(self, past: ClusterPast, since: float, until: float) -> Iterator[tuple[float, Event]]:
        """What a watch would have told, nodes before pods."""
        late = until - 2 * self._settings.step_seconds
        nodes = {life.node.name: life for life in past.nodes}
        for name, life in nodes.items():
            if name not in self._nodes or self._nodes[name].node != life.node:
                yield _within(life.first_seen, since, until) if name not in self._nodes else since, NodeSeen(life.node)
            if life.last_seen < late:
                yield life.last_seen + self._settings.step_seconds, NodeGone(name)
        for name in self._nodes.keys() - nodes.keys():
            yield since, NodeGone(name)
        self._nodes = {name: life for name, life in nodes.items() if life.last_seen >= late}
        yield from self._pod_events(past, since, until, late)

    def _pod_events(self, past: ClusterPast, since: float, until: float, late: float) -> Iterator[tuple[float, Event]]:
        pods = {life.pod.identity: life for life in past.pods}
        staying: dict[str, PodLife] = {}
        for identity, life in sorted(pods.items(), key=lambda pair: pair[1].first_seen):
            gone = _gone_at(life, late, self._settings.step_seconds)
            if gone is not None and gone <= since:
                continue
            if identity not in self._pods or self._pods[identity].pod.shape != life.pod.shape:
                bound = life.pod.bound_at if life.pod.bound_at is not None else life.first_seen
                yield _within(bound if identity not in self._pods else since, since, until), PodSeen(life.pod)
            if gone is None:
                staying[identity] = life
            else:
                yield _within(gone, since, until), PodGone(identity)
        for identity in self._pods.keys() - pods.keys():
            yield since, PodGone(identity)
        for identity in self._pods.keys() & pods.keys() - staying.keys():
            if (ended := _gone_at(pods[identity], late, self._settings.step_seconds)) is not None and ended <= since:
                yield since, PodGone(identity)
        self._pods = staying

    def _keep(self, until: float) -> None:
        """Make the chunk durable, with the mark that it is whole."""
        mark = Collected(until, self._settings.step_seconds, self._since)
        self._recorder.checkpoint(lambda: None, until)
        self._writer.write_mark(COLLECTED, msgspec.msgpack.encode(mark), time=until)
        self._writer.flush()


def _relisted(events: list[tuple[float, Event]], since: float) -> Iterator[Relisted]:
    """Where it goes on, everybody is told of again: whoever is not among them left meanwhile."""
    there = [event for when, event in events if when <= since]
    yield Relisted("nodes", frozenset(event.node.name for event in there if isinstance(event, NodeSeen)))
    yield Relisted("pods", frozenset(event.pod.identity for event in there if isinstance(event, PodSeen)))


def _within(moment: float, since: float, until: float) -> float:
    return min(max(moment, since), until - 1e-3)


def _gone_at(life: PodLife, late: float, step: float) -> float | None:
    """When a pod finished or was seen no more; None if it was there to the end."""
    if life.finished_at is not None:
        return life.finished_at
    return life.last_seen + step if life.last_seen < late else None
