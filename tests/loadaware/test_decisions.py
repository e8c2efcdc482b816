import asyncio
import gc
import weakref
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.manifests import Shape
from loadaware.changes import PodBound, PodLeft
from loadaware.decision_report import decision_report
from loadaware.decisions import LARGE, LATE_SHARE, LINGER_SECONDS, Decisions
from loadaware.extender.large_bodies import MOST_NODES
from loadaware.records import Filtered, Ranked
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.service import Service
from tests.loadaware.builders import Clock, cpu_mean, make_pod, make_profile, make_settings, snapshot_of
from tests.loadaware.decided import ask, bind, learned_service, noted, service_of
from tests.loadaware.running_server import frozen_service
from tests.parts.processes import PATIENCE_SECONDS


def ranked_of(service: Service) -> Ranked:
    decisions = service.hindsight.decisions
    decisions.settle_all()
    record = next(iter(decisions)).record
    assert isinstance(record, Ranked)
    return record


# -- The ring -----------------------------------------------------------------------------------------------------


@given(
    kept=st.integers(0, 8),
    memory=st.integers(1, 40_000),
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=40),
)
def test_the_ring_keeps_its_bounds_whatever_happens(kept: int, memory: int, steps: list[tuple[int, int]]) -> None:
    service, numbers = frozen_service(), count()
    decisions = Decisions(kept, memory)
    for what, size in steps:
        if what <= 1:
            pod = make_pod(f"web-{next(numbers) % 5}")
            noted(decisions, service, ("idle", "near", "busy", "nobody")[:size], pod)
        elif what == 2:
            decisions.settle_all()
        else:
            decisions.bound(PodBound(f"uid-web-{size}", "near", Shape(), 0.0))
        assert len(decisions) <= kept
        assert decisions.size_bytes <= memory
        assert decisions.size_bytes == sum(decision.size_bytes for decision in decisions)
        assert sum(map(len, decisions._latest.values())) <= len(decisions)
        assert len(decisions._unsettled) <= len(decisions)
        assert [d.number for d in decisions] == sorted((d.number for d in decisions), reverse=True)


def test_none_are_kept_when_switched_off() -> None:
    decisions, service = Decisions(0), frozen_service()
    noted(decisions, service, ("idle",))
    assert (len(decisions), decisions.counted, decisions._unsettled) == (0, 0, decisions._unsettled.__class__())


def test_smaller_bounds_take_hold_at_once() -> None:
    decisions, service = Decisions(), frozen_service()
    for number in range(5):
        noted(decisions, service, ("idle",), make_pod(f"web-{number}"))
    decisions.resize(2, 2**20)
    assert [decision.pod.name for decision in decisions] == ["web-4", "web-3"]
    decisions.resize(0, 2**20)
    assert (len(decisions), decisions.size_bytes) == (0, 0)


def test_twenty_thousand_names_stay_within_the_memory() -> None:
    names = tuple(f"node-{number:05}" for number in range(MOST_NODES))
    decisions, service = Decisions(1000, 8 * 2**20), service_of()
    for number in range(10):
        noted(decisions, service, names, make_pod(f"web-{number}"))
        decisions.settle_all()
        assert decisions.size_bytes <= 8 * 2**20
    assert 1 <= len(decisions) < 10


def test_more_names_than_are_looked_at_are_no_decision() -> None:
    service = frozen_service()
    ask(service, "prioritize", *(f"n{number}" for number in range(MOST_NODES + 1)))
    assert len(service.hindsight.decisions) == 0


# -- Settling -----------------------------------------------------------------------------------------------------


def test_a_settled_decision_keeps_no_snapshot_alive_and_little_of_the_pod() -> None:
    service = frozen_service()
    noted(service.hindsight.decisions, service, ("idle",), make_pod(annotations={"large": "x" * 1000}))
    before = weakref.ref(service.adviser.snapshot)
    decision = next(iter(service.hindsight.decisions))
    service.take(snapshot_of({"idle": cpu_mean(10)}))
    gc.collect()
    assert before() is not None
    service.hindsight.decisions.settle_all()
    gc.collect()
    assert before() is None
    assert (decision.pod.key, decision.pod.annotations) == ("default/web-1", {})
    assert decision.size_bytes < LARGE * 100


def test_decisions_are_settled_once_nobody_asks() -> None:
    service = frozen_service()
    decisions = service.hindsight.decisions

    async def asked_and_left_alone() -> None:
        for number in range(3):
            ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
        assert all(decision.record is None for decision in decisions)
        while any(decision.record is None for decision in decisions):
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(asked_and_left_alone(), PATIENCE_SECONDS))


def test_while_requests_leave_no_time_only_old_decisions_are_settled() -> None:
    clock = Clock()
    service = service_of(clock=clock)
    time_left = [True]
    decisions = Decisions(time_left=lambda: time_left[0])
    noted(decisions, service, ("a",))
    assert decisions._may_settle()
    time_left[0] = False
    assert not decisions._may_settle()
    noted(decisions, service, ("a",))
    assert not decisions._may_settle()
    clock.advance(LINGER_SECONDS + 1.0)
    noted(decisions, service, ("a",))
    assert decisions._may_settle()


def test_what_leaves_the_ring_is_told_of_later_in_order_and_not_while_a_request_waits() -> None:
    decisions, service = Decisions(2), frozen_service()
    decisions.settle_each = True
    told: list[int] = []
    decisions.on_settled.append(lambda decision: told.append(decision.number))
    for _ in range(5):
        noted(decisions, service, ("idle",))
    assert told == []
    decisions.settle_all()
    assert (told, decisions.lost, len(decisions)) == ([1, 2, 3, 4, 5], 0, 2)


def test_what_waits_to_be_told_of_is_bounded_by_its_memory_and_the_rest_counted() -> None:
    service = frozen_service()
    size = noted_size(service)
    decisions = Decisions(1, memory_bytes=3.5 * size / LATE_SHARE)
    decisions.settle_each = True
    told: list[int] = []
    decisions.on_settled.append(lambda decision: told.append(decision.number))
    for _ in range(10):
        noted(decisions, service, ("idle",))
    decisions.settle_all()
    assert (told, decisions.lost) == ([1, 2, 3, 10], 6)
    for _ in range(3):
        noted(decisions, service, ("idle",))
    decisions.settle_all()
    assert (told[4:], decisions.lost) == ([11, 12, 13], 6)


def noted_size(service: Service) -> int:
    """What a decision about one node takes before it is reduced."""
    decisions = Decisions()
    noted(decisions, service, ("idle",))
    return decisions.size_bytes


def test_settling_a_decision_that_was_dropped_meanwhile_counts_for_nothing() -> None:
    decisions, service = Decisions(1), frozen_service()
    noted(decisions, service, ("idle", "near"), make_pod("old"))
    old = next(iter(decisions))
    noted(decisions, service, ("idle", "near"), make_pod("new"))
    decisions.settle(old)
    assert isinstance(old.record, Ranked)
    assert decisions.size_bytes == next(iter(decisions)).size_bytes


def test_snapshots_of_the_same_names_share_one_table() -> None:
    service = frozen_service()
    decisions = service.hindsight.decisions
    for _ in range(3):
        ask(service, "prioritize", "idle", "near")
        service.take(snapshot_of({"idle": cpu_mean(0), "near": cpu_mean(35), "busy": cpu_mean(90), "unmeasured": {}}))
    decisions.settle_all()
    tables = {id(decision.record.table) for decision in decisions if isinstance(decision.record, Ranked)}
    assert len(tables) == 1


def test_the_load_kept_is_that_of_the_moment_of_the_answer_not_of_a_later_one() -> None:
    service = learned_service()
    ask(service, "prioritize", "a", "b")
    for number in range(5):
        bind(service, "a", f"other-{number}")
    late = ranked_of(service)
    again = learned_service()
    ask(again, "prioritize", "a", "b")
    at_once = ranked_of(again)
    assert np.array_equal(late.load, at_once.load)
    assert np.array_equal(late.deviation, at_once.deviation)
    assert late.load[0, 0] < late.load[1, 0]
    assert np.isfinite(late.deviation).all()


def test_what_came_since_the_snapshot_is_in_flight() -> None:
    service = learned_service()
    ask(service, "prioritize", "a", "b", pod="first")
    bind(service, "a", "first")
    ask(service, "prioritize", "a", "b", pod="second")
    assert ranked_of(service).in_flight[0] > 0.0
    assert ranked_of(service).in_flight[1] == pytest.approx(0.0, abs=1e-6)


def test_without_learned_demand_load_is_what_the_scorer_counts() -> None:
    service = frozen_service(make_settings(make_profile(TargetLoadPacking())))
    ask(service, "prioritize", "idle", "near", "nobody", "unmeasured")
    ranked = ranked_of(service)
    assert ranked.load[:, 0].tolist() == pytest.approx([0.75 / 4, 0.35 + 0.75 / 4, np.nan, np.nan], nan_ok=True)
    assert ranked.names() == ["idle", "near", "nobody", "unmeasured"]


def test_a_scorers_own_numbers_are_kept_where_it_has_some() -> None:
    service = frozen_service(make_settings(make_profile(TargetLoadPacking())))
    ask(service, "prioritize", "idle", "near")
    raw = ranked_of(service).parts[0].raw
    assert raw is not None
    assert raw.tolist() == [68.0, 31.0]
    learned = learned_service()
    ask(learned, "prioritize", "a", "b")
    assert ranked_of(learned).parts[0].raw is None


def test_parts_are_those_of_the_answer() -> None:
    profile = make_profile(LowestUsage())
    service = frozen_service(make_settings(profile))
    ranking = service.adviser.rank(make_pod(), ("busy", "idle"))
    ask(service, "prioritize", "busy", "idle")
    ranked = ranked_of(service)
    assert ranked.scores.tolist() == ranking.scores.tolist() == [0.0, 100.0]
    assert ranked.priorities.tolist() == ranking.priorities.tolist()
    assert ranked.parts[0].score is ranked.scores


# -- What becomes of the pod ----------------------------------------------------------------------------------------


def test_the_node_really_chosen_is_told_with_its_place_on_the_wire() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "busy")
    bind(service, "busy")
    decision = next(iter(service.hindsight.decisions))
    assert (decision.chosen, decision.chosen_rank, decision.chosen_first) == ("busy", 2, False)
    ask(service, "prioritize", "idle", "near", "unmeasured", pod="web-2")
    service.hindsight.decisions.settle_all()
    bind(service, "idle", "web-2")
    report = decision_report(next(iter(service.hindsight.decisions)))
    places = {node["node"]: node["place"] for node in report["nodes"]}
    assert report["chosenRank"] == places["idle"]
    assert report["firstChoice"] == (places["idle"] == 1)


def test_a_pod_that_never_binds_stays_without_a_node_and_says_so_when_it_leaves() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    decision = next(iter(service.hindsight.decisions))
    assert (decision.chosen, decision.gone, decision.chosen_first) == (None, False, None)
    service.take([PodLeft("uid-web-1")])
    assert decision.gone


def test_a_pod_that_leaves_after_it_was_bound_was_bound() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    bind(service, "near")
    service.take([PodLeft("uid-web-1", "near")])
    decision = next(iter(service.hindsight.decisions))
    assert (decision.chosen, decision.gone) == ("near", False)


def test_a_node_we_were_not_asked_about_has_no_place() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    bind(service, "elsewhere")
    decision = next(iter(service.hindsight.decisions))
    assert (decision.chosen, decision.chosen_rank, decision.chosen_first) == ("elsewhere", None, None)


def test_a_node_that_is_gone_since_is_still_told_of() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    service.take(snapshot_of({"near": cpu_mean(35)}))
    bind(service, "idle")
    ranked = ranked_of(service)
    assert ranked.names() == ["idle", "near"]
    assert next(iter(service.hindsight.decisions)).chosen_rank is not None


def test_a_binding_of_a_pod_nobody_asked_about_changes_nothing() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    bind(service, "near", "stranger")
    assert next(iter(service.hindsight.decisions)).chosen is None


def test_the_first_choice_is_counted_once_per_bound_pod() -> None:
    service = frozen_service()
    ask(service, "prioritize", "busy", "near")
    bind(service, "near")
    bind(service, "near")
    ask(service, "prioritize", "busy", "near", pod="web-2")
    bind(service, "busy", "web-2")
    value = service.telemetry.registry.get_sample_value
    won = [value("loadaware_first_choice_total", {"won": word}) for word in ("true", "false")]
    assert won == [1.0, 1.0]


# -- Which decisions belong together --------------------------------------------------------------------------------


def test_filter_and_ranking_of_one_attempt_belong_together() -> None:
    service = frozen_service()
    ask(service, "filter", "idle", "near", "busy")
    ask(service, "prioritize", "idle", "near")
    filtering, ranking = service.hindsight.decisions.of_pod("shop/web-1")
    assert filtering is not None
    assert ranking is not None
    assert isinstance(filtering.record, Filtered)
    assert filtering.record.rejected == {"busy": "mean cpu usage 90 % > 65 %"}
    assert (filtering.record.asked, filtering.record.passed) == (3, 2)


def test_a_ranking_before_the_last_filter_is_of_an_earlier_attempt() -> None:
    service = frozen_service()
    ask(service, "prioritize", "idle", "near")
    ask(service, "filter", "busy", "idle")
    filtering, ranking = service.hindsight.decisions.of_pod("shop/web-1")
    assert filtering is not None
    assert ranking is None


def test_a_filter_of_an_older_pod_of_the_same_name_is_left_out() -> None:
    service, decisions = frozen_service(), Decisions()
    old, new = make_pod("web-1", uid="one"), make_pod("web-1", uid="two")
    filtering = service.adviser.filter(old, ("idle", "busy"))
    decisions.note(old, filtering, 2, service.adviser.snapshot, 0.0)
    noted(decisions, service, ("idle",), new)
    first, second = decisions.of_pod("default/web-1")
    assert first is None
    assert second is not None
    assert decisions.of_pod("default/web-9") == (None, None)
