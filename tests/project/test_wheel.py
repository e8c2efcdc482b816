"""The wheel installs and runs in an empty environment."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
STATE = """
nodes:
- {name: cold, capacity: {cpu: "4", memory: 8Gi}, usage: {cpu: {mean: 10%}, memory: {mean: 10%}}}
- {name: hot, capacity: {cpu: "4", memory: 8Gi}, usage: {cpu: {mean: 95%}, memory: {mean: 10%}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, resources: {requests: {cpu: 100m}}}]}
"""


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT)
    (built,) = folder.glob("loadaware-*.whl")
    return built


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """An environment with nothing in it but the wheel and the pinned dependencies that it needs to run."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements" / "run.txt")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    run(python, "-m", "pip", "check")
    return folder / "bin"


def test_the_wheel_holds_both_packages_and_their_types_but_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"collectors/py.typed", "loadaware/py.typed", "loadaware/cli.py"} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]


def test_the_command_ranks_nodes_in_an_empty_environment(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "state.yaml").write_text(STATE)
    (tmp_path / "pod.yaml").write_text(POD)
    command = [empty / "loadaware", "score", "--state", tmp_path / "state.yaml", "--pod", tmp_path / "pod.yaml"]
    ranked = json.loads(run(*command, "--scorer", "LoadVariationRiskBalancing", "--output", "json"))
    assert [node["name"] for node in ranked["nodes"]] == ["cold", "hot"]


def test_the_demo_runs_in_an_empty_environment(empty: Path) -> None:
    assert "spread across nodes" in run(empty / "loadaware", "demo", "--port", 0, "--duration", 3, "--nodes", 6)


def test_a_history_says_which_extra_it_needs(empty: Path) -> None:
    code = "from collectors.history import HistoryReader; list(HistoryReader('.').records())"
    done = subprocess.run([str(empty / "python"), "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'loadaware[history]'" in done.stderr
