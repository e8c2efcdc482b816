import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collectors.reading import Floats
from loadaware.adviser import AdviserSettings
from loadaware.ranking import Ranking
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.service import Service
from loadaware.shadow import (
    KUBE_SCHEDULER,
    MOST_UNBOUND,
    MOST_WAITING,
    Comparison,
    mean_ranks,
    rank_correlation,
    report,
)
from tests.loadaware.builders import make_profile, make_settings
from tests.loadaware.decided import ask, bind
from tests.loadaware.running_server import counted, frozen_service

SCORES = arrays(np.float64, 6, elements=st.sampled_from([0.0, 1.0, 2.0, 50.0]))


def in_shadow() -> AdviserSettings:
    """Packing answers, spreading is in shadow."""
    spread = make_profile(LowestUsage(), "spread")
    return make_settings(make_profile(TargetLoadPacking()), shadows={"spread": spread})


def compared(service: Service, *names: str, pod: str = "web-1") -> Comparison:
    """Ask, let the shadows think, and tell how spreading stands beside packing."""
    ask(service, "prioritize", *names, pod=pod)
    service.hindsight.shadow._aside.finish()
    return service.hindsight.shadow.comparisons["spread", "default-scheduler"]


def ranking_of(scores: Floats) -> Ranking:
    return Ranking("any", [str(n) for n in range(len(scores))], scores, scores.astype(np.int64))


def test_a_shadow_is_compared_with_the_profile_that_answered() -> None:
    service = frozen_service(in_shadow())
    comparison = compared(service, "idle", "near", "busy")
    assert (comparison.requests, comparison.agreed) == (1, 1)
    assert comparison.correlation.value == pytest.approx(1.0)
    assert comparison.load_difference.value == pytest.approx(0.0)


def test_another_first_choice_is_told_with_the_difference_in_load() -> None:
    packing = make_profile(TargetLoadPacking(target_utilization=60.0))
    spread = make_profile(LowestUsage(), "spread")
    service = frozen_service(make_settings(packing, shadows={"spread": spread}))
    comparison = compared(service, "idle", "near")
    assert (comparison.requests, comparison.agreed) == (1, 0)
    assert comparison.correlation.value == pytest.approx(-1.0)
    assert comparison.load_difference.value == pytest.approx(-0.35)
    assert counted(service, "loadaware_shadow_agreement_total", profile="spread", agrees="false") == 1.0
    difference = {"profile": "spread", "le": "-0.2"}
    assert counted(service, "loadaware_shadow_load_difference_bucket", **difference) == 1.0


def test_a_shadow_that_would_know_more_than_the_answer_did_is_not_asked() -> None:
    service = frozen_service(in_shadow())
    shadow = service.hindsight.shadow
    ask(service, "prioritize", "idle", "near", "busy", pod="web-1")
    ask(service, "prioritize", "idle", "near", "busy", pod="web-2")
    shadow._aside.finish()
    assert (shadow.comparisons["spread", "default-scheduler"].requests, shadow.dropped) == (1, 1)
    ask(service, "prioritize", "idle", "near", "busy", pod="web-3")
    bind(service, "near", "web-1")
    shadow._aside.finish()
    assert (shadow.comparisons["spread", "default-scheduler"].requests, shadow.dropped) == (1, 2)


def test_a_shadow_is_never_on_the_wire_and_books_nothing() -> None:
    with_shadow, without = frozen_service(in_shadow()), frozen_service(make_settings(make_profile(TargetLoadPacking())))
    for service in (with_shadow, without):
        ask(service, "prioritize", "idle", "near", "busy")
        service.hindsight.shadow._aside.finish()
    rankings = [service.adviser.in_flight.requested.tolist() for service in (with_shadow, without)]
    assert rankings[0] == rankings[1]
    assert "spread" not in with_shadow.adviser.settings.profiles


def test_a_shadow_is_compared_with_what_kube_scheduler_really_did() -> None:
    service = frozen_service(in_shadow())
    compared(service, "idle", "near", "busy")
    bind(service, "near")
    real = service.hindsight.shadow.comparisons["spread", KUBE_SCHEDULER]
    assert (real.requests, real.agreed) == (1, 0)
    assert real.load_difference.value == pytest.approx(-0.35)
    compared(service, "idle", "near", "busy", pod="web-2")
    bind(service, "idle", "web-2")
    assert (real.requests, real.agreed) == (2, 1)


def test_a_binding_elsewhere_or_told_twice_is_not_compared() -> None:
    service = frozen_service(in_shadow())
    compared(service, "idle", "near")
    bind(service, "elsewhere")
    bind(service, "near")
    assert ("spread", KUBE_SCHEDULER) not in service.hindsight.shadow.comparisons


def test_one_node_alone_is_no_choice() -> None:
    service = frozen_service(in_shadow())
    ask(service, "prioritize", "idle")
    service.hindsight.shadow._aside.finish()
    assert service.hindsight.shadow.comparisons == {}


def test_a_node_nobody_told_of_costs_only_the_load_difference() -> None:
    service = frozen_service(in_shadow())
    comparison = compared(service, "idle", "near", "nobody")
    assert comparison.requests == 1
    assert comparison.load_difference.value is None


def test_what_waits_is_bounded_and_what_is_dropped_is_counted() -> None:
    service = frozen_service(in_shadow())
    shadow = service.hindsight.shadow
    for number in range(MOST_WAITING + 5):
        ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
    assert (len(shadow._aside), shadow.dropped) == (1, MOST_WAITING + 4)
    shadow._aside.finish()
    assert (len(shadow._unbound), shadow.comparisons["spread", "default-scheduler"].requests) == (1, 1)
    for number in range(MOST_UNBOUND + 5):
        compared(service, "idle", "near", pod=f"api-{number}")
    assert len(shadow._unbound) == MOST_UNBOUND


def test_comparing_goes_on_after_there_was_no_room_for_it() -> None:
    service = frozen_service(in_shadow())
    shadow = service.hindsight.shadow
    for _ in range(MOST_WAITING):
        shadow.later(lambda: None)
    ask(service, "prioritize", "idle", "near", pod="web-1")
    assert shadow.dropped == 1
    shadow._aside.finish()
    assert compared(service, "idle", "near", pod="web-2").requests == 1


def test_the_report_has_a_row_per_comparison() -> None:
    service = frozen_service(in_shadow())
    compared(service, "idle", "near")
    told = report(service.hindsight.shadow, "active", service.adviser.settings.shadows)
    assert told == {
        "mode": "active",
        "shadows": ["spread"],
        "dropped": 0,
        "comparisons": [
            {
                "profile": "spread",
                "with": "default-scheduler",
                "requests": 1,
                "agreed": 1,
                "agreement": 1.0,
                "rankCorrelation": pytest.approx(1.0),
                "loadDifference": pytest.approx(0.0),
            }
        ],
    }


@given(SCORES, SCORES)
def test_rank_correlation_is_even_bounded_and_one_with_itself(one: Floats, other: Floats) -> None:
    a, b = ranking_of(one), ranking_of(other)
    value = rank_correlation(a, b)
    assert np.isnan(value) == (len(set(one.tolist())) == 1 or len(set(other.tolist())) == 1)
    if not np.isnan(value):
        assert -1.0 <= value <= 1.0
        assert rank_correlation(b, a) == pytest.approx(value)
        assert rank_correlation(a, a) == pytest.approx(1.0)
        assert rank_correlation(a, ranking_of(100.0 - one)) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("scores", "ranks"), [([3.0, 1.0, 2.0], [2, 0, 1]), ([5.0, 5.0, 1.0], [1.5, 1.5, 0]), ([4.0, 4.0], [0.5, 0.5])]
)
def test_equal_scores_share_their_mean_rank(scores: list[float], ranks: list[float]) -> None:
    assert mean_ranks(np.array(scores)).tolist() == ranks
