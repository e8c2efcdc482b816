"""The work of a request does not grow unnoticed. Counted, not timed; `make baseline` takes new counts as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.hot_path_counts import PYTHON, baseline, regressions

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(baseline() is None, reason=f"no baseline was taken with Python {PYTHON}: `make baseline` takes one")
def test_a_request_is_no_more_work_than_the_baseline_says() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.hot_path_counts", "--check"]
    check = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr + "\nif that is worth it: make baseline"


def test_the_baseline_has_no_step_per_node() -> None:
    for counts in [counts for counts in [baseline()] if counts is not None]:
        for verb in ("prioritize", "filter"):
            few, many = counts[f"{verb} 100 names"], counts[f"{verb} 500 names"]
            assert many["bytecodes"] - few["bytecodes"] < 400
            assert many["calls into C"] - few["calls into C"] < 40


def test_only_what_is_clearly_above_the_baseline_is_a_regression() -> None:
    before = {"prioritize": {"bytecodes": 1000, "calls into C": 100}}
    assert regressions({"prioritize": {"bytecodes": 1050, "calls into C": 50}}, before) == []
    assert regressions({"prioritize": {"bytecodes": 1051, "calls into C": 100}}, before) == [
        "prioritize: 1,051 bytecodes, the baseline is 1,000"
    ]
