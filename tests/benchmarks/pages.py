"""What the pages of benchmarks share: tables, where and of what they were made; and how progress is told."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]


def say(line: str) -> None:
    """Progress."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')}  {line}\n")
    sys.stderr.flush()


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, ["---"] * len(headings), *rows))


def measured_here() -> str:
    """When, of what, where, and how busy it was."""
    return (
        f"Measured on {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC at commit {commit()}: {machine()}; "
        f"load average {os.getloadavg()[0]:.1f} at the end."
    )


def commit() -> str:
    """The commit of this checkout, and whether the code differs from it."""
    known = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "-uno", "--", "loadaware", "collectors", "tests")
    return f"{known or 'unknown'}{' with changes that are not committed' if changed else ''}"


def machine() -> str:
    """Cores, memory and versions."""
    model = _told("/proc/cpuinfo", "model name") or platform.machine()
    memory = int((_told("/proc/meminfo", "MemTotal") or "0").split()[0]) / 2**20
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )


def _told(file: str, name: str) -> str:
    """The first line of that name, where there is such a file."""
    path = Path(file)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
