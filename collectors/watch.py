"""Nodes, pods and namespaces by list and watch, told as the events of collectors.cluster.

A `Watch` follows one kind. It lists (page by page), then watches from there; when the connection drops it goes on
from the last version it saw; when that version is gone (410) it lists anew.

The bargain:
- `run(emit)` belongs to one thread and returns only after `stop()`, which any thread may call and which also ends
  a silent stream at once. Events are emitted in the order in which the API server told them, from that thread: what a
  page of a list tells all at once, everything else by itself.
- No failure of the API server ends it: it backs off with full jitter and tries again. What `emit` raises does.
- What may not be watched is told once as `Forbidden`, then tried again rarely; after it was allowed, told anew.
- An object that cannot be understood is skipped and counted; a `Relisted` still names it, because it is there.
- Finished pods are left out by the server. A pod that finishes therefore arrives as `PodGone`.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from collectors.cluster import Event, Forbidden, Kind, Relisted
from collectors.errors import (
    CollectorError,
    MalformedAnswerError,
    QuantityError,
    SourceRefusedError,
    SourceUnreachableError,
)
from collectors.kubernetes_api import KubernetesApi, Stream
from collectors.watched_kinds import KINDS, OUTLINE, SAID, Item, Outline, Page, Said

_STEADY_SECONDS = 1.0
"""A watch that lasted this long was no failure, even if nothing happened in it."""

_SILENCE_SECONDS = 15.0
"""How long after its own end a watch may stay silent before its connection counts as lost."""

_LOG = logging.getLogger(__name__)

Emit = Callable[[Sequence[Event]], None]


@dataclass(frozen=True)
class Pace:
    """How much at once, how long, how often."""

    page_limit: int = 500
    watch_seconds: float = 300.0
    """Each watch lasts between this and twice this: the API server likes its clients to come back at odd times."""
    first_delay_seconds: float = 1.0
    longest_delay_seconds: float = 30.0
    forbidden_delay_seconds: float = 300.0
    list_timeout_seconds: float = 30.0

    def delay(self, failures: int, chance: float) -> float:
        """Full jitter: anything from zero to a bound that doubles with each failure in a row."""
        return chance * min(self.longest_delay_seconds, self.first_delay_seconds * 2.0 ** min(failures - 1, 30))


@dataclass(frozen=True)
class WatchStatistics:
    """What a watch has been through since it began."""

    relists: int = 0
    dropped_connections: int = 0
    failures: int = 0
    skipped_objects: int = 0
    forbidden: bool = False
    last_problem: str = ""


class Watch:
    """Follows one kind of object; see the module for the bargain. Clock, chance and waiting can be injected."""

    def __init__(
        self,
        api: KubernetesApi,
        kind: Kind,
        *,
        pace: Pace | None = None,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.kind = kind
        self._api = api
        self._watched = KINDS[kind]
        self._pace = pace or Pace()
        self._page_limit = self._pace.page_limit
        self._chance = chance
        self._clock = clock
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._stream: Stream | None = None
        self._version: str | None = None
        self._failures_in_a_row = 0
        self._counts = dict.fromkeys(("relists", "dropped_connections", "failures", "skipped_objects"), 0)
        self._forbidden = False
        self._last_problem = ""

    @property
    def statistics(self) -> WatchStatistics:
        """A snapshot; may be asked from any thread."""
        return WatchStatistics(**self._counts, forbidden=self._forbidden, last_problem=self._last_problem)

    def run(self, emit: Emit) -> None:
        """List, watch and emit until stopped."""
        while not self._stopping.is_set():
            delay = self._attempt(emit)
            if delay > 0 and not self._stopping.is_set():
                self._wait(delay)

    def stop(self) -> None:
        """Make `run` return soon: at once from a stream or a wait, else after the request under way."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    # -- One attempt, and what follows from how it ended ---------------------------------------------------------

    def _attempt(self, emit: Emit) -> float:
        """List if need be, watch as long as it lasts; the seconds to wait before the next attempt."""
        self._failures_in_a_row += 1  # until something good happens
        try:
            if self._version is None:
                self._version = self._list(emit)
            if self._version is not None:
                self._follow(self._version, emit)
        except SourceRefusedError as error:
            return self._after_refusal(error, emit)
        except MalformedAnswerError as error:  # nonsense would be told again: a fresh list leads past it
            self._version = None
            return self._after_failure(error)
        except CollectorError as error:
            return self._after_failure(error)
        return self._backoff()

    def _after_refusal(self, error: SourceRefusedError, emit: Emit) -> float:
        if error.status == 403:
            return self._after_forbidden(error, emit)
        if error.status == 410:
            self._version = None
            _LOG.info("%s: the last known version is gone, listing anew", self.kind)
            return self._backoff()
        if 400 <= error.status < 500 and error.status not in (401, 408, 429):
            self._version = None
        return self._after_failure(error)

    def _after_forbidden(self, error: SourceRefusedError, emit: Emit) -> float:
        self._version = None
        self._last_problem = str(error)
        if not self._forbidden:
            self._forbidden = True
            _LOG.warning("watching %s is not allowed: %s (%s)", self.kind, self._watched.lost, error.message)
            emit([Forbidden(self.kind, self._watched.lost)])
        return self._pace.forbidden_delay_seconds

    def _after_failure(self, error: CollectorError) -> float:
        self._counts["failures"] += 1
        self._failures_in_a_row = max(self._failures_in_a_row, 1)
        self._last_problem = str(error)
        delay = self._backoff()
        level = logging.WARNING if self._failures_in_a_row == 1 else logging.INFO
        _LOG.log(level, "watching %s failed, again in %.1f s: %s", self.kind, delay, error)
        return delay

    def _backoff(self) -> float:
        """Nothing after an attempt that went well."""
        if self._failures_in_a_row == 0:
            return 0.0
        return self._pace.delay(self._failures_in_a_row, self._chance())

    # -- Listing -------------------------------------------------------------------------------------------------

    def _list(self, emit: Emit) -> str | None:
        """Tell everything there is; the version to watch from, or None if stopped on the way."""
        present: set[str] = set()
        following = ""
        while not self._stopping.is_set():
            page = self._page(following)
            present.update(filter(None, map(self._watched.key_of, page.items)))
            events = [event for item in page.items if (event := self._understood(item)) is not None]
            if events:
                emit(events)
            following = page.metadata.following
            if not following:
                emit([Relisted(self.kind, frozenset(present))])
                self._counts["relists"] += 1
                _LOG.info("listed %d %s", len(present), self.kind)
                return page.metadata.resource_version
        return None

    def _page(self, following: str) -> Page[Any]:
        query: dict[str, str | int] = {"limit": self._page_limit}
        if following:
            query["continue"] = following
        try:
            body = self._api.get(self._watched.path, query | self._watched.selection, self._pace.list_timeout_seconds)
        except SourceRefusedError as error:
            if error.status == 410:  # the list took longer than the server keeps its pages: fewer, larger ones
                self._page_limit *= 4
            raise
        try:
            return self._watched.page(body)
        except msgspec.DecodeError as error:
            raise self._malformed(f"a list of {self.kind}", error) from error

    def _understood(self, item: Item) -> Event | None:
        try:
            return self._watched.seen(item)
        except (msgspec.DecodeError, QuantityError, OverflowError) as error:
            level = logging.DEBUG if self._counts["skipped_objects"] else logging.WARNING
            self._counts["skipped_objects"] += 1
            self._last_problem = f"one of the {self.kind} cannot be understood: {error}"
            _LOG.log(level, "skipped %r: %s", self._watched.key_of(item), self._last_problem)
            return None

    # -- Watching ------------------------------------------------------------------------------------------------

    def _follow(self, version: str, emit: Emit) -> None:
        """Tell what happens until the stream ends. Raises what ended it, unless it ended as agreed."""
        seconds = max(1, int(self._pace.watch_seconds * (1.0 + self._chance())))
        query = self._watched.selection | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": seconds,
        }
        with self._api.stream(self._watched.path, query, seconds + _SILENCE_SECONDS) as stream:
            self._stream = stream
            self._forbidden = False
            try:
                self._listen(stream, emit)
            finally:
                self._stream = None

    def _listen(self, stream: Stream, emit: Emit) -> None:
        started = self._clock()
        try:
            for line in stream if not self._stopping.is_set() else ():
                self._hear(line, emit)
                self._failures_in_a_row = 0
        except SourceUnreachableError:
            self._counts["dropped_connections"] += 1
            raise
        finally:
            if self._clock() - started >= _STEADY_SECONDS:
                self._failures_in_a_row = 0

    def _hear(self, line: bytes, emit: Emit) -> None:
        try:
            said = SAID.decode(line)
            outline = OUTLINE.decode(said.object)
        except msgspec.DecodeError as error:
            raise self._malformed("a watch event", error) from error
        if said.type == "ERROR":
            raise SourceRefusedError(self._url(), outline.code, outline.message or "the watch failed")
        event = self._event(said, outline)
        if event is not None:
            emit([event])
        self._version = outline.metadata.resource_version or self._version

    def _event(self, said: Said, outline: Outline) -> Event | None:
        if said.type == "BOOKMARK":
            return None
        if said.type == "DELETED":
            return self._watched.gone(self._watched.key(outline.metadata))
        return self._understood(said.object)

    def _malformed(self, expected: str, error: Exception) -> MalformedAnswerError:
        return MalformedAnswerError(self._url(), expected, str(error))

    def _url(self) -> str:
        return self._api.url + self._watched.path
