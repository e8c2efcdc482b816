"""One configuration on one history: what was told is told again, with every moved pod where it is in the replay.

The observer and the adviser are the live ones, under the clock of the record. A pod goes

    where it really went     if the answer is the recorded one: whatever else decided then decides now
                             if our model of kube-scheduler gives that node the highest sum, too
                             if nothing was asked about it (it was there before, it is a DaemonSet's ...)
    where the sum of our priority and kube-scheduler's default plugins is highest     otherwise; ties by seeded dice

So under the configuration that was recorded everything is as it was: readings, answers and placements, to the last bit.
What is told and when, how long pods live and what each of them uses, is the record's.
"""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import cast

import msgspec
import numpy as np

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen, Relisted
from collectors.errors import HistoryError
from collectors.history import Checkpoint, HistoryReader, Mark, Record, RecordKind
from collectors.manifests import Pod
from collectors.reading import Floats, Reading
from loadaware.config import Config
from loadaware.default_plugins import POINTS_PER_PRIORITY
from loadaware.isolation import working
from loadaware.profiles import adviser_settings
from loadaware.recorder import BEGAN, SNAPSHOT, Beginning, CheckpointState
from loadaware.replay.judging import Judge, block_length
from loadaware.replay.moves import Move, Moves
from loadaware.replay.ordering import AskedRecord, Ordering
from loadaware.replay.outcome import Counts, MoveReport, ReplayOutcome, ReplaySettings
from loadaware.replay.retelling import Retelling
from loadaware.replay.whereabouts import Whereabouts
from loadaware.simulation.default_scores import DefaultScores
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements
from loadaware.workload import workload_of

Progress = Callable[[float], None]
LONGEST_WARM_UP = 3600.0
STAYS = frozenset({"DaemonSet", "Node"})
"""Owners whose pods belong to their node."""
TOLD_EVERY = 0.005
BEFORE_SECONDS = 3600.0
"""What is judged from the middle of a history is played from a checkpoint at least this far before it, if there is one:
the window is full by then."""


def replay(
    folder: str | Path, config: Config, settings: ReplaySettings | None = None, progress: Progress | None = None
) -> ReplayOutcome:
    """Replay a history under a configuration. Raises HistoryError or ConfigError. `progress` hears the share done."""
    started = perf_counter()
    run = ReplayRun(folder, config, settings or ReplaySettings())
    with working(run.profiles):
        run.go(progress)
    return run.outcome(perf_counter() - started)


class ReplayRun:
    """One run: state that is told record by record."""

    def __init__(self, folder: str | Path, config: Config, settings: ReplaySettings) -> None:
        self._folder, self._settings = str(folder), settings
        self._reader = HistoryReader(folder, skip_damaged=settings.skip_damaged)
        span = self._reader.span()
        if not span.readings:
            raise HistoryError(self._folder, "holds no reading: there is no usage to replay")
        self._begin = span.earliest if settings.since is None else max(settings.since, span.earliest)
        self._end = span.latest if settings.until is None else min(settings.until, span.latest)
        if self._begin >= self._end:
            raise HistoryError(self._folder, "has nothing in that time: `loadaware history` shows its span")
        length = self._end - self._begin
        warm_up = settings.warm_up_seconds
        self._since = self._begin + (min(LONGEST_WARM_UP, length / 4) if warm_up is None else min(warm_up, length))
        self._block = settings.block_seconds or block_length(self._end - self._since)
        self._judge = Judge(self._since, self._block)
        self._told = Retelling(config)
        self._where, self._moves, self._scores = Whereabouts(), Moves(), DefaultScores()
        self._ordering = Ordering(self._reader, None if settings.until is None else self._end, self._start())
        self._passed: dict[str, tuple[str, ...]] = {}
        self._chosen: dict[str, _Choice] = {}
        self._counts: dict[str, int] = {}
        self._over: list[Move] = []
        self._amounts: tuple[tuple[str, ...], int, Floats, Floats] | None = None
        self._nodes_told = 0
        self._requests_recorded = True
        self._pods_measured = True
        self.profiles = tuple(adviser_settings(config).profiles.values())

    # -- All of it --------------------------------------------------------------------------------------------------

    def go(self, progress: Progress | None = None) -> None:
        """Play it to its end."""
        said, length = 0.0, self._end - self._begin
        for item in self._ordering:
            if isinstance(item, AskedRecord):
                self._asked(item)
            else:
                self._take(item)
            share = (item.time - self._begin) / length
            if progress is not None and share >= said + TOLD_EVERY:
                said = share
                progress(min(share, 1.0))

    def _start(self) -> int:
        """The number of the record before the first: where an observer began, or a checkpoint well before what is
        judged.
        """
        kinds: tuple[RecordKind, ...] = ("marks", "checkpoints")
        begin = None
        if self._settings.since is not None:
            begin = self._reader.checkpoint(before=self._begin - BEFORE_SECONDS)
        begin = begin or next(filter(_begins, self._reader.records(kinds=kinds)), None)
        return 0 if begin is None else begin.sequence - 1

    def _take(self, record: Record) -> None:
        self._told.clock.now = record.time
        match record.content:
            case Reading():
                self._read(record.content, record.time)
            case Mark(name=name, detail=detail):
                if name == BEGAN:
                    self._requests_recorded = msgspec.msgpack.decode(detail, type=Beginning).requests
                self._told.mark(name, detail)
            case Checkpoint(state=state):
                self._checkpoint(state)
            case NodeSeen() | NodeGone() | PodSeen() | PodGone() | Relisted():
                self._event(record.content, record.time)
            case _ as other:
                self._told.event(other)  # type: ignore[arg-type]

    def _checkpoint(self, state: bytes) -> None:
        """Where a replay begins in the middle, it is what is there; otherwise it is known."""
        if self._told.begun:
            self._told.learned(state)
            return
        told = msgspec.msgpack.decode(state, type=CheckpointState)
        self._requests_recorded = told.beginning.requests
        self._told.mark(BEGAN, b"")
        for event in told.events:
            self._event(event, self._told.clock.now, placing=False)
        self._told.learned(state, anyway=True)
        self._told.mark(SNAPSHOT, b"")

    # -- What the cluster tells -------------------------------------------------------------------------------------

    def _event(self, event: Event, time: float, *, placing: bool = True) -> None:
        match event:
            case PodSeen(pod=pod):
                event = self._pod_seen(event, pod, time, placing=placing)
            case PodGone(identity=identity):
                self._pod_gone(identity)
            case NodeSeen(node=node):
                self._where.node_seen(node)
                self._nodes_told += 1
            case NodeGone(name=name):
                self._node_gone(name)
            case Relisted(kind="pods", present=present):
                for identity in self._where.absent(present):
                    self._pod_gone(identity)
            case Relisted(kind="nodes", present=present):
                for name in [name for name in self._where.present if name not in present]:
                    self._node_gone(name)
        self._told.event(event)

    def _pod_seen(self, event: PodSeen, pod: Pod, time: float, *, placing: bool) -> PodSeen:
        if pod.finished:
            self._pod_gone(pod.identity)
            return event
        if pod.node is None:
            return event
        node = self._where.node_of(pod.identity)
        move = self._moves.moved.get(pod.identity)
        if node is None or (move is None and node != pod.node) or (move is not None and move.home != pod.node):
            node = self._place(pod, time) if placing else pod.node
            self._settle(pod, node, time)
        elif pod.identity in self._chosen:
            del self._chosen[pod.identity]
        return event if node == pod.node else PodSeen(msgspec.structs.replace(pod, node=node))

    def _place(self, pod: Pod, time: float) -> str:
        """Where a pod goes that is on no node yet, and was really bound to `pod.node`."""
        home = pod.node or ""
        choice = self._chosen.pop(pod.identity, None)
        passed = self._passed.pop(pod.identity, None)
        if choice is None and (self._free(pod, time) or passed is not None):
            names = passed if passed is not None else self._where.open_to(pod)
            choice = self._choose(msgspec.structs.replace(pod, node=None, phase="Pending"), names, ())
        return home if choice is None else self._decide(choice, home, pod)

    def _free(self, pod: Pod, time: float) -> bool:
        """Where no requests are recorded: whether the pod was placed in our time and may go elsewhere."""
        if self._requests_recorded or (pod.owner is not None and pod.owner.kind in STAYS):
            return False
        bound_at = pod.bound_at if pod.bound_at is not None else pod.created_at
        began = self._told.first_reading
        return began is not None and (time if bound_at is None else bound_at) >= began

    def _settle(self, pod: Pod, node: str, time: float) -> None:
        """The pod is on that node now."""
        self._unmove(pod.identity)
        self._where.put(pod, node)
        if pod.node is not None and node != pod.node:
            self._count("elsewhere")
            self._moves.moved[pod.identity] = Move(pod, pod.node, node, time)
            self._where.move_extra(pod.shape, pod.node, node)

    def _pod_gone(self, identity: str) -> None:
        self._unmove(identity)
        self._where.take(identity)
        self._chosen.pop(identity, None)
        self._passed.pop(identity, None)

    def _unmove(self, identity: str) -> None:
        move = self._moves.moved.pop(identity, None)
        if move is not None:
            self._where.move_extra(move.pod.shape, move.home, move.node, sign=-1)
            self._over.append(move)
            if len(self._over) > 20 * self._settings.kept_moves + 1000:
                self._over = _greatest(self._over, self._settings.kept_moves)

    def _node_gone(self, name: str) -> None:
        """Whoever was moved there is put back where it really was: in reality it lived on."""
        self._nodes_told += 1
        for identity in self._where.node_gone(name):
            move = self._moves.moved.get(identity)
            if move is not None and move.node == name:
                self._unmove(identity)
                self._where.put(move.pod, move.home)
                self._count("returned")
                self._told.change(PodSeen(move.pod))

    # -- Readings ---------------------------------------------------------------------------------------------------

    def _read(self, reading: Reading, time: float) -> None:
        if self._told.past or not reading.nodes.names:
            self._told.read(reading)
            return
        seconds = self._judge.seconds_until(time)
        capacity, allocatable = self._amounts_of(reading)
        shifted = self._moves.shift(reading, capacity)
        before = reading.nodes.usage * capacity if reading.base == "capacity" else reading.nodes.usage
        utilizations = self._judge.record(
            reading, time, seconds, recorded=before, replayed=shifted.demand, allocatable=allocatable
        )
        if time >= self._since:
            self._moves.credit(reading, seconds, *utilizations)
        self._pods_measured = self._pods_measured and reading.pods is not None
        self._told.read(shifted.reading)

    def _amounts_of(self, reading: Reading) -> tuple[Floats, Floats]:
        """Capacity and allocatable of the reading's nodes (node, resource); NaN for what nobody told of."""
        kept = self._amounts
        if kept is not None and kept[0] is reading.nodes.names and kept[1] == self._nodes_told:
            return kept[2], kept[3]
        present = self._where.present
        tables = []
        for which in ("capacity", "allocatable"):
            told = [dict(getattr(present[n], which)) if n in present else {} for n in reading.nodes.names]
            tables.append(np.array([[t.get(r, np.nan) for r in reading.resources] for t in told]))
        self._amounts = reading.nodes.names, self._nodes_told, tables[0], tables[1]
        return tables[0], tables[1]

    # -- Requests ---------------------------------------------------------------------------------------------------

    def _asked(self, asked: AskedRecord) -> None:
        self._told.clock.now = asked.time
        if asked.request.verb == "filter":
            self._filtered(asked)
        elif asked.request.verb == "prioritize":
            self._ranked(asked)

    def _filtered(self, asked: AskedRecord) -> None:
        pod, names = asked.request.pod, asked.request.node_names
        passed = self._told.filter(pod, names, asked.request.profile)
        verdicts = asked.answer.verdicts if asked.answer is not None and not asked.detail.aside else ()
        really = tuple(n for n, v in zip(names, verdicts, strict=True) if v is None) if verdicts else names
        if set(passed) == set(really):
            self._passed.pop(pod.identity, None)
        else:
            self._count("filters_differing")
            self._passed[pod.identity] = tuple(passed)

    def _ranked(self, asked: AskedRecord) -> None:
        pod, answer = asked.request.pod, asked.answer
        offered = self._passed.get(pod.identity, asked.request.node_names)
        names = self._where.still_fitting(pod, offered)
        counted = answer is not None and not asked.detail.aside
        recorded = answer.priorities if answer is not None and counted else ()
        choice = self._choose(pod, names, recorded if names == asked.request.node_names else (), asked.request.profile)
        if counted:
            self._count("answers_recorded")
            self._count("answers_differing", not choice.same)
        self._chosen[pod.identity] = choice
        if asked.bound_to is not None and self._where.node_of(pod.identity) is None:
            bound = msgspec.structs.replace(pod, node=asked.bound_to)
            self._passed.pop(pod.identity, None)
            self._settle(bound, self._decide(choice, asked.bound_to, bound), asked.time)

    def _choose(
        self, pod: Pod, names: Sequence[str], recorded: tuple[int, ...], profile: str | None = None
    ) -> "_Choice":
        self._count("asked")
        priorities = self._told.rank(pod, names, profile) if names else np.zeros(0, dtype=np.int64)
        known = [name for name in names if self._where.knows(name)]
        same = bool(len(names)) and tuple(priorities.tolist()) == recorded
        if len(known) < len(names) or not names:
            return _Choice(tuple(names), POINTS_PER_PRIORITY * priorities, same)
        where = cast("Placements", self._where)  # it has all that the scores look at
        total = self._scores.total(where, self._where.ask(pod), self._where.rows(names))
        return _Choice(tuple(names), POINTS_PER_PRIORITY * priorities + total, same)

    def _decide(self, choice: "_Choice", home: str, pod: Pod) -> str:
        """The node that the pod goes to."""
        self._count("placed")
        if not choice.names:
            self._count("without_room")
            return home
        best = choice.best()
        if choice.same:
            self._count("explainable")
            self._count("explained", home in best)
        if choice.same or home in best:
            return home
        dice = np.random.default_rng([self._settings.seed, zlib.crc32(pod.identity.encode())])
        return best[int(dice.integers(len(best)))]

    # -- The end ----------------------------------------------------------------------------------------------------

    def _count(self, what: str, more: int = 1) -> None:
        self._counts[what] = self._counts.get(what, 0) + int(more)

    def outcome(self, seconds: float) -> ReplayOutcome:
        """What came of it."""
        judge, told = self._judge, self._told
        report = judge.recorded.whole.report()
        if not report.seconds:
            raise HistoryError(self._folder, "has no two readings of known nodes in what is judged: record for longer")
        counts = Counts(
            **self._counts,
            late=self._ordering.late,
            gaps=judge.gaps,
            clock_jumps=judge.jumps,
            unknown_nodes=told.unknown_nodes,
            readings=told.readings,
            pods_measured=self._pods_measured,
        )
        return ReplayOutcome(
            since=self._since,
            until=self._end,
            block_seconds=self._block,
            requests_recorded=self._requests_recorded,
            recorded=report,
            replayed=judge.replayed.whole.report(),
            recorded_blocks=judge.recorded.reports(),
            replayed_blocks=judge.replayed.reports(),
            counts=counts,
            moves=tuple(map(_report, _greatest([*self._over, *self._moves.moved.values()], self._settings.kept_moves))),
            notes=self._reader.notes,
            seconds=seconds,
        )


class _Choice:
    """Totals for the nodes that a pod may go to; `same`: our answer is the recorded one."""

    def __init__(self, names: tuple[str, ...], totals: Ints, same: bool) -> None:
        self.names, self.totals, self.same = names, totals, same

    def best(self) -> list[str]:
        """The nodes with the highest total."""
        return [self.names[position] for position in np.flatnonzero(self.totals == self.totals.max()).tolist()]


def _begins(record: Record) -> bool:
    content = record.content
    return isinstance(content, Checkpoint) or (isinstance(content, Mark) and content.name == BEGAN)


def _greatest(moves: list[Move], count: int) -> list[Move]:
    return sorted(moves, key=lambda move: (-abs(move.relief), move.time, move.pod.key))[:count]


def _report(move: Move) -> MoveReport:
    return MoveReport(
        pod=move.pod.key,
        workload=workload_of(move.pod),
        time=move.time,
        recorded_node=move.home,
        replayed_node=move.node,
        cores=move.pod.shape.request("cpu"),
        relief_core_hours=move.relief / 3600.0,
    )
