"""docs/commands.md names every command and option there is, no other, and its examples print what it shows."""

import asyncio
import json
import re
import shlex
from pathlib import Path

import click
import httpx
import msgspec
import pytest
import yaml
from click.testing import CliRunner

from loadaware.cli import cli
from loadaware.config import Config
from loadaware.extender.app import make_app
from loadaware.scorers import SCORERS
from loadaware.simulation.sensitivity import CIRCUMSTANCES
from loadaware.simulation.summary import GUARDS, METRICS
from loadaware.state import NodeState, Usage, parse_state
from loadaware.wiring import make_service

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"(?s)\n## (\S+)\n(.*?)(?=\n## |\Z)", PAGE))
FILES = dict(re.findall(r"(?s)\n`([\w-]+\.yaml)`:\n\n```yaml\n(.*?)```", PAGE))
EXECUTED = re.findall(r"(?s)```console\n\$ (loadaware .*?)\n(.*?)```", PAGE)
TOLD = "\n".join(re.findall(r"(?s)```sh\n(.*?)```", PAGE))


def options_of(command: str) -> set[str]:
    options = [parameter for parameter in cli.commands[command].params if isinstance(parameter, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def as_pattern(shown: str) -> str:
    """What an output must look like: a line of three dots stands for any lines, X.Y.Z for any version."""
    lines = [r"[\s\S]*" if line == "..." else re.escape(line) for line in stripped(shown)]
    return "\n".join(lines).replace(r"X\.Y\.Z", r"\d+\.\d+\.\d+\S*")


def test_every_command_is_documented_and_every_documented_command_exists() -> None:
    assert sorted(SECTIONS) == sorted(cli.commands)


def test_every_command_has_an_example_and_no_example_has_another_command() -> None:
    commands = [example.split()[1] for example, _ in EXECUTED] + re.findall(r"\bloadaware ([a-z-]+)", TOLD)
    assert set(commands) == set(cli.commands)


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_option_is_documented_and_every_documented_option_exists(command: str) -> None:
    explained = set(re.findall(r"`(--[a-z-]+)", SECTIONS[command]))
    lines = re.findall(rf"loadaware {command} (.*)", SECTIONS[command])
    shown = {option for line in lines for option in re.findall(r"(--[a-z-]+)", line)}
    assert explained | shown <= options_of(command)
    assert options_of(command) <= explained


def test_the_page_has_examples_to_execute() -> None:
    assert len(EXECUTED) >= 7
    assert {"state.yaml", "pod.yaml", "config.yaml"} == set(FILES)


@pytest.mark.parametrize(("command", "shown"), EXECUTED, ids=[command for command, _ in EXECUTED])
def test_an_example_that_needs_no_cluster_prints_what_the_page_shows(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOADAWARE_CONFIG", raising=False)
    result = CliRunner().invoke(cli, shlex.split(command)[1:], prog_name="loadaware")
    printed = "\n".join(stripped(result.output))
    assert re.fullmatch(as_pattern(shown), printed), f"docs/commands.md is behind; it prints now:\n{printed}"


def test_the_wire_by_hand_answers_what_the_page_shows() -> None:
    section = SECTIONS["serve"]
    (body,) = re.findall(r"(?s)-d '(.*?)'", section)
    (answer,) = re.findall(r"(?s)```json\n(.*?)```", section)
    service = make_service(Config())
    service.take(parse_state(yaml.safe_load(FILES["state.yaml"])))
    transport = httpx.ASGITransport(make_app(service, 2**20))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://loadaware") as client:
            return await client.post("/prioritize", content=body)

    assert asyncio.run(ask()).json() == json.loads(answer)


def test_every_key_of_a_state_file_is_documented() -> None:
    (section,) = re.findall(r"(?s)\n## The state file\n(.*?)\n## ", PAGE)
    for field in msgspec.structs.fields(NodeState):
        assert f"`nodes[].{field.encode_name}" in section
    for field in msgspec.structs.fields(Usage):
        assert f"`{field.encode_name}`" in section


REQUIRED = {
    "LabelNumber": ["label=price"],
    "MetricRank": ["metric=temperature"],
    "Peaks": ["nodePowerModel={'*': {k0: 100, k1: 2, k2: 0.01}}"],
}


@pytest.mark.parametrize("scorer", sorted(SCORERS))
def test_the_example_state_has_something_for_every_scorer(scorer: str) -> None:
    files = ["--state", str(ROOT / "examples" / "state.yaml"), "--pod", str(ROOT / "examples" / "pod.yaml")]
    settings = [word for setting in REQUIRED.get(scorer, []) for word in ("--set", setting)]
    result = CliRunner().invoke(cli, ["score", *files, "--scorer", scorer, *settings, "--output", "json"])
    assert result.exit_code == 0, result.output
    nodes = json.loads(result.stdout)["nodes"]
    assert {node["name"] for node in nodes} == {"steady", "busy", "new"}
    assert all(node["scorers"][scorer]["raw"] is not None for node in nodes)


def test_every_setting_of_a_simulation_is_documented_and_helped_with() -> None:
    told = CliRunner().invoke(cli, ["simulate", "--help"], prog_name="loadaware").stdout
    rows = re.findall(r"(?m)^\| (`[a-z0-9`, -]+`) \|", SECTIONS["simulate"].partition("| setting |")[2])
    documented = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row)}
    assert documented == set(CIRCUMSTANCES)
    assert all(name in told.split() for name in CIRCUMSTANCES)


def test_every_figure_of_a_simulation_is_documented() -> None:
    for figure in (*METRICS, *GUARDS):
        assert f"`{figure}`" in SECTIONS["simulate"]
