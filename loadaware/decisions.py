"""The last decisions: each answer to filter and prioritize, and where its pod really went.

The bargain: while kube-scheduler waits, nothing is worked out. A decision takes references to what the answer was made
of anyway; when nobody asks it is reduced to a few bytes per node (records.py) and lets go of the snapshot. Then it is
settled. Decisions are bounded in number and in bytes, and the oldest go first. One that is not settled counts as
`LARGE` bytes per node.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.aside import Aside
from loadaware.changes import PodBound, PodLeft
from loadaware.filtering import Filtering
from loadaware.ladder import Staleness
from loadaware.ranking import Ranking
from loadaware.records import Filtered, Ranked, filtered, position_of, ranked
from loadaware.snapshot import Snapshot

SMALLEST = 2000
LARGE = 200
"""Bytes per node asked about of an answer that is not reduced yet."""
LARGE_ROW = 16
"""Bytes per node of the cluster that such an answer may hold besides."""
SETTLE_SECONDS = 0.1
LINGER_SECONDS = 10.0
"""While requests come one after the other, decisions are not reduced before this age: most are dropped by then."""
LATE_SHARE = 0.25
"""Of the memory for decisions, as much again for those that left the ring and still wait to be told of."""
RAW_UNTIL_WAITING = 32
"""With more decisions than this to be reduced, the scorers' own numbers are not worked out."""

Raws = Callable[["Decision"], Mapping[str, Floats]]


class Decision:
    """One answer. `record` is what is kept of it, once it is settled."""

    record: Ranked | Filtered | None = None
    chosen: str | None = None
    """The node that the pod was bound to."""
    chosen_rank: int | None = None
    """Nodes better than that one, on the wire, plus one; None if it was not ranked."""
    bound_at: float | None = None
    gone: bool = False
    """Whether the pod went away before it was bound."""
    in_ring: bool = True
    aside: bool = False
    """Whether it was only thought, not answered: in shadow mode kube-scheduler hears nothing of it."""
    age_seconds: float | None = None
    """Of the newest sample of any node, at the time of the answer; None: never measured, or it never ages."""
    took_seconds: float | None = None
    """From the whole body to the answer; None: not answered at once, or not answered."""
    trace: str | None = None
    """The `traceparent` that came with the request."""

    def __init__(  # noqa: PLR0917 - on the way of every request, where keywords cost
        self, number: int, verb: str, pod: Pod, answer: Ranking | Filtering, asked: int, snapshot: Snapshot, time: float
    ) -> None:
        self.number = number
        self.verb = verb
        self.pod = pod
        self.answer: Ranking | Filtering | None = answer
        self.asked = asked
        self.snapshot: Snapshot | None = snapshot
        """What it was made from; None once it is settled."""
        self.time = time
        self.size_bytes = SMALLEST + LARGE * asked + LARGE_ROW * len(snapshot.names)

    @property
    def chosen_first(self) -> bool | None:
        """Whether the node really chosen is among our first on the wire; None if it is not bound, or not ranked."""
        return None if self.chosen_rank is None else self.chosen_rank == 1

    def choose(self, node: str, bound_at: float) -> None:
        """The pod went to that node."""
        self.chosen, self.bound_at, self.gone = node, bound_at, False
        self.chosen_rank = None
        ranking = self.answer if self.record is None else self.record
        if isinstance(ranking, Ranking | Ranked):
            position = _position(ranking, node)
            if position is not None:
                self.chosen_rank = 1 + int((ranking.priorities > ranking.priorities[position]).sum())

    def let_go(self, snapshot: Snapshot, profile: str) -> None:
        """Hold on to nothing but the record."""
        newest = float(snapshot.sampled_at.max(initial=-np.inf))
        self.age_seconds = max(self.time - newest, 0.0) if np.isfinite(newest) else None
        self.generation, self.profile = snapshot.generation, profile
        pod = self.pod
        self.pod = Pod(namespace=pod.namespace, name=pod.name, uid=pod.uid, shape=pod.shape, priority=pod.priority)
        self.answer = self.snapshot = None


def _position(ranking: Ranking | Ranked, node: str) -> int | None:
    if isinstance(ranking, Ranked):
        return ranking.position(node)
    return position_of(node, ranking.names if ranking.rows is None else ranking.table, ranking.rows)


class Decisions:
    """The ring. One thread: the event loop's."""

    def __init__(
        self,
        kept: int = 1000,
        memory_bytes: float = 64 * 2**20,
        aside: Aside | None = None,
        time_left: Callable[[], bool] = lambda: True,
    ) -> None:
        """`time_left` says whether requests leave time for a piece of work between them."""
        self.kept = kept
        self.memory_bytes = memory_bytes
        self.staleness = Staleness()
        self.raws: Raws = _no_raws
        self.on_settling: list[Callable[[Decision], None]] = []
        """Called with each decision before it is reduced."""
        self.on_settled: list[Callable[[Decision], None]] = []
        """Called with each decision once it is reduced."""
        self.on_lost: list[Callable[[Decision], None]] = []
        """Called with each decision that will never be reduced, though it was to be: too many waited."""
        self.on_bound: list[Callable[[Decision], None]] = []
        """Called with each ranked decision once its pod is bound."""
        self.counted = 0
        """Decisions ever kept."""
        self.size_bytes = 0
        self.settle_each = False
        """Reduce those, too, that are dropped before there was time for it."""
        self._aside = Aside(SETTLE_SECONDS, 1, self._may_settle) if aside is None else aside
        self._time_left = time_left
        self._ring: deque[Decision] = deque()
        self._unsettled: deque[Decision] = deque()
        self._late: deque[Decision] = deque()
        self._late_bytes = 0
        self.lost = 0
        """Decisions that nobody was told of, because too many waited."""
        self._latest: dict[str, dict[str, Decision]] = {"filter": {}, "prioritize": {}}
        self._names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def __len__(self) -> int:
        return len(self._ring)

    def __iter__(self) -> Iterator[Decision]:
        """Newest first."""
        return reversed(self._ring)

    def note(
        self, pod: Pod, answer: Ranking | Filtering, asked: int, snapshot: Snapshot, time: float
    ) -> Decision | None:
        """Keep an answer; None if none are kept."""
        if not self.kept:
            return None
        self.counted = number = self.counted + 1
        verb = "prioritize" if isinstance(answer, Ranking) else "filter"
        decision = Decision(number, verb, pod, answer, asked, snapshot, time)
        self._ring.append(decision)
        self._latest[verb][pod.identity] = decision
        self.size_bytes += decision.size_bytes
        if not self._unsettled:
            self._aside.put(self._settle_oldest)
        self._unsettled.append(decision)
        if len(self._ring) > self.kept or self.size_bytes > self.memory_bytes:
            self._drop()
        return decision

    def resize(self, kept: int, memory_bytes: float) -> None:
        """Take other bounds."""
        self.kept, self.memory_bytes = kept, memory_bytes
        self._drop()

    def bound(self, change: PodBound) -> None:
        """The watch tells where a pod went."""
        for decision in self._of(change.identity):
            if decision.chosen != change.node:
                decision.choose(change.node, change.bound_at)
                if decision.verb == "prioritize":
                    _tell(self.on_bound, decision)

    def left(self, change: PodLeft) -> None:
        """The watch tells that a pod is gone."""
        for decision in self._of(change.identity):
            decision.gone = decision.gone or decision.chosen is None

    def of_pod(self, key: str) -> tuple[Decision | None, Decision | None]:
        """The latest decisions about a pod (namespace/name): filter, prioritize. Settled.

        Only of the last attempt: a ranking before the last filter is of an earlier one, and so is a filter of another
        pod of the same name.
        """
        ranking = next((d for d in self if d.verb == "prioritize" and d.pod.key == key), None)
        filtering = next((d for d in self if d.verb == "filter" and d.pod.key == key), None)
        if ranking is not None and filtering is not None:
            if filtering.number > ranking.number:
                ranking = None
            elif filtering.pod.identity != ranking.pod.identity:
                filtering = None
        for decision in (filtering, ranking):
            if decision is not None:
                self.settle(decision)
        return filtering, ranking

    def settle(self, decision: Decision) -> None:
        """Reduce a decision to what is kept of it, if that was not done yet."""
        answer, snapshot = decision.answer, decision.snapshot
        if answer is None or snapshot is None:
            return
        _tell(self.on_settling, decision)
        if isinstance(answer, Ranking):
            few = len(self._unsettled) <= RAW_UNTIL_WAITING
            raws = self.raws(decision) if few and answer.parts else {}
            kept = ranked(answer, snapshot, decision.pod, now=decision.time, staleness=self.staleness, raws=raws)
            decision.record = kept if kept.rows is None else replace(kept, table=self._table(snapshot))
        else:
            decision.record = filtered(answer)
        before = decision.size_bytes
        decision.let_go(snapshot, answer.profile)
        decision.size_bytes = decision.record.size_bytes
        if decision.in_ring:
            self.size_bytes += decision.size_bytes - before
        _tell(self.on_settled, decision)
        if self.size_bytes > self.memory_bytes:
            self._drop()

    def settle_all(self) -> None:
        """Reduce all of them now."""
        while self._late or self._unsettled:
            self._settle_next()

    def _may_settle(self) -> bool:
        """Whether requests leave time for it, or the oldest decision waits for long."""
        return self._time_left() or (
            bool(self._unsettled) and self._ring[-1].time - self._unsettled[0].time > LINGER_SECONDS
        )

    def _settle_oldest(self) -> None:
        self._settle_next()
        if self._late or self._unsettled:
            self._aside.put(self._settle_oldest)

    def _settle_next(self) -> None:
        """The oldest that was not reduced yet."""
        if self._late:
            decision = self._late.popleft()
            self._late_bytes -= decision.size_bytes
            self.settle(decision)
        elif self._unsettled:
            self.settle(self._unsettled.popleft())

    def _of(self, identity: str) -> list[Decision]:
        return [latest[identity] for latest in self._latest.values() if identity in latest]

    def _drop(self) -> None:
        """Let the oldest go, until the bounds are kept."""
        while self._ring and (len(self._ring) > self.kept or self.size_bytes > self.memory_bytes):
            oldest = self._ring.popleft()
            oldest.in_ring = False
            self.size_bytes -= oldest.size_bytes
            if self._unsettled and self._unsettled[0] is oldest:
                self._unsettled.popleft()
                if self.settle_each:
                    self._put_off(oldest)
            latest = self._latest[oldest.verb]
            if latest.get(oldest.pod.identity) is oldest:
                del latest[oldest.pod.identity]

    def _put_off(self, decision: Decision) -> None:
        """One that left the ring before it was reduced: a request is no time to do it."""
        if self._late_bytes + decision.size_bytes <= LATE_SHARE * self.memory_bytes:
            self._late.append(decision)
            self._late_bytes += decision.size_bytes
        else:
            self.lost += 1
            _tell(self.on_lost, decision)

    def _table(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The snapshot's names, as one object for all snapshots in a row that have the same."""
        seen, kept = self._names
        if snapshot.names is not seen:
            kept = kept if kept == snapshot.names else snapshot.names
            self._names = snapshot.names, kept
        return kept


def _no_raws(_: Decision) -> Mapping[str, Floats]:
    return {}


def _tell(listeners: Sequence[Callable[[Decision], None]], decision: Decision) -> None:
    for listener in listeners:
        listener(decision)
