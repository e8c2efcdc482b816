"""`loadaware demand`, for people and programs; a running loadaware is asked in test_demand_survival."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loadaware.cli import cli
from loadaware.demand_file import DemandFile
from loadaware.demand_listing import amount
from tests.collectors.fake_prometheus import FakePrometheus, Reply
from tests.loadaware.builders import GIB
from tests.loadaware.learned import MANY, state_of


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["demand", *arguments])


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "demand"
    assert DemandFile(path).save(MANY)
    return str(path)


def test_a_saved_file_is_shown_as_a_table_with_what_it_comes_to(file: str) -> None:
    lines = run("--state-file", file).stdout.splitlines()
    much = next(line for line in lines if "b/Pod/much" in line)
    assert [cell.strip() for cell in much.strip("│").split("│")] == [
        "b/Pod/much", "1", "cpu", "1000m", "100m", "0m", "400", "98%", "100m",
    ]  # fmt: skip
    assert lines[-3:-1] == [
        "4 workloads",
        "cpu: 15 requested, 1300m could be given back, 500m lacking, 0m to be declared by pods without a request; "
        "3 workloads judged",
    ]
    assert lines[-1].startswith("memory: 7168Mi requested, 1176Mi could be given back, 512Mi lacking")


def test_a_saved_file_is_told_to_programs(file: str) -> None:
    told = json.loads(run("--state-file", file, "--output", "json", "--namespace", "b", "--sort", "name").stdout)
    assert [entry["workload"] for entry in told["workloads"]] == ["b/Pod/lacking", "b/Pod/much"]
    assert told["totals"]["cpu"]["giveBack"] == pytest.approx(0.9)


def test_what_the_limit_hides_is_counted(file: str) -> None:
    assert "4 workloads; 3 more: see --limit" in run("--state-file", file, "--limit", "1").stdout


def test_what_is_not_known_is_said_in_words(tmp_path: Path) -> None:
    DemandFile(tmp_path / "demand").save(state_of({"a/Pod/bare": (0.0, [0.1])}, [("a/Pod/bare", 0.0)]))
    line = next(line for line in run("--state-file", str(tmp_path / "demand")).stdout.splitlines() if "bare" in line)
    assert "none" in line
    assert "not sure yet" in line


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "it is no file of learned demand"),
        (b"loadaware-demand 1.0 00000000 999\n", "it has 0 bytes of 999: it was cut off"),
        (b"loadaware-demand 3.1 00000000 0\n", "it is of version 3.1; this loadaware reads 1.x"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_exit_code_2(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / "demand"
    if content is not None:
        path.write_bytes(content)
    result = run("--state-file", str(path))
    assert (result.exit_code, result.stderr) == (2, f"loadaware: {path}: {problem}\n")
    assert path.exists() == (content is not None)


def test_wrong_options_are_refused(file: str) -> None:
    assert run("--state-file", file, "--server", "http://a").exit_code == 2
    assert run("--state-file", file, "--limit", "0").exit_code == 2
    result = run("--state-file", file, "--sort", "disk")
    assert result.stderr == "loadaware: --sort: sort is name, pods or one of: cpu, memory; not disk\n"
    assert "is no address" in run("--server", "nonsense").stderr


def test_a_server_that_is_no_loadaware_or_too_old_is_one_line() -> None:
    with FakePrometheus() as other:
        other.serves("/demand", Reply(404, '{"error": "unknown path"}'))
        result = run("--server", other.url)
        assert result.exit_code == 2
        assert "answered 404" in result.stderr
        other.serves("/demand", Reply(200, "<title>Welcome</title>", "text/html"))
        assert "an HTML page titled 'Welcome'" in run("--server", other.url).stderr


def test_what_is_asked_for_reaches_the_server() -> None:
    with FakePrometheus() as other:
        other.serves("/demand", Reply(404))
        run("--server", other.url, "--sort", "memory", "--limit", "7", "--namespace", "shop")
        assert other.requests[0].fields == {"sort": "memory", "limit": "7", "namespace": "shop"}


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 0.25, "250m"),
        ("cpu", 9.5, "9500m"),
        ("cpu", 12.0, "12"),
        ("memory", 640 * 2.0**20, "640Mi"),
        ("memory", 12 * GIB, "12Gi"),
        ("gpu", 2.0, "2"),
    ],
)
def test_amounts_are_written_as_in_a_manifest(resource: str, value: float, text: str) -> None:
    assert amount(resource, value) == text
