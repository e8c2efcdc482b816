"""`loadaware simulate` below the command line: what is checked, what is run, what is shown."""

import io
import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from loadaware import simulating
from loadaware.errors import ConfigError, LoadAwareError
from loadaware.simulating import Lines, Options, Plan
from loadaware.simulation.run_store import Keys, RunStore
from loadaware.simulation.trial import Outcome, Trial

SMALL = Options(nodes=6, hours=0.5, warm_up_hours=0.25, seeds=2, policies=("default", "random", "clairvoyant"))


def outcome(hot80: float) -> Outcome:
    return Outcome(
        hot80=hot80, hot90=hot80, unserved=hot80, std=8.0, p99=91.0, pending=0.0, together=math.nan,
        memory90=0.0, utilization=50.0,
        seconds=3.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def plan() -> Plan:
    return simulating.plan(SMALL)


OUTCOMES = {
    "default": [outcome(4.0), outcome(6.0)],
    "EntropicRisk*3+default": [outcome(2.0), outcome(2.0)],
    "clairvoyant": [outcome(1.0), outcome(1.0)],
}


def save_day(folder: Path, name: str = "lab-1.npz") -> None:
    drawn = np.random.default_rng(1).integers(0, 100, size=(30, 288), dtype=np.uint8)
    np.savez(folder / name, cpu_percent=drawn)


def test_a_plan_pairs_every_policy_with_every_seed(plan: Plan) -> None:
    assert [(trial.seed, trial.policy) for trial in plan.trials] == [
        (seed, policy) for seed in (0, 1) for policy in SMALL.policies
    ]
    assert plan.setup.scenario.duration_seconds == 0.75 * 3600
    assert plan.setup.engine.warm_up_seconds == 0.25 * 3600
    assert plan.setup.scenario.load_between[0] == plan.setup.scenario.start + 0.25 * 3600


def test_a_policy_named_twice_is_run_once() -> None:
    twice = replace(SMALL, policies=("default", "random", " default"), seeds=1)
    assert simulating.plan(twice).policies == ("default", "random")


def test_recorded_days_are_used(tmp_path: Path) -> None:
    save_day(tmp_path)
    recorded = simulating.plan(replace(SMALL, traces=str(tmp_path), dataset="lab"))
    assert [day.name for day in recorded.days["lab"]] == ["lab-1"]
    assert "usage from lab" in recorded.title


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policies": ("default", "defualt")}, "there is no policy called 'defualt'; did you mean 'default'?"),
        ({"settings": ("tigt",)}, "there is no setting called 'tigt'; did you mean 'tight'?"),
        ({"dataset": "lab"}, "--dataset: chooses among the files of a folder; give --traces FOLDER, too"),
        ({"traces": "nowhere"}, "nowhere: there is no such folder"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(changes: dict[str, object], message: str) -> None:
    with pytest.raises(LoadAwareError) as raised:
        simulating.plan(replace(SMALL, **changes))  # type: ignore[arg-type]
    assert message in str(raised.value)


def test_an_empty_folder_and_a_broken_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadAwareError, match="holds no traces"):
        simulating.plan(replace(SMALL, traces=str(tmp_path)))
    (tmp_path / "lab-2.npz").write_bytes(b"no archive")
    with pytest.raises(LoadAwareError, match=r"lab-2\.npz: cannot be read as traces"):
        simulating.plan(replace(SMALL, traces=str(tmp_path)))


def test_a_load_that_cannot_be_reached_is_refused_with_the_seed(plan: Plan) -> None:
    scenario = plan.setup.scenario
    weak = replace(scenario, workloads=replace(scenario.workloads, most_cores=0.01))
    impossible = replace(plan, setup=replace(plan.setup, scenario=weak))
    with pytest.raises(ConfigError, match=r"--load: seed 0: a load of 50% cannot be met: .*; ask for another"):
        simulating._check_load(impossible)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("quality.png", "a picture is written as SVG, not as '.png'; name it *.svg"),
        ("quality", "not as 'quality'"),
        ("/nowhere/at/all.svg", "there is no folder /nowhere/at"),
    ],
)
def test_a_picture_that_could_not_be_written_is_refused(file: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        simulating.check_picture(file)
    assert message in str(raised.value)


def test_a_picture_is_written(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "quality.svg"
    simulating.check_picture(str(file))
    simulating.write_picture(plan, simulating.summary(OUTCOMES), str(file))
    assert file.read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(ConfigError, match="cannot be written"):
        simulating.write_picture(plan, simulating.summary(OUTCOMES), str(tmp_path))


def test_a_store_in_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="--resume: there is no folder /nowhere"):
        simulating.open_store("/nowhere/runs.jsonl", {})


def test_what_is_stored_is_not_run_again(plan: Plan, tmp_path: Path) -> None:
    file = str(tmp_path / "runs.jsonl")
    store = simulating.open_store(file, {})
    for number, trial in enumerate(plan.trials[1:]):
        store.add(trial, outcome(float(number)))
    again = simulating.open_store(file, {})
    outcomes = simulating.run(plan, 1, again)
    assert outcomes["random"] == pytest.approx([outcome(0.0), outcome(3.0)], nan_ok=True)
    assert len(again) == len(plan.trials) == len(simulating.open_store(file, {}))


def test_ctrl_c_keeps_what_is_done(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted(RunStore):
        def add(self, trial: Trial, outcome: Outcome) -> None:
            super().add(trial, outcome)
            raise KeyboardInterrupt

    store = Interrupted(tmp_path / "runs.jsonl", Keys({}))
    with pytest.raises(simulating.Stopped, match="stopped after 1 of 6 runs"):
        simulating.run(plan, 1, store)
    assert len(simulating.open_store(str(tmp_path / "runs.jsonl"), {})) == 1


def test_json_has_every_figure_and_null_for_what_is_no_number(plan: Plan) -> None:
    made = simulating.as_json(plan, simulating.summary(OUTCOMES))
    encoded = msgspec.json.encode(made)
    read = msgspec.json.decode(encoded)
    assert b"NaN" not in encoded
    assert (read["load"], read["runs"]) == (0.5, 2)
    ours = read["policies"]["EntropicRisk*3+default"]
    assert {"hot80", "hot90", "unserved", "std", "p99", "pending", "gapClosed"} <= set(ours)
    # default 5, ours 2, clairvoyant 1: 100 * (5 - 2) / (5 - 1); with the first run alone 67, with the second 80
    assert ours["gapClosed"]["hot80"] == pytest.approx([75.0, 100 * 2 / 3, 80.0])
    assert ours["together"] is None
    assert ours["gapClosed"]["std"] == [None, None, None]
    assert ours["each"]["hot80"] == [2.0, 2.0]


def test_json_without_a_reference_has_no_gap(plan: Plan) -> None:
    made = simulating.as_json(plan, simulating.summary({"default": OUTCOMES["default"]}))
    assert made["policies"]["default"]["gapClosed"] == {}


@pytest.mark.parametrize(("width", "wide"), [(200, True), (80, False)])
def test_a_table_fits_the_terminal(plan: Plan, width: int, wide: bool) -> None:
    written = io.StringIO()
    console = Console(file=written, width=width, force_terminal=True, color_system=None, markup=False, highlight=False)
    simulating.print_table(plan, simulating.summary(OUTCOMES), console)
    lines = written.getvalue().splitlines()
    assert "load 50 %, 6 nodes, 2 runs of 0.5 h, generated usage" in lines[0]
    (row,) = [line for line in lines if "EntropicRisk*3+default" in line]
    assert "75 (67..80)" in row
    assert ("91.0" in row, "8.0" in row) == (True, wide)
    assert max(len(line) for line in lines if line.startswith(("│", "┃"))) <= width


def test_lines_of_progress_are_few_and_tell_the_time_left(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = Lines(total=100, done=10, clock=lambda: now[0])
    for trial in plan.trials * 10:
        now[0] += 6.0
        lines.hear(trial, 0.5)
        lines.finish(trial)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "loadaware: 10 of 100 runs are done already"
    assert said[1] == "loadaware: 13 of 100 runs, about 9 min left"  # 87 runs of 6 s
    assert len(said) == 1 + 60 // 3


def test_the_bar_counts_runs(plan: Plan) -> None:
    written = io.StringIO()
    console = Console(file=written, width=100, force_terminal=True, no_color=True)
    with simulating.bar(console, total=6, done=1) as (hear, finish):
        hear(plan.trials[0], 0.5)
        finish(plan.trials[0])
    assert "2 of 6 runs" in written.getvalue()
