"""How good each node is for a pod: scores combined, unknown and stale nodes, ties, and the int on the wire.

    score    = scorer.normalize(scorer.score(nodes, pod))                       NaN: not measured
    median   = the median score of the nodes that are measured and trusted (50 if there are none)
    fresh    score                                         see ladder.py for the rungs
    ageing   median + trust * (score - median)
    expired  min(score from the requests of the bound pods, median); for a scorer that learns what pods use, a node that
             was never measured counts as fresh: its pods tell, and it is taken to be no emptier than the median
    unknown  median
    total    = sum(weight * score) / sum(weight), or their mean or minimum      in [0, 100]
    priority = round(total * maxScore / 100)                                    an int, 0 .. maxScore

Missing is never idle and never hot: a stand-in is never better than the median of the measured.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from collectors.reading import Floats
from loadaware.breaker import Breaker
from loadaware.ladder import Rung
from loadaware.nodes import Seen
from loadaware.profile import Combine, Profile, WeightedScorer
from loadaware.question import Question
from loadaware.scorers.scorer import Scorer
from loadaware.window import Bools, Ints

NEUTRAL = 50.0
LEAST, MOST = np.minimum.reduce, np.maximum.reduce
ROUNDING = 1e-6
"""How far outside [0, 100] a score may be by rounding."""


class Part(Struct, frozen=True, eq=False):
    """One scorer's share in a ranking. `score` after the ladder; `own` and `raw` before it (NaN: not measured)."""

    name: str
    weight: float
    score: Floats
    own: Floats
    raw: Floats | None = None


class Ranking(Struct, frozen=True, eq=False):
    """Every node asked for, in the order asked."""

    profile: str
    names: Sequence[str]
    scores: Floats
    priorities: npt.NDArray[np.int64]
    parts: tuple[Part, ...] = ()
    skipped: dict[str, str] = {}
    """Scorers that failed and therefore had no say, and why."""
    rows: Ints | None = None
    """Where each of the names stands in `table`, if all of them do."""
    table: Sequence[str] = ()
    """The snapshot's names."""
    seen: Seen | None = None
    """What the scorers were shown of things that change."""

    def best(self) -> Ints:
        """Positions of the nodes with the highest score."""
        return (self.scores == self.scores.max(initial=-np.inf)).nonzero()[0]

    def best_on_the_wire(self) -> Ints:
        """Positions of the nodes with the highest priority: more than `best`, for ints are coarser."""
        return (self.priorities == self.priorities.max(initial=0)).nonzero()[0]

    def order(self) -> Ints:
        """Positions, best first; equal ones in the order asked."""
        return np.argsort(-self.scores, kind="stable")


def rank(profile: Profile, question: Question, breaker: Breaker, *, explain: bool = False) -> Ranking:
    """Score every node asked for. With `explain` the peers' own numbers are worked out too."""
    parts: list[Part] = []
    skipped: dict[str, str] = {}
    for weighted in profile.scorers:
        part, problem = _part(weighted, question, breaker, explain=explain)
        if part is None:
            skipped[weighted.name] = problem
        else:
            parts.append(part)
    scores = _combine(parts, profile.combine, len(question.names))
    priorities = to_priorities(scores, profile.max_score)
    rows, table = question.rows if question.all_known else None, question.snapshot.names
    return Ranking(profile.name, question.names, scores, priorities, tuple(parts), skipped, rows, table, question.seen)


def indifferent(profile: Profile, names: Sequence[str]) -> Ranking:
    """The answer that changes nothing: for pods that opted out."""
    zeros = np.zeros(len(names))
    return Ranking(profile.name, names, zeros, zeros.astype(np.int64))


def to_priorities(scores: Floats, max_score: int) -> npt.NDArray[np.int64]:
    """Scores in [0, 100] as ints in 0 .. max_score; halves up, as they are before the last bit is lost."""
    return np.floor(scores * (max_score / 100.0) + (0.5 + 1e-9)).astype(np.int64)


def _part(weighted: WeightedScorer, question: Question, breaker: Breaker, *, explain: bool) -> tuple[Part | None, str]:
    """One scorer's part, or None and why it has none."""
    scorer, pod = weighted.scorer, question.pod
    rows = question.rows if question.all_known else question.rows[question.known]
    certain = question.all_fresh or not scorer.measures
    by_pods = None if certain else _by_pods(scorer, question)
    trusted = None if by_pods is None else (by_pods | (question.trust > 0))[question.known]
    standing_in = None if by_pods is None else _expired(question, by_pods)

    def scored() -> tuple[Floats, Floats | None]:
        own = _normalized(scorer, scorer.score(question.nodes(rows, scorer, standing_in), pod), trusted)
        return own, scorer.raw(question.nodes(rows, scorer), pod) if explain else None

    value, problem = breaker.run(weighted.name, scorer, scored, lambda value: _nonsense(value[0], len(rows)))
    if value is None:
        return None, problem
    own = question.spread(value[0])
    raw = None if value[1] is None else question.spread(value[1])
    score = _filled(own) if by_pods is None else _ladder(own, question, by_pods)
    return Part(weighted.name, weighted.weight, score, own, raw), ""


def _by_pods(scorer: Scorer, question: Question) -> Bools:
    """Nodes that a scorer knows by their pods, though they were never measured."""
    return question.known_by_pods if scorer.learns else np.zeros(len(question.names), dtype=np.bool_)


def _expired(question: Question, by_pods: Bools) -> Bools | None:
    """Where requests stand in for usage, among the known nodes; None if nowhere."""
    expired: Bools = ((question.rungs == Rung.EXPIRED) & ~by_pods)[question.known]
    return expired if expired.any() else None


def _normalized(scorer: Scorer, scores: Floats, trusted: Bools | None) -> Floats:
    """Normalized among the trusted nodes (None: all); stand-ins are placed beside them and do not set the range."""
    if trusted is None or trusted.all():
        return scorer.normalize(scores)
    among_trusted = scorer.normalize(np.where(trusted, scores, np.nan))
    return np.where(trusted, among_trusted, scorer.normalize(scores))


def _filled(own: Floats) -> Floats:
    """Where nothing is in doubt: what the scorer says, the median where it says nothing."""
    if _sound(own):
        return own
    missing = np.isnan(own)
    if missing.any():
        known = own[~missing]
        own = np.where(missing, np.median(known) if len(known) else NEUTRAL, own)
    return np.minimum(np.maximum(own, 0.0), 100.0)


def _sound(scores: Floats) -> bool:
    """Whether each is a number in [0, 100]: nearly always, and soon told, for NaN compares as false."""
    return bool(LEAST(scores, initial=0.0) >= 0.0 and MOST(scores, initial=0.0) <= 100.0)


def _nonsense(scores: object, count: int) -> str:
    if not isinstance(scores, np.ndarray) or scores.shape != (count,) or scores.dtype.kind != "f":
        return f"score() must give {count} floats"
    if _sound(scores):
        return ""
    if np.fmin.reduce(scores, initial=0.0) < -ROUNDING or np.fmax.reduce(scores, initial=0.0) > 100.0 + ROUNDING:
        return "scores must be in [0, 100] or NaN"
    return ""


def _ladder(own: Floats, question: Question, by_pods: Bools) -> Floats:
    """Each node's score on its rung."""
    trust = np.where(by_pods, 1.0, question.trust)
    measured = ~np.isnan(own)
    trusted = own[measured & (question.trust > 0)]
    neutral = float(np.median(trusted)) if len(trusted) else NEUTRAL
    filled = np.where(measured, own, neutral)
    scores = neutral + trust * (filled - neutral)
    expired: Bools = measured & (question.rungs == Rung.EXPIRED) & ~by_pods
    cap = neutral if len(trusted) else 100.0
    return np.clip(np.where(expired, np.minimum(filled, cap), scores), 0.0, 100.0)


def _combine(parts: Sequence[Part], combine: Combine, count: int) -> Floats:
    if not parts or not count:
        return np.full(count, NEUTRAL)
    if len(parts) == 1:
        return parts[0].score
    scores = np.stack([part.score for part in parts])
    if combine == "Minimum":
        return np.asarray(scores.min(axis=0))
    weights = np.array([part.weight if combine == "Weighted" else 1.0 for part in parts])
    return np.clip(weights @ scores / weights.sum(), 0.0, 100.0)
