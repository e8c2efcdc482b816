"""The promises of builder.py that need no compiler: a stand-in for `go` counts its builds."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.parts import builder
from tests.parts.builder import PARTS, BuildError, Part, binary, kubernetes, program_names
from tests.parts.toolchain import OLDEST_GO

FAKE_GO = f"""#!{sys.executable}
import pathlib, sys, time
if sys.argv[1] == "version":
    sys.exit(print("go version go1.26.8 linux/amd64"))
with open({{calls!r}}, "a") as calls:
    calls.write("build\\n")
time.sleep(0.2)
if {{fails!r}}:
    sys.exit("undefined: everything")
pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("program")
"""


class Workshop:
    """A cache of its own and a stand-in for `go` on the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls = folder / "calls"
        self._command = folder / "bin" / "go"
        self._command.parent.mkdir()
        self.hire()
        monkeypatch.setenv("PATH", str(self._command.parent))
        monkeypatch.setenv("LOADAWARE_PARTS_CACHE", str(folder / "cache"))

    def hire(self, *, fails: bool = False) -> None:
        """Put the stand-in in place."""
        self._command.write_text(FAKE_GO.format(calls=str(self._calls), fails=fails))
        self._command.chmod(0o755)

    @property
    def builds(self) -> int:
        return len(self._calls.read_text().splitlines()) if self._calls.exists() else 0


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return Workshop(tmp_path, monkeypatch)


def test_a_program_is_built_once_and_then_taken_from_the_cache(workshop: Workshop) -> None:
    assert binary("etcd") == binary("etcd")
    assert workshop.builds == 1


def test_two_processes_that_ask_together_share_one_build(workshop: Workshop) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        first, second = pool.map(binary, ["etcd", "etcd"])
    assert first == second
    assert workshop.builds == 1


def test_a_failed_build_tells_what_the_compiler_said_and_leaves_nothing(workshop: Workshop) -> None:
    workshop.hire(fails=True)
    with pytest.raises(BuildError, match="undefined: everything"):
        binary("etcd")
    workshop.hire()
    assert binary("etcd").read_text() == "program"


def test_progress_names_the_program(workshop: Workshop) -> None:
    lines: list[str] = []
    binary("etcd", lines.append)
    assert lines[0] == "etcd: building with go1.26.8 linux/amd64"
    assert lines[-1].startswith("etcd: built in ")


def test_a_part_stands_for_all_its_programs() -> None:
    assert program_names(["prometheus", "kubectl"]) == ["prometheus", "promtool", "kubectl"]


def test_an_unknown_program_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BuildError, match=r"no such part or program: kubelet; there are .*kube-scheduler"):
        program_names(["kubelet"])


EVERY = (kubernetes(""), kubernetes("1.34"), kubernetes("1.35"), *PARTS[1:])


@pytest.mark.parametrize("part", EVERY, ids=lambda part: part.name)
def test_every_part_has_its_pinned_sources_and_a_tool_line_for_each_program(part: Part) -> None:
    requirements = (part.folder / "go.mod").read_text()
    assert all(package in requirements for package in part.programs.values())
    assert (part.folder / "go.sum").stat().st_size > 0


@pytest.mark.parametrize("part", EVERY, ids=lambda part: part.name)
def test_every_part_builds_with_the_oldest_toolchain_that_is_let_through(part: Part) -> None:
    [asked] = [line for line in (part.folder / "go.mod").read_text().splitlines() if line.startswith("go ")]
    assert tuple(map(int, asked.removeprefix("go ").split("."))) <= OLDEST_GO


def test_the_key_of_a_part_changes_with_its_sources_flags_and_toolchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "HERE", tmp_path)
    part = Part("tool", {"tool": "example.test/tool"})
    part.folder.mkdir()

    def key(requirements: str = "mod", sums: str = "sum", tags: str = "", go_version: str = "go1.26.0") -> str:
        (part.folder / "go.mod").write_text(requirements)
        (part.folder / "go.sum").write_text(sums)
        return replace(part, tags=tags).key(go_version)

    others = {key(requirements="new"), key(sums="new"), key(tags="new"), key(go_version="go1.27.0")}
    assert len(others | {key()}) == 5
    assert key() == key()
    (part.folder / "main.go").write_text("package main")
    assert key() not in others
    assert len(others | {key()}) == 5


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.36"])
def test_programs_report_the_version_that_go_mod_asks_for(version: str) -> None:
    part = kubernetes(version)
    assert part.version().startswith(f"v{version}.")
    assert f"version.gitVersion={part.version()}" in " ".join(part.flags())
    assert f"k8s.io/kubernetes {part.version()}" in (part.folder / "go.mod").read_text()


def test_a_kubernetes_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BuildError, match=r"no Kubernetes 1\.20 here, but 1\.34, 1\.35, 1\.36"):
        kubernetes("1.20")
