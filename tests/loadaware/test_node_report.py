"""One node for people, as the observer knows it."""

import pytest

from collectors.cluster import NodeSeen
from loadaware.observer import Observer
from tests.loadaware.builders import GIB, make_node, make_reading
from tests.loadaware.learned import observer_of, reading_of, running_pod


def watched() -> Observer:
    """Two pods on a, the second of which uses more; nothing is known of c."""
    observer = observer_of(running_pod("calm-1", "a"), running_pod("busy-1", "a"))
    observer.tell(NodeSeen(make_node("c")), 0.0)
    for step in range(20):
        observer.feed(reading_of({"calm-1": (0.5, GIB), "busy-1": (2.0, GIB)}, 15.0 * step, 1.0), 15.0 * step)
    return observer


def test_pods_come_with_the_one_first_that_is_expected_to_use_the_most() -> None:
    told = watched().node_report("a")
    assert told is not None
    assert [pod["pod"].partition("/")[2] for pod in told["pods"]] == ["busy-1", "calm-1"]
    cpu = told["pods"][0]["resources"]["cpu"]
    assert cpu["used"] == 2.0
    assert cpu["expected"] == pytest.approx(2.0, rel=0.2)
    assert cpu["deviation"] >= 0.0


def test_samples_come_oldest_first_and_only_those_inside_the_window() -> None:
    observer = Observer()
    observer.tell(NodeSeen(make_node("a")), 0.0)
    for step in range(100):
        observer.feed(make_reading({"a": (step / 100, GIB)}, 15.0 * step), 15.0 * step)
    told = observer.node_report("a")
    assert told is not None
    assert told["times"] == [15.0 * step for step in range(40, 100)]
    assert told["samples"]["cpu"] == [step / 100 for step in range(40, 100)]


def test_a_node_of_which_nothing_is_known_has_nothing_to_tell() -> None:
    told = watched().node_report("c")
    assert told is not None
    assert (told["times"], told["samples"]["cpu"], told["pods"], told["podCount"]) == ([], [], [], 0)


def test_pods_that_were_never_measured_are_told_with_what_they_request() -> None:
    observer = observer_of(running_pod("new-1", "a"))
    told = observer.node_report("a")
    assert told is not None
    cpu = told["pods"][0]["resources"]["cpu"]
    assert (cpu["used"], cpu["expected"]) == (None, None)
    assert cpu["requested"] is not None


def test_a_node_that_nobody_told_of_is_not_known() -> None:
    assert watched().node_report("nobody") is None
