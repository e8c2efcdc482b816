"""What was learned is told as a value and taken again: nothing is lost, and nothing counts twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.cluster import PodGone, PodSeen, Relisted
from collectors.manifests import Owner, Pod
from collectors.reading import CPU, MEMORY
from loadaware.demand import Demand, DemandSettings
from loadaware.demand_state import DemandState, Table
from loadaware.observer import Observer, ObserverSettings
from tests.loadaware.builders import GIB, make_pod, make_reading
from tests.loadaware.learned import (
    HOUR,
    expected_of,
    list_cluster,
    observer_of,
    reading_of,
    rows_of,
    running_pod,
)

PODS = (running_pod("web-0"), running_pod("web-1", "b"), running_pod("db-0", "b", cpu=2.0))
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0.0, 8.0), st.floats(0.0, 16 * GIB), st.floats(0.5, 7200.0)),
    min_size=1,
    max_size=25,
)


def taught(steps: list[tuple[int, float, float, float]], start: float = 1000.0) -> tuple[Observer, float]:
    observer, now = observer_of(*PODS), start
    for pod, cores, used, seconds in steps:
        now += seconds
        observer.feed(reading_of({PODS[pod].name: (cores, used)}, now), now)
    return observer, now


def restored(*states: DemandState) -> Observer:
    """A new observer that is given these before the cluster is listed."""
    observer = Observer()
    for state in states:
        observer.restore(state)
    list_cluster(observer, *PODS)
    return observer


# -- The round trip -------------------------------------------------------------------------------------------------


@given(STEPS)
@settings(max_examples=40)
def test_what_is_told_and_taken_again_is_exactly_what_was_known(steps: list[tuple[int, float, float, float]]) -> None:
    observer, now = taught(steps)
    again = restored(observer.export(now))
    assert rows_of(again.export(now)) == rows_of(observer.export(now))
    assert expected_of(again, now) == expected_of(observer, now)


@given(STEPS)
@settings(max_examples=25)
def test_taking_the_same_twice_or_after_the_cluster_was_listed_changes_nothing(
    steps: list[tuple[int, float, float, float]],
) -> None:
    observer, now = taught(steps)
    state = observer.export(now)
    late = observer_of(*PODS)
    late.restore(state)
    late.restore(state)
    assert rows_of(late.export(now)) == rows_of(state) == rows_of(restored(state, state).export(now))


@given(STEPS, STEPS)
@settings(max_examples=25)
def test_the_order_in_which_two_are_taken_does_not_matter(
    one: list[tuple[int, float, float, float]], other: list[tuple[int, float, float, float]]
) -> None:
    first, now = taught(one)
    second, later = taught(other, start=now + 0.25)
    states = first.export(now), second.export(later)
    assert rows_of(restored(*states).export(later)) == rows_of(restored(*states[::-1]).export(later))


def test_of_what_both_sides_know_the_newer_is_kept_whole_and_the_rest_of_both_stays() -> None:
    ours, _ = taught([(0, 1.0, GIB, 10.0), (1, 1.0, GIB, 10.0)])
    theirs, now = taught([(1, 3.0, GIB, 500.0)])
    state = theirs.export(now)
    before, their_rows = rows_of(ours.export(now)), rows_of(state)
    ours.restore(state)
    after = rows_of(ours.export(now))
    assert after["pods"]["uid-web-1"] == their_rows["pods"]["uid-web-1"]
    assert after["pods"]["uid-web-0"] == before["pods"]["uid-web-0"]
    assert after["cluster"] == their_rows["cluster"]
    ours.restore(theirs_older := DemandState(state.resources, 0.0, {"workloads": _older(state)}))
    assert rows_of(ours.export(now)) == after
    assert theirs_older.newest == -np.inf


def _older(state: DemandState) -> Table:
    table = state.table("workloads")
    return Table(table.names, {**table.columns, "times": table.times - 1.0, "sums": table.floats("sums", 2, 3) * 9})


# -- Time goes on ---------------------------------------------------------------------------------------------------


@given(STEPS, st.floats(1.0, 48 * HOUR), st.floats(0.0, 8.0))
@settings(max_examples=30)
def test_forgetting_goes_on_over_the_time_between_saving_and_loading(
    steps: list[tuple[int, float, float, float]], pause: float, cores: float
) -> None:
    stayed, now = taught(steps)
    returned = restored(stayed.export(now))
    after = reading_of({"web-0": (cores, GIB), "db-0": (cores / 2, GIB)}, now + pause)
    for observer in (stayed, returned):
        observer.feed(after, now + pause)
    assert rows_of(returned.export(now + pause)) == rows_of(stayed.export(now + pause))


def test_one_half_life_after_it_was_saved_a_sample_weighs_half() -> None:
    observer = observer_of(PODS[0])
    observer.feed(reading_of({"web-0": (4.0, GIB)}, 1000.0), 1000.0)
    again = Observer()
    again.restore(observer.export(1000.0))
    list_cluster(again, PODS[0])
    again.feed(reading_of({"web-0": (1.0, GIB)}, 1000.0 + HOUR), 1000.0 + HOUR)
    sums = again.export(1000.0 + HOUR).table("pods").floats("sums", 2, 3)[0, 0]
    assert sums.tolist() == pytest.approx([1.5, 4 * 0.5 + 1, 16 * 0.5 + 1])


def test_a_sample_that_was_learned_before_teaches_nothing_again_after_a_restart() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0)])
    again = restored(observer.export(now))
    again.feed(reading_of({"web-0": (7.0, GIB)}, now), now)
    assert rows_of(again.export(now))["pods"] == rows_of(observer.export(now))["pods"]


def test_times_from_the_future_are_taken_as_now_so_that_learning_goes_on() -> None:
    observer, now = taught([(0, 2.0, GIB, 1e6)])
    state = observer.export(now).not_after(5000.0)
    assert state.time == state.newest == 5000.0
    again = restored(state)
    again.feed(reading_of({"web-0": (2.0, GIB)}, 5015.0), 5015.0)
    assert again.export(5015.0).table("pods").floats("sums", 2, 3)[0, 0, 0] > 1.9


# -- Pods and nodes come and go -------------------------------------------------------------------------------------


def test_a_pod_that_is_gone_is_dropped_and_its_workload_stays() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0), (2, 1.0, GIB, 60.0)])
    again = Observer()
    again.restore(observer.export(now))
    list_cluster(again, PODS[0])
    told = rows_of(again.export(now))
    assert set(told["pods"]) == {"uid-web-0"}
    assert set(told["workloads"]) == {"shop/Pod/web", "shop/Pod/db"}
    again.tell(PodSeen(PODS[2]), now)
    assert rows_of(again.export(now))["pods"]["uid-db-0"]["sums"] == np.zeros((2, 3)).tolist()


def test_what_is_not_yet_all_there_is_not_worth_keeping() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0)])
    assert observer.worth_keeping
    assert not observer_of(*PODS).worth_keeping
    again = Observer()
    again.restore(observer.export(now))
    assert not again.worth_keeping
    for pod in PODS:
        again.tell(PodSeen(pod), now)
    assert not again.worth_keeping
    list_cluster(again, *PODS)
    assert again.worth_keeping


def test_a_request_that_changed_while_we_were_away_keeps_the_usage_that_was_learned() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0)])
    again = Observer()
    again.restore(observer.export(now))
    list_cluster(again, running_pod("web-0", cpu=4.0))
    pods = again.export(now).table("pods")
    assert pods.floats("sums", 2, 3)[0, 0].tolist() == pytest.approx([1.0, 2.0 / 4.0, (2.0 / 4.0) ** 2])
    assert pods.floats("requests", 2)[0].tolist() == [4.0, GIB]


def test_the_rest_of_a_node_that_came_back_is_known_and_of_one_that_is_gone_forgotten() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0)])
    state = observer.export(now)
    assert set(state.table("rest").names) == {"a", "b"}
    again = Observer()
    again.restore(state)
    again.tell(Relisted("nodes", frozenset()), now)
    list_cluster(again, *PODS)
    assert np.isneginf(again.export(now).table("rest").times).all()


def test_of_a_source_with_other_resources_those_are_taken_that_are_known() -> None:
    observer, now = taught([(0, 2.0, 3 * GIB, 60.0)])
    again = Observer(ObserverSettings(resources=(MEMORY, CPU, "gpu")))
    again.restore(observer.export(now))
    list_cluster(again, *PODS)
    sums = rows_of(again.export(now))["pods"]["uid-web-0"]["sums"]
    assert isinstance(sums, list)
    assert sums[1] == rows_of(observer.export(now))["pods"]["uid-web-0"]["sums"][0]  # type: ignore[index]
    assert sums[2] == [0.0, 0.0, 0.0]


def test_more_workloads_than_there_is_room_for_cost_the_oldest() -> None:
    names = tuple(f"w{number}" for number in range(50))
    sums, times = np.ones((50, 2, 3)), np.arange(50.0)
    demand = Demand((CPU, MEMORY), DemandSettings(most_workloads=20))
    demand.restore({"workloads": Table(names, {"sums": sums, "times": times})})
    assert set(demand.workload_names) == set(names[30:])


def test_what_names_tell_of_workloads_never_seen_is_kept_too() -> None:
    kin = ("shop", "example.com/api", "example.com", "", "Deployment", "1")
    stranger = ("bank", "example.com/api", "example.com", "", "StatefulSet", "1")
    demand = Demand((CPU, MEMORY))
    for slot in range(20):
        traits = kin if slot % 2 else ("shop", "example.com/db", "example.com", "", "Deployment", "1")
        demand.begin(slot, f"w{slot}", np.array([1.0, GIB]), traits)
    slots = np.arange(20)
    for minute in range(30):
        cores = np.where(slots % 2, 2.0, 0.1)
        demand.learn(slots, np.stack([cores, cores * GIB], axis=1), np.full(20, 60.0 * minute))
    assert demand.told().level(stranger)[0] > 1.2
    again = Demand((CPU, MEMORY))
    again.restore(demand.export())
    assert again.told().level(stranger).tolist() == demand.told().level(stranger).tolist()
    assert again.workload_ratios().mean.tolist() == demand.workload_ratios().mean.tolist()


def test_a_state_from_before_third_moments_were_learned_is_taken_as_symmetric() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0), (0, 0.5, GIB, 120.0), (0, 0.5, GIB, 180.0)])
    state = observer.export(now)
    tables = {
        name: Table(
            table.names, {key: values for key, values in table.columns.items() if key not in ("cubes", "thirds")}
        )
        for name, table in state.tables.items()
    }
    again = restored(DemandState(state.resources, now, tables))
    told, before = (each.snapshot(now).expected for each in (again, observer))
    assert told is not None
    assert before is not None
    np.testing.assert_allclose(told.cumulants[:, :2], before.cumulants[:, :2])
    assert before.cumulants[:, 2, 0].max() > 0.1
    np.testing.assert_allclose(told.cumulants[:, 2, 0], 0.0, atol=1e-9)


def test_unknown_tables_and_columns_are_left_alone() -> None:
    observer, now = taught([(0, 2.0, GIB, 60.0)])
    state = observer.export(now)
    workloads = state.table("workloads")
    more = Table(workloads.names, {**workloads.columns, "moods": np.full((len(workloads.names), 2), -1.0)})
    richer = DemandState(state.resources, now, {**state.tables, "workloads": more, "priors": Table(("x",), {})})
    assert rows_of(restored(richer).export(now)) == rows_of(state)


# -- What a metric source knows of the past -------------------------------------------------------------------------


def owned(name: str, kind: str, owner: str) -> Pod:
    return make_pod(name, cpu=2.0, memory=GIB, node="a", phase="Running", namespace="shop", owner=Owner(kind, owner))


def test_the_past_teaches_pods_as_readings_would_have() -> None:
    live, past = observer_of(*PODS), observer_of(*PODS)
    for number in range(5):
        usage = {"web-0": (1.0 + number, GIB), "db-0": (0.5, GIB)}
        reading = reading_of(usage, 1000.0 + 300 * number)
        live.feed(reading, reading.time)
        past.feed_past(reading)
    now = 3000.0
    for table in ("cluster", "workloads", "pods"):
        assert rows_of(past.export(now))[table] == rows_of(live.export(now))[table]
    assert np.isnan(past.snapshot(now).statistics.latest).all()


def test_a_pod_that_is_gone_teaches_the_workload_that_its_name_tells_with_the_request_of_a_sibling() -> None:
    observer = observer_of()
    observer.tell(PodSeen(owned("web-7d4b9c6f5d-x7k2p", "ReplicaSet", "web-7d4b9c6f5d")), 0.0)
    observer.feed_past(reading_of({"web-7d4b9c6f5d-b4k2c": (1.0, GIB), "stranger-0": (9.0, GIB)}, 1000.0))
    state = observer.export(1000.0)
    assert state.table("workloads").names == ("shop/Deployment/web",)
    assert state.table("workloads").floats("sums", 2, 3)[0, 0].tolist() == [1.0, 0.5, 0.25]
    assert state.table("cluster").floats("sums", 2, 3)[0, 0].tolist() == [2.0, 1.0, 0.5]


def test_a_cron_job_between_two_runs_learns_from_the_past_what_it_requested_when_last_seen() -> None:
    observer = observer_of()
    run = owned("backup-28912345-x7k2p", "Job", "backup-28912345")
    observer.tell(PodSeen(run), 0.0)
    observer.feed(reading_of({run.name: (1.0, GIB)}, 1000.0), 1000.0)
    observer.tell(PodGone(run.identity), 1000.0)
    again = observer_of()
    again.restore(observer.export(1000.0))
    again.feed_past(reading_of({"backup-28912399-x7k2p": (2.0, GIB)}, 1300.0))
    sums = again.export(1300.0).table("workloads").floats("sums", 2, 3)[0, 0]
    assert sums[0] == pytest.approx(1.0 + 0.5 ** (300 / (6 * HOUR)))
    assert sums[1] == pytest.approx(1.0 + 0.5 * 0.5 ** (300 / (6 * HOUR)))


def test_a_reading_of_nodes_alone_has_no_past_to_learn_from() -> None:
    observer = observer_of(*PODS)
    observer.feed_past(make_reading({"a": (1.0, GIB)}, 1000.0))
    assert not observer.worth_keeping
