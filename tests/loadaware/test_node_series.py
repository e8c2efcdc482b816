from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from collectors.reading import Floats
from loadaware.node_series import AT_ONCE, SERIES, NodeFacts, node_series
from loadaware.snapshot import Snapshot
from tests.loadaware.builders import cpu_mean, snapshot_of

Samples = dict[str, dict[tuple[str, ...], float]]


def facts(
    snapshot: Snapshot, mean: Floats | None = None, variance: Floats | None = None, scores: Floats | None = None
) -> NodeFacts:
    return NodeFacts(snapshot, mean, variance, np.zeros(0) if scores is None else scores, "default-scheduler")


def samples(shown: NodeFacts, most: int = 100) -> Samples:
    """Values by family and by the values of the labels."""
    families = text_string_to_metric_families("".join(node_series(shown, most)))
    return {f.name: {tuple(s.labels.values()): s.value for s in f.samples} for f in families}


def usage(mean: str, deviation: str) -> Mapping[str, Any]:
    return {"usage": {"cpu": {"mean": mean, "deviation": deviation}}}


def test_utilization_and_deviation_are_per_allocatable() -> None:
    shown = samples(facts(snapshot_of({"a": usage("1", "500m")})))
    assert shown["loadaware_node_utilization"] == {("a", "cpu"): pytest.approx(1.0 / 4.0)}
    assert shown["loadaware_node_deviation"] == {("a", "cpu"): pytest.approx(0.5 / 4.0)}


def test_risk_is_the_chance_to_want_more_than_there_is() -> None:
    """Spare are 1 core of 4, one deviation: 1 - Phi(1) = 0.158655."""
    assert samples(facts(snapshot_of({"a": usage("3", "1")})))["loadaware_node_risk"] == {
        ("a",): pytest.approx(0.158655, abs=1e-6)
    }


def test_what_is_expected_of_a_node_goes_before_what_was_measured() -> None:
    """Expected are 2 of 4 cores, give or take 1: 1 - Phi(2) = 0.022750."""
    expected = facts(snapshot_of({"a": usage("3", "1")}), np.array([[2.0, np.nan]]), np.array([[1.0, 0.0]]))
    shown = samples(expected)
    assert shown["loadaware_node_expected_utilization"] == {("a", "cpu"): 0.5}
    assert shown["loadaware_node_risk"] == {("a",): pytest.approx(0.022750, abs=1e-6)}
    assert shown["loadaware_node_utilization"] == {("a", "cpu"): 0.75}


@pytest.mark.parametrize(("mean", "risk"), [("3", 0.0), ("4", 0.0), ("5", 1.0)])
def test_a_steady_node_is_at_risk_only_if_it_is_too_full_already(mean: str, risk: float) -> None:
    assert samples(facts(snapshot_of({"a": usage(mean, "0")})))["loadaware_node_risk"] == {("a",): risk}


def test_what_is_not_known_has_no_sample() -> None:
    shown = samples(facts(snapshot_of({"unmeasured": {}}), scores=np.array([50.0])))
    assert {family: values for family, values in shown.items() if values} == {
        "loadaware_node_score": {("unmeasured", "default-scheduler"): 50.0}
    }


def test_the_most_utilized_come_first_and_the_unmeasured_last() -> None:
    snapshot = snapshot_of({"low": cpu_mean(10), "none": {}, "high": cpu_mean(90), "mid": cpu_mean(50)})
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    for most, names in ((0, []), (1, ["high"]), (3, ["high", "mid", "low"]), (9, ["high", "mid", "low", "none"])):
        shown = samples(facts(snapshot, scores=scores), most).get("loadaware_node_score", {})
        assert [name for name, _ in shown] == names


def test_a_name_that_would_break_the_format_is_written_so_that_it_does_not() -> None:
    nasty = 'a"} 1\n\\'
    assert list(samples(facts(snapshot_of({nasty: cpu_mean(10)})))["loadaware_node_utilization"]) == [(nasty, "cpu")]


def test_no_piece_is_long_however_many_nodes_there_are() -> None:
    snapshot = snapshot_of({f"node-{number}": cpu_mean(number % 100) for number in range(3 * AT_ONCE + 7)})
    pieces = list(node_series(facts(snapshot), 10_000))
    assert max(piece.count("\n") for piece in pieces) == AT_ONCE
    assert len(samples(facts(snapshot), 10_000)["loadaware_node_utilization"]) == 3 * AT_ONCE + 7


def test_every_family_has_the_labels_that_it_says() -> None:
    two = np.array([[1.0, 2.0]])
    text = "".join(node_series(facts(snapshot_of({"a": usage("1", "1")}), two, two, np.array([1.0])), 1))
    told = {f.name: {tuple(s.labels) for s in f.samples} for f in text_string_to_metric_families(text)}
    assert told == {name: {series.labels} for name, series in SERIES.items()}


def test_a_cluster_of_no_nodes_has_families_without_samples() -> None:
    assert not any(samples(facts(Snapshot.empty())).values())
