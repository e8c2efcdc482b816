"""Finished runs in a file: found again, never mixed up, never lost, and no other file is harmed."""

import math
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.simulation.run_store import Keys, RunStore, split
from loadaware.simulation.stage import Setup
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import Outcome, Trial

TRIAL = Trial(Setup(), "", 1, "default")
DAY = Traces("lab-1", np.full((2, 4), 0.5))


def outcome(hot80: float = 1.5, together: float = 2.0) -> Outcome:
    return Outcome(
        hot80=hot80, hot90=0.5, unserved=0.25, std=8.0, p99=91.0, pending=0.0, together=together,
        memory90=0.0, utilization=50.0,
        seconds=3.0,
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def store(file: Path, code: str = "code") -> RunStore:
    return RunStore(file, Keys({}, code))


def test_what_was_kept_is_found_by_the_next_one_to_open_the_file(file: Path) -> None:
    other = replace(TRIAL, seed=2)
    first = store(file)
    assert first.get(TRIAL) is None
    first.add(TRIAL, outcome())
    first.add(other, outcome(7.0))
    again = store(file)
    assert len(again) == 2
    assert again.get(TRIAL) == outcome()
    assert again.get(other) == outcome(7.0)


def test_a_figure_that_is_no_number_stays_so(file: Path) -> None:
    store(file).add(TRIAL, outcome(together=math.nan))
    assert b"NaN" not in file.read_bytes()
    found = store(file).get(TRIAL)
    assert found is not None
    assert math.isnan(found.together)


@pytest.mark.parametrize(
    "other",
    [
        replace(TRIAL, seed=2),
        replace(TRIAL, policy="random"),
        replace(TRIAL, setup=replace(Setup(), smoothing_seconds=60.0)),
        replace(TRIAL, setup=replace(Setup(), scenario=replace(Setup().scenario, load=0.51))),
    ],
    ids=["seed", "policy", "setup", "load"],
)
def test_another_trial_is_another_run(file: Path, other: Trial) -> None:
    kept = store(file)
    kept.add(TRIAL, outcome())
    assert kept.get(other) is None


def test_other_code_makes_other_runs(file: Path) -> None:
    store(file, "before").add(TRIAL, outcome())
    assert store(file, "after").get(TRIAL) is None
    assert store(file, "before").get(TRIAL) == outcome()


def test_a_key_depends_on_the_recorded_day_of_the_seed_and_not_on_the_name_of_its_set() -> None:
    other = Traces("lab-2", np.full((2, 4), 0.25))
    keys, swapped = Keys({"lab": (DAY, other)}, "code"), Keys({"lab": (other, DAY)}, "code")
    trial = replace(TRIAL, dataset="lab")
    assert keys.of(trial) != swapped.of(trial)
    assert keys.of(trial) == Keys({"all": (DAY, other)}, "code").of(replace(TRIAL, dataset="all"))
    assert keys.of(trial) != keys.of(TRIAL)


def test_a_line_that_a_crash_cut_short_is_removed_and_the_rest_kept(file: Path) -> None:
    store(file).add(TRIAL, outcome())
    whole = file.read_bytes()
    for cut in (2, 9, len(whole) - 1):
        file.write_bytes(whole + whole[:cut])
        kept = store(file)
        assert kept.get(TRIAL) == outcome()
        assert file.read_bytes() == whole
    kept.add(replace(TRIAL, seed=2), outcome())
    assert len(store(file)) == 2


@pytest.mark.parametrize("content", ["nodes:\n- name: a\n", "hello", '{"a": 1}\n', '{"key":"a","outcome":{}}\n'])
def test_a_file_of_something_else_is_refused_and_not_touched(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match="is this a file of `loadaware simulate`"):
        store(file)
    assert file.read_text(encoding="utf-8") == content


def test_a_line_with_other_figures_is_refused(file: Path) -> None:
    store(file).add(TRIAL, outcome())
    line = msgspec.json.decode(file.read_bytes())
    del line["outcome"]["hot80"]
    file.write_bytes(msgspec.json.encode(line) + b"\n")
    with pytest.raises(ConfigError, match="line 1 is not a finished run"):
        store(file)


def test_a_file_that_cannot_be_had_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        store(tmp_path)
    with pytest.raises(ConfigError, match="cannot be written"):
        store(tmp_path / "nowhere" / "runs.jsonl")


def test_trials_are_split_into_done_and_missing(file: Path) -> None:
    other = replace(TRIAL, seed=2)
    kept = store(file)
    kept.add(TRIAL, outcome())
    assert split([TRIAL, other], kept) == ({TRIAL: outcome()}, [other])
    assert split([TRIAL, other], None) == ({}, [TRIAL, other])
