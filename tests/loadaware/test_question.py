import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from collectors.manifests import Pod
from loadaware.changes import PodBound
from loadaware.in_flight import InFlight
from loadaware.known_names import KnownNames
from loadaware.ladder import Rung, Staleness
from loadaware.question import Question
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.snapshot import Snapshot
from loadaware.window import Ints
from tests.loadaware.builders import cpu_mean, make_pod, make_shape, snapshot_of

NOW = 10_000.0
LOWEST = LowestUsage()
AGES = {"fresh": 0.0, "ageing": 600.0, "expired": 1000.0, "never": math.inf}


def aged() -> Snapshot:
    snapshot = snapshot_of({name: cpu_mean(50) for name in AGES})
    return dataclasses.replace(snapshot, time=NOW, sampled_at=NOW - np.array(list(AGES.values())))


def ask(
    names: Sequence[str], snapshot: Snapshot | None = None, ledger: InFlight | None = None, pod: Pod | None = None
) -> Question:
    snapshot = snapshot or aged()
    if ledger is None:
        ledger = InFlight([LOWEST])
        ledger.restart(snapshot)
    return Question(snapshot, ledger, pod or make_pod("web"), names, Staleness(300.0, 900.0), NOW)


def rows(*numbers: int) -> Ints:
    return np.array(numbers, dtype=np.intp)


def test_names_are_looked_up_in_the_order_asked_and_strangers_have_no_row() -> None:
    question = ask(["never", "stranger", "fresh", "fresh"])
    assert question.rows.tolist() == [3, -1, 0, 0]
    assert question.known.tolist() == [True, False, True, True]


def test_names_read_as_rows_of_another_snapshot_are_looked_up_anew() -> None:
    snapshot = aged()
    reversed_table = snapshot.names[::-1]
    elsewhere = KnownNames(reversed_table, rows(0, 3))
    assert list(elsewhere) == ["never", "fresh"]
    assert ask(elsewhere, snapshot).rows.tolist() == [3, 0]
    here = KnownNames(snapshot.names, rows(3, 0))
    assert ask(here, snapshot).rows is here.rows
    assert ask(KnownNames((*snapshot.names, "stranger"), rows(4, 1)), snapshot).rows.tolist() == [-1, 1]


def test_ages_are_since_the_newest_sample_and_endless_for_who_was_never_measured() -> None:
    assert ask([*AGES, "stranger"]).ages.tolist() == [0.0, 600.0, 1000.0, math.inf, math.inf]


@pytest.mark.parametrize(
    ("pods_known", "fallen"), [(True, Rung.EXPIRED), (False, Rung.UNKNOWN)], ids=["pods known", "pods unknown"]
)
def test_every_node_stands_on_its_rung_and_of_a_stranger_nothing_is_known(pods_known: bool, fallen: Rung) -> None:
    question = ask([*AGES, "stranger"], dataclasses.replace(aged(), pods_known=pods_known))
    assert question.rungs.tolist() == [Rung.FRESH, Rung.AGEING, fallen, fallen, Rung.UNKNOWN]


def test_no_names_no_rows() -> None:
    question = ask([])
    assert (len(question.rows), len(question.ages), len(question.rungs)) == (0, 0, 0)
    assert ask(["x"], Snapshot.empty()).rungs.tolist() == [Rung.UNKNOWN]


def test_values_of_the_known_are_spread_over_all_that_were_asked_for() -> None:
    question = ask(["stranger", "fresh", "other", "never"])
    np.testing.assert_array_equal(question.spread(np.array([1.0, 2.0])), [math.nan, 1.0, math.nan, 2.0])


# -- What plugins see -----------------------------------------------------------------------------------------------


def test_what_happened_since_the_snapshot_is_counted_at_the_plugins_own_price() -> None:
    snapshot = aged()
    ledger = InFlight([LOWEST])
    ledger.restart(snapshot)
    ledger.bound(PodBound("x", "fresh", make_shape(cpu=1.0, cpu_limit=2.0), NOW))
    question = ask(["fresh"], snapshot, ledger)
    nodes = question.nodes(rows(0), LOWEST)
    assert nodes.requested("cpu").tolist() == [1.0]
    assert nodes.limits("cpu").tolist() == [2.0]
    assert nodes.pod_count().tolist() == [1.0]
    assert nodes.in_flight("cpu").tolist() == [1.0]
    assert question.nodes(rows(0), LowestUsage()).in_flight("cpu").tolist() == [0.0]  # a plugin nobody counts for


def test_bindings_are_counted_back_from_the_moment_of_the_question() -> None:
    snapshot = aged()
    ledger = InFlight([])
    ledger.restart(snapshot)
    for n, age in enumerate((10.0, 50.0, 70.0)):
        ledger.bound(PodBound(f"p{n}", "fresh", make_shape(), NOW - age))
    ledger.book("booked", make_shape(), ["fresh", "ageing"], NOW)
    nodes = ask(["fresh", "ageing"], snapshot, ledger).nodes(rows(0, 1), None)
    assert nodes.bindings_within(60.0).tolist() == [2.5, 0.5]
    assert nodes.bindings_within(300.0).tolist() == [3.5, 0.5]


def test_requests_stand_in_for_usage_where_they_are_told_to() -> None:
    pods = [{"spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}}]
    state = {"usage": {"cpu": {"mean": "1", "deviation": "0.5", "latest": "2", "maximum": "4"}}, "pods": pods}
    snapshot = snapshot_of({"a": state, "b": state})
    ledger = InFlight([LOWEST])
    ledger.restart(snapshot)
    ledger.bound(PodBound("x", "b", make_shape(cpu=0.5), NOW))
    nodes = ask(["a", "b"], snapshot, ledger).nodes(rows(0, 1), LOWEST, np.array([False, True]))
    assert nodes.usage("mean", "cpu").tolist() == [1.0, 3.5]
    assert nodes.usage("latest", "cpu").tolist() == [2.0, 3.5]
    assert nodes.usage("maximum", "cpu").tolist() == [4.0, 3.5]
    assert nodes.usage("deviation", "cpu").tolist() == [0.5, 0.0]  # requests do not vary
    assert nodes.in_flight("cpu").tolist() == [0.0, 0.0]  # and have the pods in flight in them already
    assert np.isnan(nodes.usage("latest", "temperature")).all()  # which nobody can request


def test_a_question_changes_nothing() -> None:
    snapshot = aged()
    ledger = InFlight([LOWEST])
    ledger.restart(snapshot)
    before = (ledger.requested.copy(), ledger.limits.copy(), ledger.pods.copy())
    question = ask(list(AGES), snapshot, ledger)
    nodes = question.nodes(question.rows, LOWEST, np.array([True, False, True, False]))
    nodes.usage("mean", "cpu")
    nodes.bindings_within(60.0)
    for was, now in zip(before, (ledger.requested, ledger.limits, ledger.pods), strict=True):
        np.testing.assert_array_equal(was, now)
