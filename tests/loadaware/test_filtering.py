import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.manifests import Pod
from loadaware.breaker import FAILURES, Breaker
from loadaware.filtering import Filtering, filter_nodes
from loadaware.filters.filter import Filter
from loadaware.filters.labels import LabelPresent
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.in_flight import InFlight
from loadaware.ladder import Staleness
from loadaware.nodes import Nodes
from loadaware.profile import NamedFilter, Profile
from loadaware.question import Question
from loadaware.snapshot import Snapshot
from loadaware.window import Bools
from tests.loadaware.builders import make_pod, snapshot_of

NOW = 10_000.0
POD = make_pod("web")


class Obedient(Filter, frozen=True, kw_only=True):
    """Rejects the nodes it is told to."""

    names: tuple[str, ...] = ()

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        return np.array([name in self.names for name in nodes.names], dtype=np.bool_)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        return [f"told to reject {name}" for name in nodes.names]


class Load(Obedient, frozen=True, kw_only=True):
    """A load rule that rejects the nodes it is told to."""

    load_rule: ClassVar[bool] = True


class Measured(Obedient, frozen=True, kw_only=True):
    """Judges by measurements, but may empty the list."""

    by_measurements: ClassVar[bool] = True


class Refusing(Obedient, frozen=True, kw_only=True):
    """Refuses the pod before it looks at any node."""

    def pre_filter(self, pod: Pod) -> str | None:
        return "no pod may go anywhere"


class RefusingLoad(Refusing, frozen=True, kw_only=True):
    load_rule: ClassVar[bool] = True


class Raising(Obedient, frozen=True, kw_only=True):
    """Fails, at a place of its choice."""

    where: str = "rejects"

    def pre_filter(self, pod: Pod) -> str | None:
        self._raise("pre_filter")
        return None

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        self._raise("rejects")
        return Obedient.rejects(self, nodes, pod)

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        self._raise("reasons")
        return Obedient.reasons(self, nodes, pod)

    def _raise(self, where: str) -> None:
        if where == self.where:
            raise RuntimeError(f"in {where}")


class Nonsense(Filter, frozen=True, kw_only=True):
    """Answers something that is no answer."""

    rejected: Any
    told: Any = ()

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        return self.rejected

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        return self.told


def used(**cpu: float) -> dict[str, dict[str, Any]]:
    return {name: {"usage": {"cpu": {"mean": f"{percent}%"}}} for name, percent in cpu.items()}


ABC = snapshot_of(used(a=10.0, b=20.0, c=30.0))


def calm() -> Breaker:
    return Breaker(lambda: NOW, lambda: NOW)


def filtered(
    *filters: Filter,
    snapshot: Snapshot = ABC,
    names: Sequence[str] | None = None,
    least: int = 3,
    breaker: Breaker | None = None,
) -> Filtering:
    ledger = InFlight([])
    ledger.restart(snapshot)
    named = tuple(NamedFilter(type(f).__name__, f) for f in filters)
    asked = snapshot.names if names is None else names
    question = Question(snapshot, ledger, POD, asked, Staleness(300.0, 900.0), NOW)
    return filter_nodes(Profile("test", (), named, least_passing=least), question, breaker or calm())


def aged(**ages: float) -> Snapshot:
    """Nodes at 99 % of their CPU, measured so long ago."""
    snapshot = snapshot_of(used(**dict.fromkeys(ages, 99.0)))
    return dataclasses.replace(snapshot, sampled_at=NOW - np.array(list(ages.values())))


# -- Before any node is looked at -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Refusing(), RefusingLoad()])
def test_what_is_refused_beforehand_is_refused_everywhere_and_stays_so(rule: Filter) -> None:
    answer = filtered(rule, names=["a", "b", "c", "stranger"])
    assert answer.passed == ()
    assert answer.failed == dict.fromkeys(["a", "b", "c", "stranger"], "no pod may go anywhere")
    assert not answer.relaxed


def test_a_refusal_by_a_load_rule_holds_for_nodes_whose_measurements_have_expired_too() -> None:
    assert filtered(RefusingLoad(), snapshot=aged(fresh=0.0, expired=1000.0)).passed == ()


def test_a_node_that_another_rule_rejected_first_keeps_its_reason() -> None:
    answer = filtered(Obedient(names=("a",)), Refusing())
    assert answer.failed == {"a": "told to reject a", "b": "no pod may go anywhere", "c": "no pod may go anywhere"}


# -- Load rules -----------------------------------------------------------------------------------------------------


def test_several_load_rules_together_never_empty_the_list() -> None:
    answer = filtered(Load(names=("a", "b")), UsageThreshold(thresholds={"cpu": 25.0}), least=1)
    assert answer.relaxed
    assert answer.passed == ("a",)  # the least loaded
    assert set(answer.failed) == {"b", "c"}


def test_as_long_as_one_node_is_left_nothing_is_relaxed() -> None:
    answer = filtered(Load(names=("a",)), UsageThreshold(thresholds={"cpu": 25.0}), least=1)
    assert not answer.relaxed
    assert answer.passed == ("b",)


def test_load_rules_come_last_whatever_their_place() -> None:
    answer = filtered(Load(names=("a", "b")), Obedient(names=("a", "c")))
    assert answer.relaxed
    assert answer.passed == ("b",)
    assert answer.failed == {"a": "told to reject a", "c": "told to reject c"}


def test_it_is_told_how_many_nodes_each_filter_rejected_before_some_passed_all_the_same() -> None:
    answer = filtered(Load(names=("a", "b")), Obedient(names=("a", "c")), Measured())
    assert answer.rejections == {"Obedient": 2, "Load": 1}
    assert filtered(Obedient(names=("a",)), Obedient(names=("a", "b"))).rejections == {"Obedient": 2}


names = st.sets(st.sampled_from("abc")).map(lambda chosen: tuple(sorted(chosen)))


@given(names, names, names, st.integers(1, 3))
def test_a_list_is_empty_only_if_other_rules_than_load_rules_emptied_it(
    first: tuple[str, ...], second: tuple[str, ...], other: tuple[str, ...], least: int
) -> None:
    answer = filtered(Load(names=first), Obedient(names=other), Load(names=second), least=least)
    assert (not answer.passed) == (set(other) == set("abc"))
    assert set(answer.passed).isdisjoint(other)
    assert set(answer.passed) | set(answer.failed) == set("abc")
    assert set(answer.passed).isdisjoint(answer.failed)
    assert answer.relaxed or not set(answer.passed) & {*first, *second}


RUNGS = [
    # rule      which of the nodes fresh, ageing, expired, never it is shown
    (Load, "fa"),
    (Measured, "fa"),
    (Obedient, "faen"),
]


@pytest.mark.parametrize(("kind", "shown"), RUNGS)
def test_a_rule_that_judges_by_measurements_is_not_shown_nodes_without(kind: type[Obedient], shown: str) -> None:
    snapshot = aged(f=0.0, a=600.0, e=1000.0, n=np.inf)
    answer = filtered(kind(names=tuple("faen")), snapshot=snapshot)
    assert "".join(answer.failed) == shown


def test_when_the_source_has_died_load_rules_reject_nobody() -> None:
    answer = filtered(UsageThreshold(), snapshot=aged(x=5000.0, y=6000.0))
    assert answer.passed == ("x", "y")
    assert not answer.relaxed


def test_unmeasured_nodes_are_the_last_to_pass_when_load_rules_give_way() -> None:
    snapshot = snapshot_of({"silent": {"usage": {"memory": {"mean": "99%"}}}, **used(a=90.0, b=80.0)})
    answer = filtered(Load(names=("silent", "a", "b")), snapshot=snapshot, least=2)
    assert answer.passed == ("a", "b")


# -- Filters that fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["pre_filter", "rejects", "reasons"])
def test_a_filter_that_raises_rejects_nobody_and_the_others_go_on(where: str) -> None:
    answer = filtered(Raising(where=where, names=("a", "b")), Obedient(names=("c",)))
    assert answer.passed == ("a", "b")
    assert answer.failed == {"c": "told to reject c"}
    assert answer.skipped == {"Raising": f"RuntimeError: in {where}"}


BOOLS = np.array([True, False, False])
NONSENSE = [
    (None, ()),
    ([True, False, False], ["why"]),
    (np.array([1, 0, 0]), ["why"]),
    (np.array([True, False]), ["why"]),
    (BOOLS, []),
    (BOOLS, ["why", "more"]),
    (BOOLS, [None]),
    (BOOLS, [b"why"]),
    (BOOLS, "w"),
]


@pytest.mark.parametrize(("rejected", "told"), NONSENSE)
def test_a_filter_that_answers_nonsense_rejects_nobody_and_is_named(rejected: Any, told: Any) -> None:
    answer = filtered(Nonsense(rejected=rejected, told=told), Obedient(names=("c",)))
    assert answer.passed == ("a", "b")
    assert list(answer.skipped) == ["Nonsense"]


def test_a_filter_that_fails_again_and_again_is_switched_off_even_if_it_begins_well() -> None:
    breaker, raising = calm(), Raising()
    for _ in range(FAILURES):
        filtered(raising, breaker=breaker)
    answer = filtered(raising, breaker=breaker)
    assert answer.skipped == {"Raising": "switched off after repeated failures: RuntimeError: in rejects"}
    assert breaker.failures == {("Raising", "raised"): FAILURES}


def test_reasons_are_asked_only_where_something_is_rejected() -> None:
    answer = filtered(Raising(where="reasons"))
    assert answer.passed == ("a", "b", "c")
    assert answer.skipped == {}


def test_a_load_rule_that_fails_does_not_count_as_one_that_rejects_all() -> None:
    class FailingLoad(Raising, frozen=True, kw_only=True):
        load_rule: ClassVar[bool] = True

    answer = filtered(FailingLoad())
    assert answer.passed == ("a", "b", "c")
    assert not answer.relaxed


# -- The question ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "passed"), [([], ()), (["stranger"], ("stranger",)), (["c", "a"], ("c", "a"))])
def test_those_asked_for_are_answered_in_the_order_asked(asked: list[str], passed: tuple[str, ...]) -> None:
    answer = filtered(Obedient(names=("b",)), LabelPresent(label="gpu", absent=True), names=asked)
    assert answer.passed == passed
    assert not answer.relaxed


def test_unresolvable_reasons_are_kept_apart() -> None:
    answer = filtered(LabelPresent(label="gpu"), Obedient(names=("a",)))
    assert answer.unresolvable == dict.fromkeys("abc", "node has no label gpu")
    assert answer.failed == {}
