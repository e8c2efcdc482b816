import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.decision_report import wire_places
from loadaware.filtering import Filtering
from loadaware.ladder import Rung, Staleness
from loadaware.nodes import ExpectedLoad
from loadaware.ranking import Ranking
from loadaware.records import Ranked, filtered, position_of, ranked, with_pod
from loadaware.usage import Usage
from tests.loadaware.builders import cpu_mean, make_pod, snapshot_of

SNAPSHOT = snapshot_of({name: cpu_mean(10) for name in "abcdef"})


def record_of(names: list[str], scores: list[float]) -> Ranked:
    """Of a ranking by hand."""
    rows = [SNAPSHOT.index.get(name, -1) for name in names]
    known = None if -1 in rows else np.array(rows, dtype=np.intp)
    values = np.array(scores, dtype=np.float64)
    ranking = Ranking("any", names, values, values.astype(np.int64), rows=known, table=SNAPSHOT.names)
    return ranked(ranking, SNAPSHOT, make_pod(cpu=0.4), now=0.0, staleness=Staleness(), raws={})


@given(st.lists(st.sampled_from("abcdefxyz"), unique=True, max_size=9), st.sampled_from("abcdefxyz"))
def test_a_node_is_found_where_it_was_asked_about(names: list[str], node: str) -> None:
    record = record_of(names, [1.0] * len(names))
    assert record.names() == names
    assert record.position(node) == (names.index(node) if node in names else None)
    assert [record.name(position) for position in range(len(record))] == names


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6))
def test_the_order_is_that_of_the_wire_and_places_are_shared_by_equals(scores: list[int]) -> None:
    record = record_of(list("abcdef")[: len(scores)], [float(score) for score in scores])
    assert [scores[n] for n in record.order().tolist()] == sorted(scores, reverse=True)
    assert wire_places(record).tolist() == [1 + sum(other > score for other in scores) for score in scores]


def test_a_node_nobody_told_of_is_unknown_and_has_no_load() -> None:
    record = record_of(["a", "x"], [1.0, 2.0])
    assert record.rungs.tolist() == [Rung.FRESH, Rung.UNKNOWN]
    assert record.load[:, 0].tolist() == pytest.approx([0.2, np.nan], nan_ok=True)


def test_a_node_outside_the_table_or_not_asked_about_has_no_place() -> None:
    assert position_of("b", ("a", "b", "c"), np.array([2, 1])) == 1
    assert position_of("a", ("a", "b", "c"), np.array([2, 1])) is None
    assert position_of("z", ("a", "b", "c"), None) is None


def test_load_with_the_pod_counts_that_siblings_peak_together() -> None:
    pod = Usage(np.array([0.5]), np.array([0.3]), np.array([0.0]))
    nodes = np.array([[[2.0], [0.25], [0.0]]])
    usage, deviation = with_pod(ExpectedLoad(nodes, pod.beside(np.array([[0.5, 0.0]]))))
    assert usage.tolist() == [[2.5]]
    assert deviation[0, 0] == pytest.approx((0.25 + 0.3**2 + 2 * 0.3 * 0.5) ** 0.5)


def test_of_a_filter_only_the_rejected_are_kept_by_name() -> None:
    record = filtered(Filtering("any", ("a", "b"), {"c": "busy"}, {"d": "label"}, relaxed=False))
    assert (record.asked, record.passed) == (4, 2)
    assert (record.rejected, record.unresolvable) == ({"c": "busy", "d": "label"}, frozenset({"d"}))
