"""The page that stands beside the prototype's figures, from outcomes that are made up."""

import pytest

from loadaware.simulation.policy_names import parse
from loadaware.simulation.stage import Setup
from loadaware.simulation.trial import Outcome, Trial
from tests.benchmarks.prototype_page import FIGURES, Prototype, report
from tests.benchmarks.quality_plan import LOADS, ORACLE, OURS, REFERENCES
from tests.benchmarks.quality_report import Origin

PLAN = Prototype(Setup(), (0, 1))
ORIGIN = Origin("make benchmark-prototype", "abc123", "2026-01-05", "2 cores", "Usage is made up.")
HOT = {"default": 6.0, "clairvoyant": 1.0, "offline": 0.0, OURS: 2.0, ORACLE: 1.5}


def outcome(policy: str) -> Outcome:
    hot = HOT.get(policy, 5.0)
    return Outcome(
        hot80=hot, hot90=hot / 2, unserved=hot / 10, std=8.0, p99=91.0, pending=0.0, together=1.0,
        memory90=0.0, utilization=50.0, seconds=1.0,
    )  # fmt: skip


def measured(loads: tuple[float, ...] = LOADS) -> dict[Trial, Outcome]:
    trials = [trial for load in loads for trial in PLAN.at_load(load).trials(PLAN.seeds)]
    return {trial: outcome(trial.policy) for trial in trials}


@pytest.fixture(scope="module")
def page() -> str:
    return report(PLAN, measured(), ORIGIN)


def test_everything_is_run_in_the_prototypes_setting_at_every_load() -> None:
    (sections,) = PLAN.stages({})
    assert [section.load for section in sections] == list(LOADS)
    for section in sections:
        assert section.setup.scenario.load_before_limits
        assert section.setup.scenario.arrivals.even_bursts
        assert not section.setup.scenario.workloads.jobs
        assert set(section.policies) == {*FIGURES, ORACLE, *REFERENCES}
        for policy in section.policies:
            parse(policy)


def test_figures_stand_beside_those_of_the_prototype(page: str) -> None:
    assert "| default | 6.00 (0.43) | 6.00 (5.7) | 6.00 (23) |" in page
    assert f"| {OURS} | 2.00 (0.02) | 2.00 (1) | 2.00 (12) |" in page


def test_what_is_left_of_the_default_is_told_without_any_reference(page: str) -> None:
    assert f"| {OURS} | 33 (5) | 33 (18) | 33 (52) |" in page


def test_the_gap_is_told_against_either_reference(page: str) -> None:
    assert "| 65 % | hot80 | 80 | 67 | 90 | 75 |" in page


def test_it_says_where_the_figures_come_from_and_how_many_there_are(page: str) -> None:
    assert "`make benchmark-prototype` on 2026-01-05, commit abc123, on 2 cores. Usage is made up." in page
    assert "Paired runs: 2 at 35 %, 2 at 50 %, 2 at 65 % load; 2 are wanted." in page


def test_what_was_not_run_is_left_out() -> None:
    told = report(PLAN, measured((0.5,)), ORIGIN)
    assert "Paired runs: 2 at 50 % load; 2 are wanted." in told
    assert "| hot80 | 50 % |\n" in told
    assert "Nothing was run yet." in report(PLAN, {}, ORIGIN)
