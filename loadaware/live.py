"""What the live page is told, line by line: JSON that is made once for all who look.

    hello    what is switched on, the profiles, the reference pod; once for each page
    nodes    a column for each fact of every node; after each snapshot, and else at most every `nodes / 1000` seconds
    tick     the time, the state of the source, new decisions; every second

On the event loop only a moment is taken down (some array operations, and one ranking of the reference pod). The text
is made in another thread. Decisions that come faster than `MOST_TOLD` a tick are counted, not told.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from collectors.reading import CPU, MEMORY, Floats
from loadaware import __version__
from loadaware.decisions import Decision
from loadaware.explanation import explain
from loadaware.node_series import NodeFacts
from loadaware.pods_in_flight import PodsInFlight, pods_in_flight
from loadaware.profile import Profile
from loadaware.records import Ranked
from loadaware.service import Service

MOST_TOLD = 10
REMEMBERED = 50
"""Decisions that a page is told when it opens."""
MOST_AWAITED = 200
"""Decisions told before their pod was bound, to be told again."""
NODES_PER_SECOND = 1000.0

Asked = tuple[Decision | None, Decision | None]


@dataclass(frozen=True, eq=False)
class _Moment:
    """What a line about nodes is made of; nobody changes it afterwards."""

    facts: NodeFacts
    in_flight: PodsInFlight
    rungs: list[int]


class LiveFrames:
    """Makes the lines. One thread: the event loop's; encoding happens in others."""

    def __init__(
        self, service: Service, features: Mapping[str, bool], nodes_per_second: float = NODES_PER_SECOND
    ) -> None:
        self._service = service
        self._features = features
        self._nodes_per_second = nodes_per_second
        self._turn = asyncio.Lock()
        self._told_number = 0
        self._awaited: dict[str, Decision] = {}
        self._decisions: deque[dict[str, Any]] = deque(maxlen=REMEMBERED)
        self._nodes = b""
        self._nodes_told_at = -np.inf
        self._told_of = (-1, 0.0)
        self._welcome: bytes | None = None

    async def next(self) -> bytes:
        """The lines of one tick."""
        async with self._turn:
            fresh = await self._fresh_nodes()
            tick = await self._tick()
            self._welcome = None
            return fresh + tick

    async def welcome(self) -> bytes:
        """What one needs to begin with: everything known, as of the last tick."""
        async with self._turn:
            if self._welcome is None:
                await self._fresh_nodes()
                await self._tick()
                hello, tick = self._hello(), self._facts() | {"decisions": list(self._decisions), "more": 0}
                self._welcome = await asyncio.to_thread(lambda: _line(hello) + self._nodes + _line(tick))
            return self._welcome

    def _hello(self) -> dict[str, Any]:
        settings, reference = self._service.adviser.settings, self._service.shown.reference
        return {
            "kind": "hello",
            "version": __version__,
            "features": dict(self._features),
            "reference": {resource: float(reference.request(resource)) for resource in (CPU, MEMORY)},
            "fresh": float(settings.staleness.fresh_seconds),
            "expired": float(settings.staleness.expired_seconds),
            "defaultProfile": settings.default_profile,
            "profiles": [_profile(p, shadow=False) for p in settings.profiles.values()]
            + [_profile(p, shadow=True) for p in settings.shadows.values()],
        }

    def _facts(self) -> dict[str, Any]:
        beside = self._service.beside
        return {
            "kind": "tick",
            "time": self._service.clock(),
            "state": self._service.readiness()[1],
            "sources": self._service.source_ages(),
            "beside": None if beside is None else beside(),
        }

    async def _tick(self) -> bytes:
        told, more = await self._new_decisions() if self._features.get("explain") else ([], 0)
        facts = self._facts()

        def made() -> tuple[list[dict[str, Any]], bytes]:
            decisions = [summary(*each) for each in told]
            return decisions, _line(facts | {"decisions": decisions, "more": more})

        decisions, line = await asyncio.to_thread(made)
        for decision in decisions:
            self._remember(decision)
        return line

    def _remember(self, decision: dict[str, Any]) -> None:
        for place, known in enumerate(self._decisions):
            if known["id"] == decision["id"]:
                self._decisions[place] = decision
                return
        self._decisions.append(decision)

    async def _new_decisions(self) -> tuple[list[Asked], int]:
        """Of each pod that was asked about since the last tick, and of those whose fate is known by now; oldest first.
        And how many more there were.
        """
        decisions = self._service.hindsight.decisions
        new: dict[str, Decision] = {}
        before = self._told_number or max(decisions.counted - REMEMBERED * 2, 0)
        most = MOST_TOLD if self._told_number else REMEMBERED
        for decision in decisions:
            if decision.number <= before:
                break
            new.setdefault(decision.pod.key, decision)
        self._told_number = decisions.counted
        keys = [key for key, decision in self._awaited.items() if decision.chosen is not None or decision.gone]
        chosen = [*list(new)[:most], *[key for key in keys if key not in new][:most]]
        told = []
        for key in chosen[::-1]:
            asked = decisions.of_pod(key)
            self._await_fate(key, asked)
            if asked != (None, None):
                told.append(asked)
            await asyncio.sleep(0)  # requests first: what is not settled yet is worked out here
        return told, max(len(new) - most, 0)

    def _await_fate(self, key: str, asked: Asked) -> None:
        decision = asked[1] or asked[0]
        self._awaited.pop(key, None)
        if decision is not None and decision.chosen is None and not decision.gone:
            self._awaited[key] = decision
            if len(self._awaited) > MOST_AWAITED:
                del self._awaited[next(iter(self._awaited))]

    async def _fresh_nodes(self) -> bytes:
        """The line about nodes if it is time for one; nothing otherwise."""
        service, now = self._service, asyncio.get_running_loop().time()
        snapshot = service.adviser.snapshot
        due = now - self._nodes_told_at >= len(snapshot.names) / self._nodes_per_second
        current = snapshot.generation, snapshot.time
        if self._nodes and current == self._told_of and not due:
            return b""
        self._nodes_told_at, self._told_of = now, current
        await asyncio.sleep(0)
        moment = self._moment()
        self._nodes = await asyncio.to_thread(lambda: _line(nodes(moment)))
        return self._nodes

    def _moment(self) -> _Moment:
        service = self._service
        with service.adviser_unnoticed():
            facts = service.node_facts()
        snapshot, staleness = facts.snapshot, service.adviser.settings.staleness
        rungs = staleness.rungs(service.clock() - snapshot.sampled_at, pods_known=snapshot.pods_known)
        return _Moment(facts, pods_in_flight(snapshot, service.adviser.in_flight), rungs.tolist())


def nodes(moment: _Moment) -> dict[str, Any]:
    """Every node, column by column. What is not known is null."""
    facts = moment.facts
    snapshot = facts.snapshot
    statistics, allocatable = snapshot.statistics, snapshot.allocatable
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(np.isnan(statistics.mean), statistics.latest, statistics.mean) / allocatable
        deviation = statistics.deviation / allocatable
        expected = used if facts.expected_mean is None else facts.expected_mean / allocatable
    cpu, memory = snapshot.resource_index[CPU], snapshot.resource_index.get(MEMORY)
    nothing = np.full(len(snapshot.names), np.nan)
    return {
        "kind": "nodes",
        "generation": snapshot.generation,
        "profile": facts.profile,
        "windowSeconds": float(snapshot.window_seconds),
        "names": snapshot.names,
        "cores": _told(allocatable[:, cpu], 2),
        "cpu": _told(used[:, cpu]),
        "cpuDeviation": _told(deviation[:, cpu]),
        "cpuExpected": _told(expected[:, cpu]),
        "memory": _told(nothing if memory is None else used[:, memory]),
        "inFlightPods": _told(moment.in_flight.pods, 1),
        "inFlightCores": _told(moment.in_flight.cores, 2),
        "score": _told(facts.scores if len(facts.scores) else nothing, 1),
        "rung": moment.rungs,
        "quarantined": dict(snapshot.quarantined),
    }


def summary(filtering: Decision | None, ranking: Decision | None) -> dict[str, Any]:
    """A decision in a few words. Both are settled, and one there is."""
    told = explain(filtering, ranking, nodes=1)
    record = None if ranking is None else ranking.record
    first = record.name(int(record.order()[0])) if isinstance(record, Ranked) and len(record) else None
    return {
        "id": told["uid"] or told["pod"],
        **{name: told[name] for name in ("pod", "time", "profile", "answered", "chosen", "firstChoice", "sentence")},
        "first": first,
        "asked": told["nodesAsked"],
        "rejected": len(told["rejected"]),
        "toWin": (told["toWin"] or {}).get("words"),
    }


def _profile(profile: Profile, *, shadow: bool) -> dict[str, Any]:
    return {
        "name": profile.name,
        "shadow": shadow,
        "scorers": [{"name": each.name, "weight": each.weight} for each in profile.scorers],
        "filters": [each.name for each in profile.filters],
        "maxScore": profile.max_score,
        "combine": profile.combine,
    }


def _told(values: Floats, digits: int = 4) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()
    return rounded


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
