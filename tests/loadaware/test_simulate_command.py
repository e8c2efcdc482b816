"""`loadaware simulate` from the outside: figures, refusals, and being stopped."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from loadaware.cli import cli
from loadaware.simulating import Options, setup_of
from loadaware.simulation.stage import day_of, make_stage
from loadaware.simulation.traces import load_traces
from loadaware.simulation.trial import run_trial
from tests.parts.processes import PATIENCE_SECONDS, is_alive, wait_for

SIZE = ["--nodes", "6", "--hours", "0.75", "--warm-up", "0.25", "--seeds", "2"]
CHOSEN = ["default", "EntropicRisk*3+default", "clairvoyant"]
POLICIES = [word for name in CHOSEN for word in ("--policy", name)]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["simulate", *arguments], prog_name="loadaware")


def refused(*arguments: str) -> str:
    """The line on standard error of a command that refuses."""
    result = run(*SIZE, *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two recorded days that are nobody's."""
    folder = tmp_path_factory.mktemp("traces")
    for day in (1, 2):
        drawn = np.random.default_rng(day).integers(0, 100, size=(30, 48), dtype=np.uint8)
        np.savez(folder / f"lab-{day}.npz", cpu_percent=drawn)
    return str(folder)


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    return {name: {**figures, "seconds": 0} for name, figures in result["policies"].items()}


def test_json_has_the_figures_of_the_runs_whatever_the_number_of_processes(traces: str) -> None:
    asked = [*SIZE, *POLICIES, "--traces", traces, "--output", "json"]
    results = [json.loads(run(*asked, "--jobs", jobs).stdout) for jobs in ("1", "2")]
    assert without_times(results[0]) == without_times(results[1])
    found = results[0]
    assert (found["load"], found["runs"], found["traces"]) == (0.5, 2, ["lab-1", "lab-2"])

    setup = setup_of(Options(nodes=6, hours=0.75, warm_up_hours=0.25))
    days = load_traces(traces)
    for name in CHOSEN:
        each = [run_trial(make_stage(setup, day_of(days, seed), seed), name) for seed in (0, 1)]
        for figure in ("hot80", "hot90", "unserved", "std", "p99", "pending"):
            expected = float(np.mean([getattr(outcome, figure) for outcome in each]))
            assert found["policies"][name][figure] == pytest.approx(expected)
    std = {name: found["policies"][name]["std"] for name in CHOSEN}
    gap = 100 * (std["default"] - std[CHOSEN[1]]) / (std["default"] - std["clairvoyant"])
    value, low, high = found["policies"][CHOSEN[1]]["gapClosed"]["std"]
    assert value == pytest.approx(gap)
    assert low <= value <= high


def test_a_table_a_picture_and_a_file_to_go_on_from(tmp_path: Path) -> None:
    kept, picture = tmp_path / "runs.jsonl", tmp_path / "quality.svg"
    asked = [*SIZE, "--policy", "default", "--policy", "random", "--jobs", "1", "--resume", str(kept)]
    first = run(*asked, "--plot", str(picture))
    assert first.exit_code == 0, first.output
    assert "load 50 %, 6 nodes, 2 runs of 0.75 h, generated usage" in first.stdout
    assert picture.read_text(encoding="utf-8").count("<circle") == 2 * 2 * (2 + 1)
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 4
    again = run(*asked)
    assert again.stdout == first.stdout
    assert again.stderr == "loadaware: 4 of 4 runs are done already\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--policy", "Entropic"],
            "loadaware: --policy: there is no policy called 'Entropic'; did you mean 'EntropicRisk'?",
        ),
        (["--policy", "EntropicRisk{a: 1}"], "args.a: there is no such setting"),
        (
            ["--setting", "20nodes"],
            "loadaware: --setting: there is no setting called '20nodes'; did you mean '20-nodes'?",
        ),
        (["--traces", "nowhere"], "loadaware: nowhere: there is no such folder"),
        (["--plot", "nowhere/x.svg"], "loadaware: --plot: there is no folder nowhere"),
        (["--plot", "x.png"], "loadaware: --plot: a picture is written as SVG"),
        (["--resume", "nowhere/x"], "loadaware: --resume: there is no folder nowhere"),
        (["--load", "1.5"], "Invalid value for '--load'"),
        (["--seeds", "0"], "Invalid value for '--seeds'"),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_runs(arguments: list[str], message: str) -> None:
    told = refused(*arguments)
    assert message in told
    assert "runs" not in told
    assert "Traceback" not in told


def test_a_picture_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    assert refused("--plot", str(folder)) == f"loadaware: --plot: {folder} is a folder; name a file in it\n"


def test_a_load_that_one_of_many_seeds_cannot_meet_is_refused_before_anything_runs() -> None:
    result = run("--nodes", "2", "--hours", "0.5", "--warm-up", "0", "--load", "0.05", "--seeds", "60")
    assert result.exit_code == 2, result.output
    first, told = result.stderr.splitlines()
    assert first == "loadaware: first 60 scenarios are made, to see whether the load can be met in all of them"
    assert "--load: seed " in told


def test_of_several_data_sets_the_days_that_are_used_are_named(traces: str, tmp_path: Path) -> None:
    for name in ("lab-1", "lab-2"):
        shutil.copy(Path(traces, f"{name}.npz"), tmp_path)
    shutil.copy(Path(traces, "lab-1.npz"), tmp_path / "field-1.npz")
    asked = [*SIZE, "--policy", "random", "--jobs", "1", "--traces", str(tmp_path), "--output", "json"]
    result = run(*asked)
    assert f"loadaware: {tmp_path} holds field, lab; runs follow field-1, lab-1 (see --dataset)" in result.stderr
    assert json.loads(result.stdout)["traces"] == ["field-1", "lab-1"]
    assert "holds" not in run(*asked, "--dataset", "lab").stderr


def test_what_is_not_a_number_is_a_dash_in_the_table() -> None:
    told = run("--nodes", "2", "--hours", "0.1", "--warm-up", "0", "--seeds", "1", "--policy", "random", "--jobs", "1")
    assert told.exit_code == 0, told.output
    assert "nan" not in told.stdout


def test_recorded_days_of_which_none_is_meant_are_refused(traces: str) -> None:
    assert "holds no data set 'planets'; there are: lab" in refused("--traces", traces, "--dataset", "planets")


def test_help_teaches_policies_settings_and_examples() -> None:
    told = run("--help").stdout
    for word in (
        "EntropicRisk*3+default",
        "clairvoyant, offline",
        "20-nodes",
        "loadaware simulate --traces",
        "--resume",
    ):
        assert word in told


def test_ctrl_c_ends_all_processes_and_keeps_what_is_done(tmp_path: Path) -> None:
    kept = tmp_path / "runs.jsonl"
    command = [sys.executable, "-m", "loadaware", "simulate", "--nodes", "6", "--hours", "2", "--warm-up", "0"]
    command += ["--seeds", "100", "--policy", "random", "--jobs", "2", "--resume", str(kept)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: process.poll() is not None or kept.read_bytes().count(b"\n") >= 2, "some runs")
        assert process.poll() is None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in told
    done = len(kept.read_text(encoding="utf-8").splitlines())
    rest = f"of 100 runs; they are kept in {kept}, the same command goes on from there\n"
    assert told.endswith((f"loadaware: stopped after {done} {rest}", f"loadaware: stopped after {done - 1} {rest}"))
    assert len(children) >= 2
    wait_for(lambda: not any(is_alive(int(child)) for child in children), "the end of all of them")


@pytest.mark.parametrize("option", ["--load", "--hours", "--warm-up"])
def test_what_is_not_a_number_is_refused_by_its_own_name(option: str) -> None:
    told = run(option, "nan")
    assert told.exit_code == 2
    assert f"Invalid value for '{option}': 'nan' is not a number" in told.output
