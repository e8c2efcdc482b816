"""Placed but not yet measured: one ledger of pods, priced by each scorer that asks.

A pod is in flight on a node from the moment it is placed until the window has seen all of it:

    missing share = clamp01(1 - (newest sample - bound) / span of the window)          rule "MissingShare"
                  = 1 if bound after, or less than 60 s before, the newest sample      rule "Trimaran"
    in flight(node) = sum over pods of  missing share * scorer.demand(shape)

A scorer whose `in_flight_rule` is "MissingHour" looks at the mean of the last hour, and counts pods by the share of
that hour (or of the time since measuring began) that has not seen them. One whose rule is "LessMeasured" counts as
Koordinator does: max(0, demand - measured usage of the pod) for pods bound less than 60 s before the newest sample.

It survives restarts because it is made anew from the pods themselves at each snapshot. Between snapshots it is
corrected step by step, at the same shares: a pod just bound counts wholly, one that was resized by what is missing of
it, a pod gone no longer.

Booking at the answer. kube-scheduler asks for the next pod before any watch tells where the last one went, so a
ranked pod is booked at once where it will most likely go, and the booking stands until the watch tells, the pod is
asked for again, or `booking_seconds` have passed. Bookings are bounded in number; the oldest go first. A pod is no
load to itself: while it is asked about, its own booking does not count.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np

from collectors.manifests import Shape
from collectors.reading import Floats
from loadaware.changes import PodBound, PodLeft
from loadaware.expectations import Expectations
from loadaware.kin import UNKNOWN, Kin
from loadaware.scorers.scorer import CountsInFlight
from loadaware.snapshot import HOUR, Snapshot
from loadaware.usage import Usage
from loadaware.window import Ints

Rule = Literal["MissingShare", "Trimaran"]
LESS_MEASURED = "LessMeasured"
MISSING_HOUR = "MissingHour"
TRIMARAN_SECONDS = 60.0
LEAST_SPAN_SECONDS = 60.0
"""What a window of one sample covers: a sample is itself an average over the time before it."""
AS_IT_IS = nullcontext()
MOST_BOOKINGS = 20_000
MOST_SHAPES = 10_000
"""Shapes whose amounts are remembered."""


@dataclass(eq=False, slots=True)
class Booking:
    """Where a ranked pod will probably go: one of these nodes, each as likely as the others."""

    shape: Shape
    nodes: tuple[str, ...]
    expires: float
    workload: str
    kin: Kin
    rows: int | Ints
    """Of those nodes that are known, in the snapshot of the moment."""

    @property
    def share(self) -> float:
        """Of the pod, on each node."""
        return 1.0 / len(self.nodes)


class InFlight:
    """The ledger. One thread only: the one that answers requests."""

    def __init__(self, scorers: Sequence[object], rule: Rule = "MissingShare", booking_seconds: float = 10.0) -> None:
        self._prices = [_Prices(s) for s in scorers if isinstance(s, CountsInFlight)]
        self._rule = rule
        self._booking_seconds = booking_seconds
        self._bookings: dict[str, Booking] = {}
        self._bound_since: set[str] = set()
        self._bindings_since: list[tuple[int, float]] = []
        self._amounts: dict[Shape, Floats] = {}
        self.expectations = Expectations()
        self.restart(Snapshot.empty())

    def __len__(self) -> int:
        """Bookings that stand."""
        return len(self._bookings)

    def restart(self, snapshot: Snapshot) -> None:
        """Begin anew from a snapshot: it knows of every change told before it."""
        self._snapshot = snapshot
        self._bound_since.clear()
        self._bindings_since.clear()
        self._amounts.clear()
        self.expectations.restart(snapshot)
        placed = snapshot.placed
        usages = [
            price.restart(snapshot, self._missing_share(placed.rows, placed.bound_at, price.rule))
            for price in self._prices
        ]
        nothing = np.zeros((len(snapshot.names), 1))
        columns = [snapshot.requested, snapshot.limits, snapshot.pod_counts[:, None], *usages, nothing]
        self._table = np.concatenate(columns, axis=1)
        count = len(snapshot.resources)
        self.requested, self.limits = self._table[:, :count], self._table[:, count : 2 * count]
        self.pods, self._booked = self._table[:, 2 * count], self._table[:, -1]
        for booking in self._bookings.values():
            booking.rows = self._rows(booking.nodes)
            self._count_booking(booking, 1.0)

    def usage_for(self, scorer: object, rows: Ints | None = None) -> Floats | None:
        """In-flight usage (node, resource) on these rows (None: all) at a scorer's prices; None if it wants none."""
        for number, price in enumerate(self._prices):
            if price.scorer is scorer:
                table = self._table if rows is None else self._table.take(rows, axis=0)
                return np.maximum(table[:, self._priced(number)], 0.0)
        return None

    def _priced(self, number: int) -> slice:
        """The columns of a scorer's in-flight usage: after requests, limits and pods, before those booked."""
        count = len(self._snapshot.resources)
        return slice((2 + number) * count + 1, (3 + number) * count + 1)

    def bindings(self, since: float) -> Floats:
        """Per row, pods bound since then, and those booked."""
        placed = self._snapshot.placed
        rows = placed.rows[placed.bound_at >= since]
        later = [row for row, bound_at in self._bindings_since if bound_at >= since]
        counts = np.bincount(np.concatenate([rows, np.array(later, np.intp)]), minlength=len(self.pods))
        return np.asarray(counts + self._booked)

    def expire(self, now: float) -> None:
        """Drop bookings whose time has passed. They stand in the order in which they were made."""
        while self._bookings:
            identity, booking = next(iter(self._bookings.items()))
            if booking.expires > now and len(self._bookings) <= MOST_BOOKINGS:
                return
            self.let_go(identity)

    def without(self, identity: str) -> AbstractContextManager[None]:
        """The ledger as if this pod were not booked."""
        booking = self._bookings.get(identity)
        return AS_IT_IS if booking is None else self._less(booking)

    @contextmanager
    def _less(self, booking: Booking) -> Iterator[None]:
        self._count_booking(booking, -1.0)
        try:
            yield
        finally:
            self._count_booking(booking, 1.0)

    def book(  # noqa: PLR0917 - a booking is what, where, and until when
        self,
        identity: str,
        shape: Shape,
        nodes: Sequence[str],
        now: float,
        workload: str = "",
        kin: Kin = UNKNOWN,
        rows: Ints | None = None,
    ) -> None:
        """Count a pod where it will most likely go, shared among the nodes; without any, let go of what was booked.

        `rows` are those of the nodes, if they were looked up already.
        """
        self.let_go(identity)
        if identity in self._bound_since or not nodes:
            return
        found = self._rows(nodes) if rows is None else _one_or_many(rows)
        booking = Booking(shape, tuple(nodes), now + self._booking_seconds, workload, kin, found)
        self._bookings[identity] = booking
        self._count_booking(booking, 1.0)

    def booking(self, identity: str) -> Booking | None:
        """What is booked for a pod."""
        return self._bookings.get(identity)

    def bound(self, change: PodBound) -> None:
        """The watch tells where a pod went. Told twice, it counts once."""
        booking, row = self._bookings.get(change.identity), self._row(change.node)
        if booking is not None and row is not None and self._foreseen(change, booking, row):
            del self._bookings[change.identity]
            self._booked[row] -= 1.0
            self._bound_since.add(change.identity)
            self._bindings_since.append((row, change.bound_at))
            return
        self.let_go(change.identity)
        if change.identity not in self._bound_since:
            self._bound_since.add(change.identity)
            if row is not None:
                self._bindings_since.append((row, change.bound_at))
                usage = self.expectations.of_pod(change.shape, change.workload, change.kin)
                self.expectations.add(row, change.workload, usage)
            self._count_bound(change, 1.0)

    def _foreseen(self, change: PodBound, booking: Booking, row: int) -> bool:
        """Whether the pod went where it was booked, so that it is counted already."""
        return (
            booking.nodes == (change.node,)
            and booking.shape == change.shape
            and booking.workload == change.workload
            and change.bound_at > self._snapshot.sampled_at[row]
            and not change.usage
        )

    def left(self, change: PodLeft) -> None:
        """The watch tells that a pod is gone."""
        self.let_go(change.identity)
        if (row := self._row(change.node)) is not None:
            self.expectations.remove(row, change.workload, self._expected_of(change))
        self._bound_since.discard(change.identity)
        self._count_bound(change, -1.0)

    def _expected_of(self, change: PodLeft) -> Usage:
        """What is counted for a pod that goes: what it was added with, or what the snapshot expected of it."""
        if change.expected is None or change.identity in self._bound_since:
            return self.expectations.of_pod(change.shape, change.workload)
        mean, deviation, skew = map(np.array, change.expected)
        return Usage(mean, deviation, skew)

    def _row(self, node: str | None) -> int | None:
        return None if node is None else self._snapshot.index.get(node)

    def let_go(self, identity: str) -> None:
        """Count what was booked for a pod no longer."""
        booking = self._bookings.pop(identity, None)
        if booking is not None:
            self._count_booking(booking, -1.0)

    def _count_bound(self, change: PodBound | PodLeft, sign: float) -> None:
        row = self._row(change.node)
        if row is None:
            return
        amounts = self._amounts_of(change.shape)
        for number, price in enumerate(self._prices):
            missing = self._missing_of_one(row, change.bound_at, price.rule)
            if missing < 1.0 or change.usage:
                columns = self._priced(number)
                amounts = amounts.copy()
                amounts[columns] = missing * price.less_measured(amounts[columns], change.usage)
        self._table[row, :-1] += sign * amounts[:-1]

    def _count_booking(self, booking: Booking, sign: float) -> None:
        rows, share, expectations = booking.rows, booking.share, self.expectations
        self._table[rows] += (sign * share) * self._amounts_of(booking.shape)
        if expectations.known:
            usage = expectations.of_pod(booking.shape, booking.workload, booking.kin).times(share)
            (expectations.add if sign > 0 else expectations.remove)(rows, booking.workload, usage)

    def _rows(self, nodes: Sequence[str]) -> int | Ints:
        """Of those that are known."""
        rows = self._snapshot.rows_of(nodes)
        return _one_or_many(rows if rows.min(initial=0) >= 0 else rows[rows >= 0])

    def _amounts_of(self, shape: Shape) -> Floats:
        """What a booked pod of that shape adds to a row of the table."""
        amounts = self._amounts.get(shape)
        if amounts is None:
            if len(self._amounts) >= MOST_SHAPES:
                self._amounts.clear()
            resources, limits = self._snapshot.resources, dict(shape.limits)
            requests = [shape.request(resource) for resource in resources]
            limited = [max(limits.get(name, 0.0), request) for name, request in zip(resources, requests, strict=True)]
            prices = [price.of(shape) for price in self._prices]
            amounts = self._amounts[shape] = np.concatenate([requests, limited, [1.0], *prices, [1.0]])
        return amounts

    def _missing_share(self, rows: Ints, bound_at: Floats, rule: str | None = None) -> Floats:
        """The share of each pod's node window that has not seen the pod, by a scorer's own rule or the setting's."""
        newest = self._snapshot.sampled_at[rows]
        newest = np.where(np.isposinf(newest), self._snapshot.time, newest)
        with np.errstate(invalid="ignore"):
            seen = newest - bound_at
        seen = np.where(np.isnan(seen), np.inf, seen)
        if (rule or self._rule) in ("Trimaran", LESS_MEASURED):
            return np.where(seen < TRIMARAN_SECONDS, 1.0, 0.0)
        if rule == MISSING_HOUR:
            span = min(max(self._snapshot.time - self._snapshot.measured_since, LEAST_SPAN_SECONDS), HOUR)
            return np.clip(1.0 - seen / span, 0.0, 1.0)
        return np.clip(1.0 - seen / self._spans(rows), 0.0, 1.0)

    def _missing_of_one(self, row: int, bound_at: float, rule: str | None) -> float:
        """The same for one pod; for most, that came after or long before the window, without arithmetic on arrays."""
        newest = float(self._snapshot.sampled_at[row])
        if bound_at > newest:
            return 1.0
        if bound_at <= newest - max(self._snapshot.window_seconds, HOUR) and newest < np.inf:
            return 0.0
        return float(self._missing_share(np.array([row]), np.array([bound_at]), rule)[0])

    def _spans(self, rows: Ints) -> Floats:
        """How much time each node's window covers: less than its length while it fills."""
        snapshot = self._snapshot
        if snapshot.window_starts is None:
            return np.full(len(rows), snapshot.window_seconds)
        with np.errstate(invalid="ignore"):
            covered = snapshot.sampled_at[rows] - snapshot.window_starts[rows]
        covered = np.nan_to_num(covered, nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip(covered, min(LEAST_SPAN_SECONDS, snapshot.window_seconds), snapshot.window_seconds)


class _Prices:
    """What one scorer expects of pods by their shape."""

    def __init__(self, scorer: CountsInFlight) -> None:
        self.scorer = scorer
        self.rule: str | None = getattr(scorer, "in_flight_rule", None)
        self._columns: dict[str, int] = {}
        self._known: dict[Shape, Floats] = {}

    def restart(self, snapshot: Snapshot, missing: Floats) -> Floats:
        """In-flight usage (node, resource) of the pods that the snapshot knows."""
        if self._columns != snapshot.resource_index or len(self._known) >= MOST_SHAPES:
            self._columns = dict(snapshot.resource_index)
            self._known.clear()
        usage, placed = np.zeros(snapshot.capacity.shape), snapshot.placed
        counted = missing > 0.0
        if counted.any():
            used, shape_of = np.unique(placed.shapes[counted], return_inverse=True)
            prices = np.array([self.of(snapshot.shapes[number]) for number in used.tolist()])
            measured = () if placed.usage is None else placed.usage[counted]
            amounts = missing[counted, None] * self.less_measured(prices[shape_of], measured)
            for column in range(len(snapshot.resources)):
                usage[:, column] = np.bincount(placed.rows[counted], amounts[:, column], minlength=len(usage))
        return usage

    def less_measured(self, prices: Floats, usage: Floats | Sequence[float]) -> Floats:
        """Prices (..., resource), less what is measured of each pod where the rule says so."""
        if not len(usage) or self.rule != LESS_MEASURED:
            return prices
        return np.maximum(prices - np.nan_to_num(usage), 0.0)

    def of(self, shape: Shape) -> Floats:
        """What the scorer expects of a pod of that shape (resource,)."""
        price = self._known.get(shape)
        if price is None:
            price = self._known[shape] = self._asked(shape)
        return price

    def _asked(self, shape: Shape) -> Floats:
        """The scorer's answer; nothing if it raises or answers nonsense: others' code must not take us down."""
        price = np.zeros(len(self._columns))
        try:
            for resource, amount in self.scorer.demand(shape).items():
                if resource in self._columns:
                    price[self._columns[resource]] = amount
        except Exception:  # noqa: BLE001 - see above
            return np.zeros(len(self._columns))
        return np.where(np.isfinite(price), np.maximum(price, 0.0), 0.0)


def _one_or_many(rows: Ints) -> int | Ints:
    """A single row as a plain number: numpy is quicker with it."""
    return int(rows[0]) if len(rows) == 1 else rows
