import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.breaker import Breaker
from loadaware.filtering import Filtering, filter_nodes
from loadaware.filters.filter import Filter
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.in_flight import InFlight
from loadaware.ladder import Staleness
from loadaware.nodes import Nodes
from loadaware.profile import NamedFilter, Profile, WeightedScorer
from loadaware.question import Question
from loadaware.ranking import NEUTRAL, Ranking, indifferent, rank, to_priorities
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Snapshot
from loadaware.window import Bools
from tests.loadaware.builders import make_pod, snapshot_of

NOW = 10_000.0
POD = make_pod("web")


class Named(Scorer, frozen=True, kw_only=True):
    """Gives each node the score that its state names."""

    metric: str = "first"

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        return nodes.usage("latest", self.metric)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        return -self.score(nodes, pod)


class Labelled(Filter, frozen=True, kw_only=True):
    """Rejects nodes that have the label."""

    unresolvable: ClassVar[bool] = True
    label: str = "forbidden"

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        return np.array([self.label in labels for labels in nodes.labels], dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        return [f"{name} is {self.label}" for name in nodes.names]


class Tainted(Labelled, frozen=True, kw_only=True):
    """The same, but eviction would help."""

    unresolvable: ClassVar[bool] = False


def calm_breaker() -> Breaker:
    """A breaker under a clock that stands still."""
    return Breaker(lambda: NOW, lambda: NOW)


def profile_of(*weighted: tuple[str, float], filters: Sequence[Filter] = (), **settings: Any) -> Profile:
    scorers = tuple(WeightedScorer(metric, Named(metric=metric), weight) for metric, weight in weighted)
    return Profile("test", scorers, tuple(NamedFilter(type(f).__name__, f) for f in filters), **settings)


def scored(scores: Mapping[str, float | None], metric: str = "first") -> Snapshot:
    """Nodes that a scorer gives these scores; None was not measured."""
    return snapshot_of({name: {} if s is None else {"metrics": {metric: s}} for name, s in scores.items()})


def aged(snapshot: Snapshot, ages: Sequence[float]) -> Snapshot:
    """The same snapshot, its samples this old."""
    return dataclasses.replace(snapshot, sampled_at=NOW - np.array(ages))


def question(snapshot: Snapshot, names: Sequence[str] | None = None) -> Question:
    ledger = InFlight([])
    ledger.restart(snapshot)
    return Question(snapshot, ledger, POD, snapshot.names if names is None else names, Staleness(), NOW)


def rank_all(
    snapshot: Snapshot, names: Sequence[str] | None = None, profile: Profile | None = None, **more: bool
) -> Ranking:
    return rank(profile or profile_of(("first", 1.0)), question(snapshot, names), calm_breaker(), **more)


def by_name(ranking: Ranking) -> dict[str, float]:
    return dict(zip(ranking.names, ranking.scores.tolist(), strict=True))


# -- Unknown and stale ----------------------------------------------------------------------------------------------


def test_measured_nodes_keep_their_scores() -> None:
    assert by_name(rank_all(scored({"a": 80.0, "b": 20.0}))) == {"a": 80.0, "b": 20.0}


def test_a_node_that_was_not_measured_gets_the_median_of_the_measured() -> None:
    ranking = rank_all(scored({"a": 90.0, "b": 10.0, "c": 30.0, "d": None}))
    assert by_name(ranking)["d"] == 30.0


def test_with_an_even_number_the_median_lies_between_the_middle_two() -> None:
    assert by_name(rank_all(scored({"a": 90.0, "b": 10.0, "c": None})))["c"] == 50.0


def test_a_node_nobody_told_of_gets_the_median_too() -> None:
    ranking = rank_all(scored({"a": 90.0, "b": 10.0, "c": 20.0}), ["stranger", "a", "b", "c"])
    assert ranking.scores.tolist() == [20.0, 90.0, 10.0, 20.0]


def test_the_median_is_that_of_the_nodes_asked_for() -> None:
    snapshot = scored({"a": 90.0, "b": 80.0, "c": 10.0, "d": None})
    assert by_name(rank_all(snapshot, ["c", "d"]))["d"] == 10.0


def test_where_nothing_is_measured_all_are_neutral() -> None:
    assert by_name(rank_all(scored({"a": None, "b": None}))) == {"a": NEUTRAL, "b": NEUTRAL}
    assert rank_all(Snapshot.empty(), ["x", "y"]).scores.tolist() == [NEUTRAL, NEUTRAL]


TRUST = [(-5.0, 1.0), (0.0, 1.0), (300.0, 1.0), (450.0, 0.75), (600.0, 0.5), (900.0, 0.0), (1e6, 0.0), (math.inf, 0.0)]


@pytest.mark.parametrize(("age", "trust"), TRUST)
def test_trust_is_whole_while_fresh_and_gone_when_expired(age: float, trust: float) -> None:
    assert Staleness(300.0, 900.0).trust(np.array([age])).tolist() == [pytest.approx(trust)]


def test_what_never_ages_is_trusted_for_ever() -> None:
    assert Staleness().trust(np.array([-math.inf])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("age", "good", "bad"),
    [
        (100.0, 90.0, 10.0),
        (450.0, 80.0, 20.0),  # 50 + 0.75 * (90 - 50), 50 + 0.75 * (10 - 50)
        (600.0, 70.0, 30.0),
        (900.0, 50.0, 50.0),
    ],
)
def test_ageing_draws_a_score_towards_the_median_from_both_sides(age: float, good: float, bad: float) -> None:
    snapshot = aged(scored({"good": 90.0, "bad": 10.0, "x": 50.0, "y": 50.0, "z": 50.0}), [age, age, 0.0, 0.0, 0.0])
    scores = by_name(rank_all(snapshot))
    assert [scores["good"], scores["bad"]] == pytest.approx([good, bad])


def test_an_expired_score_is_no_part_of_the_median() -> None:
    snapshot = aged(scored({"old": 100.0, "a": 10.0, "b": 20.0, "c": 30.0}), [901.0, 0.0, 0.0, 0.0])
    assert by_name(rank_all(snapshot))["old"] == 20.0


def test_when_everything_has_expired_all_are_neutral() -> None:
    snapshot = aged(scored({"a": 90.0, "b": 10.0}), [5000.0, 5000.0])
    assert by_name(rank_all(snapshot)) == {"a": NEUTRAL, "b": NEUTRAL}


def requesting(**cpu: float) -> Snapshot:
    """Nodes of four cores that all measure 2 cores in use, with one pod each that requests this much."""
    return snapshot_of(
        {
            name: {
                "capacity": {"cpu": 4},
                "usage": {"cpu": {"mean": "2"}},
                "pods": [{"spec": {"containers": [{"resources": {"requests": {"cpu": amount}}}]}}],
            }
            for name, amount in cpu.items()
        }
    )


BY_LOAD = Profile("load", (WeightedScorer("risk", LoadVariationRiskBalancing()),))


def test_what_is_requested_stands_in_for_expired_usage_but_is_never_better_than_the_median() -> None:
    snapshot = aged(requesting(x=1.0, y=1.0, little=0.4, much=3.0), [0.0, 0.0, 5000.0, 5000.0])
    # fresh: 2 of 4 cores, 75      requests of 0.4 would be 95 and are held at 75      requests of 3: 62.5
    assert by_name(rank_all(snapshot, profile=BY_LOAD)) == {"x": 75.0, "y": 75.0, "little": 75.0, "much": 62.5}


def test_when_everything_has_expired_what_is_requested_decides() -> None:
    snapshot = aged(requesting(little=0.4, much=3.0), [5000.0, 5000.0])
    assert by_name(rank_all(snapshot, profile=BY_LOAD)) == {"little": 95.0, "much": 62.5}


def test_where_pods_cannot_be_watched_nothing_stands_in_for_expired_usage() -> None:
    snapshot = aged(requesting(x=1.0, little=0.4, much=3.0), [0.0, 5000.0, 5000.0])
    blind = dataclasses.replace(snapshot, pods_known=False)
    assert by_name(rank_all(blind, profile=BY_LOAD)) == {"x": 75.0, "little": 75.0, "much": 75.0}


scores_or_none = st.one_of(st.none(), st.floats(0.0, 100.0))


@given(st.lists(st.tuples(scores_or_none, st.floats(0.0, 1500.0)), min_size=1, max_size=12))
def test_a_stand_in_is_never_better_than_the_median_and_doubt_never_makes_a_node_better_than_both(
    nodes: list[tuple[float | None, float]],
) -> None:
    own = {f"n{i}": score for i, (score, _) in enumerate(nodes)}
    ages = [age for _, age in nodes]
    ranking = rank_all(aged(scored(own), ages))
    believed = [score for (score, age) in nodes if score is not None and age < 900.0]
    median = float(np.median(believed)) if believed else NEUTRAL
    for (score, age), total in zip(nodes, ranking.scores.tolist(), strict=True):
        if score is None or age >= 900.0:
            assert total == pytest.approx(median)
        else:
            assert min(score, median) - 1e-9 <= total <= max(score, median) + 1e-9
            assert age > 300.0 or total == pytest.approx(score)


@given(st.lists(scores_or_none, min_size=1, max_size=10), st.integers(1, 1000))
def test_every_node_asked_for_is_answered_with_an_int_from_zero_to_the_maximum(
    scores: list[float | None], most: int
) -> None:
    snapshot = scored({f"n{i}": score for i, score in enumerate(scores)})
    names = [*snapshot.names, "stranger", "n0"]
    ranking = rank_all(snapshot, names, profile_of(("first", 1.0), max_score=most))
    assert ranking.priorities.dtype == np.int64
    assert len(ranking.priorities) == len(names)
    assert ((ranking.priorities >= 0) & (ranking.priorities <= most)).all()
    assert ranking.priorities[-1] == ranking.priorities[0]
    order = np.argsort(ranking.scores, kind="stable")
    assert (np.diff(ranking.priorities[order]) >= 0).all()


# -- Combination and the wire ---------------------------------------------------------------------------------------


def both(first: Mapping[str, float | None], second: Mapping[str, float | None]) -> Snapshot:
    states = {}
    for name in first:
        named = {"first": first[name], "second": second[name]}
        states[name] = {"metrics": {metric: s for metric, s in named.items() if s is not None}}
    return snapshot_of(states)


def test_scorers_are_combined_by_weight() -> None:
    snapshot = both({"a": 100.0, "b": 0.0}, {"a": 0.0, "b": 100.0})
    ranking = rank_all(snapshot, profile=profile_of(("first", 3.0), ("second", 1.0)))
    assert by_name(ranking) == {"a": 75.0, "b": 25.0}
    assert [(part.name, part.weight) for part in ranking.parts] == [("first", 3.0), ("second", 1.0)]


def test_what_one_scorer_does_not_know_stands_in_for_that_scorer_alone() -> None:
    snapshot = both({"a": 100.0, "b": 50.0, "c": None}, {"a": 0.0, "b": 20.0, "c": 90.0})
    ranking = rank_all(snapshot, profile=profile_of(("first", 1.0), ("second", 1.0)))
    assert by_name(ranking)["c"] == (75.0 + 90.0) / 2
    assert ranking.parts[0].score.tolist() == [100.0, 50.0, 75.0]
    np.testing.assert_array_equal(ranking.parts[0].own, [100.0, 50.0, math.nan])


@pytest.mark.parametrize(("combine", "score"), [("Weighted", 70.0), ("Mean", 60.0), ("Minimum", 40.0)])
def test_scores_can_be_combined_in_other_ways(combine: str, score: float) -> None:
    profile = profile_of(("first", 3.0), ("second", 1.0), combine=combine)
    assert by_name(rank_all(both({"a": 80.0}, {"a": 40.0}), profile=profile)) == {"a": score}


def test_a_profile_without_scorers_is_neutral() -> None:
    assert rank_all(scored({"a": 10.0}), profile=Profile("none", ())).scores.tolist() == [NEUTRAL]


def test_a_scorer_that_leaves_its_range_has_no_say_and_is_named() -> None:
    ranking = rank_all(scored({"a": 250.0, "b": -70.0}))
    assert by_name(ranking) == {"a": NEUTRAL, "b": NEUTRAL}
    assert ranking.skipped == {"first": "scores must be in [0, 100] or NaN"}


def test_rounding_out_of_the_range_is_brought_back() -> None:
    assert by_name(rank_all(scored({"a": 100.0 + 1e-9, "b": -1e-9}))) == {"a": 100.0, "b": 0.0}


def test_raw_numbers_are_worked_out_only_when_asked_for() -> None:
    snapshot = scored({"a": 30.0})
    assert rank_all(snapshot).parts[0].raw is None
    raw = rank_all(snapshot, ["a", "stranger"], explain=True).parts[0].raw
    assert raw is not None
    np.testing.assert_array_equal(raw, [-30.0, math.nan])


PRIORITIES = [
    # score, maxScore -> priority
    (0.0, 30, 0),
    (100.0, 30, 30),
    (50.0, 30, 15),
    (1.6, 30, 0),  # 0.48
    (1.7, 30, 1),  # 0.51
    (5.0, 30, 2),  # 1.5: halves up
    (35.0, 30, 11),  # 10.5
    (55.0, 10, 6),  # 5.5, as 55 * 0.1 is before the last bit is lost
    (100.0, 1000, 1000),
    (49.9, 1, 0),
    (50.0, 1, 1),
]


@pytest.mark.parametrize(("score", "most", "priority"), PRIORITIES)
def test_scores_become_ints_on_the_wire(score: float, most: int, priority: int) -> None:
    assert to_priorities(np.array([score]), most).tolist() == [priority]


def test_indifference_is_zero_for_all() -> None:
    ranking = indifferent(profile_of(("first", 1.0)), ["a", "stranger"])
    assert ranking.names == ["a", "stranger"]
    assert ranking.priorities.tolist() == [0, 0]
    assert ranking.parts == ()


def test_equal_nodes_stand_in_the_order_asked_and_are_all_best() -> None:
    ranking = rank_all(scored({"a": 20.0, "b": 70.0, "c": 20.0, "d": 70.0}), ["d", "c", "b", "a"])
    assert [ranking.names[position] for position in ranking.order().tolist()] == ["d", "b", "c", "a"]
    assert [ranking.names[position] for position in ranking.best().tolist()] == ["d", "b"]


def test_a_name_asked_for_twice_is_answered_twice_alike() -> None:
    ranking = rank_all(scored({"a": 20.0, "b": 70.0}), ["a", "b", "a"])
    assert list(ranking.names) == ["a", "b", "a"]
    assert ranking.scores.tolist() == [20.0, 70.0, 20.0]


def test_asking_for_no_nodes_is_answered_with_none() -> None:
    ranking = rank_all(scored({"a": 20.0}), [])
    assert len(ranking.priorities) == len(ranking.best()) == len(ranking.order()) == 0


# -- Filters --------------------------------------------------------------------------------------------------------


def used(**cpu: float) -> dict[str, dict[str, Any]]:
    return {name: {"usage": {"cpu": {"mean": f"{percent}%"}}} for name, percent in cpu.items()}


def filtered(snapshot: Snapshot, *filters: Filter, names: Sequence[str] | None = None, least: int = 3) -> Filtering:
    return filter_nodes(profile_of(filters=filters, least_passing=least), question(snapshot, names), calm_breaker())


def test_busy_nodes_fail_with_a_reason_and_the_others_pass_in_the_order_asked() -> None:
    answer = filtered(snapshot_of(used(a=90.0, b=10.0, c=20.0)), UsageThreshold(), names=["c", "a", "b"])
    assert answer.passed == ("c", "b")
    assert list(answer.failed) == ["a"]
    assert "cpu usage 90 % > 65 %" in answer.failed["a"]
    assert answer.unresolvable == {}
    assert not answer.relaxed


def test_nodes_that_were_not_measured_or_never_told_of_pass() -> None:
    snapshot = snapshot_of({**used(a=90.0), "b": {}})
    assert filtered(snapshot, UsageThreshold(), names=["a", "b", "stranger"]).passed == ("b", "stranger")


@pytest.mark.parametrize(("least", "passing"), [(1, "c"), (2, "bc"), (3, "abc"), (9, "abc")])
def test_when_load_rules_would_reject_all_the_least_loaded_pass(least: int, passing: str) -> None:
    answer = filtered(snapshot_of(used(a=99.0, b=80.0, c=70.0)), UsageThreshold(), least=least)
    assert answer.relaxed
    assert answer.passed == tuple(passing)
    assert set(answer.failed) == set("abc") - set(passing)


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 150.0)), min_size=1, max_size=8), st.integers(1, 4), st.booleans())
def test_a_load_rule_never_empties_the_list(usage: list[float | None], least: int, stranger: bool) -> None:
    states = {f"n{i}": {} if u is None else used(x=u)["x"] for i, u in enumerate(usage)}
    names = [*states, *(["stranger"] if stranger else [])]
    answer = filtered(snapshot_of(states), UsageThreshold(), names=names, least=least)
    assert answer.passed
    assert set(answer.passed) | set(answer.failed) == set(names)
    assert not set(answer.passed) & set(answer.failed)
    busy = {name for name, u in zip(states, usage, strict=True) if u is not None and u > 65.0 + 1e-9}
    assert answer.relaxed or not busy & set(answer.passed)


def test_a_rule_about_labels_may_empty_the_list() -> None:
    snapshot = snapshot_of({"a": {"labels": {"forbidden": ""}}, "b": {"labels": {"forbidden": ""}}})
    answer = filtered(snapshot, Labelled(), UsageThreshold())
    assert answer.passed == ()
    assert answer.unresolvable == {"a": "a is forbidden", "b": "b is forbidden"}
    assert not answer.relaxed


def test_what_a_label_rejects_does_not_come_back_when_load_rules_give_way() -> None:
    states = used(idle=1.0, a=99.0, b=80.0)
    states["idle"]["labels"] = {"forbidden": ""}
    answer = filtered(snapshot_of(states), UsageThreshold(), Labelled(), least=1)
    assert answer.relaxed
    assert answer.passed == ("b",)
    assert answer.unresolvable == {"idle": "idle is forbidden"}
    assert set(answer.failed) == {"a"}


def test_a_rejection_that_eviction_could_help_is_told_apart() -> None:
    snapshot = snapshot_of({"a": {"labels": {"dirty": ""}}, "b": {"labels": {"forbidden": ""}}, "c": {}})
    answer = filtered(snapshot, Tainted(label="dirty"), Labelled())
    assert answer.passed == ("c",)
    assert answer.failed == {"a": "a is dirty"}
    assert answer.unresolvable == {"b": "b is forbidden"}


def test_a_node_that_one_filter_rejected_is_not_shown_to_the_next() -> None:
    snapshot = snapshot_of({"a": {"labels": {"x": "", "y": ""}}})
    answer = filtered(snapshot, Labelled(label="x"), Labelled(label="y"))
    assert answer.unresolvable == {"a": "a is x"}


def test_a_name_filtered_twice_passes_or_fails_twice_alike() -> None:
    snapshot = snapshot_of(used(a=90.0, b=10.0))
    answer = filtered(snapshot, UsageThreshold(), names=["b", "a", "b", "a"])
    assert answer.passed == ("b", "b")
    assert set(answer.failed) == {"a"}


def test_nodes_without_any_cpu_do_not_disturb_the_others() -> None:
    states = used(a=90.0)
    states["empty"] = {"capacity": {"cpu": 0}, "usage": {"cpu": {"mean": "1"}}}
    answer = filtered(snapshot_of(states), UsageThreshold(), least=1)
    assert answer.relaxed
    assert answer.passed == ("a",)


# -- Scorers that need no measurements, and ranges set by the trusted alone --------------------------------------------


class Stretched(Named, frozen=True, kw_only=True):
    """Over the whole range of the nodes asked about."""

    def normalize(self, scores: Floats) -> Floats:
        return stretched(scores)


class Unmeasuring(Named, frozen=True, kw_only=True):
    """Judges by something that does not age."""

    measures: ClassVar[bool] = False


def test_an_expired_node_does_not_set_the_range_of_the_others() -> None:
    snapshot = aged(scored({"a": 10.0, "b": 20.0, "old": 500.0}), [0.0, 0.0, 5000.0])
    profile = Profile("test", (WeightedScorer("first", Stretched(metric="first")),))
    ranking = rank(profile, question(snapshot), calm_breaker())
    assert by_name(ranking) == {"a": 0.0, "b": 100.0, "old": 50.0}


def test_the_ladder_leaves_a_scorer_alone_that_needs_no_measurements() -> None:
    snapshot = aged(scored({"a": 10.0, "old": 90.0}), [0.0, 5000.0])
    profile = Profile("test", (WeightedScorer("first", Unmeasuring(metric="first")),))
    assert by_name(rank(profile, question(snapshot), calm_breaker())) == {"a": 10.0, "old": 90.0}
