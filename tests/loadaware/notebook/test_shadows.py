import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware import notebook
from loadaware.errors import ConfigError
from loadaware.notebook.shadows import decide, ratio, spans_of
from loadaware.simulation.blocks import likeness
from loadaware.simulation.statistics import Interval

LESS, MORE, NEITHER = Interval(-2.0, -3.0, -1.0), Interval(2.0, 1.0, 3.0), Interval(-0.1, -1.0, 0.8)
COUNT = st.integers(1, 500)


def told(requests: int, agreed: int, difference: float | None, beside: str = "default-scheduler") -> dict[str, Any]:
    """A report with one comparison."""
    one = {"profile": "tuned", "with": beside, "requests": requests, "agreed": agreed, "agreement": agreed / requests}
    comparison = {**one, "rankCorrelation": 0.5, "loadDifference": difference}
    return {"mode": "active", "shadows": ["tuned"], "dropped": 0, "comparisons": [comparison]}


def hourly(differences: list[float], requests: int = 100) -> list[dict[str, Any]]:
    """Reports that count on: so many requests an hour, each hour with its own mean difference."""
    means = np.cumsum(differences) / np.arange(1, len(differences) + 1)
    return [told(requests * n, 50 * n, float(mean)) for n, mean in enumerate(means, start=1)]


def test_spans_are_what_came_between_two_reports() -> None:
    report = notebook.shadow([told(100, 50, -0.02), told(300, 90, -0.04)])
    assert report.spans.requests.tolist() == [100, 200]
    assert report.spans.agreement.tolist() == pytest.approx([50.0, 20.0])
    assert report.spans.load_points.tolist() == pytest.approx([-2.0, -5.0])
    row = report.comparisons.iloc[0]
    assert (row.requests, row.spans, row.load_points) == (300, 2, pytest.approx(-4.0))


def test_counting_that_began_anew_is_not_taken_for_less_than_nothing() -> None:
    assert spans_of([(10, 5, 1.0), (4, 1, -0.5), (4, 1, -0.5)]).tolist() == [[10, 5, 1.0], [4, 1, -0.5]]


def test_one_report_has_no_interval_and_decides_nothing() -> None:
    report = notebook.shadow(told(5000, 2500, -0.05))
    assert math.isnan(report.comparisons.iloc[0].low)
    verdict = report.verdict()
    assert (verdict.decision, verdict.command) == ("wait", None)
    assert "8 spans are needed" in verdict.reason


def test_emptier_choices_alone_are_no_reason_to_promote() -> None:
    report = notebook.shadow(hourly([-0.03, -0.05] * 6))
    assert report.verdict().decision == "wait"
    assert "a shadow flatters" in report.verdict().reason
    promoted = report.verdict(replayed=LESS)
    assert promoted.decision == "promote"
    assert promoted.command == "loadaware promote config.yaml --profile tuned --keep-old --output config.yaml"


@pytest.mark.parametrize(
    ("change", "replayed", "decision"),
    [
        (LESS, LESS, "promote"),
        (LESS, NEITHER, "wait"),
        (LESS, MORE, "keep"),
        (LESS, None, "wait"),
        (MORE, LESS, "keep"),
        (NEITHER, LESS, "wait"),
        (Interval(-0.1, -0.2, 0.1), LESS, "keep"),
        (Interval(math.nan, math.nan, math.nan), LESS, "wait"),
    ],
)
def test_the_decision_needs_both(change: Interval, replayed: Interval | None, decision: str) -> None:
    assert decide(1000, 20, change, replayed)[0] == decision


@pytest.mark.parametrize(("requests", "spans"), [(199, 20), (1000, 7)])
def test_too_few_decide_nothing_whatever_they_say(requests: int, spans: int) -> None:
    assert decide(requests, spans, LESS, LESS)[0] == decide(requests, spans, MORE, MORE)[0] == "wait"


def test_what_many_requests_dropped_and_little_agreement_mean_is_said() -> None:
    reports = hourly([-0.03] * 9)
    reports[-1]["dropped"] = 5000
    reports[-1]["comparisons"][0]["agreed"] = 401
    caveats = " ".join(notebook.shadow(reports).verdict().caveats)
    assert "5000 requests were left out" in caveats
    assert "agree on 45 %" in caveats


def test_whoever_answered_is_compared_with_rather_than_kube_scheduler() -> None:
    both = told(300, 100, -0.02)
    both["comparisons"] += told(900, 100, -0.04, "kube-scheduler")["comparisons"]
    report = notebook.shadow(both)
    assert report.verdict().beside == "default-scheduler"
    assert report.verdict(beside="kube-scheduler").beside == "kube-scheduler"


def test_a_difference_that_is_not_known_stays_unknown() -> None:
    report = notebook.shadow([told(100, 50, None), told(200, 80, None)])
    assert math.isnan(report.comparisons.iloc[0].load_points)
    assert report.verdict().decision == "wait"


def test_reports_one_after_the_other_in_a_file_are_read(tmp_path: Path) -> None:
    reports = hourly([-0.01] * 3)
    file = tmp_path / "shadow.json"
    file.write_text("\n".join(json.dumps(one, indent=2) for one in reports), encoding="utf-8")
    assert notebook.shadow(file).spans.equals(notebook.shadow(reports).spans)


@pytest.mark.parametrize("text", ["", "{", '{"mode": "active"}', "[1]", '"shadow"'])
def test_a_file_that_holds_something_else_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "shadow.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"shadow\.json"):
        notebook.shadow(file)


def test_a_profile_that_nobody_told_of_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match="tuned beside default-scheduler"):
        notebook.shadow(told(10, 5, 0.0)).verdict("other")


def test_an_empty_report_names_nobody() -> None:
    empty = {"mode": "active", "shadows": [], "dropped": 0, "comparisons": []}
    with pytest.raises(ConfigError, match="there are: none"):
        notebook.shadow(empty).verdict()


@given(st.lists(st.tuples(COUNT, st.floats(-1, 1)), min_size=2, max_size=20))
def test_an_interval_holds_its_value_or_touches_it(spans: list[tuple[int, float]]) -> None:
    counts = np.array([count for count, _ in spans], dtype=np.float64)
    totals = counts * np.array([mean for _, mean in spans])
    found = ratio(totals, counts)
    assert found.value == pytest.approx(totals.sum() / counts.sum())
    assert found.low <= found.high + 1e-12


@given(st.lists(st.tuples(COUNT, COUNT, st.floats(-100, 100)), min_size=1, max_size=20))
def test_spans_of_counts_that_grow_add_up_to_the_last_count(steps: list[tuple[int, int, float]]) -> None:
    counts = np.cumsum(np.array(steps, dtype=np.float64), axis=0)
    assert spans_of([tuple(row) for row in counts.tolist()]).sum(axis=0) == pytest.approx(counts[-1], abs=1e-6)


def test_spans_that_are_like_the_next_make_the_interval_wider() -> None:
    waves = np.repeat([1.0, -1.0, 1.0, -1.0], 5)
    shuffled = np.random.default_rng(1).permutation(waves)
    counts = np.full(20, 100.0)
    assert likeness(waves) > 0.5 > likeness(shuffled)
    one, other = ratio(100 * waves, counts), ratio(100 * shuffled, counts)
    assert one.high - one.low > 1.5 * (other.high - other.low)
    assert likeness(np.ones(9)) == likeness(np.array([1.0, 2.0])) == 0.0
