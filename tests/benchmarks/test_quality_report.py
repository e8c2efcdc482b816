"""The page of the quality benchmark, from outcomes that are made up: what it says, and what it says is missing."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from loadaware.simulation.sensitivity import ROBUSTNESS, SENSITIVITY
from loadaware.simulation.stage import Setup
from loadaware.simulation.trial import Outcome, Trial
from tests.benchmarks.quality_plan import (
    ADOPTED,
    CONSTANT,
    CONTENDERS,
    FEW,
    KOORDINATOR,
    LOADS,
    ORACLE,
    OTHERS,
    OURS,
    REFERENCES,
    RULER,
    Quality,
    best_peer,
)
from tests.benchmarks.quality_report import Origin, further_report, page_name, picture, report

QUALITY = Quality(Setup(), ("planetlab", "bitbrains"), tuple(range(4)))
ORIGIN = Origin("make benchmark-quality", "abc123", "2026-01-05", "2 cores", "Usage is made up.")
HOT = {"default": 6.0, "random": 14.0, "clairvoyant": 0.5, "offline": 0.4, OURS: 1.0, "Trimaran/TargetLoadPacking": 2.0}


def outcome(trial: Trial) -> Outcome:
    """As the table says, everybody else 5, and each seed a little worse than the one before."""
    hot = HOT.get(trial.policy, 5.0) * (1.0 + 0.01 * trial.seed)
    return Outcome(
        hot80=hot, hot90=hot / 2, unserved=hot / 10, std=8.0, p99=91.0, pending=0.0, together=1.0,
        memory90=0.0, utilization=50.0,
        seconds=1.0,
    )  # fmt: skip


def measured(wanted: Callable[[Trial], bool] = lambda trial: True) -> dict[Trial, Outcome]:
    """Outcomes of all that the plan asks for, of those that are wanted."""
    outcomes: dict[Trial, Outcome] = {}
    for sections in QUALITY.stages(outcomes):
        for section in sections:
            outcomes |= {trial: outcome(trial) for trial in section.trials(QUALITY.seeds) if wanted(trial)}
    return outcomes


@pytest.fixture(scope="module")
def page() -> str:
    return report(QUALITY, measured(), ORIGIN)


@pytest.fixture(scope="module")
def further() -> str:
    return further_report(QUALITY, measured(), ORIGIN, "bitbrains")


def test_it_begins_with_what_it_comes_to(page: str) -> None:
    headline = page.split("\n\n")[2]
    # means over four seeds: 1.015 times the table
    assert "leaves 1.01 % of node-time above 80 %" in headline or "leaves 1.02 % of node-time above 80 %" in headline
    assert "kube-scheduler's default alone leaves 6.09 %" in headline
    assert "the best peer (`Trimaran/TargetLoadPacking`) 2.03 %" in headline
    # 100 * (6 - 1) / (6 - 0.4), in every resample
    assert "Gap closed, in percent: hot80 89, CPU wanted and not had 89." in headline
    assert "better than the best peer in 4 of 4 paired runs" in headline
    assert "In the worst of 11 other circumstances" in headline


def test_it_says_where_the_figures_come_from(page: str) -> None:
    assert "`make benchmark-quality` on 2026-01-05, commit abc123, on 2 cores. Usage is made up." in page
    assert "4 paired runs a load, 100 nodes, 24 h judged after 6 h of warm-up." in page
    assert "A run took 1 s by the clock, one of ten more than 1 s" in page


def test_the_contenders_at_the_middle_load_are_drawn() -> None:
    drawn = picture(QUALITY, measured())
    assert "PlanetLab: load 50 %, 100 nodes, 4 runs of 24 h" in drawn
    assert all(f">{name}<" in drawn for name in (OURS, "default", ORACLE, *CONTENDERS, *REFERENCES))
    assert not any(f">{name}<" in drawn for name in ("random", CONSTANT))
    assert not picture(QUALITY, {})


def test_a_further_data_set_has_a_page_of_its_own(page: str, further: str) -> None:
    assert "Another data set has [a page of its own](quality-bitbrains.md): Bitbrains." in page
    assert "## Bitbrains" not in page
    assert further.startswith("# Placement quality: Bitbrains\n\nWritten by `make benchmark-quality` on 2026-01-05")
    assert "[placement quality](quality.md#how-to-read-it)" in further
    assert "## PlanetLab" not in further
    assert [page_name(replace(QUALITY, datasets=("",)), ""), page_name(QUALITY, "planetlab")] == [
        "quality-generated",
        "quality",
    ]


def test_every_load_of_every_data_set_has_a_table_of_the_contenders_with_the_best_first(
    page: str, further: str
) -> None:
    for name, told in (("PlanetLab", page), ("Bitbrains", further)):
        for load in LOADS:
            (section,) = [part for part in told.split("\n## ") if part.startswith(f"{name}: load {100 * load:.0f} %")]
            rows = [line.split(" | ")[0].strip("|* ") for line in section.splitlines() if line.startswith("| ")][2:]
            assert rows[:3] == ["offline", "clairvoyant", OURS]
            ruler = RULER if name == "PlanetLab" else RULER[:1]
            assert rows[-1] == ("random" if "random" in ruler else "default")
            assert {*ruler, *CONTENDERS} <= set(rows)
            assert len(rows) == len(ruler) + 2 * len(CONTENDERS) + len([KOORDINATOR, *REFERENCES])
            assert "\n\n4 paired runs.\n\n" in section


def test_the_others_and_other_weights_have_tables_of_their_own_on_every_data_set(page: str, further: str) -> None:
    tables = len(LOADS)
    for told, adopted in ((page, tables), (further, 0)):
        for name in (*OTHERS, *(f"{name}*3+default" for name in OTHERS)):
            as_contender = tables if name == KOORDINATOR else 0
            assert told.count(f"| {name} | ") == tables + as_contender
        for name in (*CONTENDERS, KOORDINATOR):
            assert told.count(f"| {name}*10+default | ") == tables
        assert told.count(f"| {CONSTANT} | ") == tables
        for name in ADOPTED:
            assert told.count(f"| {name} | ") == adopted
        assert told.count(f"\n\n{FEW} paired runs.\n\n") == 2 * tables + adopted


def test_duels_and_tests_are_there(page: str) -> None:
    # four pairs, all won: 2 of 2^4 signs are as far out
    assert (
        "| 50 % | hot80 | Trimaran/TargetLoadPacking | 2.03 | 1.01 | -1.01 (-1.03..-1.00) | 4 | 0 | 0 | 0.12 |"
        in page.replace("1.02", "1.01")
    )


def test_runs_that_are_won_are_counted_at_each_load_and_at_all(page: str) -> None:
    what = "better than the best peer on hot80 in 9 of 10 runs that differ"
    assert f"{what} | 4 of 4 against `Trimaran/TargetLoadPacking` | yes |" in page
    assert "| all loads: better than the best peer on hot80 in 9 of 10 runs that differ | 12 of 12 | yes |" in page
    two = report(QUALITY, measured(lambda trial: trial.setup.scenario.load < 0.6), ORIGIN)
    assert "all loads:" not in two


def test_every_circumstance_has_a_row(page: str) -> None:
    for name, circumstance in {**SENSITIVITY, **ROBUSTNESS}.items():
        assert f"| {name} | {circumstance.meaning} | {FEW} |" in page


def test_when_all_is_measured_nothing_is_missing(page: str) -> None:
    assert page.endswith("## Not measured yet\n\nNothing: every run of the plan is in.\n")


def test_a_part_of_the_runs_makes_a_page_that_says_so() -> None:
    outcomes = measured(lambda trial: trial.seed < 2 and trial.dataset == "planetlab")
    half = report(QUALITY, outcomes, ORIGIN)
    assert "better than the best peer in 2 of 2 paired runs" in half
    assert "Only 2 of 4 runs are done." in half
    assert f"Only 2 of {FEW} runs are done." in half
    assert "- PlanetLab, load 50 %: 2 of 4 runs" in half
    assert f"- PlanetLab, the other plugins at load 65 %: 2 of {FEW} runs" in half
    assert f"- PlanetLab, 20-nodes at load 50 %: 2 of {FEW} runs" in half
    nothing = further_report(QUALITY, outcomes, ORIGIN, "bitbrains")
    assert "- Bitbrains, load 65 %: 0 of 4 runs" in nothing
    assert "## Bitbrains: load 65 %\n\nNot run yet." in nothing
    assert "Nothing can be judged yet." in nothing


def test_a_seed_counts_only_if_everybody_ran_it() -> None:
    lacking = report(QUALITY, measured(lambda trial: (trial.seed, trial.policy) != (1, "random")), ORIGIN)
    assert "better than the best peer in 3 of 3 paired runs" in lacking


def test_where_nobody_is_hot_there_is_no_gap_and_no_average_of_gaps() -> None:
    cold = {trial: msgspec.structs.replace(made, hot80=0.0) for trial, made in measured().items()}
    page = report(QUALITY, cold, ORIGIN)
    assert "hot80 no gap, CPU wanted and not had 89." in page
    assert "nan" not in page
    assert "In the worst of" not in page


def test_nothing_at_all_makes_a_page_too() -> None:
    empty = report(QUALITY, {}, ORIGIN)
    assert "**No comparison is complete yet.**" in empty
    assert "0 of 4 runs" in empty


def test_the_best_are_chosen_by_their_means() -> None:
    runs = QUALITY.at_load("planetlab", 0.5).complete(measured(), QUALITY.seeds)
    assert best_peer(runs, "hot80") == "Trimaran/TargetLoadPacking"
    assert best_peer({}, "hot80") is None


def test_without_recordings_there_is_one_data_set() -> None:
    generated = replace(QUALITY, datasets=("",))
    assert "## Generated usage: load 35 %" in report(generated, {}, ORIGIN)


def test_the_gap_is_told_against_either_reference_and_for_the_oracle(page: str) -> None:
    section = page.split("## Against either reference")[1].split("##", maxsplit=1)[0]
    rows = [line for line in section.splitlines() if "| hot80 |" in line]
    # ours 1 of 6, the oracle 5: 100 * 5 / 5.5 and 100 * 5 / 5.6, 100 * 1 / 5.5 and 100 * 1 / 5.6
    assert rows == [f"| {100 * load:.0f} % | hot80 | 91 | 89 | 18 | 18 |" for load in sorted(LOADS)]


# -- What must hold -------------------------------------------------------------------------------------------------


def held(page: str) -> dict[str, tuple[str, str]]:
    """What was measured and whether it holds, by what must."""
    table = page.split("| must hold |")[1].split("\n\n", maxsplit=1)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {what: (measured, holds) for what, measured, holds in rows}


def test_what_must_hold_is_judged_first(page: str, further: str) -> None:
    said = held(page)
    # 100 * (6 - 1) / (6 - 0.5), and to the offline plan / (6 - 0.4)
    assert said["50 % load: hot80 gap to `clairvoyant` closed by 86 % at least, interval up to 88 %"] == ("91", "yes")
    assert said["50 % load: unserved gap closed by 94 % at least"] == ("89", "**no**")
    assert said["65 % load: better than the best peer on hot80 in 9 of 10 runs that differ"] == (
        "4 of 4 against `Trimaran/TargetLoadPacking`",
        "yes",
    )
    assert said["50 % load: who is told true means is no worse than who learns"][1] == "**no**"  # 5 by the table
    assert held(further) == {
        f"{100 * load:.0f} % load: behind the best peer on no metric beyond the interval": ("on none", "yes")
        for load in LOADS
    }
    assert said["worst of 11 of 11 settings: hot80 gap closed by 70 % at least"][1] == "yes"


@pytest.mark.parametrize("ahead", ["Trimaran/Peaks*3+default", "Trimaran/TargetLoadPacking*10+default"])
def test_who_is_ahead_in_few_runs_or_at_another_weight_is_given_all_runs_and_is_the_best_peer(
    monkeypatch: pytest.MonkeyPatch, page: str, ahead: str
) -> None:
    assert page.count("Nobody: the best peer is a contender.") == len(LOADS)
    monkeypatch.setitem(HOT, ahead, 0.45)
    told = report(QUALITY, measured(), ORIGIN)
    assert "Nobody" not in told
    measured_at, holds = held(told)["65 % load: better than the best peer on hot80 in 9 of 10 runs that differ"]
    assert measured_at == f"0 of 4 against `{ahead}`"
    assert holds == "**no**"


def test_who_is_ahead_by_any_metric_is_given_all_runs_and_is_the_best_peer_of_that() -> None:
    ahead = "LowestUsage"

    def calm_is_ahead(trial: Trial) -> Outcome:
        return msgspec.structs.replace(outcome(trial), std=4.0) if trial.policy == ahead else outcome(trial)

    outcomes: dict[Trial, Outcome] = {}
    for sections in QUALITY.stages(outcomes):
        for section in sections:
            outcomes |= {trial: calm_is_ahead(trial) for trial in section.trials(QUALITY.seeds)}
    page = further_report(QUALITY, outcomes, ORIGIN, "bitbrains")
    assert page.count(f"| std | {ahead} | 4.0 | 8.0 | 4.0 (4.0..4.0) | 0 | 0 | 4 | 0.12 |") == len(LOADS)
    assert held(page)["50 % load: behind the best peer on no metric beyond the interval"] == (
        "behind on std",
        "**no**",
    )


def test_a_run_in_which_both_are_the_same_is_drawn_and_decides_nothing() -> None:
    outcomes = measured()
    for trial, made in outcomes.items():
        if trial.seed == 0 and trial.setup.scenario.load == 0.35:
            outcomes[trial] = msgspec.structs.replace(made, unserved=0.0)
    said = held(report(QUALITY, outcomes, ORIGIN))
    what = "better than the best peer on unserved in 9 of 10 runs that differ"
    assert said[f"35 % load: {what}"] == ("3 of 4, 1 drawn, against `Trimaran/TargetLoadPacking`", "yes")
    assert said[f"all loads: {what}"] == ("11 of 12, 1 drawn", "yes")


def test_who_is_behind_on_another_data_set_beyond_the_interval_is_told() -> None:
    six = replace(QUALITY, seeds=tuple(range(6)))
    outcomes: dict[Trial, Outcome] = {}
    for sections in six.stages(outcomes):
        for section in sections:
            outcomes |= {trial: outcome(trial) for trial in section.trials(six.seeds)}
    for trial, made in outcomes.items():
        if trial.dataset == "bitbrains" and trial.policy == "Trimaran/TargetLoadPacking":
            outcomes[trial] = msgspec.structs.replace(made, unserved=0.001)
    said = held(further_report(six, outcomes, ORIGIN, "bitbrains"))
    assert said["65 % load: behind the best peer on no metric beyond the interval"] == (
        "behind on unserved",
        "**no**",
    )


def test_a_data_set_with_fewer_runs_is_complete_with_those() -> None:
    many = replace(QUALITY, seeds=tuple(range(8)))
    outcomes: dict[Trial, Outcome] = {}
    for sections in many.stages(outcomes):
        for section in sections:
            outcomes |= {trial: outcome(trial) for trial in section.trials(many.seeds)}
    for page in (report(many, outcomes, ORIGIN), further_report(many, outcomes, ORIGIN, "bitbrains")):
        assert "runs are done" not in page
        assert page.endswith("Nothing: every run of the plan is in.\n")
    assert "6 paired runs a load" in page
