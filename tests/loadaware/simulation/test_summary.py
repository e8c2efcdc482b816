"""Means and gaps over paired runs."""

import pytest

from loadaware.simulation.summary import METRICS, best_reference, columns, summarize
from loadaware.simulation.trial import Outcome


def outcome(hot80: float, unserved: float = 1.0) -> Outcome:
    return Outcome(
        hot80=hot80, hot90=hot80 / 2, unserved=unserved, std=8.0, p99=91.0, pending=0.5, together=2.0,
        memory90=0.0, utilization=50.0,
        seconds=3.0,
    )  # fmt: skip


RUNS = {
    "default": [outcome(5.0, 1.0), outcome(7.0, 3.0)],
    "EntropicRisk": [outcome(2.0, 0.0), outcome(2.0, 1.0)],
    "clairvoyant": [outcome(1.0, 0.5), outcome(1.0, 0.5)],
    "offline": [outcome(0.5, 1.0), outcome(1.0, 1.0)],
}


def test_a_summary_has_means_and_the_gap_to_the_best_reference_of_each_metric() -> None:
    found = summarize(RUNS)["EntropicRisk"]
    assert found.mean("hot80") == 2.0
    assert found.mean("pending") == 0.5
    # the best is offline for hot80, mean 0.75, and the clairvoyant for unserved, mean 0.5
    assert found.gap_closed["hot80"].value == pytest.approx(100.0 * (6.0 - 2.0) / (6.0 - 0.75))
    assert found.gap_closed["unserved"].value == pytest.approx(100.0 * (2.0 - 0.5) / (2.0 - 0.5))
    assert set(found.gap_closed) == set(METRICS)


@pytest.mark.parametrize("missing", [["default"], ["clairvoyant", "offline"]])
def test_without_default_or_reference_there_is_no_gap(missing: list[str]) -> None:
    runs = {name: outcomes for name, outcomes in RUNS.items() if name not in missing}
    assert summarize(runs)["EntropicRisk"].gap_closed == {}


def test_one_reference_is_enough() -> None:
    runs = {name: outcomes for name, outcomes in RUNS.items() if name != "offline"}
    assert summarize(runs)["clairvoyant"].gap_closed["hot80"].value == pytest.approx(100.0)


def test_the_best_reference_is_chosen_by_mean() -> None:
    each = {name: columns(outcomes) for name, outcomes in RUNS.items()}
    assert best_reference(each, "hot80") == "offline"
    assert best_reference(each, "unserved") == "clairvoyant"
    assert best_reference({}, "hot80") is None
