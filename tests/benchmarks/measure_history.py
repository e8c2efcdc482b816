"""How large a history is, and what it costs to write, read and replay: writes docs/benchmarks/history.md.

    python -m tests.benchmarks.measure_history                    14 days of 500 nodes and 15,000 pods: about an hour
    python -m tests.benchmarks.measure_history --days 0.25,0.5    shorter ones; what 14 days would be by their growth

Each step runs in a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from tests.benchmarks.generated_history import HistorySize, generate

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "history.md"
STEPS = ("write", "read", "replay")
FULL_DAYS = 14.0


@dataclass(frozen=True)
class Cost:
    """Of one step."""

    seconds: float
    cpu_seconds: float
    peak_mebibytes: float
    base_mebibytes: float
    """Before it began: Python, numpy, pyarrow."""


@dataclass(frozen=True)
class Measured:
    """One history."""

    days: float
    size_bytes: int
    costs: dict[str, Cost]
    asked: int


def measure(size: HistorySize, folder: Path) -> Measured:
    """Write, read and replay one history, each in a process of its own."""
    told = {step: _in_process(step, size, folder) for step in STEPS}
    size_bytes = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
    costs = {step: Cost(**answer["cost"]) for step, answer in told.items()}
    return Measured(size.days, size_bytes, costs, told["replay"]["asked"])


def _in_process(step: str, size: HistorySize, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.measure_history", "--step", step, "--folder", str(folder)]
    command += ["--days", str(size.days), "--nodes", str(size.nodes), "--pods", str(size.pods)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run_step(step: str, size: HistorySize, folder: Path) -> dict[str, object]:
    """One step in this process."""
    from collectors.history import HistoryReader
    from loadaware.config import Config
    from loadaware.replay.run import replay

    base, started, worked, asked = _peak(), perf_counter(), process_time(), 0
    if step == "write":
        generate(folder, size)
    elif step == "read":
        for _ in HistoryReader(folder).records():
            pass
    else:
        asked = replay(folder, Config()).counts.asked
    return {"cost": asdict(Cost(perf_counter() - started, process_time() - worked, _peak(), base)), "asked": asked}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def page(size: HistorySize, measured: Sequence[Measured]) -> str:
    """What was measured, as Markdown."""
    longest = measured[-1]
    lines = [
        "# What a history costs",
        "",
        "Written by `python -m tests.benchmarks.measure_history`; do not edit.",
        "",
        f"A generated cluster of {size.nodes} nodes and {size.pods:,} pods at 1 minute, cpu and memory, one pod in a",
        "thousand replaced each minute (each is asked about with every node that has room for it). Recorded without",
        "requests, replayed under the default configuration. Times are CPU time of one process: "
        "other programs ran on the",
        f"machine, which only the time by the clock shows. Python {platform.python_version()}, {platform.machine()}.",
        "",
        "| days | on disk | write | read all | replay | replay by the clock | pods asked about | "
        "peak memory: write, read, replay |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(one) for one in measured),
    ]
    if longest.days < FULL_DAYS:
        lines.append(_extrapolated(longest))
    lines += ["", "Peak memory is that of the whole process; Python with its libraries takes "]
    lines[-1] += f"{longest.costs['read'].base_mebibytes:.0f} MiB of it before anything is read."
    if longest.days < FULL_DAYS:
        lines += [
            "",
            "*The last row is not measured*: it is the longest run multiplied. A replayed day costs more the more pods",
            "are elsewhere than they were, until most of them are: the rows above show how much, and the last one is",
            "too low by what is still to come.",
        ]
    return "\n".join(lines) + "\n"


def _row(one: Measured) -> str:
    times = " | ".join(_time(one.costs[step].cpu_seconds) for step in STEPS)
    clock = _time(one.costs["replay"].seconds)
    memory = ", ".join(f"{one.costs[step].peak_mebibytes:.0f}" for step in STEPS)
    return f"| {one.days:g} | {one.size_bytes / 1e6:,.0f} MB | {times} | {clock} | {one.asked:,} | {memory} MiB |"


def _extrapolated(one: Measured) -> str:
    more = FULL_DAYS / one.days
    times = " | ".join(f"*{_time(more * one.costs[step].cpu_seconds)}*" for step in STEPS)
    return f"| *{FULL_DAYS:g}* | *{more * one.size_bytes / 1e6:,.0f} MB* | {times} | | *{more * one.asked:,.0f}* | |"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", default="14")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=15_000)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="keep the histories here")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    sizes = [HistorySize(options.nodes, options.pods, float(days)) for days in options.days.split(",")]
    if options.step:
        sys.stdout.write(json.dumps(run_step(options.step, sizes[0], options.folder)))
        return
    measured = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.folder or Path(temporary)) / f"{size.days:g}-days"
            measured.append(measure(size, folder))
        sys.stdout.write(_row(measured[-1]) + "\n")
        sys.stdout.flush()
        options.page.write_text(page(sizes[0], measured), encoding="utf-8")


if __name__ == "__main__":
    main()
