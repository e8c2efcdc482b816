import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from collectors.cluster import NodeGone, NodeSeen, PodGone, PodSeen
from collectors.manifests import Pod, Shape
from loadaware.adviser import MOST_TIED
from loadaware.changes import PodBound, PodLeft
from loadaware.core import Core
from loadaware.in_flight import MOST_BOOKINGS, InFlight, Rule
from loadaware.observer import Observer, ObserverSettings
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.scorer import CountsInFlight, Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.snapshot import Snapshot
from tests.loadaware.builders import (
    GIB,
    Clock,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    snapshot_of,
)
from tests.loadaware.builders import make_shape as shape_with

NOW = 10_000.0
BALANCING = LoadVariationRiskBalancing()
PACKING = TargetLoadPacking()
ONE = shape_with(cpu=1.0)


def measured(*sample_times: float, nodes: tuple[str, ...] = ("a", "b"), pods: tuple[Pod, ...] = ()) -> Snapshot:
    """A snapshot of nodes that were measured at these times and carry these pods."""
    observer = Observer(ObserverSettings(window_seconds=900.0))
    for name in nodes:
        observer.tell(NodeSeen(make_node(name, cpu=64.0)), NOW)
    for time in sample_times:
        observer.feed(make_reading(dict.fromkeys(nodes, (0.0, 0.0)), time), NOW)
    for pod in pods:
        observer.tell(PodSeen(pod), NOW)
    return observer.snapshot(NOW)


def ledger_of(snapshot: Snapshot, rule: Rule = "MissingShare", *scorers: object) -> InFlight:
    ledger = InFlight(scorers or (BALANCING,), rule)
    ledger.restart(snapshot)
    return ledger


def cpu_in_flight(ledger: InFlight, scorer: object = BALANCING) -> list[float]:
    usage = ledger.usage_for(scorer)
    assert usage is not None
    column: list[float] = usage[:, 0].tolist()
    return column


def cpu_requested(ledger: InFlight) -> list[float]:
    column: list[float] = ledger.requested[:, 0].tolist()
    return column


# -- The share that is missing --------------------------------------------------------------------------------------

FULL = tuple(NOW - 885.0 + 15.0 * n for n in range(60))
"""A full window: 60 samples, the oldest 885 s before the newest."""

MISSING = [
    # samples              bound               share: 1 - (newest - bound) / span
    (FULL, NOW + 5.0, 1.0),  # after the newest sample: nothing has been seen
    (FULL, NOW, 1.0),  # 1 - 0 / 885
    (FULL, NOW - 88.5, 0.9),  # 1 - 88.5 / 885
    (FULL, NOW - 442.5, 0.5),  # 1 - 442.5 / 885
    (FULL, NOW - 885.0, 0.0),  # 1 - 885 / 885
    (FULL, NOW - 890.0, 0.0),
    (FULL, 0.0, 0.0),
    ((NOW - 100.0, NOW), NOW - 25.0, 0.75),  # a window that is filling: 1 - 25 / 100
    ((NOW - 100.0, NOW), NOW - 200.0, 0.0),
    ((NOW,), NOW - 15.0, 0.75),  # one sample covers a minute: 1 - 15 / 60
    ((NOW,), NOW - 60.0, 0.0),
    ((), NOW - 500.0, 1.0),  # never measured: nothing has been seen
]


@pytest.mark.parametrize(("samples", "bound_at", "share"), MISSING)
def test_a_placed_pod_counts_by_the_share_of_the_window_it_is_missing_from(
    samples: tuple[float, ...], bound_at: float, share: float
) -> None:
    pod = make_pod("web", cpu=2.0, node="a", bound_at=bound_at)
    ledger = ledger_of(measured(*samples, pods=(pod,)))
    assert cpu_in_flight(ledger) == pytest.approx([2.0 * share, 0.0])
    assert cpu_requested(ledger) == [2.0, 0.0]


@pytest.mark.parametrize(
    ("bound_at", "counts"),
    [(NOW + 5.0, 1.0), (NOW, 1.0), (NOW - 59.0, 1.0), (NOW - 60.0, 0.0), (NOW - 61.0, 0.0), (NOW - 500.0, 0.0)],
)
def test_by_trimarans_rule_a_pod_counts_wholly_until_a_minute_has_been_measured(bound_at: float, counts: float) -> None:
    pod = make_pod("web", cpu=2.0, node="a", bound_at=bound_at)
    assert cpu_in_flight(ledger_of(measured(*FULL, pods=(pod,)), "Trimaran")) == [2.0 * counts, 0.0]


@pytest.mark.parametrize("rule", ["MissingShare", "Trimaran"])
def test_a_state_file_says_itself_which_pods_are_in_flight(rule: Rule) -> None:
    def manifest(cpu: str) -> dict[str, object]:
        return {"spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}}

    snapshot = snapshot_of({"a": {"pods": [manifest("1")], "inFlight": [manifest("500m"), manifest("250m")]}, "b": {}})
    ledger = ledger_of(snapshot, rule)
    assert cpu_in_flight(ledger) == [0.75, 0.0]
    assert cpu_requested(ledger) == [1.75, 0.0]
    ledger.bound(PodBound("later", "b", ONE, NOW))
    assert cpu_in_flight(ledger) == [0.75, 1.0]


def test_each_scorer_has_its_own_price_and_one_that_declares_no_need_has_none() -> None:
    pod = make_pod("web", cpu=2.0, node="a", bound_at=NOW + 1.0)
    ledger = ledger_of(measured(NOW, pods=(pod,)), "MissingShare", BALANCING, PACKING)
    assert cpu_in_flight(ledger, BALANCING) == [2.0, 0.0]
    assert cpu_in_flight(ledger, PACKING) == [3.0, 0.0]
    assert ledger.usage_for(Scorer()) is None
    assert ledger.usage_for(None) is None


def test_a_restart_rebuilds_the_same_ledger_from_the_pods_themselves() -> None:
    pods = tuple(
        make_pod(f"web-{n}", cpu=0.5 + n, node="ab"[n % 2], bound_at=NOW - 100.0 * n if n else NOW + 1.0)
        for n in range(8)
    )
    before = ledger_of(measured(*FULL))
    for pod in pods:
        assert pod.node is not None
        assert pod.bound_at is not None
        before.bound(PodBound(pod.identity, pod.node, pod.shape, pod.bound_at))
    after = ledger_of(measured(*FULL, pods=pods))
    assert cpu_in_flight(after) == pytest.approx(cpu_in_flight(before))
    assert cpu_requested(after) == pytest.approx(cpu_requested(before))
    assert after.pods.tolist() == before.pods.tolist() == [4.0, 4.0]


# -- Told between snapshots -----------------------------------------------------------------------------------------


def test_a_pod_that_is_bound_counts_at_once_and_one_that_left_no_longer() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.bound(PodBound("x", "a", ONE, NOW + 1.0))
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == ledger.pods.tolist() == [1.0, 0.0]
    ledger.left(PodLeft("x", "a", ONE, NOW + 1.0))
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == ledger.pods.tolist() == [0.0, 0.0]


def test_a_pod_that_is_told_twice_counts_once() -> None:
    ledger = ledger_of(measured(NOW))
    for _ in range(2):
        ledger.bound(PodBound("x", "a", ONE, NOW + 1.0))
    assert cpu_requested(ledger) == [1.0, 0.0]


def test_a_pod_that_left_takes_along_only_what_was_missing_of_it() -> None:
    pods = tuple(make_pod(name, cpu=2.0, node="a", bound_at=NOW - 442.5) for name in ("x", "y"))
    ledger = ledger_of(measured(*FULL, pods=pods))
    assert cpu_in_flight(ledger) == pytest.approx([2.0, 0.0])
    ledger.left(PodLeft("uid-x", "a", shape_with(cpu=2.0), NOW - 442.5))
    assert cpu_in_flight(ledger) == pytest.approx([1.0, 0.0])
    assert cpu_requested(ledger) == [2.0, 0.0]


def test_a_long_running_pod_that_is_resized_is_not_taken_for_a_new_one() -> None:
    pod = make_pod("x", cpu=2.0, node="a", bound_at=NOW - 5000.0)
    ledger = ledger_of(measured(*FULL, pods=(pod,)))
    ledger.left(PodLeft("uid-x", "a", pod.shape, NOW - 5000.0))
    ledger.bound(PodBound("uid-x", "a", shape_with(cpu=3.0), NOW - 5000.0))
    assert cpu_requested(ledger) == [3.0, 0.0]
    assert cpu_in_flight(ledger) == [0.0, 0.0]


def test_a_pod_on_a_node_the_snapshot_does_not_know_counts_nowhere_and_does_no_harm() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.bound(PodBound("x", "elsewhere", ONE, NOW))
    ledger.left(PodLeft("x", "elsewhere", ONE, NOW))
    ledger.left(PodLeft("never-bound"))
    assert cpu_requested(ledger) == [0.0, 0.0]


def test_resources_that_nobody_measures_are_left_out() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.bound(PodBound("x", "a", shape_with(cpu=1.0, memory=GIB, gpu=1.0), NOW + 1.0))
    assert ledger.requested.tolist() == [[1.0, GIB], [0.0, 0.0]]


def test_limits_count_the_larger_of_limit_and_request() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.bound(PodBound("x", "a", shape_with(cpu=1.0, cpu_limit=0.5), NOW))
    ledger.bound(PodBound("y", "a", shape_with(cpu=1.0, cpu_limit=4.0), NOW))
    assert ledger.limits[0, 0] == 5.0


# -- Booked at the answer -------------------------------------------------------------------------------------------


def test_a_booking_counts_at_once_shared_among_its_nodes() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a", "b"], NOW)
    assert len(ledger) == 1
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == ledger.pods.tolist() == [0.5, 0.5]


def test_a_booking_moves_when_the_pod_is_asked_for_again() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.book("x", ONE, ["b"], NOW + 1.0)
    assert len(ledger) == 1
    assert cpu_in_flight(ledger) == [0.0, 1.0]
    ledger.book("x", ONE, [], NOW + 2.0)
    assert len(ledger) == 0
    assert cpu_in_flight(ledger) == [0.0, 0.0]


def test_the_watch_settles_a_booking_wherever_the_pod_really_went() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.bound(PodBound("x", "b", ONE, NOW + 1.0))
    assert len(ledger) == 0
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == [0.0, 1.0]


def test_a_pod_that_was_bound_is_not_booked_any_more_unless_it_left_and_comes_back() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.bound(PodBound("x", "b", ONE, NOW + 1.0))
    ledger.book("x", ONE, ["a"], NOW + 2.0)
    assert cpu_requested(ledger) == [0.0, 1.0]
    ledger.left(PodLeft("x", "b", ONE, NOW + 1.0))
    ledger.book("x", ONE, ["a"], NOW + 3.0)
    assert cpu_requested(ledger) == [1.0, 0.0]


def test_a_pod_that_is_deleted_before_it_was_bound_frees_its_booking() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.left(PodLeft("x"))
    assert len(ledger) == 0
    assert cpu_requested(ledger) == [0.0, 0.0]


def test_a_booking_expires_when_no_watch_tells() -> None:
    ledger = InFlight([BALANCING], booking_seconds=10.0)
    ledger.restart(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.book("y", ONE, ["b"], NOW + 5.0)
    ledger.expire(NOW + 9.9)
    assert cpu_in_flight(ledger) == [1.0, 1.0]
    ledger.expire(NOW + 10.0)
    assert cpu_in_flight(ledger) == [0.0, 1.0]
    ledger.expire(NOW + 15.0)
    assert len(ledger) == 0


def test_asking_again_prolongs_a_booking() -> None:
    ledger = InFlight([BALANCING], booking_seconds=10.0)
    ledger.restart(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.book("y", ONE, ["b"], NOW + 1.0)
    ledger.book("x", ONE, ["a"], NOW + 8.0)
    ledger.expire(NOW + 12.0)
    assert cpu_in_flight(ledger) == [1.0, 0.0]


def test_bookings_are_bounded_and_the_oldest_go_first() -> None:
    ledger = ledger_of(measured(NOW))
    for n in range(MOST_BOOKINGS + 10):
        ledger.book(f"pod-{n}", ONE, ["a" if n < 10 else "b"], NOW)
    ledger.expire(NOW)
    assert len(ledger) == MOST_BOOKINGS
    assert cpu_requested(ledger) == pytest.approx([0.0, MOST_BOOKINGS])


def test_bookings_outlive_a_snapshot_that_does_not_know_the_pod_yet() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a", "b"], NOW)
    ledger.restart(measured(NOW + 15.0, nodes=("b", "c")))
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == [0.5, 0.0]
    ledger.bound(PodBound("x", "c", ONE, NOW + 16.0))
    assert cpu_in_flight(ledger) == cpu_requested(ledger) == [0.0, 1.0]


def test_a_pod_is_no_load_to_itself() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    ledger.book("y", ONE, ["a"], NOW)
    with ledger.without("x"):
        assert cpu_in_flight(ledger) == [1.0, 0.0]
    with ledger.without("nobody"):
        assert cpu_in_flight(ledger) == [2.0, 0.0]
    assert cpu_in_flight(ledger) == [2.0, 0.0]


def test_a_pod_is_booked_again_even_if_asking_failed_meanwhile() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.book("x", ONE, ["a"], NOW)
    with pytest.raises(RuntimeError), ledger.without("x"):
        raise RuntimeError
    assert cpu_in_flight(ledger) == [1.0, 0.0]


def test_in_flight_usage_never_falls_below_zero() -> None:
    ledger = ledger_of(measured(NOW))
    ledger.left(PodLeft("nobody-told-of-it", "a", ONE, NOW + 1.0))
    assert cpu_in_flight(ledger) == [0.0, 0.0]


# -- The ledger against a plain recount -----------------------------------------------------------------------------

POD_NAMES = [f"pod-{n}" for n in range(8)]
NODE_NAMES = ["a", "b", "c"]
AMOUNTS = st.sampled_from([0.0, 0.1, 0.5, 2.0])


@dataclass(frozen=True)
class Held:
    """A booking as the recount remembers it."""

    shape: Shape
    nodes: tuple[str, ...]
    expires: float


class LedgerMachine(RuleBasedStateMachine):
    """Nodes, pods, questions and readings in any order; after each step the ledger equals a recount from scratch."""

    @initialize(in_flight_rule=st.sampled_from(["MissingShare", "Trimaran"]))
    def begin(self, in_flight_rule: Rule) -> None:
        self.rule = in_flight_rule
        self.clock = Clock(NOW)
        profiles = (make_profile(BALANCING), make_profile(PACKING, "packing"))
        advice = make_settings(*profiles, in_flight_rule=in_flight_rule, booking_seconds=20.0)
        self.core = Core(advice, self.clock, ObserverSettings(window_seconds=300.0))
        self.bound: dict[str, Pod] = {}
        self.booked: dict[str, Held] = {}
        self.core.tell(NodeSeen(make_node("a")), NodeSeen(make_node("b")))

    @rule(seconds=st.floats(0.0, 15.0))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(name=st.sampled_from(NODE_NAMES))
    def a_node_comes(self, name: str) -> None:
        self.core.tell(NodeSeen(make_node(name)))

    @rule(name=st.sampled_from(NODE_NAMES))
    def a_node_goes(self, name: str) -> None:
        self.core.tell(NodeGone(name))

    @rule(cpu=st.floats(0.0, 4.0), late=st.floats(0.0, 30.0))
    def a_reading_comes(self, cpu: float, late: float) -> None:
        self.core.feed(make_reading(dict.fromkeys(NODE_NAMES, (cpu, GIB)), self.clock() - late))

    @rule()
    def a_snapshot_is_made(self) -> None:
        self.core.refresh()

    @rule(name=st.sampled_from(POD_NAMES), cpu=AMOUNTS, limit=AMOUNTS, named=st.sampled_from([None, "packing"]))
    def a_pod_is_asked_for(self, name: str, cpu: float, limit: float, named: str | None) -> None:
        pod = make_pod(name, cpu=cpu, cpu_limit=limit)
        if pod.identity in self.bound:
            return
        self.expire()
        ranking = self.core.rank(pod, [*NODE_NAMES, "unknown"], named)
        best = tuple(ranking.names[position] for position in ranking.best_on_the_wire().tolist())
        self.booked.pop(pod.identity, None)
        if len(best) <= MOST_TIED:
            self.booked[pod.identity] = Held(pod.shape, best, self.clock() + 20.0)

    @rule(name=st.sampled_from(POD_NAMES), node=st.sampled_from(NODE_NAMES), cpu=AMOUNTS, age=st.floats(0.0, 400.0))
    def the_watch_tells_of_a_bound_pod(self, name: str, node: str, cpu: float, age: float) -> None:
        held = self.bound.get(f"uid-{name}")
        where, when = (node, self.clock() - age) if held is None else (held.node, held.bound_at)
        pod = make_pod(name, cpu=cpu, node=where, bound_at=when)
        self.core.tell(PodSeen(pod))
        self.bound[pod.identity] = pod
        if held is None or held.shape != pod.shape:
            self.booked.pop(pod.identity, None)

    @rule(name=st.sampled_from(POD_NAMES), finished=st.booleans())
    def the_watch_tells_that_a_pod_left(self, name: str, finished: bool) -> None:
        pod = make_pod(name, phase="Failed")
        self.core.tell(PodSeen(pod) if finished else PodGone(pod.identity))
        self.bound.pop(pod.identity, None)
        self.booked.pop(pod.identity, None)

    def expire(self) -> None:
        self.booked = {identity: held for identity, held in self.booked.items() if held.expires > self.clock()}

    def missing(self, row: int, bound_at: float) -> float:
        snapshot = self.core.snapshot
        assert snapshot.window_starts is not None
        newest, oldest = float(snapshot.sampled_at[row]), float(snapshot.window_starts[row])
        if self.rule == "Trimaran":
            return 1.0 if newest - bound_at < 60.0 else 0.0
        if math.isinf(newest):
            return 1.0
        span = min(max(newest - oldest, 60.0), 300.0)
        return min(max(1.0 - (newest - bound_at) / span, 0.0), 1.0)

    @precondition(lambda self: hasattr(self, "core"))
    @invariant()
    def the_ledger_equals_a_recount(self) -> None:
        ledger = self.core.adviser.in_flight
        ledger.expire(self.clock())
        self.expire()
        assert len(ledger) == len(self.booked)
        for row, name in enumerate(self.core.snapshot.names):
            bound = [pod for pod in self.bound.values() if pod.node == name]
            booked = [(held.shape, 1.0 / len(held.nodes)) for held in self.booked.values() if name in held.nodes]
            weighted = [(pod.shape, 1.0) for pod in bound] + booked
            assert ledger.pods[row] == pytest.approx(sum(times for _, times in weighted), abs=1e-9)
            requested = sum(times * shape.request("cpu") for shape, times in weighted)
            assert ledger.requested[row, 0] == pytest.approx(requested, abs=1e-9)
            limits = sum(times * max(shape.limit("cpu"), shape.request("cpu")) for shape, times in weighted)
            assert ledger.limits[row, 0] == pytest.approx(limits, abs=1e-9)
            unmeasured = [(pod.shape, self.missing(row, pod.bound_at or 0.0)) for pod in bound] + booked
            for scorer in (BALANCING, PACKING):
                self.expect_price(ledger, scorer, row, unmeasured)

    @staticmethod
    def expect_price(ledger: InFlight, scorer: CountsInFlight, row: int, pods: list[tuple[Shape, float]]) -> None:
        usage = ledger.usage_for(scorer)
        assert usage is not None
        expected = sum(times * scorer.demand(shape).get("cpu", 0.0) for shape, times in pods)
        assert usage[row, 0] == pytest.approx(expected, abs=1e-9)


TestLedgerAgainstARecount = LedgerMachine.TestCase
TestLedgerAgainstARecount.settings = settings(max_examples=40, stateful_step_count=40)


def test_the_arrays_of_the_snapshot_are_not_written_to() -> None:
    snapshot = measured(NOW)
    ledger = ledger_of(snapshot)
    ledger.bound(PodBound("x", "a", ONE, NOW + 1.0))
    assert snapshot.requested.tolist() == np.zeros((2, 2)).tolist()


class Broken(Scorer, frozen=True, kw_only=True):
    """Another's scorer whose price raises, or is nonsense."""

    price: float | None = None

    def demand(self, shape: Shape) -> Mapping[str, float]:
        if self.price is None:
            raise KeyError("price")
        return {"cpu": self.price}


@pytest.mark.parametrize("price", [None, math.nan, math.inf, -3.0])
def test_a_scorer_whose_demand_raises_or_is_nonsense_counts_nothing_and_harms_nobody(price: float | None) -> None:
    broken = Broken(price=price)
    ledger = InFlight([broken])
    ledger.restart(snapshot_of({"a": {}}))
    ledger.book("x", ONE, ["a"], NOW)
    usage = ledger.usage_for(broken)
    assert usage is not None
    assert not usage.any()
