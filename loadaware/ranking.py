"""Profiles: weights, unknown and stale nodes, ties, and the int on the wire. Decided once, for every scorer.

    trust  = 1 while a node's newest sample is younger than `fresh`, falling to 0 at `expired`
    median = the median score of the nodes that are measured and trusted (50 if there are none)
    score  = median + trust * (score - median)           not measured, not known: the median
    total  = sum(weight * score) / sum(weight)           in [0, 100]
    priority = round(total * maxScore / 100)             an int, 0 .. maxScore

Missing is never idle and never hot: a stand-in is the median of the measured, never better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod
from collectors.reading import CPU, Floats
from loadaware.filters.filter import Filter
from loadaware.in_flight import InFlight
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Nodes, Snapshot
from loadaware.window import Bools, Ints

NEUTRAL = 50.0


@dataclass(frozen=True)
class WeightedScorer:
    """A scorer in a profile."""

    name: str
    scorer: Scorer
    weight: float = 1.0


@dataclass(frozen=True)
class NamedFilter:
    """A filter in a profile."""

    name: str
    filter: Filter


@dataclass(frozen=True)
class Profile:
    """How pods of one schedulerName are filtered and ranked."""

    name: str
    scorers: tuple[WeightedScorer, ...]
    filters: tuple[NamedFilter, ...] = ()
    max_score: int = 30
    least_passing: int = 3
    """How many of the least loaded nodes pass when load rules would reject every node."""


@dataclass(frozen=True)
class Staleness:
    """When a measurement begins to be doubted, and when it is worth nothing."""

    fresh_seconds: float = 300.0
    expired_seconds: float = 900.0

    def trust(self, ages: Floats) -> Floats:
        """1 fresh .. 0 expired or never measured."""
        span = max(self.expired_seconds - self.fresh_seconds, 1e-9)
        return np.clip(1.0 - (ages - self.fresh_seconds) / span, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Part:
    """One scorer's share in a ranking. `score` after the ladder; `own` and `raw` before it (NaN: not measured)."""

    name: str
    weight: float
    score: Floats
    own: Floats
    raw: Floats | None = None


@dataclass(frozen=True, eq=False)
class Ranking:
    """Every node asked for, in the order asked."""

    profile: str
    names: Sequence[str]
    scores: Floats
    priorities: npt.NDArray[np.int64]
    parts: tuple[Part, ...] = ()

    def best(self) -> Ints:
        """Positions of the nodes with the highest score."""
        return np.flatnonzero(self.scores == self.scores.max(initial=-np.inf))

    def order(self) -> Ints:
        """Positions, best first; equal ones in the order asked."""
        return np.argsort(-self.scores, kind="stable")


@dataclass(frozen=True)
class Filtering:
    """Which nodes pass, in the order asked, and why the others do not."""

    profile: str
    passed: tuple[str, ...]
    failed: dict[str, str]
    unresolvable: dict[str, str]
    relaxed: bool = False
    """Load rules rejected every node, so the least loaded pass all the same."""


@dataclass(frozen=True, eq=False)
class Question:
    """A pod, and the nodes that are asked about, against what is known now."""

    snapshot: Snapshot
    in_flight: InFlight
    pod: Pod
    names: Sequence[str]

    @cached_property
    def rows(self) -> Ints:
        """Row of each name, -1 for a node nobody told of."""
        index = self.snapshot.index
        return np.fromiter((index.get(name, -1) for name in self.names), dtype=np.intp, count=len(self.names))

    @cached_property
    def known(self) -> Bools:
        """Which of the names are known."""
        return self.rows >= 0

    def nodes(self, rows: Ints, plugin: object) -> Nodes:
        """The columns of some rows, with what happened since the snapshot, at a plugin's own prices."""
        ledger = self.in_flight
        return Nodes(self.snapshot, rows, ledger.requested, ledger.limits, ledger.pods, ledger.usage_for(plugin))

    def trust(self, staleness: Staleness, now: float) -> Floats:
        """How far each node's measurements are believed; an unknown node's not at all."""
        trust = np.zeros(len(self.names))
        trust[self.known] = staleness.trust(now - self.snapshot.sampled_at[self.rows[self.known]])
        return trust

    def spread(self, values: Floats) -> Floats:
        """Values of the known nodes among all that were asked for, NaN for the others."""
        everywhere = np.full(len(self.names), np.nan)
        everywhere[self.known] = values
        return everywhere


def rank(profile: Profile, question: Question, staleness: Staleness, now: float, *, explain: bool = False) -> Ranking:
    """Score every node asked for. With `explain` the peers' own numbers are worked out too."""
    trust = question.trust(staleness, now)
    parts = []
    for weighted in profile.scorers:
        nodes = question.nodes(question.rows[question.known], weighted.scorer)
        own = question.spread(weighted.scorer.score(nodes, question.pod))
        raw = question.spread(weighted.scorer.raw(nodes, question.pod)) if explain else None
        parts.append(Part(weighted.name, weighted.weight, _stand_in(own, trust), own, raw))
    scores = _combine(parts, len(question.names))
    return Ranking(profile.name, question.names, scores, to_priorities(scores, profile.max_score), tuple(parts))


def indifferent(profile: Profile, names: Sequence[str]) -> Ranking:
    """The answer that changes nothing: for pods that opted out."""
    zeros = np.zeros(len(names))
    return Ranking(profile.name, names, zeros, zeros.astype(np.int64))


def to_priorities(scores: Floats, max_score: int) -> npt.NDArray[np.int64]:
    """Scores in [0, 100] as ints in 0 .. max_score; halves up, as they are before the last bit is lost."""
    return np.floor(scores * (max_score / 100.0) + (0.5 + 1e-9)).astype(np.int64)


def _stand_in(own: Floats, trust: Floats) -> Floats:
    """Doubted scores drawn towards the median of the trusted ones, missing ones put there."""
    measured = np.isfinite(own)
    trusted = own[measured & (trust > 0)]
    neutral = float(np.median(trusted)) if len(trusted) else NEUTRAL
    drawn = neutral + trust * (np.where(measured, own, neutral) - neutral)
    return np.clip(drawn, 0.0, 100.0)


def _combine(parts: Sequence[Part], count: int) -> Floats:
    weight = sum(part.weight for part in parts)
    if weight <= 0:
        return np.full(count, NEUTRAL)
    total = np.zeros(count)
    for part in parts:
        total += part.weight * part.score
    return np.clip(total / weight, 0.0, 100.0)


def filter_nodes(profile: Profile, question: Question, trust: Floats | None = None) -> Filtering:
    """Apply the profile's filters. A label rule may empty the list, a load rule may not, nor judge by expired data."""
    names = question.names
    measured = question.known if trust is None else question.known & (trust > 0)
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    remaining = np.ones(len(names), dtype=np.bool_)
    for rule in (n.filter for n in profile.filters if not n.filter.load_rule):
        remaining = _apply(rule, question, remaining, question.known, unresolvable if rule.unresolvable else failed)
    before = remaining
    for rule in (n.filter for n in profile.filters if n.filter.load_rule):
        remaining = _apply(rule, question, remaining, measured, failed)
    relaxed = bool(before.any() and not remaining.any())
    if relaxed:
        remaining = _least_loaded(question, before, profile.least_passing)
        for position in np.flatnonzero(remaining).tolist():
            failed.pop(names[position], None)
    passed = tuple(names[position] for position in np.flatnonzero(remaining).tolist())
    return Filtering(profile.name, passed, failed, unresolvable, relaxed)


def _apply(rule: Filter, question: Question, remaining: Bools, judged: Bools, reasons: dict[str, str]) -> Bools:
    """The nodes that still remain after one filter, which judges only some; the others' reasons are noted."""
    asked = np.flatnonzero(remaining & judged)
    rejected = asked[rule.rejects(question.nodes(question.rows[asked], rule), question.pod)]
    why = rule.reasons(question.nodes(question.rows[rejected], rule), question.pod)
    reasons.update(zip((question.names[position] for position in rejected.tolist()), why, strict=True))
    remaining = remaining.copy()
    remaining[rejected] = False
    return remaining


def _least_loaded(question: Question, candidates: Bools, count: int) -> Bools:
    """The candidates with the lowest CPU utilization."""
    asked = np.flatnonzero(candidates & question.known)
    nodes = question.nodes(question.rows[asked], None)
    with np.errstate(divide="ignore", invalid="ignore"):
        utilization = nodes.mean_or_latest(CPU) / nodes.allocatable(CPU)
    passing = np.zeros(len(question.names), dtype=np.bool_)
    passing[asked[np.argsort(utilization, kind="stable")[: max(count, 1)]]] = True
    return passing
