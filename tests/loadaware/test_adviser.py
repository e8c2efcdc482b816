import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from collectors.manifests import Pod
from loadaware.adviser import MOST_TIED, Adviser
from loadaware.changes import PodBound, PodLeft
from loadaware.errors import UnknownProfileError
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.snapshot import OPT_OUT_ANNOTATION, Snapshot
from tests.loadaware.builders import Clock, cpu_mean, make_pod, make_profile, make_settings, make_shape, snapshot_of

BALANCING = make_profile(LoadVariationRiskBalancing(), "balancing")
PACKING = make_profile(TargetLoadPacking(), "packing")
POD = make_pod("web", cpu=1.0, scheduler_name="balancing")


def adviser_of(nodes: Mapping[str, Mapping[str, Any]] | Snapshot, *profiles: Any, **settings: Any) -> Adviser:
    adviser = Adviser(make_settings(*(profiles or (BALANCING, PACKING)), **settings), Clock())
    adviser.receive(nodes if isinstance(nodes, Snapshot) else snapshot_of(nodes))
    return adviser


def requested(adviser: Adviser) -> dict[str, float]:
    return dict(zip(adviser.snapshot.names, adviser.in_flight.requested[:, 0].tolist(), strict=True))


def turn(adviser: Adviser, seconds: float) -> None:
    clock = adviser._clock
    assert isinstance(clock, Clock)
    clock.advance(seconds)


# -- Which profile --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduler_name", "named", "chosen"),
    [
        ("packing", None, "packing"),
        ("balancing", None, "balancing"),
        ("balancing", "packing", "packing"),  # the path wins
        ("somebody-else", "packing", "packing"),
        ("somebody-else", None, "balancing"),  # the first profile serves everybody else
        ("default-scheduler", None, "balancing"),
    ],
)
def test_the_path_wins_then_the_schedulers_name_then_the_default(
    scheduler_name: str, named: str | None, chosen: str
) -> None:
    adviser = adviser_of({"a": {}})
    pod = make_pod("web", scheduler_name=scheduler_name)
    assert adviser.profile_for(pod, named).name == chosen
    assert adviser.rank(pod, ["a"], named).profile == chosen
    assert adviser.filter(pod, ["a"], named).profile == chosen


def test_a_profile_that_is_not_configured_is_refused_with_those_that_are() -> None:
    adviser = adviser_of({"a": {}})
    for ask in (adviser.rank, adviser.filter):
        with pytest.raises(UnknownProfileError, match="no profile is called 'other'; there are: balancing, packing"):
            ask(POD, ["a"], "other")


# -- Opting out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotations", "namespace", "out"),
    [
        ({OPT_OUT_ANNOTATION: "true"}, "default", True),
        ({OPT_OUT_ANNOTATION: "false"}, "default", False),
        ({}, "batch", True),
        ({}, "default", False),
    ],
)
def test_pods_and_namespaces_opt_out(annotations: dict[str, str], namespace: str, out: bool) -> None:
    plain = snapshot_of({"busy": cpu_mean(90), "idle": cpu_mean(10)})
    snapshot = dataclasses.replace(plain, exempt_namespaces=frozenset({"batch"}))
    adviser = adviser_of(snapshot, make_profile(LoadVariationRiskBalancing(), "balancing", UsageThreshold()))
    pod = make_pod("web", cpu=1.0, annotations=annotations, namespace=namespace)
    assert adviser.opted_out(pod) is out
    assert (adviser.rank(pod, ["busy", "idle"], book=False).priorities == 0).all() == out
    assert adviser.filter(pod, ["busy", "idle"]).passed == (("busy", "idle") if out else ("idle",))


def test_a_pod_that_opted_out_is_not_booked() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(90)})
    adviser.rank(make_pod("web", cpu=1.0, annotations={OPT_OUT_ANNOTATION: "true"}), ["a", "b"])
    assert len(adviser.in_flight) == 0


# -- Booking --------------------------------------------------------------------------------------------------------


def test_a_ranked_pod_is_booked_on_the_best_node() -> None:
    adviser = adviser_of({"a": cpu_mean(50), "b": cpu_mean(10)})
    adviser.rank(POD, ["a", "b"])
    assert requested(adviser) == {"a": 0.0, "b": 1.0}


def test_the_next_pod_already_sees_the_booking() -> None:
    adviser = adviser_of({"a": cpu_mean(20), "b": cpu_mean(10)})
    best = []
    for n in range(4):
        ranking = adviser.rank(make_pod(f"web-{n}", cpu=1.0), ["a", "b"])
        best.append(ranking.names[ranking.best()[0]])
    assert best == ["b", "a", "b", "a"]


def test_equally_good_nodes_share_a_booking() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(10), "c": cpu_mean(80)})
    adviser.rank(POD, ["a", "b", "c"])
    assert requested(adviser) == {"a": 0.5, "b": 0.5, "c": 0.0}


@pytest.mark.parametrize(("nodes", "bookings"), [(MOST_TIED, 1), (MOST_TIED + 1, 0)])
def test_where_too_many_nodes_are_equal_nothing_is_booked(nodes: int, bookings: int) -> None:
    adviser = adviser_of({f"n{i}": cpu_mean(10) for i in range(nodes)})
    adviser.rank(POD, adviser.snapshot.names)
    assert len(adviser.in_flight) == bookings


def test_a_pod_asked_for_again_is_no_load_to_itself() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)})
    first = adviser.rank(POD, ["a", "b"])
    second = adviser.rank(POD, ["a", "b"])
    assert second.scores.tolist() == first.scores.tolist()
    assert requested(adviser) == {"a": 1.0, "b": 0.0}


def test_a_pod_asked_for_again_moves_its_booking() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)})
    adviser.rank(POD, ["a", "b"])
    adviser.rank(POD, ["b"])
    assert requested(adviser) == {"a": 0.0, "b": 1.0}


def test_asking_again_where_nothing_can_be_told_apart_lets_the_booking_go() -> None:
    nodes = {f"n{i}": cpu_mean(10) for i in range(MOST_TIED + 1)}
    adviser = adviser_of({**nodes, "best": cpu_mean(1)})
    adviser.rank(POD, adviser.snapshot.names)
    assert requested(adviser)["best"] == 1.0
    adviser.rank(POD, list(nodes))
    assert len(adviser.in_flight) == 0


def test_looking_books_nothing_and_leaves_what_is_booked() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)})
    adviser.rank(POD, ["a", "b"], book=False)
    adviser.filter(POD, ["b"], book=False)
    assert len(adviser.in_flight) == 0
    adviser.rank(POD, ["a", "b"])
    adviser.rank(POD, ["b"], book=False)
    adviser.filter(POD, ["b"], book=False)
    assert requested(adviser) == {"a": 1.0, "b": 0.0}


def test_when_one_node_passes_the_filter_the_pod_is_booked_there_because_nobody_will_ask_further() -> None:
    nodes = {"a": cpu_mean(90), "b": cpu_mean(10)}
    adviser = adviser_of(nodes, make_profile(LoadVariationRiskBalancing(), "balancing", UsageThreshold()))
    assert adviser.filter(POD, ["a", "b"]).passed == ("b",)
    assert requested(adviser) == {"a": 0.0, "b": 1.0}


def test_when_several_nodes_pass_the_filter_nothing_is_booked_yet() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(10)})
    assert adviser.filter(POD, ["a", "b"]).passed == ("a", "b")
    assert len(adviser.in_flight) == 0


@pytest.mark.parametrize("verb", ["filter", "rank"])
def test_bookings_expire_whichever_verb_is_asked(verb: str) -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)}, booking_seconds=10.0)
    adviser.rank(POD, ["a", "b"])
    turn(adviser, 10.0)
    other = make_pod("other")
    answer = adviser.filter(other, ["a", "b"]) if verb == "filter" else adviser.rank(other, ["a", "b"], book=False)
    assert answer.profile == "balancing"
    assert requested(adviser) == {"a": 0.0, "b": 0.0}


def test_the_watch_settles_a_booking() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)})
    adviser.rank(POD, ["a", "b"])
    adviser.receive(PodBound(POD.identity, "b", POD.shape, 1001.0))
    assert requested(adviser) == {"a": 0.0, "b": 1.0}
    adviser.receive(PodLeft(POD.identity, "b", POD.shape, 1001.0))
    assert requested(adviser) == {"a": 0.0, "b": 0.0}


def test_a_new_snapshot_replaces_what_was_told_and_keeps_what_is_booked() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(20)})
    adviser.rank(POD, ["a", "b"])
    adviser.receive(PodBound("uid-other", "b", make_shape(cpu=2.0), 1001.0))
    assert requested(adviser) == {"a": 1.0, "b": 2.0}
    adviser.receive(snapshot_of({"a": cpu_mean(10), "b": cpu_mean(20)}))
    assert requested(adviser) == {"a": 1.0, "b": 0.0}


def test_nodes_nobody_told_of_can_be_best_and_booking_them_does_no_harm() -> None:
    adviser = adviser_of({})
    assert adviser.rank(POD, ["x", "y"]).priorities.tolist() == [15, 15]
    adviser.receive(snapshot_of({"x": {}, "z": {}}))
    assert requested(adviser) == {"x": 0.5, "z": 0.0}


# -- Settings -------------------------------------------------------------------------------------------------------


def test_new_settings_take_hold_at_once() -> None:
    adviser = adviser_of({"a": cpu_mean(10), "b": cpu_mean(35)})
    adviser.rank(make_pod("x"), ["a", "b"])
    assert len(adviser.in_flight) == 1
    adviser.configure(make_settings(PACKING))
    assert len(adviser.in_flight) == 0
    ranking = adviser.rank(Pod(name="pod"), ["a", "b"])
    assert ranking.profile == "packing"
    assert ranking.names[ranking.best()[0]] == "b"


def test_an_answer_needs_no_snapshot() -> None:
    adviser = Adviser(make_settings(BALANCING), Clock())
    assert adviser.rank(POD, ["a", "a", "b"]).priorities.tolist() == [15, 15, 15]
    assert adviser.filter(POD, ["a", "b"]).passed == ("a", "b")
    assert len(adviser.rank(POD, []).priorities) == 0
