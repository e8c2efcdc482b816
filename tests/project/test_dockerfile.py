"""What can be said of the Dockerfile without building it."""

import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
INSTRUCTIONS = [tuple(line.split(maxsplit=1)) for line in TEXT.splitlines() if re.match(r"[A-Z]+ ", line)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKLOAD = (ROOT / "deploy" / "manifests" / "workload.yaml").read_text(encoding="utf-8")


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


def copied() -> list[str]:
    """What is taken from the checkout."""
    return [source for words in map(str.split, arguments("COPY")) if "=" not in words[0] for source in words[:-1]]


@pytest.mark.parametrize("source", copied())
def test_what_is_copied_exists_and_is_let_through_by_dockerignore(source: str) -> None:
    assert (ROOT / source).exists()
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    assert any(fnmatch(source, line[1:]) for line in lines if line.startswith("!"))


def test_what_the_wheel_is_made_of_is_copied() -> None:
    needed = {*PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"], PROJECT["project"]["readme"]}
    assert needed | {"pyproject.toml", *PROJECT["project"]["license-files"]} <= set(copied())


def test_dependencies_are_pinned_by_hash_and_ours_brings_no_other() -> None:
    installs = [command for run in arguments("RUN") for command in run.split("&&") if " install " in command]
    assert len(installs) == 2
    assert all("--require-hashes" in command or "--no-deps" in command for command in installs)


def test_the_last_stage_holds_the_environment_alone_and_runs_the_console_script() -> None:
    last = TEXT.rpartition("\nFROM ")[2]
    assert "RUN" not in last
    (program,) = json.loads(arguments("ENTRYPOINT")[-1])
    assert Path(program).name in PROJECT["project"]["scripts"]
    folder = str(Path(program).parents[1])
    assert f"COPY --from=build {folder} {folder}" in last


def test_the_user_is_a_number_and_the_charts_own() -> None:
    user, group = arguments("USER")[-1].split(":")
    assert user.isdigit()
    assert f"runAsUser: {user}\n" in WORKLOAD
    assert f"runAsGroup: {group}\n" in WORKLOAD


def test_the_images_python_is_one_that_the_project_takes() -> None:
    (base,) = arguments("ARG")
    number = re.search(r"python:(\d+)\.(\d+)-slim$", base)
    assert number is not None
    assert tuple(map(int, number.groups())) >= (3, 11)
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_the_page_on_installing_gives_the_command_and_says_what_is_not_tried() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    version = PROJECT["project"]["version"]
    assert f"docker build --tag registry.example.com/loadaware:{version} . && docker push" in page
    assert "not built in CI" in page
