"""A question: a pod, and the nodes that are asked about, against what is known now. What filters and scorers see."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.in_flight import InFlight
from loadaware.ladder import Rung, Staleness
from loadaware.nodes import Nodes, Seen
from loadaware.snapshot import Snapshot
from loadaware.window import Bools, Ints


@dataclass(frozen=True, eq=False)
class Question:
    """Made for one request; columns are looked up when a plugin asks for them."""

    snapshot: Snapshot
    in_flight: InFlight
    pod: Pod
    names: Sequence[str]
    staleness: Staleness
    now: float
    workload: str = ""
    """The pod's, if it was worked out already."""
    seen: Seen = field(default_factory=Seen)

    @cached_property
    def rows(self) -> Ints:
        """Row of each name, -1 for a node nobody told of."""
        rows = map(self.snapshot.index.get, self.names, repeat(-1))
        return np.fromiter(rows, dtype=np.intp, count=len(self.names))

    @cached_property
    def known(self) -> Bools:
        """Which of the names are known."""
        return self.rows >= 0

    @cached_property
    def all_known(self) -> bool:
        """Whether each of the names is known."""
        return bool(self.rows.min(initial=0) >= 0)

    @cached_property
    def all_fresh(self) -> bool:
        """Whether all are known and measured lately: the usual case."""
        since = self.now - self.staleness.fresh_seconds
        if not self.all_known or self.snapshot.oldest_sample >= since:
            return self.all_known
        return bool(self.snapshot.sampled_at[self.rows].min(initial=np.inf) >= since)

    @cached_property
    def ages(self) -> Floats:
        """Seconds since each node was measured; +inf if never, or if the node is not known."""
        ages = np.full(len(self.names), np.inf)
        ages[self.known] = self.now - self.snapshot.sampled_at[self.rows[self.known]]
        return ages

    @cached_property
    def trust(self) -> Floats:
        """How far each node's measurements are believed; an unknown node's not at all."""
        return self.staleness.trust(self.ages)

    @cached_property
    def rungs(self) -> npt.NDArray[np.int8]:
        """The rung of the ladder that each node stands on."""
        rungs = self.staleness.rungs(self.ages, pods_known=self.snapshot.pods_known)
        rungs[~self.known] = Rung.UNKNOWN
        return rungs

    @cached_property
    def known_by_pods(self) -> Bools:
        """Nodes that were never measured, but whose pods are known and were learned from."""
        if not self.in_flight.expectations.known or not self.snapshot.pods_known:
            return np.zeros(len(self.names), dtype=np.bool_)
        return np.isposinf(self.ages) & self.known

    def nodes(self, rows: Ints, plugin: object, standing_in: Bools | None = None) -> Nodes:
        """The columns of some rows, with what happened since the snapshot, at a plugin's own prices.

        Where `standing_in` says so, requests of the bound pods stand in for usage.
        """
        ledger = self.in_flight
        usage = ledger.usage_for(plugin, rows)
        if usage is not None:
            self.seen.in_flight = plugin, usage
        return Nodes(
            snapshot=self.snapshot,
            rows=rows,
            requested_now=ledger.requested,
            limits_now=ledger.limits,
            pods_now=ledger.pods,
            in_flight_usage=usage,
            workload=self.workload,
            expectations=ledger.expectations,
            bindings=lambda seconds: ledger.bindings(self.now - seconds),
            standing_in=standing_in,
            seen=self.seen,
        )

    def spread(self, values: Floats) -> Floats:
        """Values of the known nodes among all that were asked for, NaN for the others."""
        if self.all_known:
            return values
        everywhere = np.full(len(self.names), np.nan)
        everywhere[self.known] = values
        return everywhere
