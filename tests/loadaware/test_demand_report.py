"""Requested against learned use, with the arithmetic written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.reading import CPU, MEMORY
from loadaware.demand_report import FLOORS, LEAST_CONFIDENCE, report, round_up
from loadaware.demand_state import DemandState
from tests.loadaware.builders import GIB
from tests.loadaware.learned import MANY, state_of

MIB = 2.0**20


def test_a_workload_that_requests_too_much_is_told_what_would_do() -> None:
    # 400 samples, half 0.1 and half 0.3 of 2 cores: mean 0.2, deviation 0.1 of the request
    state = state_of({"shop/Deployment/web": (2.0, [0.1, 0.3] * 200)}, [("shop/Deployment/web", 2.0)] * 3)
    told = report(state, "cpu", 10)
    (entry,) = told["workloads"]
    assert (entry["workload"], entry["pods"]) == ("shop/Deployment/web", 3)
    cpu, memory = entry["resources"]["cpu"], entry["resources"]["memory"]
    assert cpu["requested"] == 2.0
    assert cpu["mean"] == pytest.approx(0.4)
    assert cpu["deviation"] == pytest.approx(0.2)
    assert cpu["samples"] == 400
    assert cpu["confidence"] == pytest.approx(400 / 410, abs=1e-4)
    assert cpu["recommended"] == pytest.approx(0.6)  # 0.4 + 1 * 0.2
    assert memory["recommended"] == pytest.approx(0.5 * GIB)  # 0.2 + 3 * 0.1 of a GiB
    assert told["totals"]["cpu"] == pytest.approx(
        {"requested": 6.0, "giveBack": 3 * 1.4, "lacks": 0.0, "undeclared": 0.0, "judged": 1}
    )
    assert told["totals"]["memory"]["giveBack"] == pytest.approx(3 * 0.5 * GIB)


def test_a_workload_that_requests_too_little_lacks_and_one_that_requests_nothing_is_to_declare() -> None:
    state = state_of(
        {"a/Deployment/busy": (1.0, [1.5] * 400), "a/Deployment/bare": (0.0, [0.25] * 400)},
        [("a/Deployment/busy", 1.0), ("a/Deployment/bare", 0.0), ("a/Deployment/bare", 0.0)],
    )
    told = report(state, "name", 10)
    bare, busy = told["workloads"]
    assert busy["resources"]["cpu"]["recommended"] == pytest.approx(1.5)
    assert bare["resources"]["cpu"]["requested"] is None
    assert bare["resources"]["cpu"]["mean"] == pytest.approx(0.25)  # of a core, where nothing is requested
    assert bare["resources"]["memory"]["mean"] == pytest.approx(0.25 * GIB)
    assert told["totals"]["cpu"] == pytest.approx(
        {"requested": 1.0, "giveBack": 0.0, "lacks": 0.5, "undeclared": 0.5, "judged": 2}
    )


def test_nothing_is_recommended_on_too_little_evidence_and_it_counts_as_neither_too_much_nor_too_little() -> None:
    state = state_of({"a/Pod/new": (1.0, [0.1] * 180)}, [("a/Pod/new", 1.0)])
    told = report(state, "cpu", 10)
    cell = told["workloads"][0]["resources"]["cpu"]
    assert cell["confidence"] == pytest.approx(180 / 190, abs=1e-4)
    assert cell["confidence"] < LEAST_CONFIDENCE
    assert cell["recommended"] is None
    assert told["totals"]["cpu"] == {"requested": 1.0, "giveBack": 0.0, "lacks": 0.0, "undeclared": 0.0, "judged": 0}


def test_samples_fade_with_the_time_since_the_last_one() -> None:
    state = state_of({"a/Job/once": (1.0, [0.5] * 400)}, time=1000.0 + 21600.0)
    cell = report(state, "cpu", 10)["workloads"][0]["resources"]["cpu"]
    assert cell["samples"] == pytest.approx(200)
    assert cell["mean"] == pytest.approx(0.5)


def test_a_workload_without_pods_now_is_told_by_what_it_requested_when_last_seen() -> None:
    told = report(state_of({"a/CronJob/backup": (4.0, [0.5] * 400)}), "cpu", 10)
    (entry,) = told["workloads"]
    assert entry["pods"] == 0
    assert entry["resources"]["cpu"]["requested"] == 4.0
    assert entry["resources"]["cpu"]["recommended"] == pytest.approx(2.0)
    assert told["totals"]["cpu"]["giveBack"] == 0.0


def test_a_workload_with_pods_that_were_never_measured_is_shown_as_such_and_a_bare_name_is_not() -> None:
    told = report(state_of({"a/Pod/new": (1.0, []), "a/Pod/gone": (1.0, [])}, [("a/Pod/new", 1.0)]), "cpu", 10)
    assert [entry["workload"] for entry in told["workloads"]] == ["a/Pod/new"]
    cell = told["workloads"][0]["resources"]["cpu"]
    assert cell == {
        "requested": 1.0, "mean": None, "deviation": None, "samples": 0.0, "confidence": 0.0, "recommended": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("cpu", ["much", "lacking", "little", "unsure"]),  # 0.9, 0.5, 4 * 0.1, not known
        ("memory", ["much", "lacking", "little", "unsure"]),
        ("pods", ["little", "unsure", "lacking", "much"]),
        ("name", ["little", "unsure", "lacking", "much"]),
    ],
)
def test_the_largest_change_comes_first_or_the_most_pods_or_the_first_name(sort: str, order: list[str]) -> None:
    told = report(MANY, sort, 10)
    assert [entry["workload"].rpartition("/")[2] for entry in told["workloads"]] == order


def test_the_list_is_bounded_and_says_how_many_there_are_and_sums_are_of_all() -> None:
    told, whole = report(MANY, "cpu", 1), report(MANY, "cpu", 10)
    assert (told["total"], told["shown"], len(told["workloads"])) == (4, 1, 1)
    assert told["totals"] == whole["totals"]
    assert report(MANY, "cpu", 0)["workloads"] == []


def test_of_one_namespace_the_list_and_the_sums_are_its_own() -> None:
    told = report(MANY, "name", 10, "b")
    assert [entry["workload"] for entry in told["workloads"]] == ["b/Pod/lacking", "b/Pod/much"]
    assert told["totals"]["cpu"]["requested"] == 2.0
    assert report(MANY, "name", 10, "nowhere")["total"] == 0


def test_another_order_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="sort is name, pods or one of: cpu, memory; not disk"):
        report(MANY, "disk", 10)


def test_other_resources_are_told_and_nothing_is_recommended_for_them() -> None:
    told = report(MANY.of_resources((CPU, MEMORY, "gpu")), "cpu", 10)
    assert told["workloads"][0]["resources"]["gpu"]["recommended"] is None
    assert told["totals"]["gpu"]["judged"] == 0


def test_of_nothing_learned_nothing_is_told() -> None:
    told = report(DemandState((CPU,), 1.0, {}), "cpu", 10)
    assert (told["total"], told["workloads"]) == (0, [])


@pytest.mark.parametrize(
    ("resource", "amount", "rounded"),
    [
        (CPU, 0.0101, 0.011),
        (CPU, 0.099, 0.099),
        (CPU, 0.101, 0.11),
        (CPU, 0.6, 0.6),
        (CPU, 1.21, 1.3),
        (CPU, 12.1, 13.0),
        (MEMORY, 16 * MIB, 16 * MIB),
        (MEMORY, 16.1 * MIB, 18 * MIB),
        (MEMORY, 500 * MIB, 512 * MIB),
        (MEMORY, 1.01 * GIB, 1.125 * GIB),
    ],
)
def test_amounts_are_rounded_up_to_what_people_would_write(resource: str, amount: float, rounded: float) -> None:
    assert round_up(resource, np.array([amount]))[0] == pytest.approx(rounded)


@given(st.sampled_from([CPU, MEMORY]), st.floats(1e-9, 1e3), st.lists(st.floats(0, 5), min_size=400, max_size=400))
def test_a_recommendation_is_never_below_the_floor_or_the_mean_nor_far_above_what_was_asked(
    resource: str, request: float, samples: list[float]
) -> None:
    state = state_of({"a/Pod/x": (request, samples)}, [("a/Pod/x", request)])
    cell = report(state, "cpu", 1)["workloads"][0]["resources"][resource]
    wanted = cell["mean"] + (1 if resource == CPU else 3) * cell["deviation"]
    assert cell["recommended"] >= FLOORS[resource]
    assert cell["recommended"] >= wanted * (1 - 1e-6)
    assert cell["recommended"] <= max(1.2 * wanted, FLOORS[resource]) * (1 + 1e-6)
