"""What is kept of an answer: small arrays, one number per node asked about, and nothing that keeps a snapshot alive.

    load       = (mean + m) / C                             expected utilization with the pod, per resource
    deviation  = sqrt(var + sd^2 + 2 * sd * S) / C          as EntropicRisk has them: the very arrays that it looked at

Where no scorer asked for expected load, it is what a scorer counts itself: the window's mean, what is in flight and the
pod at that scorer's prices, and the window's deviation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.filtering import Filtering
from loadaware.ladder import Rung, Staleness
from loadaware.nodes import ExpectedLoad, Nodes, Seen
from loadaware.ranking import Ranking
from loadaware.scorers.scorer import CountsInFlight
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

Small = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class RankedPart:
    """One scorer's share: its score after the ladder, and its own number before all else (NaN: not measured)."""

    name: str
    weight: float
    score: Small
    raw: Small | None


@dataclass(frozen=True, eq=False, slots=True)
class Ranked:
    """What was answered to prioritize, in the order asked."""

    table: Sequence[str]
    rows: npt.NDArray[np.int32] | None
    """Of the nodes asked about, in the table; None: the table is they."""
    scores: Small
    priorities: npt.NDArray[np.int32]
    parts: tuple[RankedPart, ...]
    skipped: Mapping[str, str]
    resources: tuple[str, ...]
    load: Small
    deviation: Small
    in_flight: Small
    """Cores expected of pods that the measurements have not seen."""
    ages: Small
    rungs: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.scores)

    def name(self, position: int) -> str:
        """The node at that place of the question."""
        return self.table[position if self.rows is None else int(self.rows[position])]

    def names(self) -> list[str]:
        """All nodes, in the order asked."""
        return list(self.table) if self.rows is None else [self.table[row] for row in self.rows.tolist()]

    def position(self, node: str) -> int | None:
        """Of a node among those asked about."""
        return position_of(node, self.table, self.rows)

    def order(self) -> Ints:
        """Positions, best first: by what is on the wire, then by score, then as asked."""
        return np.lexsort((-self.scores, -self.priorities))

    @property
    def indifferent(self) -> bool:
        """Whether it was the answer that changes nothing, to a pod that opted out."""
        return not self.parts and not self.skipped and not self.scores.any()

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        arrays: list[npt.NDArray[Any]] = [
            self.scores, self.priorities, self.load, self.deviation, self.in_flight, self.ages, self.rungs
        ]  # fmt: skip
        arrays += [part.score for part in self.parts[1:]] + [part.raw for part in self.parts if part.raw is not None]
        names = 80 * len(self.table) if self.rows is None else self.rows.nbytes
        return 1000 + names + sum(array.nbytes for array in arrays)


@dataclass(frozen=True, eq=False, slots=True)
class Filtered:
    """What was answered to filter."""

    asked: int
    passed: int
    rejected: Mapping[str, str]
    unresolvable: frozenset[str]
    relaxed: bool
    skipped: Mapping[str, str]

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return 1000 + sum(200 + len(reason) for reason in self.rejected.values())


def position_of(node: str, table: Sequence[str], rows: Ints | npt.NDArray[np.int32] | None) -> int | None:
    """Where a node stands among those asked about: `rows` of the table, or all of it. No step of Python for each."""
    if node not in table:
        return None
    row = table.index(node)
    found = np.flatnonzero(rows == row) if rows is not None else [row]
    return int(found[0]) if len(found) else None


def filtered(filtering: Filtering) -> Filtered:
    """Only the nodes that were rejected are kept by name."""
    rejected = {**filtering.failed, **filtering.unresolvable}
    return Filtered(
        asked=len(filtering.passed) + len(rejected),
        passed=len(filtering.passed),
        rejected=rejected,
        unresolvable=frozenset(filtering.unresolvable),
        relaxed=filtering.relaxed,
        skipped=filtering.skipped,
    )


def ranked(
    ranking: Ranking,
    snapshot: Snapshot,
    pod: Pod,
    *,
    now: float,
    staleness: Staleness,
    raws: Mapping[str, Floats],
) -> Ranked:
    """The small arrays of a ranking. `snapshot` is the one it was made from, `now` when."""
    rows = snapshot.rows_of(ranking.names) if ranking.rows is None else ranking.rows
    known = rows >= 0
    resources = tuple(r for r in (CPU, MEMORY) if r in snapshot.resource_index)
    load = _Load.of(snapshot, rows[known], pod, ranking.seen or Seen(), resources)
    ages = np.full(len(rows), np.inf)
    ages[known] = np.maximum(now - snapshot.sampled_at[rows[known]], -np.inf)
    rungs = staleness.rungs(ages, pods_known=snapshot.pods_known)
    rungs[~known] = Rung.UNKNOWN
    scores = ranking.scores.astype(np.float32)
    parts = tuple(
        RankedPart(
            part.name,
            part.weight,
            scores if part.score is ranking.scores else part.score.astype(np.float32),
            raws[part.name].astype(np.float32) if part.name in raws else None,
        )
        for part in ranking.parts
    )
    return Ranked(
        table=tuple(ranking.names) if ranking.rows is None else ranking.table,
        rows=None if ranking.rows is None else rows.astype(np.int32),
        scores=scores,
        priorities=ranking.priorities.astype(np.int32),
        parts=parts,
        skipped=ranking.skipped,
        resources=resources,
        load=_spread(load.load, known),
        deviation=_spread(load.deviation, known),
        in_flight=_spread(load.in_flight, known),
        ages=ages.astype(np.float32),
        rungs=rungs,
    )


def _spread(values: Floats, known: npt.NDArray[np.bool_]) -> Small:
    everywhere = np.full((len(known), *values.shape[1:]), np.nan, dtype=np.float32)
    everywhere[known] = values
    return everywhere


@dataclass(frozen=True, eq=False)
class _Load:
    """Of the known nodes: utilization and its deviation (node, resource), cores in flight (node,)."""

    load: Floats
    deviation: Floats
    in_flight: Floats

    @classmethod
    def of(cls, snapshot: Snapshot, rows: Ints, pod: Pod, seen: Seen, resources: Sequence[str]) -> "_Load":
        allocatable = np.stack([snapshot.allocatable[rows, snapshot.resource_index[r]] for r in resources], axis=-1)
        if seen.expected is not None and set(resources) <= set(seen.expected[0]):
            columns = [list(seen.expected[0]).index(resource) for resource in resources]
            expected = ExpectedLoad(*(cumulants[..., columns] for cumulants in seen.expected[1]))
            loaded, spread = with_pod(expected)
            in_flight = _since(snapshot, rows, expected.mean[:, 0], seen)
        else:
            loaded, spread, in_flight = _counted(snapshot, rows, pod, seen, resources)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(loaded / allocatable, spread / allocatable, in_flight)


def with_pod(expected: ExpectedLoad) -> tuple[Floats, Floats]:
    """Usage of the nodes with the pod, and its deviation, both absolute (node, resource)."""
    mean, variance, _ = (expected.nodes + expected.pod).swapaxes(0, 1)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def _since(snapshot: Snapshot, rows: Ints, mean: Floats, seen: Seen) -> Floats:
    """CPU expected of pods that came since the snapshot, less those that went; without learned demand, what the ledger
    counts.
    """
    column = snapshot.resource_index[CPU]
    if snapshot.expected is not None:
        return np.maximum(mean - snapshot.expected.mean[rows, column], 0.0)
    return np.zeros(len(rows)) if seen.in_flight is None else seen.in_flight[1][:, column]


def _counted(
    snapshot: Snapshot, rows: Ints, pod: Pod, seen: Seen, resources: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Mean, in flight and the pod at a scorer's own prices (or what it requests), and the window's deviation."""
    plugin, usage = seen.in_flight or (None, None)
    demand = plugin.demand(pod.shape) if isinstance(plugin, CountsInFlight) else dict(pod.shape.requests)
    nothing = np.zeros(0)
    nodes = Nodes(snapshot, rows, snapshot.requested, snapshot.limits, nothing, in_flight_usage=usage)
    load = [nodes.mean_or_latest(r) + nodes.in_flight(r) + demand.get(r, 0.0) for r in resources]
    deviation = [nodes.usage("deviation", r) for r in resources]
    return np.stack(load, axis=-1), np.stack(deviation, axis=-1), nodes.in_flight(CPU)
