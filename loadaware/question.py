"""A question: a pod, and the nodes that are asked about, against what is known now. What filters and scorers see."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.in_flight import InFlight
from loadaware.ladder import Rung, Staleness
from loadaware.nodes import Nodes, Seen
from loadaware.snapshot import Snapshot
from loadaware.window import Bools, Ints

LEAST = np.minimum.reduce


class Question:
    """Made for one request; what few plugins ask for is worked out when they do."""

    def __init__(  # noqa: PLR0917 - who asks for what, of whom, and when
        self,
        snapshot: Snapshot,
        in_flight: InFlight,
        pod: Pod,
        names: Sequence[str],
        staleness: Staleness,
        now: float,
        workload: str = "",
    ) -> None:
        self.snapshot = snapshot
        self.in_flight = in_flight
        self.pod = pod
        self.names = names
        self.staleness = staleness
        self.now = now
        self.workload = workload
        """The pod's, if it was worked out already."""
        self.seen = Seen()
        self.rows: Ints = snapshot.rows_of(names)
        """Row of each name, -1 for a node nobody told of."""
        self.all_known = bool(LEAST(self.rows, initial=0) >= 0)
        """Whether each of the names is known."""
        self.all_fresh = self.all_known and self._fresh(now - staleness.fresh_seconds)
        """Whether all are known and measured lately: the usual case."""

    def _fresh(self, since: float) -> bool:
        snapshot = self.snapshot
        return snapshot.oldest_sample >= since or bool(snapshot.sampled_at[self.rows].min(initial=np.inf) >= since)

    @cached_property
    def known(self) -> Bools:
        """Which of the names are known."""
        return self.rows >= 0

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

        Where `standing_in` says so, requests of the bound pods stand in for usage. Who judges by what pods were learned
        to use has those in flight in that already.
        """
        ledger = self.in_flight
        learned = getattr(plugin, "learns", False) and ledger.expectations.known
        usage = None if learned else ledger.usage_for(plugin, rows)
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
