"""One configuration on one history: what was told is told again, with every moved pod where it is in the replay.

The observer and the adviser are the live ones, under the clock of the record; `choosing.py` says where a pod goes.
Under the configuration that was recorded everything is as it was: readings, answers and placements, to the last bit.
What is told and when, how long pods live and what each of them uses, is the record's.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np

from collectors.cluster import Event, NodeGone, NodeSeen, PodGone, PodSeen, Relisted
from collectors.errors import HistoryError
from collectors.history import Checkpoint, HistoryReader, Mark, Record
from collectors.manifests import Pod
from collectors.reading import Floats, Reading
from loadaware.config import Config
from loadaware.isolation import working
from loadaware.profiles import adviser_settings
from loadaware.recorder import BEGAN, LOST, SNAPSHOT, Beginning, CheckpointState
from loadaware.replay.choosing import Choosing
from loadaware.replay.judged_time import judged_time, record_before
from loadaware.replay.judging import Judge
from loadaware.replay.moves import Move, Moves
from loadaware.replay.ordering import AskedRecord, Ordering
from loadaware.replay.outcome import Counts, MoveReport, ReplayOutcome, ReplaySettings
from loadaware.replay.retelling import Retelling
from loadaware.replay.whereabouts import Whereabouts
from loadaware.workload import workload_of

Progress = Callable[[float], None]
TOLD_EVERY = 0.005


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
        self._time = judged_time(self._folder, self._reader, settings)
        self._judge = Judge(self._time.since, self._time.block_seconds)
        self._told = Retelling(config)
        self._where, self._moves = Whereabouts(), Moves()
        self._counts: Counter[str] = Counter()
        self._placed: dict[int, tuple[int, int]] = {}
        self._choosing = Choosing(self._told, self._where, self._counts, settings.seed)
        after = record_before(self._reader, None if settings.since is None else self._time.begin)
        self._ordering = Ordering(self._reader, None if settings.until is None else self._time.end, after)
        self._over: list[Move] = []
        self._amounts: tuple[tuple[str, ...], int, Floats, Floats] | None = None
        self._nodes_told = 0
        self._pods_measured = True
        self.profiles = tuple(adviser_settings(config).profiles.values())

    # -- All of it --------------------------------------------------------------------------------------------------

    def go(self, progress: Progress | None = None) -> None:
        """Play it to its end."""
        said, begin, length = 0.0, self._time.begin, self._time.end - self._time.begin
        for item in self._ordering:
            before = self._counts["placed"], self._counts["elsewhere"]
            if isinstance(item, AskedRecord):
                self._asked(item)
            else:
                self._take(item)
            self._tally(item.time, *before)
            share = (item.time - begin) / length
            if progress is not None and share >= said + TOLD_EVERY:
                said = share
                progress(min(share, 1.0))

    def _tally(self, time: float, placed: int, elsewhere: int) -> None:
        """Which block the pods placed since belong to."""
        more = self._counts["placed"] - placed
        if more and self._time.since <= time <= self._time.end:
            block = int((time - self._time.since) // self._time.block_seconds)
            of = self._placed.get(block, (0, 0))
            self._placed[block] = of[0] + more, of[1] + self._counts["elsewhere"] - elsewhere

    def _take(self, record: Record) -> None:
        self._told.clock.now = record.time
        match record.content:
            case Reading():
                self._read(record.content, record.time)
            case Mark(name=name, detail=detail):
                if name == BEGAN:
                    self._choosing.requests_recorded = msgspec.msgpack.decode(detail, type=Beginning).requests
                elif name == LOST:
                    self._counts["answers_lost"] += int(detail)
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
        self._choosing.requests_recorded = told.beginning.requests
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
            node = self._choosing.node_for(pod, time) if placing else pod.node
            self._settle(pod, node, time)
        else:
            self._choosing.settled(pod.identity)
        return event if node == pod.node else PodSeen(msgspec.structs.replace(pod, node=node))

    def _settle(self, pod: Pod, node: str, time: float) -> None:
        """The pod is on that node now."""
        self._unmove(pod.identity)
        self._where.put(pod, node)
        if pod.node is not None and node != pod.node:
            self._counts["elsewhere"] += 1
            self._moves.moved[pod.identity] = Move(pod, pod.node, node, time)
            self._where.move_extra(pod.shape, pod.node, node)

    def _pod_gone(self, identity: str) -> None:
        self._unmove(identity)
        self._where.take(identity)
        self._choosing.forget(identity)

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
                self._counts["returned"] += 1
                self._told.change(PodSeen(move.pod))

    # -- Readings ---------------------------------------------------------------------------------------------------

    def _read(self, reading: Reading, time: float) -> None:
        if self._told.past or not reading.nodes.names:
            self._told.read(reading)
            return
        seconds = self._judge.seconds_until(time) if time <= self._time.end else 0.0
        capacity, allocatable = self._amounts_of(reading)
        shifted = self._moves.shift(reading, capacity)
        before = reading.nodes.usage * capacity if reading.base == "capacity" else reading.nodes.usage
        utilizations = self._judge.record(
            reading, time, seconds, recorded=before, replayed=shifted.demand, allocatable=allocatable
        )
        if time >= self._time.since:
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
            self._choosing.filtered(asked)
        elif asked.request.verb == "prioritize":
            self._choosing.ranked(asked)
            self._settle_ahead(asked)
        elif asked.request.verb == "bind":
            self._book(asked)

    def _settle_ahead(self, asked: AskedRecord) -> None:
        """Where the record says further on that the pod was bound, it is settled at once."""
        pod = asked.request.pod
        if asked.bound_to is not None and self._where.node_of(pod.identity) is None:
            bound = msgspec.structs.replace(pod, node=asked.bound_to)
            self._settle(bound, self._choosing.node_ahead(bound), asked.time)

    def _book(self, asked: AskedRecord) -> None:
        """We bound it ourselves: it is booked where it goes here. A second record says that binding failed."""
        identity, verdicts = asked.request.pod.identity, asked.answer.verdicts if asked.answer is not None else ()
        if any(verdict is not None for verdict in verdicts):
            self._told.unreserve(identity)
        elif asked.request.node_names:
            self._told.reserve(identity, self._where.node_of(identity) or asked.request.node_names[0])

    # -- The end ----------------------------------------------------------------------------------------------------

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
            since=self._time.since,
            until=self._time.end,
            block_seconds=self._time.block_seconds,
            requests_recorded=self._choosing.requests_recorded,
            recorded=report,
            replayed=judge.replayed.whole.report(),
            recorded_blocks=judge.recorded.reports(),
            replayed_blocks=judge.replayed.reports(),
            counts=counts,
            moves=tuple(map(_report, _greatest([*self._over, *self._moves.moved.values()], self._settings.kept_moves))),
            notes=self._reader.notes,
            seconds=seconds,
            placed_blocks=self._placed,
        )


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
