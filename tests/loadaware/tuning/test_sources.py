"""Days and windows are split so that the test is never seen, and judged as the simulator and the replay judge."""

from pathlib import Path

import numpy as np
import pytest

from collectors.errors import HistoryError
from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from loadaware.simulation.stage import make_stage
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import run_trial
from loadaware.tuning.recorded_history import judged
from loadaware.tuning.run import tune
from loadaware.tuning.simulated_days import split_days
from loadaware.tuning.sources import recorded, simulated
from loadaware.tuning.space import parse_space
from tests.loadaware.recorded_runs import START, Recording, packed_history

SMALL = {"nodes": 5, "hours": 0.4, "warm_up_hours": 0.2, "load": 0.6}


def days(*names: str) -> list[Traces]:
    return [Traces(name, np.full((3, 4), 0.2)) for name in names]


def test_of_each_data_set_the_last_days_are_kept_for_the_test() -> None:
    train, test = split_days(days("a-1", "a-2", "a-3", "b-1", "b-2", "c-1"), 0.3)
    assert (train, test) == ([0, 1, 3, 5], [2, 4])


def test_a_single_day_cannot_be_split() -> None:
    with pytest.raises(ConfigError, match="at least two days"):
        split_days(days("a-1"), 0.3)


def test_recorded_days_are_taken_in_turn_and_no_seed_is_used_twice(tmp_path: Path) -> None:
    for number in range(3):
        np.savez(tmp_path / f"lab-{number}.npz", cpu_percent=np.full((4, 24), 20.0 + number))
    source = simulated(traces=str(tmp_path), seeds=3, test_seeds=2, **SMALL)  # type: ignore[arg-type]
    assert source.train == ("lab-0, seed 0", "lab-1, seed 1", "lab-0, seed 2")
    assert source.test == ("lab-2, seed 100000", "lab-2, seed 100001")
    other = simulated(traces=str(tmp_path), seeds=3, test_seeds=3, **SMALL)  # type: ignore[arg-type]
    assert source.identity != other.identity


def test_a_profile_of_one_scorer_is_judged_as_simulate_judges_the_same_policy() -> None:
    source = simulated(seeds=1, test_seeds=1, **SMALL)  # type: ignore[arg-type]
    config = parse("profiles: [{scorers: [{name: LowestUsage}], maxScore: 30}]")
    judged = source.judge(config, "default-scheduler", "seed 0")
    outcome = run_trial(make_stage(source.setup, None, 0), "LowestUsage*3+default")
    assert judged.figures == {name: getattr(outcome, name) for name in source.figures}


def test_weights_count_and_the_same_case_is_judged_the_same_again() -> None:
    source = simulated(seeds=1, test_seeds=1, **SMALL)  # type: ignore[arg-type]
    one, other = (
        parse(f"profiles: [{{scorers: [{{name: LowestUsage}}, {{name: TargetLoadPacking, weight: {w}}}]}}]")
        for w in (0.1, 10)
    )
    first, second = (source.judge(one, "default-scheduler", "seed 0").figures for _ in range(2))
    assert first == second
    assert first != source.judge(other, "default-scheduler", "seed 0").figures


def test_a_load_that_cannot_be_met_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for number in range(2):
        levels = np.zeros((4, 288))
        levels[:, 0] = 100.0
        np.savez(tmp_path / f"lab-{number}.npz", cpu_percent=levels)
    with pytest.raises(ConfigError, match=r"--load: lab-0, seed 0: a load of 90% cannot be met: .*; ask for another"):
        simulated(traces=str(tmp_path), nodes=5, hours=0.4, warm_up_hours=0.2, load=0.9)


def test_a_history_is_split_by_time_and_its_last_part_is_the_test(tmp_path: Path) -> None:
    packed_history(tmp_path / "history", minutes=100)
    source = recorded(str(tmp_path / "history"), windows=2, test_share=0.4)
    (first, second), (test,) = ([source.windows[name] for name in names] for names in (source.train, source.test))
    assert first[0] < first[1] == second[0] < second[1] == test[0] < test[1]
    assert test[1] - test[0] == pytest.approx(0.4 * (test[1] - first[0]))


def test_only_a_part_of_a_history_may_be_used(tmp_path: Path) -> None:
    packed_history(tmp_path / "history", minutes=100)
    source = recorded(str(tmp_path / "history"), since=START + 600.0, until=START + 3600.0, test_share=0.5)
    assert [source.windows[name] for name in (*source.train, *source.test)] == [
        (START + 600.0, START + 2100.0),
        (START + 2100.0, START + 3600.0),
    ]
    with pytest.raises(HistoryError, match="has nothing in that time"):
        recorded(str(tmp_path / "history"), since=START + 1e6)


def test_a_window_is_judged_as_replay_judges_it(tmp_path: Path) -> None:
    packed_history(tmp_path / "history")
    source = recorded(str(tmp_path / "history"), windows=1)
    config = parse("profiles: [{scorers: [{name: LowestUsage}]}]")
    judged = source.judge(config, "default-scheduler", source.train[0])
    since, until = source.windows[source.train[0]]
    outcome = replay(tmp_path / "history", config, ReplaySettings(since=since, until=until))
    assert judged.figures["hot80"] == outcome.replayed.hot80
    assert judged.figures["moves"] == 100.0 * outcome.counts.elsewhere / outcome.counts.placed > 0
    assert judged.blocks["hot80"] == {n: block.hot80 for n, block in outcome.replayed_blocks.items()}


def test_moves_are_told_block_by_block_where_pods_were_placed(tmp_path: Path) -> None:
    packed_history(tmp_path, minutes=40)
    outcome = replay(tmp_path, Config(), ReplaySettings(warm_up_seconds=0.0, block_seconds=120.0))
    placed = [of for of, _ in outcome.placed_blocks.values()]
    assert sum(placed) == outcome.counts.placed > 0
    assert sum(moved for _, moved in outcome.placed_blocks.values()) == outcome.counts.elsewhere > 0
    shares = {n: 100.0 * moved / of for n, (of, moved) in outcome.placed_blocks.items()}
    assert judged(outcome).blocks["moves"] == shares


def grown_history(folder: Path, begin: int, end: int) -> None:
    told = Recording(folder)
    told.nodes("full", "idle")
    for minute in range(begin, end):
        told.now = START + 60.0 * minute
        told.read({"full": 3.5, "idle": 0.1}, {})
    told.close()


def test_a_search_on_a_history_that_grew_goes_on_with_the_windows_it_began_with(tmp_path: Path) -> None:
    folder, runs = tmp_path / "history", tmp_path / "best.runs.jsonl"
    grown_history(folder, 0, 60)
    space = parse_space("maxScore: {oneOf: [1, 30, 100]}")
    first = tune(recorded(str(folder)), trials=2, space=space, runs=runs)
    kept = runs.read_bytes()
    grown_history(folder, 60, 120)
    again = tune(recorded(str(folder)), trials=2, space=space, runs=runs)
    assert runs.read_bytes() == kept
    assert (again.train_cases, again.test_cases, again.title) == (first.train_cases, first.test_cases, first.title)
    with pytest.raises(ConfigError, match="holds the runs of another search: other data"):
        tune(recorded(str(folder), windows=2), trials=2, space=space, runs=runs)


def test_windows_that_are_there_no_more_are_told_of(tmp_path: Path) -> None:
    grown_history(tmp_path / "old" / "history", 0, 60)
    grown_history(tmp_path / "new" / "history", 0, 40)
    runs, space = tmp_path / "best.runs.jsonl", parse_space("maxScore: {oneOf: [1, 30, 100]}")
    tune(recorded(str(tmp_path / "old" / "history")), trials=1, space=space, runs=runs)
    with pytest.raises(HistoryError, match="all of that is there no more: name another --output"):
        tune(recorded(str(tmp_path / "new" / "history")), trials=1, space=space, runs=runs)


def test_a_profile_in_shadow_is_not_tuned_on_a_history(tmp_path: Path) -> None:
    packed_history(tmp_path / "history")
    config = parse("profiles: [{}, {schedulerName: aside, shadow: true, scorers: [{name: Peaks}]}]")
    with pytest.raises(ConfigError, match="--profile: 'aside' is in shadow: a replay places no pod by it"):
        tune(recorded(str(tmp_path / "history")), trials=1, config=config, profile="aside")


def test_trials_that_are_all_equal_are_warned_of(tmp_path: Path) -> None:
    packed_history(tmp_path / "history")
    config = parse("profiles: [{}, {schedulerName: batch, scorers: [{name: Peaks}]}]")
    space = parse_space("maxScore: {oneOf: [1, 30, 100]}")
    result = tune(recorded(str(tmp_path / "history")), trials=3, config=config, profile="batch", space=space)
    assert "All trials came out equal" in result.warnings[0]
    assert "Are there pods of batch?" in result.warnings[0]


def test_a_history_without_readings_is_refused(tmp_path: Path) -> None:
    told = Recording(tmp_path / "history")
    told.now = START + 60.0
    told.nodes("one")
    told.close()
    with pytest.raises(HistoryError, match="holds no reading"):
        recorded(str(tmp_path / "history"))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        recorded(str(tmp_path / "none"))
