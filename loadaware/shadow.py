"""Profiles in shadow: scored on real requests, a moment after the answer, and never on the wire.

Each is compared with the profile that answered, and with what kube-scheduler really did:

    agreement         both have a first choice in common
    rank correlation  Spearman's, over the scores of the nodes asked about; ties share their mean rank
    load difference   expected CPU utilization, with the pod, of the shadow's first choice less that of the other's

In shadow mode the profiles that would answer are compared likewise, with kube-scheduler alone.

A shadow is asked what the other was asked, from the same knowledge: once the next pod is ranked, or anything new is
heard, it would know more than the other did, and look better than it is. What cannot be compared by then is dropped and
counted. It is a sample, not a ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from collectors.manifests import Pod
from collectors.reading import CPU, Floats
from loadaware.adviser import Adviser
from loadaware.aside import Aside
from loadaware.changes import PodBound
from loadaware.ranking import Ranking
from loadaware.records import position_of, with_pod
from loadaware.window import Ints

PAUSE_SECONDS = 0.0005
"""Between an answer and its shadows: the answer is on its way, the next request is not yet here."""
MOST_WAITING = 256
MOST_UNBOUND = 256
"""Pods remembered until the watch tells where they went."""
KUBE_SCHEDULER = "kube-scheduler"
"""Stands for the node that was really chosen."""


@dataclass
class Mean:
    """A running mean."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """One more; NaN does not count."""
        if np.isfinite(value):
            self.count += 1
            self.total += value

    @property
    def value(self) -> float | None:
        """None without any."""
        return self.total / self.count if self.count else None


@dataclass
class Comparison:
    """One profile beside another, or beside kube-scheduler."""

    requests: int = 0
    agreed: int = 0
    correlation: Mean = field(default_factory=Mean)
    load_difference: Mean = field(default_factory=Mean)


@dataclass(frozen=True, eq=False)
class _Opinion:
    """A profile's first choices among the nodes asked about, and their expected load."""

    profile: str
    best: Ints
    rows: Ints
    table: Sequence[str]
    load: Floats


class Shadow:
    """One thread: the event loop's."""

    def __init__(self, adviser: Adviser, aside: Aside | None = None) -> None:
        self._adviser = adviser
        self._aside = Aside(PAUSE_SECONDS, MOST_WAITING) if aside is None else aside
        self._last: tuple[int, Pod, Ranking] | None = None
        """Adviser's moves until then, the pod, the answer."""
        self._unbound: dict[str, list[_Opinion]] = {}
        self.comparisons: dict[tuple[str, str], Comparison] = {}
        """By shadow and by what it is compared with."""
        self.dropped = 0
        """Requests that were not compared, because too many waited or something new came first."""
        self.on_compared: Callable[[str, str, bool, float, float], None] | None = None
        """Told of each comparison: shadow, other, agreed, correlation, load difference (NaN: not known)."""

    def forget(self) -> None:
        """Begin anew: the profiles are others now."""
        self.comparisons.clear()
        self._unbound.clear()

    def answered(self, pod: Pod, ranking: Ranking) -> None:
        """A request was answered with this ranking: compare the shadows with it, later, unless another one is first."""
        if self._adviser.settings.shadows and len(ranking.names) > 1:
            another_waits = self._last is not None
            if another_waits or self._aside.put(self._compare_last):
                self._last = self._adviser.moves, pod, ranking
                self.dropped += another_waits
            else:
                self.dropped += 1

    def thought(self, pod: Pod, ranking: Ranking) -> None:
        """A ranking that nobody was told of: compare it, and the shadows, with what really happens."""
        if len(ranking.names) > 1:
            self._compare(pod, ranking, with_answer=False)

    def later(self, work: Callable[[], None]) -> None:
        """Do this when there is time; if too much waits it is dropped."""
        if not self._aside.put(work):
            self.dropped += 1

    def bound(self, change: PodBound) -> None:
        """The watch tells where a pod went."""
        for opinion in self._unbound.pop(change.identity, ()):
            there = position_of(change.node, opinion.table, opinion.rows)
            if there is not None:
                agreed = there in opinion.best
                difference = float(opinion.load[opinion.best].mean() - opinion.load[there])
                self._count(opinion.profile, KUBE_SCHEDULER, agreed, float("nan"), difference)

    def _compare_last(self) -> None:
        last, self._last = self._last, None
        if last is not None and last[0] == self._adviser.moves:
            self._compare(*last[1:], with_answer=True)
        else:
            self.dropped += 1

    def _compare(self, pod: Pod, ranking: Ranking, *, with_answer: bool) -> None:
        settings, load = self._adviser.settings, self._load(pod, ranking)
        others = [] if self._adviser.opted_out(pod) else [*settings.shadows.values()]
        rankings = [self._adviser.rank_aside(pod, ranking.names, profile) for profile in others]
        for shadow in rankings if with_answer else ():
            ours, theirs = shadow.best(), ranking.best()
            agreed = bool(np.intersect1d(ours, theirs).size)
            difference = float("nan") if load is None else float(load[ours].mean() - load[theirs].mean())
            self._count(shadow.profile, ranking.profile, agreed, rank_correlation(shadow, ranking), difference)
        if load is not None and ranking.rows is not None:
            judged = rankings if with_answer else [ranking, *rankings]
            self._remember(pod, [_Opinion(r.profile, r.best(), ranking.rows, ranking.table, load) for r in judged])

    def _load(self, pod: Pod, ranking: Ranking) -> Floats | None:
        """Expected CPU utilization of each node asked about, with the pod; None if some node is not known."""
        snapshot = self._adviser.snapshot
        if ranking.rows is None or ranking.table is not snapshot.names:
            return None
        expected = self._adviser.expected_aside(pod, ranking.rows, (CPU,))
        allocatable = snapshot.allocatable[ranking.rows, snapshot.resource_index[CPU]]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(with_pod(expected)[0][:, 0] / allocatable)

    def _remember(self, pod: Pod, opinions: list[_Opinion]) -> None:
        self._unbound.pop(pod.identity, None)
        self._unbound[pod.identity] = opinions
        if len(self._unbound) > MOST_UNBOUND:
            del self._unbound[next(iter(self._unbound))]

    def _count(self, shadow: str, other: str, agreed: bool, correlation: float, difference: float) -> None:
        comparison = self.comparisons.setdefault((shadow, other), Comparison())
        comparison.requests += 1
        comparison.agreed += agreed
        comparison.correlation.add(correlation)
        comparison.load_difference.add(difference)
        if self.on_compared is not None:
            self.on_compared(shadow, other, agreed, correlation, difference)


def rank_correlation(one: Ranking, other: Ranking) -> float:
    """Spearman's: the correlation of the ranks; NaN if all nodes are equal to one of the two."""
    ranks = mean_ranks(one.scores), mean_ranks(other.scores)
    deviations = [r - r.mean() for r in ranks]
    norms = [float(np.sqrt(d @ d)) for d in deviations]
    if min(norms) <= 0.0:
        return float("nan")
    return float(np.clip(deviations[0] @ deviations[1] / (norms[0] * norms[1]), -1.0, 1.0))


def mean_ranks(scores: Floats) -> Floats:
    """Ranks from 0, lowest first; equal scores share the mean of theirs."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2.0)[group], dtype=np.float64)


def report(shadow: Shadow, mode: str, shadows: Mapping[str, object]) -> dict[str, object]:
    """What GET /shadow tells."""
    return {
        "mode": mode,
        "shadows": list(shadows),
        "dropped": shadow.dropped,
        "comparisons": [
            {
                "profile": profile,
                "with": other,
                "requests": c.requests,
                "agreed": c.agreed,
                "agreement": c.agreed / c.requests,
                "rankCorrelation": c.correlation.value,
                "loadDifference": c.load_difference.value,
            }
            for (profile, other), c in sorted(shadow.comparisons.items())
        ],
    }
