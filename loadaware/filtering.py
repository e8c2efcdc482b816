"""Which nodes a pod may go to. A label rule may empty the list, a load rule may not, nor judge by expired data.

When the load rules together would reject every node that is left, the least loaded ones pass all the same
(`leastPassing` of them) and the answer is marked: an extender must never be the reason that nothing runs. What a
filter refuses a pod before it looks at any node (`pre_filter`) stays refused, on nodes nobody told of too.
"""

from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

import numpy as np

from collectors.reading import CPU
from loadaware.breaker import Breaker
from loadaware.ladder import Rung
from loadaware.profile import NamedFilter, Profile
from loadaware.question import Question
from loadaware.window import Bools, Ints


@dataclass(frozen=True)
class Filtering:
    """Which nodes pass, in the order asked, and why the others do not."""

    profile: str
    passed: tuple[str, ...]
    failed: dict[str, str]
    unresolvable: dict[str, str]
    relaxed: bool = False
    """Load rules rejected every node, so the least loaded pass all the same."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Filters that failed and therefore had no say, and why."""
    rejections: dict[str, int] = field(default_factory=dict)
    """How many nodes each filter rejected, those that pass all the same included."""


@dataclass
class _Verdicts:
    """What has been decided so far."""

    remaining: Bools
    failed: dict[str, str] = field(default_factory=dict)
    unresolvable: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    rejections: dict[str, int] = field(default_factory=dict)
    refused: bool = False


class _Judgement(NamedTuple):
    """Which of these positions a filter rejects, and why each."""

    positions: Ints
    rejected: Bools
    reasons: list[str]
    refused: bool = False


def filter_nodes(profile: Profile, question: Question, breaker: Breaker) -> Filtering:
    """Apply the profile's filters: first the rules that may empty the list, then the load rules."""
    verdicts = _Verdicts(np.ones(len(question.names), dtype=np.bool_))
    for named in profile.filters:
        if not named.filter.load_rule:
            _apply(named, question, breaker, verdicts)
    before = verdicts.remaining.copy()
    for named in profile.filters:
        if named.filter.load_rule:
            _apply(named, question, breaker, verdicts)
    relaxed = bool(before.any() and not verdicts.remaining.any() and not verdicts.refused)
    if relaxed:
        _relax(profile, question, before, verdicts)
    passed = tuple(compress(question.names, verdicts.remaining.tolist()))
    return Filtering(
        profile.name,
        passed,
        verdicts.failed,
        verdicts.unresolvable,
        relaxed=relaxed,
        skipped=verdicts.skipped,
        rejections=verdicts.rejections,
    )


def _apply(named: NamedFilter, question: Question, breaker: Breaker, verdicts: _Verdicts) -> None:
    """Take out what one filter rejects, with reasons; a filter that fails rejects nobody."""
    rule, pod = named.filter, question.pod
    shown = question.rungs <= Rung.AGEING if rule.load_rule or rule.by_measurements else question.known
    asked = np.flatnonzero(verdicts.remaining & shown)

    def judge() -> _Judgement:
        refusal = rule.pre_filter(pod)
        if refusal is not None:
            every = np.flatnonzero(verdicts.remaining)
            return _Judgement(every, np.ones(len(every), dtype=np.bool_), [refusal] * len(every), refused=True)
        rejected = rule.rejects(question.nodes(question.rows[asked], rule), pod)
        out = question.rows[asked[rejected]]
        return _Judgement(asked, rejected, rule.reasons(question.nodes(out, rule), pod) if len(out) else [])

    judged, problem = breaker.run(named.name, rule, judge, lambda j: _nonsense(j.rejected, j.reasons, len(j.positions)))
    if judged is None:
        verdicts.skipped[named.name] = problem
        return
    positions = judged.positions[judged.rejected]
    verdicts.remaining[positions] = False
    if len(positions):
        verdicts.rejections[named.name] = verdicts.rejections.get(named.name, 0) + len(positions)
    verdicts.refused |= judged.refused
    into = verdicts.unresolvable if rule.unresolvable else verdicts.failed
    into.update(zip((question.names[position] for position in positions.tolist()), judged.reasons, strict=True))


def _nonsense(rejected: object, reasons: object, count: int) -> str:
    if not isinstance(rejected, np.ndarray) or rejected.dtype != np.bool_ or rejected.shape != (count,):
        return f"rejects() must give {count} bools"
    if not isinstance(reasons, list) or [type(reason) for reason in reasons] != [str] * int(rejected.sum()):
        return "reasons() must give one text per rejected node"
    return ""


def _relax(profile: Profile, question: Question, before: Bools, verdicts: _Verdicts) -> None:
    """Let the candidates with the lowest CPU utilization pass all the same."""
    asked = np.flatnonzero(before & question.known)
    nodes = question.nodes(question.rows[asked], None)
    with np.errstate(divide="ignore", invalid="ignore"):
        utilization = nodes.mean_or_latest(CPU) / nodes.allocatable(CPU)
    passing = asked[np.argsort(utilization, kind="stable")[: max(profile.least_passing, 1)]]
    verdicts.remaining[passing] = True
    for position in passing.tolist():
        verdicts.failed.pop(question.names[position], None)
