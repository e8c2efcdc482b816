"""The example plugin keeps the laws of our own plugins, installs as a stranger would install it, and runs."""

import importlib
import inspect
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadaware.config import convert
from loadaware.errors import ConfigError
from loadaware.filters.filter import Filter
from loadaware.scorers.scorer import Scorer
from tests.contracts import test_filters as filter_laws
from tests.contracts import test_scorers as scorer_laws

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "loadaware-example-plugin"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """The example's package, straight from its folder."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("loadaware_example")
    finally:
        sys.path.remove(str(FOLDER))


def made(example: ModuleType, name: str, **args: Any) -> Any:
    """A plugin of the example, its args checked as those of a configuration are."""
    return convert(args, getattr(example, name), "<args>")


# -- The laws of our own plugins -------------------------------------------------------------------------------------

DEGREES = "test_the_scale_of_units_is_irrelevant"
"""The one law that the scorer is excused from: its bounds are written in degrees."""


def laws_of(module: ModuleType, argument: str, *excused: str) -> list[Any]:
    """Every law of a contract suite that is about one plugin."""
    laws = [law for name, law in vars(module).items() if name.startswith("test_") and name not in excused]
    return [pytest.param(law, id=law.__name__) for law in laws if argument in inspect.signature(law).parameters]


@pytest.mark.parametrize("law", laws_of(scorer_laws, "scorer", DEGREES))
def test_the_scorer_keeps_the_laws_of_scorers(law: Callable[..., None], example: ModuleType) -> None:
    law(scorer=made(example, "CoolestNode", metric="cpu", cool=1, hot=60))


@pytest.mark.parametrize("label", ["number", "gpu"])
@pytest.mark.parametrize("law", laws_of(filter_laws, "rule", "test_a_node_that_was_not_measured_passes"))
def test_the_filter_keeps_the_laws_of_filters(law: Callable[..., None], label: str, example: ModuleType) -> None:
    law(rule=made(example, "NotUnderMaintenance", label=label))


def test_a_plugin_of_the_example_says_when_to_use_it_and_what_it_gets_wrong(example: ModuleType) -> None:
    for name in example.__all__:
        assert getattr(example, name).when
        assert getattr(example, name).beware


def test_wrong_args_are_refused_with_what_is_wrong(example: ModuleType) -> None:
    with pytest.raises(ConfigError, match="cool must be below hot, not 90 and 80"):
        made(example, "CoolestNode", cool=90)
    with pytest.raises(ConfigError, match="metrik: there is no such setting; did you mean 'metric'"):
        made(example, "CoolestNode", metrik="heat")


def test_the_entry_points_name_what_is_there(example: ModuleType) -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    for group, base in (("loadaware.scorers", Scorer), ("loadaware.filters", Filter)):
        for name, value in project["entry-points"][group].items():
            kind = EntryPoint(name, value, group).load()
            assert issubclass(kind, base)
            assert kind is getattr(example, name)


# -- Installed -------------------------------------------------------------------------------------------------------

STATE = """
nodes:
- {name: cool, capacity: {cpu: "4", memory: 8Gi}, usage: {temperature: {latest: 40}}}
- {name: warm, capacity: {cpu: "4", memory: 8Gi}, usage: {temperature: {latest: 60}}}
- {name: coldest, capacity: {cpu: "4", memory: 8Gi}, usage: {temperature: {latest: 20}}, labels: {broken: fans}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web}]}}"
CONFIG = """
profiles:
- scorers: [{name: CoolestNode, args: {cool: 30, hot: 70}%(how)s}]
  filters: [{name: NotUnderMaintenance, args: {label: broken}%(how)s}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in a folder of its own, put there by pip."""
    folder = tmp_path_factory.mktemp("installed")
    flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    run(sys.executable, "-m", "pip", "install", *flags, "--target", folder, FOLDER)
    return folder


def run(*command: object, path: Path | None = None, cwd: Path | None = None) -> str:
    environment = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def loadaware(installed: Path, folder: Path, *words: object) -> Any:
    """What the command prints, in a folder that has the configuration, a state and a pod."""
    command = Path(sys.executable).with_name("loadaware")
    return json.loads(run(command, *words, "--output", "json", path=installed, cwd=folder))


@pytest.fixture(params=["", ", isolated: true, deadline: 5s"], ids=["beside ours", "isolated"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (tmp_path / "state.yaml").write_text(STATE)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "config.yaml").write_text(CONFIG % {"how": request.param})
    return tmp_path


@pytest.mark.slow
def test_installed_both_plugins_are_good_names_for_a_profile(installed: Path, folder: Path) -> None:
    summary = loadaware(installed, folder, "check-config", "config.yaml")
    assert summary["profiles"]["default-scheduler"] == {
        "scorers": {"CoolestNode": 1.0},
        "filters": ["NotUnderMaintenance"],
    }


@pytest.mark.slow
def test_installed_both_plugins_have_their_say(installed: Path, folder: Path) -> None:
    files = ("--config", "config.yaml", "--state", "state.yaml", "--pod", "pod.yaml")
    nodes = loadaware(installed, folder, "score", *files)["nodes"]
    assert [(node["name"], node["score"], node["scorers"]["CoolestNode"]["raw"]) for node in nodes] == [
        ("cool", 75.0, 40),  # (70 - 40) / (70 - 30)
        ("warm", 25.0, 60),
        ("coldest", 100.0, 20),
    ]
    assert [node["rejected"] for node in nodes] == [None, None, "node is under maintenance: broken=fans"]


@pytest.mark.slow
def test_the_example_passes_its_own_tests_and_a_strict_type_check(installed: Path, tmp_path: Path) -> None:
    tested = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", FOLDER / "pyproject.toml",
        FOLDER / "tests", path=installed, cwd=tmp_path,
    )  # fmt: skip
    assert " passed" in tested
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, FOLDER / "loadaware_example", cwd=tmp_path)
