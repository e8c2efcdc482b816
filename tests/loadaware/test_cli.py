"""The whole command line: every command helps, refusals are one line, and nothing heavy is imported for it."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from loadaware import __version__
from loadaware.cli import cli
from tests.loadaware.command_line import printed, process, refused
from tests.parts.processes import PATIENCE_SECONDS

COMMANDS = [
    "check-config", "completion", "demand", "demo", "doctor", "explain", "history", "promote", "record", "replay",
    "schedule-config", "score", "serve", "shadow", "simulate", "tune", "version",
]  # fmt: skip


def test_help_lists_every_command_with_a_whole_sentence() -> None:
    listed = printed("--help").partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    assert [line for line in listed if line.endswith("...")] == []


def test_help_teaches_the_first_steps() -> None:
    text = printed("-h")
    for step in ("loadaware demo", "loadaware score --state", "loadaware serve", "loadaware doctor"):
        assert step in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_options(command: str) -> None:
    text = printed(command, "--help")
    assert text.startswith(f"Usage: loadaware {command}")
    options = [parameter for parameter in cli.commands[command].params if isinstance(parameter, click.Option)]
    unexplained = [option for option in options if not option.help]
    assert unexplained == []


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "pandas", "kubernetes", "uvicorn", "prometheus_client", "requests", "yaml", "msgspec", "rich")
    code = f"import sys, loadaware.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_refusal_of_the_installed_command_is_one_line_and_exit_code_2(here: Path) -> None:
    done = process("score", "--state", "state.yaml", "--pod", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("loadaware: nowhere.yaml: cannot be read")


def test_a_command_that_there_is_not_is_refused() -> None:
    assert "No such command 'scor'" in refused("scor")


def test_version_is_the_packages_own() -> None:
    assert printed("version") == f"{__version__}\n"
    assert printed("--version") == f"loadaware {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell_for_our_command(shell: str) -> None:
    script = printed("completion", shell)
    assert f"_LOADAWARE_COMPLETE={shell}_complete" in script


def test_completion_really_completes_commands() -> None:
    command = [sys.executable, "-c", "from loadaware.cli import main; main()"]
    asked = {"_LOADAWARE_COMPLETE": "bash_complete", "COMP_WORDS": "loadaware sc", "COMP_CWORD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=asked)
    assert done.stdout.split() == ["plain,schedule-config", "plain,score"]


def test_a_shell_we_do_not_know_is_refused() -> None:
    assert "'bash', 'zsh', 'fish'" in refused("completion", "tcsh")
