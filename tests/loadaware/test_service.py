import asyncio
import dataclasses
import logging
from typing import Any

import numpy as np
import pytest

from collectors.cluster import Forbidden, NodeSeen, PodSeen
from collectors.reading import Measurements
from loadaware.changes import PodBound, PodLeft
from loadaware.config import Config
from loadaware.observer import Observer
from loadaware.profiles import adviser_settings
from loadaware.queries import PodReply, PodsQuery, Reply
from loadaware.service import Service
from loadaware.snapshot import Snapshot
from loadaware.status import Status
from loadaware.wiring import make_service
from tests.loadaware.builders import Clock, cpu_mean, make_node, make_pod, make_reading, make_shape, snapshot_of
from tests.loadaware.running_server import counted, default_settings, new_service


def facts(service: Service) -> dict[str, Any]:
    return service.readiness()[1]


def live_snapshot(at: float, **cpu: float) -> Snapshot:
    """As an observer makes it: each node's CPU usage was read at that time."""
    observer = Observer()
    for name in cpu:
        observer.tell(NodeSeen(make_node(name)), at)
    observer.feed(make_reading({name: (used, 1.0) for name, used in cpu.items()}, at), at)
    return observer.snapshot(at)


# -- Readiness ----------------------------------------------------------------------------------------------------


def test_a_snapshot_of_nodes_that_were_not_measured_does_not_make_it_ready() -> None:
    service = new_service()
    service.take(snapshot_of({"a": {}}))
    ready, shown = service.readiness()
    assert not ready
    assert (shown["nodes"], shown["measured"], shown["dataAgeSeconds"]) == (1, False, None)


@pytest.mark.parametrize("statistic", ["mean", "latest"])
def test_one_measured_node_makes_it_ready_whichever_statistic_its_source_tells(statistic: str) -> None:
    service = new_service()
    service.take(snapshot_of({"a": {}, "b": {"usage": {"memory": {statistic: "10%"}}}}))
    assert service.readiness()[0]


def test_it_is_ready_after_the_grace_without_any_measurement() -> None:
    clock = Clock()
    service = new_service(clock=clock, grace_seconds=30.0)
    clock.advance(29.9)
    assert not service.readiness()[0]
    clock.advance(0.1)
    assert service.readiness()[0]


def test_later_loss_shows_but_never_makes_it_unready() -> None:
    clock = Clock()
    service = new_service(clock=clock, grace_seconds=1e9)
    service.take(live_snapshot(clock(), a=1.0))
    clock.advance(3600.0)
    service.take(Status(readings=1, failures=7, consecutive_failures=7, last_error="no answer", notes=("a note",)))
    service.take(snapshot_of({"a": {}}))
    ready, shown = service.readiness()
    assert ready
    assert shown["source"]["consecutiveFailures"] == 7
    assert shown["source"]["lastError"] == "no answer"
    assert shown["source"]["notes"] == ["a note"]


def test_the_age_of_the_newest_sample_is_shown_and_a_clock_behind_makes_none_negative() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1.0))
    clock.advance(12.0)
    assert facts(service)["dataAgeSeconds"] == pytest.approx(12.0)
    clock.advance(-20.0)
    assert facts(service)["dataAgeSeconds"] == 0.0


def test_what_is_forbidden_and_quarantined_is_shown() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1.0, b=1e9))
    service.take(Status(forbidden=("pods: bookings end by time alone",), pods=3))
    shown = facts(service)
    assert shown["quarantined"].keys() == {"b"}
    assert shown["source"]["forbidden"] == ["pods: bookings end by time alone"]
    assert shown["pods"] == 3


# -- Messages -----------------------------------------------------------------------------------------------------


def test_changes_between_snapshots_are_counted_in_their_order() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10)}))
    shape = make_shape(cpu=1.0)
    service.take((PodBound("u1", "a", shape, 1000.0), PodBound("u2", "a", shape, 1000.0)))
    service.take((PodLeft("u1", "a", shape, 1000.0),))
    assert service.nodes()[0]["pods"] == 1
    assert service.nodes()[0]["requested"]["cpu"] == pytest.approx(1.0)


def test_a_snapshot_begins_anew_with_what_it_knows() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10)}))
    service.take((PodBound("u1", "a", make_shape(cpu=1.0), 1000.0),))
    service.take(snapshot_of({"b": cpu_mean(10)}))
    assert [(entry["name"], entry["pods"]) for entry in service.nodes()] == [("b", 0)]


def test_the_counts_of_an_observer_that_begins_anew_are_added_to_those_of_the_one_before() -> None:
    service = new_service()
    for status in (
        Status(readings=1),
        Status(readings=2, failures=1),
        Status(readings=0, failures=0, restarts=1),
        Status(readings=1, failures=0, restarts=1),
        Status(readings=1, failures=5, restarts=1),
    ):
        service.take(status)
    assert counted(service, "loadaware_readings_total") == 3
    assert counted(service, "loadaware_reading_failures_total") == 6
    assert counted(service, "loadaware_observer_restarts_total") == 1


def test_records_lost_by_one_observer_and_the_next_are_added_up() -> None:
    service = new_service()
    for lost in (0, 5, 5, 0, 2, 9):  # 5, and 9 of another
        service.take(Status(history_lost=lost))
    assert counted(service, "loadaware_history_lost_records_total", reason="not_written") == 14


def test_the_last_status_shows_in_the_gauges() -> None:
    service = new_service()
    service.take(Status(readings=1, reading_seconds=0.25, pods=42))
    assert counted(service, "loadaware_reading_duration_seconds") == 0.25
    assert counted(service, "loadaware_bound_pods") == 42


def test_a_reply_of_the_observer_goes_to_whoever_asked() -> None:
    async def talk() -> dict[str, PodReply]:
        service = new_service()
        loop = asyncio.get_running_loop()
        known = PodReply("u1", "a", {"cpu": 1.0})

        def send(query: PodsQuery) -> bool:
            loop.call_soon_threadsafe(service.take, Reply(query.number, (known,)))
            return True

        service.questions.send = send
        return await service.questions.pods(["u1"])

    assert asyncio.run(talk()) == {"u1": PodReply("u1", "a", {"cpu": 1.0})}


# -- The ladder ---------------------------------------------------------------------------------------------------


def rungs_of(service: Service) -> dict[str, str]:
    return {entry["name"]: entry["rung"] for entry in service.nodes()}


def test_before_anything_is_known_the_source_is_unknown_and_no_node_is_on_any_rung() -> None:
    shown = facts(new_service())
    assert shown["rung"] == "unknown"
    assert shown["nodesOnRung"] == {"fresh": 0, "ageing": 0, "expired": 0, "unknown": 0}


@pytest.mark.parametrize(
    ("age", "rung"),
    [(0, "fresh"), (300, "fresh"), (301, "ageing"), (899, "ageing"), (900, "expired"), (1e9, "expired")],
)
def test_the_rung_in_force_shows_in_readiness_nodes_and_gauge(age: float, rung: str) -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1.0, b=1.0))
    clock.advance(age)
    assert facts(service)["rung"] == rung
    assert facts(service)["nodesOnRung"][rung] == 2
    assert sum(facts(service)["nodesOnRung"].values()) == 2
    assert rungs_of(service) == {"a": rung, "b": rung}
    service.update_gauges()
    shown = {name: counted(service, "loadaware_nodes_on_rung", rung=name) for name in facts(service)["nodesOnRung"]}
    assert shown == facts(service)["nodesOnRung"]


def test_the_source_stands_where_its_youngest_node_stands_and_each_node_by_itself() -> None:
    clock = Clock()
    observer = Observer()
    for name in ("young", "old", "never"):
        observer.tell(NodeSeen(make_node(name)), clock())
    observer.feed(make_reading({"young": (1.0, 1.0), "old": (1.0, 1.0)}, clock()), clock())
    clock.advance(400.0)
    observer.feed(make_reading({"young": (1.0, 1.0)}, clock()), clock())
    service = new_service(clock=clock)
    service.take(observer.snapshot(clock()))
    assert rungs_of(service) == {"young": "fresh", "old": "ageing", "never": "expired"}
    assert facts(service)["rung"] == "fresh"
    assert facts(service)["nodesOnRung"] == {"fresh": 1, "ageing": 1, "expired": 1, "unknown": 0}


def test_without_sight_of_pods_what_expired_is_unknown() -> None:
    clock = Clock()
    observer = Observer()
    observer.tell(NodeSeen(make_node("a")), clock())
    observer.tell(Forbidden("pods", "no requests are known"), clock())
    service = new_service(clock=clock)
    service.take(observer.snapshot(clock()))
    assert (rungs_of(service), facts(service)["rung"]) == ({"a": "unknown"}, "unknown")


def test_each_change_of_the_sources_rung_is_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    service = new_service(clock=clock)

    def lines() -> list[tuple[int, str]]:
        service.take(Status())
        service.take(Status())
        service.readiness()
        service.update_gauges()
        found = [(r.levelno, r.getMessage()) for r in caplog.records if "metric source is" in r.getMessage()]
        caplog.clear()
        return found

    with caplog.at_level(logging.INFO):
        assert lines() == []
        service.take(live_snapshot(clock(), a=1.0))
        assert lines() == [(logging.INFO, "the metric source is fresh now, it was unknown")]
        clock.advance(400.0)
        assert lines() == [(logging.WARNING, "the metric source is ageing now, it was fresh")]
        clock.advance(600.0)
        assert lines() == [(logging.WARNING, "the metric source is expired now, it was ageing")]
        service.take(live_snapshot(clock(), a=1.0))
        assert lines() == [(logging.INFO, "the metric source is fresh now, it was expired")]


def test_a_change_of_rung_is_noted_even_if_the_observer_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1.0))
    clock.advance(400.0)
    service.readiness()
    assert "ageing now, it was fresh" in caplog.text
    clock.advance(600.0)
    service.update_gauges()
    assert "expired now, it was ageing" in caplog.text


# -- New settings -------------------------------------------------------------------------------------------------


def test_new_settings_keep_what_happened_since_the_snapshot() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10)}))
    shape = make_shape(cpu=1.0)
    service.take((PodBound("u1", "a", shape, 1000.0),))
    service.adviser.configure(default_settings())
    assert service.nodes()[0]["requested"]["cpu"] == pytest.approx(1.0)
    service.take((PodLeft("u1", "a", shape, 1000.0),))
    assert service.nodes()[0]["requested"]["cpu"] == pytest.approx(0.0)
    assert service.nodes()[0]["pods"] == 0


def test_a_pod_booked_under_old_settings_counts_once_when_the_watch_tells_of_it_under_new_ones() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10)}))
    pod = make_pod(cpu=1.0)
    service.adviser.rank(pod, ["a"])
    service.adviser.configure(default_settings())
    assert service.nodes()[0]["pods"] == 0
    service.take((PodBound(pod.identity, "a", pod.shape, 1000.0),))
    assert service.nodes()[0]["pods"] == 1
    assert service.nodes()[0]["requested"]["cpu"] == pytest.approx(1.0)


def test_changes_before_the_snapshot_are_not_counted_again_under_new_settings() -> None:
    service = new_service()
    service.take((PodBound("u1", "a", make_shape(cpu=1.0), 1000.0),))
    service.take(snapshot_of({"a": cpu_mean(10)}))
    service.adviser.configure(default_settings())
    assert service.nodes()[0]["pods"] == 0


# -- Gauges -------------------------------------------------------------------------------------------------------


def test_gauges_show_nodes_bookings_and_what_is_not_believed() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1.0, b=1e9, c=1e9))
    service.adviser.rank(make_pod(cpu=1.0), ["a"])
    service.update_gauges()
    assert counted(service, "loadaware_nodes") == 3
    assert counted(service, "loadaware_unmeasured_nodes") == 2
    assert counted(service, "loadaware_bookings") == 1
    reasons = set(facts(service)["quarantined"].values())
    assert sum(counted(service, "loadaware_quarantined_nodes", reason=reason) for reason in reasons) == 2
    clock.advance(600.0)
    service.update_gauges()
    assert counted(service, "loadaware_bookings") == 0
    assert counted(service, "loadaware_data_age_seconds") == pytest.approx(600.0)


def test_a_quarantine_that_ended_leaves_the_gauge() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=1e9))
    service.update_gauges()
    reason = facts(service)["quarantined"]["a"]
    service.take(live_snapshot(clock(), a=1.0))
    service.update_gauges()
    assert service.telemetry.registry.get_sample_value("loadaware_quarantined_nodes", {"reason": reason}) is None


def test_what_another_thread_works_out_is_as_of_the_moment_it_was_asked_for() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10), "b": cpu_mean(20)}))
    work = service.believed()
    service.take((PodBound("u1", "a", make_shape(cpu=1.0), 1000.0),))
    service.take(snapshot_of({"c": cpu_mean(30)}))
    assert [(entry["name"], entry["pods"]) for entry in work()] == [("a", 0), ("b", 0)]


def test_a_filter_does_not_judge_by_data_that_expired() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(live_snapshot(clock(), a=3.9, b=0.1))
    assert service.adviser.filter(make_pod(), ["a", "b"]).passed == ("b",)
    clock.advance(service.adviser.settings.staleness.expired_seconds + 1.0)
    assert service.adviser.filter(make_pod("web-2"), ["a", "b"]).passed == ("a", "b")


def test_the_default_configuration_makes_a_service() -> None:
    service = make_service(Config(), clock=Clock())
    assert list(service.adviser.settings.profiles) == list(adviser_settings(Config()).profiles)


def test_gauges_show_how_balanced_the_measured_nodes_are() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(20), "b": cpu_mean(70), "c": {}}))
    service.update_gauges()
    assert counted(service, "loadaware_cluster_utilization", resource="cpu") == pytest.approx((0.2 + 0.7) / 2)
    assert counted(service, "loadaware_cluster_imbalance", resource="cpu") == pytest.approx(0.25)
    busy = [counted(service, "loadaware_busy_nodes", resource="cpu", above=bound) for bound in ("0.5", "0.65", "0.8")]
    assert busy == [1, 1, 0]
    memory = service.telemetry.registry.get_sample_value("loadaware_cluster_utilization", {"resource": "memory"})
    assert memory is not None
    assert np.isnan(memory)


def test_gauges_show_pods_in_flight_and_their_cores() -> None:
    clock = Clock()
    observer = Observer()
    observer.tell(NodeSeen(make_node("a")), clock())
    observer.feed(make_reading({"a": (1.0, 1.0)}, clock()), clock())
    observer.tell(PodSeen(make_pod("seen", cpu=1.0, node="a", bound_at=clock() - 5.0)), clock())
    observer.tell(PodSeen(make_pod("unseen", cpu=0.5, node="a", bound_at=clock() + 5.0)), clock())
    service = new_service(clock=clock)
    service.take(observer.snapshot(clock()))
    service.update_gauges()
    assert counted(service, "loadaware_in_flight_pods") == 1
    assert counted(service, "loadaware_in_flight_cores") == pytest.approx(0.5)
    service.adviser.rank(make_pod("booked", cpu=2.0), ["a"])
    service.take((PodBound("u1", "a", make_shape(cpu=0.25), clock()),))
    service.update_gauges()
    assert counted(service, "loadaware_in_flight_pods") == 3
    assert counted(service, "loadaware_in_flight_cores") == pytest.approx(0.5 + 2.0 + 0.25)


def test_what_plugins_took_is_counted_over_new_settings_too() -> None:
    service = new_service()
    service.take(snapshot_of({"a": cpu_mean(10)}))
    for _ in range(2):
        service.adviser.rank(make_pod(), ["a"])
        service.update_gauges()
        service.adviser.configure(default_settings())
    service.update_gauges()
    assert counted(service, "loadaware_plugin_runs_total", plugin="TargetLoadPacking") == 2


def test_the_age_of_each_source_is_shown_and_only_a_few_of_them() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    service.take(Status(source="first", last_success=clock()))
    clock.advance(30.0)
    for number in range(100):
        service.take(Status(source=f"other-{number}", last_success=clock()))
    clock.advance(5.0)
    service.update_gauges()
    assert counted(service, "loadaware_source_age_seconds", source="first") == 35.0
    assert counted(service, "loadaware_source_age_seconds", source="other-0") == 5.0
    assert service.telemetry.registry.get_sample_value("loadaware_source_age_seconds", {"source": "other-99"}) is None


def test_the_rung_of_the_source_is_shown_as_a_number() -> None:
    clock = Clock()
    service = new_service(clock=clock)
    seen = []
    for message, seconds in ((None, 0.0), (live_snapshot(clock(), a=1.0), 0.0), (None, 400.0), (None, 600.0)):
        if message is not None:
            service.take(message)
        clock.advance(seconds)
        service.update_gauges()
        seen.append(counted(service, "loadaware_source_rung"))
    assert seen == [3, 0, 1, 2]


def test_what_was_expected_is_compared_with_what_is_measured_next() -> None:
    clock = Clock()
    observer = Observer()
    service = new_service(clock=clock)
    observer.tell(NodeSeen(make_node("a")), clock())
    observer.tell(PodSeen(make_pod(cpu=1.0, node="a", bound_at=0.0, phase="Running", namespace="shop")), clock())
    for _ in range(3):
        clock.advance(15.0)
        pods = Measurements(("shop/web-1",), np.array([[1.0, 1.0]]), np.array([clock()]), np.array([15.0]))
        reading = dataclasses.replace(make_reading({"a": (1.0, 1.0)}, clock()), pods=pods)
        observer.feed(reading, clock())
        service.take(observer.snapshot(clock()))
    assert counted(service, "loadaware_calibration_error_bucket", le="+Inf") == 2
    assert counted(service, "loadaware_calibration_error_bucket", le="0.2") == 2
    service.take(observer.snapshot(clock()))
    assert counted(service, "loadaware_calibration_error_bucket", le="+Inf") == 2
    service.update_gauges()
    assert counted(service, "loadaware_learned_workloads") == 1
