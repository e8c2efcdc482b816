import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from collectors.history import HistoryReader, HistoryWriter, Request
from collectors.manifests import Pod
from loadaware.cli import cli
from loadaware.recorded import Asked, AskedBatch
from tests.collectors.fake_api_server import FakeApiServer
from tests.loadaware.fake_cluster import serve_cluster
from tests.loadaware.recorded_runs import START, Recording, packed_history, pod
from tests.parts.processes import PATIENCE_SECONDS, wait_for

TWO = "profiles: [{scorers: [{name: %s}]}]"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories") / "packed"
    packed_history(folder, 60, range(20, 30))
    return folder


def run(*words: str | int | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], prog_name="loadaware")


def files(folder: Path, *scorers: str) -> list[str]:
    words = []
    for scorer in scorers:
        file = folder / f"{scorer}.yaml"
        file.write_text(TWO % scorer, encoding="utf-8")
        words += ["--config", str(file)]
    return words


# -- history -----------------------------------------------------------------------------------------------------------


def test_history_shows_span_names_samples_gaps_and_configurations(history: Path) -> None:
    result = run("history", history)
    assert result.exit_code == 0, result.output
    for line in (
        "60 min",
        "2 names, 100 samples",
        "4 names",
        "every 60 s",
        "gaps       1",
        "EntropicRisk x 1",
        "(not recorded)",
    ):
        assert line in result.stdout, line


def test_history_counts_requests_by_their_verb(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path) as writer:
        for verb in ("prioritize", "bind", "prioritize", "preempt"):
            writer.write(Request(verb, "", Pod(namespace="shop", name="web-1"), ("a",)))
    assert "requests   4: bind 1, preempt 1, prioritize 2\n" in run("history", tmp_path).stdout
    told = json.loads(run("history", tmp_path, "--output", "json").stdout)
    assert told["verbs"] == {"bind": 1, "preempt": 1, "prioritize": 2}


def test_history_tells_of_a_clock_that_went_back_and_of_answers_that_were_lost(tmp_path: Path) -> None:
    told = Recording(tmp_path, requests=True)
    told.nodes("a")
    for minute in (1, 2, 3, 1, 2, 3, 4):
        told.now = START + 60.0 * minute
        told.read({"a": 1.0}, {})
    told.recorder.asked(AskedBatch((Asked(1, told.now, "prioritize", "", pod("web-1"), ("a",)),), lost=3))
    told.close()
    said = run("history", tmp_path).stdout
    assert "  clock      went back 1 times\n" in said
    assert "  lost       3 answers that came faster than they could be recorded\n" in said
    replayed = run("replay", tmp_path, "--warm-up", "0s").stdout
    assert "- 3 answers are not in the history" in replayed


def test_history_with_damage_inside_is_shown_without_it_if_told_to(tmp_path: Path) -> None:
    packed_history(tmp_path, 10)
    with HistoryWriter(tmp_path) as writer:
        writer.write_mark("later", time=START + 3600.0)
    file = min(tmp_path.glob("segment-*")) / "readings.parquet"
    content = bytearray(file.read_bytes())
    content[40:50] = bytes(10)
    file.write_bytes(content)
    assert "readings.parquet: cannot be read" in run("history", tmp_path).stderr
    shown = run("history", tmp_path, "--skip-damaged")
    assert shown.exit_code == 0, shown.output
    assert "note       left out, from the damage on: " in shown.stdout


def test_history_tells_programs_the_same(history: Path) -> None:
    told = json.loads(run("history", history, "--output", "json").stdout)
    assert (told["nodes"], told["pods"], len(told["gaps"]), told["requestsRecorded"]) == (2, 4, 1, False)
    assert told["configs"][0]["config"]["profiles"][0]["scorers"][0]["name"] == "EntropicRisk"


def test_a_copy_with_pseudonyms_has_other_names_and_the_same_key_the_same_ones(history: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    for name in ("one", "two"):
        result = run("history", history, "--pseudonyms", tmp_path / name, "--key-file", key)
        assert result.exit_code == 0, result.output
    assert key.stat().st_mode & 0o777 == 0o600
    one, two = ([r.content for r in HistoryReader(tmp_path / n).records(kinds=["events"])] for n in ("one", "two"))
    assert one == two
    assert "web-5" not in str(one)


def test_a_key_that_is_too_short_is_refused(history: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("short")
    result = run("history", history, "--pseudonyms", tmp_path / "copy", "--key-file", tmp_path / "key")
    assert result.exit_code == 2
    assert "at least 32" in result.stderr


@pytest.mark.parametrize(("made", "problem"), [(False, "is not a folder"), (True, "holds no finished segment")])
@pytest.mark.parametrize("command", ["history", "replay"])
def test_a_folder_without_a_history_is_said_so_in_one_line(
    command: str, made: bool, problem: str, tmp_path: Path
) -> None:
    folder = tmp_path / "none"
    if made:
        folder.mkdir()
    result = run(command, folder)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


# -- replay ------------------------------------------------------------------------------------------------------------


def test_replay_compares_configurations_with_what_was(history: Path, tmp_path: Path) -> None:
    configs = files(tmp_path, "EntropicRisk", "TargetLoadPacking")
    result = run("replay", history, *configs, "--warm-up", "0s", "--jobs", 1, "--plot", tmp_path / "p.svg")
    assert result.exit_code == 0, result.output
    said = ("EntropicRisk", "TargetLoadPacking", "hot80", "decisions that mattered most", "What a replay cannot know")
    for words in ("recorded", *said, "Selectors and affinity are not known", "1 gaps without readings"):
        assert words in result.stdout, words
    picture = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert "blocks of time" in picture


def test_replay_compares_every_further_configuration_with_the_first(history: Path, tmp_path: Path) -> None:
    configs = files(tmp_path, "EntropicRisk", "TargetLoadPacking")
    both = run("replay", history, *configs, "--warm-up", "10m", "--jobs", 1, "--moves", 0)
    between = both.stdout.partition("difference from EntropicRisk")[2]
    row = next(line for line in between.splitlines() if "TargetLoadPacking" in line)
    told = json.loads(run("replay", history, *configs, "--warm-up", "10m", "--jobs", 1, "--output", "json").stdout)
    assert f"{told['between'][0]['change']['hot80'][0]:+.2f}" in row
    assert "difference from Entropic" not in run("replay", history, *configs[:2], "--jobs", 1).stdout


def test_replay_tells_programs_figures_changes_with_intervals_and_moves(history: Path, tmp_path: Path) -> None:
    configs = files(tmp_path, "EntropicRisk", "TargetLoadPacking")
    result = run("replay", history, *configs, "--warm-up", "10m", "--jobs", 1, "--output", "json")
    told = json.loads(result.stdout)
    assert list(told["configs"]) == ["EntropicRisk", "TargetLoadPacking"]
    ours = told["configs"]["EntropicRisk"]
    assert ours["hot80"] < told["recorded"]["hot80"]
    value, low, high = ours["change"]["hot80"]
    assert low <= value <= high < 0
    assert ours["moves"][0]["recorded_node"] == "full"
    assert told["between"][0]["against"] == "EntropicRisk"
    assert len(told["cannotKnow"]) == 5


def test_several_processes_come_to_the_same_figures_as_one(history: Path, tmp_path: Path) -> None:
    configs = files(tmp_path, "EntropicRisk", "TargetLoadPacking")
    both = []
    for jobs in (1, 2):
        result = run("replay", history, *configs, "--jobs", jobs, "--output", "json")
        told = json.loads(result.stdout)
        for config in told["configs"].values():
            del config["seconds"]
        both.append(told)
    assert both[0] == both[1]


def test_without_a_configuration_the_recorded_one_is_replayed(history: Path) -> None:
    result = run("replay", history, "--output", "json")
    assert list(json.loads(result.stdout)["configs"]) == ["as recorded"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--since", "yesterday"], "--since: expected a time such as"),
        (["--warm-up", "soon"], "--warm-up: expected a duration"),
        (["--plot", "x.png"], "a picture is written as SVG"),
        (["--config", "/nonexistent.yaml"], "/nonexistent.yaml: cannot be read"),
        (["--since", "2031-01-01T00:00Z"], "has nothing in that time"),
    ],
)
def test_what_is_wrong_with_the_command_is_said_before_anything_runs(
    words: list[str], problem: str, history: Path
) -> None:
    result = run("replay", history, *words)
    assert result.exit_code == 2
    assert problem in result.stderr


# -- record ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--from-prometheus", "http://127.0.0.1:1", "--since", "2 weeks"], "--since: expected a duration"),
        (["--from-prometheus", "http://127.0.0.1:1", "--step", "1s"], "--step: must be in 10s..1h"),
        (["--from-prometheus", "http://127.0.0.1:1", "--since", "1m"], "--since: must be longer than two steps"),
        (["--from-prometheus", "nonsense"], "--from-prometheus"),
        (["--max-size", "lots"], "--max-size, --max-age"),
        (["--max-age", "1s"], "maxAge must be at least 1h"),
    ],
)
def test_record_refuses_what_cannot_work(words: list[str], problem: str, tmp_path: Path) -> None:
    result = run("record", tmp_path / "history", *words)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_record_writes_what_a_live_cluster_tells_until_it_is_stopped(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("interval: 1s\nhistory: {flush: 1s}\n", encoding="utf-8")
    folder = tmp_path / "history"
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "1"}, {"web": "a"})
        command = [sys.executable, "-m", "loadaware", "record", str(folder), "--config", str(config)]
        process = subprocess.Popen([*command, "--kubeconfig", server.kubeconfig(tmp_path)], stderr=subprocess.PIPE)
        try:
            wait_for(lambda: any(folder.glob("part-*/nodes.parquet")), "a reading on disk")
            wait_for(lambda: HistoryReader(folder).summary().records["events"] >= 6, "all that was listed on disk")
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    assert b"`loadaware history` shows what is in it" in said
    summary = HistoryReader(folder).summary()
    assert (summary.nodes, summary.missing_records) == (2, 0)
    assert summary.records["events"] >= 6
