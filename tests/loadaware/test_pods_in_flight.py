"""Pods that no measurement has seen: bound since, or booked."""

from loadaware.pods_in_flight import pods_in_flight
from tests.loadaware.builders import cpu_mean, make_pod, snapshot_of
from tests.loadaware.running_server import new_service


def test_a_pod_that_was_placed_and_one_that_is_booked_are_counted_on_their_nodes() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10), "b": cpu_mean(50), "c": {}}))
    adviser = service.adviser
    assert pods_in_flight(adviser.snapshot, adviser.in_flight).pods.tolist() == [0.0, 0.0, 0.0]
    adviser.in_flight.book("uid-1", make_pod(cpu=0.5).shape, ["b"], service.clock())
    flying = pods_in_flight(adviser.snapshot, adviser.in_flight)
    assert (flying.pods.tolist(), flying.cores.tolist()) == ([0.0, 1.0, 0.0], [0.0, 0.5, 0.0])


def test_a_booking_that_may_go_to_two_nodes_counts_by_half_on_each() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10), "b": cpu_mean(10)}))
    service.adviser.in_flight.book("uid-1", make_pod(cpu=1.0).shape, ["a", "b"], service.clock())
    flying = pods_in_flight(service.adviser.snapshot, service.adviser.in_flight)
    assert (flying.pods.tolist(), flying.cores.tolist()) == ([0.5, 0.5], [0.5, 0.5])


def test_without_nodes_there_is_nothing() -> None:
    service = new_service()
    assert pods_in_flight(service.adviser.snapshot, service.adviser.in_flight).pods.tolist() == []
