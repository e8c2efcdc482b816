"""The core has no I/O, no logging, no clock of its own: read from its imports."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "loadaware"
CORE = [
    *(PACKAGE / f"{name}.py" for name in (
        "adviser", "awaited", "breaker", "calibration", "changes", "core", "default_plugins", "demand",
        "demand_format", "demand_report", "demand_state", "expectations", "expected", "explanation", "filtering",
        "foresight", "in_flight", "kin", "ladder", "learning", "node_report", "node_series", "nodes", "observer",
        "pod_sums", "pods", "pods_in_flight", "preemption", "prior", "profile", "quarantine", "question", "ranking",
        "records", "rest", "roster",
        "siblings", "snapshot",
        "window", "workload",
    )),
    *(PACKAGE / "filters").glob("*.py"),
    *(PACKAGE / "scorers").glob("*.py"),
]  # fmt: skip
FORBIDDEN = {"asyncio", "datetime", "logging", "os", "random", "socket", "subprocess", "sys", "threading", "time"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_a_module_of_the_core_imports_no_clock_no_chance_no_input_and_no_output(path: Path) -> None:
    assert not imported(path) & FORBIDDEN
