"""`loadaware tune` and `promote` from the outside: files, refusals, being stopped and going on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loadaware.cli import cli
from loadaware.config import load, parse
from tests.loadaware.recorded_runs import START, Recording, packed_history
from tests.parts.processes import PATIENCE_SECONDS, wait_for

SIZE = ["--nodes", "5", "--hours", "0.4", "--warm-up", "0.2", "--seeds", "1", "--test-seeds", "1", "--jobs", "1"]
SPACE = "maxScore: {from: 1, to: 200, whole: true, log: true}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments], prog_name="loadaware")


def tune(folder: Path, *arguments: str, trials: int = 3) -> Result:
    (folder / "space.yaml").write_text(SPACE)
    options = ["--space", str(folder / "space.yaml"), "--output", str(folder / "best.yaml"), "--trials", str(trials)]
    return run("tune", *arguments, *options)


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return result.stderr.strip().removeprefix("loadaware: ")


def test_a_tiny_search_writes_a_configuration_that_check_config_accepts_and_a_report(tmp_path: Path) -> None:
    result = tune(tmp_path, *SIZE)
    assert result.exit_code == 0, result.output
    assert run("check-config", str(tmp_path / "best.yaml")).exit_code == 0
    assert (tmp_path / "best-report" / "report.html").is_file()
    assert (tmp_path / "best-report" / "report.md").read_text().startswith("# What tuning found")
    assert "written: " in result.stdout


def test_the_same_command_again_runs_nothing_again_and_more_trials_go_on(tmp_path: Path) -> None:
    first = tune(tmp_path, *SIZE)
    runs = (tmp_path / "best.runs.jsonl").read_bytes()
    assert tune(tmp_path, *SIZE).stdout == first.stdout
    assert (tmp_path / "best.runs.jsonl").read_bytes() == runs
    assert tune(tmp_path, *SIZE, trials=5).exit_code == 0
    assert (tmp_path / "best.runs.jsonl").read_bytes().startswith(runs)


def test_other_data_another_space_and_another_seed_refuse_the_runs_of_before(tmp_path: Path) -> None:
    tune(tmp_path, *SIZE)
    best = (tmp_path / "best.yaml").read_bytes()
    assert "holds the runs of another search: other data" in refused(tune(tmp_path, *SIZE, "--load", "0.4"))
    assert "another seed" in refused(tune(tmp_path, *SIZE, "--seed", "3"))
    assert "other objectives" in refused(tune(tmp_path, *SIZE, "--objective", "std"))
    other = run("tune", *SIZE, "--trials", "2", "--output", str(tmp_path / "best.yaml"))
    assert "another search space" in refused(other)
    assert (tmp_path / "best.yaml").read_bytes() == best


def test_a_history_is_tuned_and_its_limits_are_said(tmp_path: Path) -> None:
    packed_history(tmp_path / "history", minutes=120)
    until = ["--until", "2099-01-01T00:00Z", "--jobs", "1"]
    result = tune(tmp_path, str(tmp_path / "history"), *until, "--objective", "hot80", "--objective", "moves")
    assert result.exit_code == 0, result.output
    report = (tmp_path / "best-report" / "report.md").read_text()
    assert "What this cannot know" in report
    assert "hot80 (node-time above 80 % of CPU); moves (pods placed elsewhere than they were)" in report


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["history", "--nodes", "20", "--test-seeds", "3"], "--test-seeds, --nodes: not for a HISTORY"),
        (["history", "--setting", "20nodes"], "--setting: not for a HISTORY"),
        (["history", "--traces", "days"], "--traces: not for a HISTORY"),
        (["--since", "2026-11-02T00:00Z"], "--since: only for a HISTORY, and none is named"),
        (["--skip-damaged"], "--skip-damaged: only for a HISTORY, and none is named"),
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments: list[str], said: str) -> None:
    result = run("tune", *arguments, "--output", "best.yaml")
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_history_is_tuned_from_the_configuration_it_was_recorded_with(tmp_path: Path) -> None:
    recorded = Recording(tmp_path / "history", config=parse("profiles: [{maxScore: 77, scorers: [{name: Peaks}]}]"))
    recorded.nodes("a")
    for minute in range(60):
        recorded.now = START + 60.0 * minute
        recorded.read({"a": 1.0}, {})
    recorded.close()
    result = tune(tmp_path, str(tmp_path / "history"), "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert [scorer.name for scorer in load(tmp_path / "best.yaml").profiles[0].scorers] == ["Peaks"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trials", "0", "--output", "best.yaml"], "--trials: must be at least 1, not 0"),
        (["--output", "none/best.yaml"], "--output: there is no folder "),
        (["--output", "best.json"], "--output: a configuration is written as YAML, not as '.json'"),
        (["--output", "best.yaml", "--space", "wrong.yaml"],
         "wrong.yaml: scorers[0].weight.form: there is no such setting; did you mean 'from'?"),
        (["--output", "best.yaml", "--space", "none.yaml"], "none.yaml: cannot be read"),
        (["--output", "best.yaml", "--config", "none.yaml"], "none.yaml: cannot be read"),
        (["--output", "best.yaml", "--objective", "moves"], "--objective: 'moves' is not among the figures"),
        (["--output", "best.yaml", "--dask", "tcp://127.0.0.1:9"], "--dask: nobody answers at tcp://127.0.0.1:9"),
        (["--output", "best.yaml", "--traces", "none"], "none: there is no such folder"),
        (["--output", "best.yaml", "--setting", "20nodes"], "--setting: there is no setting called '20nodes'"),
        (["none", "--output", "best.yaml"], "none"),
        (["none", "--output", "best.yaml", "--since", "noon"], "--since: expected a time such as"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_runs(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOADAWARE_CONFIG", raising=False)
    (tmp_path / "wrong.yaml").write_text("scorers: [{name: EntropicRisk, weight: {form: 1, to: 2}}]")
    size = [] if arguments[0] == "none" else SIZE
    assert refused(run("tune", *arguments, *size)).startswith(said)
    assert not (tmp_path / "best.yaml").exists()


def test_ctrl_c_keeps_what_is_done_and_still_writes_the_best_so_far(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(SPACE)
    output = tmp_path / "best.yaml"
    size = ["--nodes", "5", "--hours", "0.4", "--warm-up", "0.2", "--seeds", "1", "--test-seeds", "1", "--jobs", "2"]
    command = [sys.executable, "-m", "loadaware", "tune", *size, "--space", str(tmp_path / "space.yaml")]
    running = subprocess.Popen(
        [*command, "--trials", "5000", "--batch", "2", "--output", str(output)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    runs = tmp_path / "best.runs.jsonl"
    wait_for(
        lambda: running.poll() is not None or (runs.exists() and runs.read_bytes().count(b"\n") >= 7),
        "some runs",
    )  # fmt: skip
    os.killpg(running.pid, signal.SIGINT)
    told, errors = running.communicate(timeout=PATIENCE_SECONDS)
    assert running.returncode == 130, errors
    assert "beware: It was stopped: the same command goes on from here." in told
    assert load(output).profiles
    kept = runs.read_bytes()
    assert kept.count(b"\n") >= 7
    again = run("tune", *size, "--space", str(tmp_path / "space.yaml"), "--trials", "2", "--batch", "2",
                "--output", str(output))  # fmt: skip
    assert again.exit_code == 0, again.output


LIVE = "# ours\nprofiles:\n- scorers: [{name: LowestUsage}]\n"
BEST = "profiles: [{scorers: [{name: EntropicRisk, args: {range: 2}}], maxScore: 44}]\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.yaml").write_text(LIVE)
    (tmp_path / "best.yaml").write_text(BEST)
    return tmp_path


def test_into_shadow_and_from_shadow_to_live_in_two_commands(files: Path) -> None:
    first = run("promote", "live.yaml", "--shadow", "best.yaml", "--output", "live.yaml")
    assert first.exit_code == 0, first.output
    assert "in shadow" in run("check-config", "live.yaml").stdout
    second = run("promote", "live.yaml", "--profile", "tuned", "--output", "live.yaml")
    assert second.exit_code == 0, second.output
    after = load("live.yaml")
    assert len(after.profiles) == 1
    assert after.profiles[0].scorers == load("best.yaml").profiles[0].scorers
    assert (files / "live.yaml").read_text().startswith("# ours\n")


def test_without_an_output_it_is_printed_and_remarks_go_elsewhere(files: Path) -> None:
    result = run("promote", "live.yaml", "--shadow", "best.yaml", "--profile", "new", "--chart-values")
    assert result.stdout.startswith("config:\n  profiles:\n")
    assert "new is scored aside" in result.stderr
    assert (files / "live.yaml").read_text() == LIVE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["live.yaml", "--profile", "tuned"],
            "live.yaml: profiles: there is no profile 'tuned'; there are: default-scheduler",
        ),
        (["none.yaml", "--profile", "tuned"], "none.yaml: cannot be read"),
        (["live.yaml", "--shadow", "none.yaml"], "none.yaml: cannot be read"),
        (["live.yaml", "--shadow", "best.yaml", "--output", "none/x.yaml"], "none/x.yaml: cannot be written"),
    ],
)
def test_what_cannot_be_promoted_is_refused(arguments: list[str], said: str, files: Path) -> None:
    assert refused(run("promote", *arguments)).startswith(said)
    assert (files / "live.yaml").read_text() == LIVE


def test_a_promotion_needs_a_profile_or_a_configuration(files: Path) -> None:
    assert "name a profile in shadow" in run("promote", "live.yaml").stderr
    assert "--of belongs to --shadow" in run("promote", "live.yaml", "--profile", "tuned", "--of", "x").stderr
    assert "belong to a promotion" in run("promote", "live.yaml", "--shadow", "best.yaml", "--keep-old").stderr


@pytest.mark.parametrize("option", ["--load", "--hours", "--warm-up", "--test-share"])
def test_what_is_not_a_number_is_refused_by_its_own_name(option: str) -> None:
    result = run("tune", option, "nan")
    assert result.exit_code == 2
    assert f"Invalid value for '{option}': 'nan' is not a number" in result.output
