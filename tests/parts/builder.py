"""Builds the real programs that tests run, because nothing here downloads binaries.

Each part is a folder beside this file with a go.mod and a go.sum, and a row in `PARTS`; a new part is one of
each. The bargain: `binary(name)` gives the path of a finished program, built at most once for a given part,
flags and toolchain, also when several processes ask at the same time. The cache lives outside the checkout,
in $LOADAWARE_PARTS_CACHE or ~/.cache/loadaware/parts, and may be deleted at any time.

    python -m tests.parts.builder                    build everything that is missing
    python -m tests.parts.builder etcd kubectl       build these programs, or these parts

$LOADAWARE_KUBERNETES names another Kubernetes than the newest: 1.34 is the part in the folder kubernetes-1.34.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.parts.locking import locked
from tests.parts.toolchain import Toolchain, environment, toolchain

HERE = Path(__file__).parent
PATIENCE_SECONDS = 30.0
"""A build that says nothing for longer looks hung."""
TAIL_CHARACTERS = 4000


class BuildError(Exception):
    """A program could not be built; the message ends with what the compiler said."""


@dataclass(frozen=True)
class Part:
    """Programs of one Go module, pinned by the go.mod and go.sum in the folder of the same name."""

    name: str
    programs: Mapping[str, str]
    """Program name -> Go package."""
    tags: str = ""
    version_module: str = ""
    """The module whose version the programs report; empty where they need not know it."""
    version_variables: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        return HERE / self.name

    def flags(self) -> list[str]:
        """Arguments of `go build` before the package."""
        link = ["-s", "-w", *(f"-X {variable}={self.version()}" for variable in self.version_variables)]
        return ["-buildvcs=false", "-trimpath", f"-tags={self.tags}", f"-ldflags={' '.join(link)}"]

    def version(self) -> str:
        """The version of `version_module` that go.mod asks for."""
        requirement = rf"^\s*(?:require )?{re.escape(self.version_module)} (v\S+)"
        line = re.search(requirement, self._file("go.mod"), re.MULTILINE)
        if line is None:
            raise BuildError(f"{self.folder / 'go.mod'} does not require {self.version_module}")
        return line[1]

    def key(self, toolchain_version: str) -> str:
        """Changes with anything that can change the programs."""
        sources = [path.read_text() for path in sorted(self.folder.glob("*.go"))]
        facts = "\0".join([self._file("go.mod"), self._file("go.sum"), *sources, *self.flags(), toolchain_version])
        return hashlib.sha256(facts.encode()).hexdigest()[:16]

    def _file(self, name: str) -> str:
        return (self.folder / name).read_text()


def kubernetes(version: str) -> Part:
    """The control plane of a version such as 1.34; the newest that we have if it is empty."""
    there = {folder.name.removeprefix("kubernetes-"): folder.name for folder in sorted(HERE.glob("kubernetes-*"))}
    newest = Part(
        "kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kube-apiserver", "kube-scheduler", "kubectl")},
        version_module="k8s.io/kubernetes",
        version_variables=[
            "k8s.io/component-base/version.gitVersion",
            "k8s.io/client-go/pkg/version.gitVersion",
        ],
    )
    minor = ".".join(newest.version().removeprefix("v").split(".")[:2])
    if version in ("", minor):
        return newest
    if version not in there:
        raise BuildError(f"there is no Kubernetes {version} here, but {', '.join([*there, minor])}")
    return replace(newest, name=there[version])


PARTS = (
    kubernetes(os.environ.get("LOADAWARE_KUBERNETES", "")),
    Part("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Part(
        "prometheus",
        {name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")},
        tags="remove_all_sd",  # static and file discovery stay; the build takes half as long
    ),
    Part("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    Part("metrics-server", {"metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"}),
    Part("helm", {"helm": "helm.sh/helm/v3/cmd/helm"}),
    Part("go-extender", {"go-extender": "loadaware.test/parts/go-extender"}),  # our own: main.go is beside its go.mod
)


def say_on_stderr(line: str) -> None:
    """The default for progress: unbuffered and out of the way of output."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def cache_folder() -> Path:
    """Where finished programs are kept."""
    chosen = os.environ.get("LOADAWARE_PARTS_CACHE")
    return Path(chosen).absolute() if chosen else Path.home() / ".cache" / "loadaware" / "parts"


def binary(name: str, say: Callable[[str], None] = say_on_stderr) -> Path:
    """The program of that name, built now if the cache does not have it."""
    return binaries([name], say)[name]


def binaries(names: Iterable[str], say: Callable[[str], None] = say_on_stderr) -> dict[str, Path]:
    """Several programs, by name; see `binary`."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    go = toolchain(cache, say)
    return {name: _built(_part_of(name), name, cache, go, say) for name in names}


def program_names(selection: Sequence[str] = ()) -> list[str]:
    """The programs that a selection of programs and parts stands for; an empty one stands for all."""
    every = [name for part in PARTS for name in part.programs]
    wanted = {name: [name] for name in every} | {part.name: list(part.programs) for part in PARTS}
    unknown = [name for name in selection if name not in wanted]
    if unknown:
        raise BuildError(f"no such part or program: {', '.join(unknown)}; there are {', '.join(wanted)}")
    return [program for name in selection for program in wanted[name]] or every


def _part_of(name: str) -> Part:
    for part in PARTS:
        if name in part.programs:
            return part
    raise BuildError(f"no part has a program {name!r}; there are {', '.join(program_names())}")


def _built(part: Part, name: str, cache: Path, go: Toolchain, say: Callable[[str], None]) -> Path:
    home = cache / f"{part.name}-{part.key(go.version)}"
    program = home / name
    if program.exists():
        return program
    with locked(home.with_suffix(".lock"), lambda: say(f"{name}: another process is building it; waiting")):
        if not program.exists():
            _build(part, name, program, go, say)
    return program


def _build(part: Part, name: str, program: Path, go: Toolchain, say: Callable[[str], None]) -> None:
    """Build into a temporary folder beside the others, then rename: a program is whole or absent."""
    say(f"{name}: building with {go.version.removeprefix('go version ')}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=program.parent.parent, prefix="building-") as folder:
        made = Path(folder) / name
        command: list[str | Path] = [go.command, "build", *part.flags(), "-o", made, part.programs[name]]
        log = Path(folder) / "log"
        _run(command, part.folder, log, lambda seconds: say(f"{name}: still building, {seconds} s"))
        program.parent.mkdir(exist_ok=True)
        made.replace(program)
    took, size = time.monotonic() - started, program.stat().st_size / 1e6
    say(f"{name}: built in {took:.0f} s, {size:.0f} MB")


def _run(command: Sequence[str | Path], folder: Path, log: Path, on_patience: Callable[[int], None]) -> None:
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=output, stderr=output)
    with process:
        try:
            while not _finished(process):
                on_patience(round(time.monotonic() - started))
        finally:
            process.kill()  # of use only when the wait was interrupted
    if process.returncode != 0:
        said = log.read_text()[-TAIL_CHARACTERS:]
        raise BuildError(f"{folder.name}: go build exited with {process.returncode}\n{said}")


def _finished(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def main(selection: Sequence[str]) -> int:
    """The command line: build the selection, or everything."""
    try:
        for name, path in binaries(program_names(selection)).items():
            say_on_stderr(f"{name}: {path}")
    except BuildError as error:
        say_on_stderr(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
