"""The search on a valley whose bottom is known: it is found, and the same whoever judges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadaware.config import Config, parse
from loadaware.errors import ConfigError
from loadaware.tuning import TuneResult, crew, tune
from loadaware.tuning.crews import Alone, JudgingError, Order, judge
from loadaware.tuning.objective import front
from loadaware.tuning.run import StoppedError
from loadaware.tuning.search import BASE
from loadaware.tuning.source import Judged
from tests.loadaware.tuning.known_best import BEST, CASES, TEST_CASES, Valley, valley, valley_space


def search(trials: int = 20, **more: Any) -> TuneResult:
    return tune(more.pop("source", Valley()), trials=trials, space=valley_space(), **more)


def told(result: TuneResult) -> list[Any]:
    return [(one.number, one.drawn, one.values, one.given_up, one.profile) for one in result.finished]


class Counting(Alone):
    """Counts what is judged, and stops like Ctrl-C after so many."""

    def __init__(self, stop_after: int | None = None, backwards: bool = False) -> None:
        self.judged: list[tuple[str, str]] = []
        self._stop_after, self._backwards = stop_after, backwards

    def run(self, orders: Sequence[Order]) -> Iterator[tuple[int, Judged]]:
        places = list(enumerate(orders))
        for place, order in reversed(places) if self._backwards else places:
            if self._stop_after is not None and len(self.judged) >= self._stop_after:
                raise KeyboardInterrupt
            self.judged.append((order.case, str(order.config.profiles[0].max_score)))
            told = judge(self._source, order)
            assert isinstance(told, Judged)
            yield place, told


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_sixty_trials_find_a_configuration_within_two_percent_of_the_best(seed: int) -> None:
    result = search(60, seed=seed)
    assert BEST <= valley(result.config, "default-scheduler") <= 1.02 * BEST
    assert "TargetLoadPacking" not in {scorer.name for scorer in result.config.profiles[0].scorers}
    assert result.better


def test_the_same_seed_gives_the_same_trials_and_another_seed_others() -> None:
    assert told(search(seed=4)) == told(search(seed=4))
    assert told(search(seed=4)) != told(search(seed=5))


def test_nothing_depends_on_who_is_finished_first() -> None:
    assert told(search(crew=Counting())) == told(search(crew=Counting(backwards=True)))


def test_more_trials_begin_with_the_same_ones() -> None:
    assert told(search(20))[:11] == told(search(11))


def test_a_search_that_was_stopped_anywhere_goes_on_and_comes_to_the_same_end(tmp_path: Path) -> None:
    whole = Counting()
    expected = told(search(crew=whole))
    for stop_after in range(len(CASES) + len(TEST_CASES), len(whole.judged), 13):
        runs = tmp_path / f"{stop_after}.jsonl"
        first = search(crew=Counting(stop_after), runs=runs)
        assert first.stopped
        assert told(first) == expected[: len(first.finished)]
        rest = Counting()
        again = search(crew=rest, runs=runs)
        assert told(again) == expected
        assert not again.stopped
        assert len(rest.judged) == len(whole.judged) - stop_after


def test_stopped_before_anything_is_known_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match="what is done is kept"):
        search(crew=Counting(3), runs=tmp_path / "runs.jsonl")


def test_whoever_is_clearly_worse_is_given_up_early_and_never_wins() -> None:
    pruned, whole = Counting(), Counting()
    result, other = search(40, crew=pruned), search(40, crew=whole, pruning=False)
    assert any(one.given_up for one in result.finished)
    assert not any(one.given_up for one in other.finished)
    assert len(pruned.judged) < 0.8 * len(whole.judged)
    assert not result.best.given_up
    assert all(
        one.cases < len(CASES) and one.values[0] > result.best.values[0] for one in result.finished if one.given_up
    )


def test_the_cases_of_the_test_are_never_used_to_search() -> None:
    counting = Counting()
    search(crew=counting)
    tested = [score for case, score in counting.judged if case in TEST_CASES]
    assert len(tested) == 2 * len(TEST_CASES)
    assert len(set(tested)) <= 2


def test_a_gain_that_is_gone_on_the_test_is_called_out() -> None:
    result = search(30, source=Valley(upset=tuple(TEST_CASES)))
    assert result.found
    assert not result.better
    assert result.test.loc["hot80", "verdict"] == "worse"
    assert any("hot80 is not shown to be better: got worse" in warning for warning in result.warnings)


def test_a_gain_within_noise_is_called_out() -> None:
    result = search(30, source=Valley(upset=tuple(TEST_CASES)[::2]))
    assert result.found
    assert not result.better
    assert any("hot80 is not shown to be better: within noise" in warning for warning in result.warnings)


def test_what_one_begins_with_wins_if_nothing_is_better() -> None:
    best = parse(
        "profiles: [{maxScore: 40, scorers: [{name: EntropicRisk, weight: 3, args: {k: {cpu: 8, memory: 20}}}, "
        "{name: LowestUsage}]}]"
    )
    result = search(10, config=best)
    assert not result.found
    assert result.best.number == BASE
    assert result.config == best
    assert "No trial was better" in result.warnings[0]


def test_of_several_objectives_the_chosen_one_is_on_the_front() -> None:
    result = search(40, objectives=["hot80", "unserved"])
    whole = {one.number: one.values for one in result.finished if not one.given_up}
    assert result.best.number in front(whole | {BASE: result.base.values})
    assert {"hot80", "unserved"} <= set(result.trials.columns)


@dataclass(frozen=True)
class Moving(Valley):
    """What one begins with moves nobody; each maxScore away from it moves a percent of the pods."""

    figures: tuple[str, ...] = ("hot80", "moves")

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        moved = abs(config.profiles[0].max_score - Config().profiles[0].max_score)
        return Judged(figures={"hot80": super().judge(config, profile, case).figures["hot80"], "moves": float(moved)})


def test_moves_beside_another_objective_are_a_price_that_is_told_and_no_reason_to_stay() -> None:
    result = search(40, source=Moving(), objectives=["hot80", "moves"])
    assert result.base.values[1] == 0.0
    assert result.found
    assert result.better
    assert any(warning.startswith("The price: moves (pods placed elsewhere") for warning in result.warnings)


def test_only_the_named_profile_is_tuned() -> None:
    config = parse("profiles: [{scorers: [{name: Peaks}]}, {schedulerName: batch, scorers: [{name: LowestUsage}]}]")
    result = search(config=config, profile="batch")
    assert result.config.profiles[0] == config.profiles[0]
    assert result.config.profiles[1] != config.profiles[1]


def test_frames_have_a_row_per_trial_and_a_row_per_figure() -> None:
    result = search(12)
    assert list(result.trials.index) == list(range(12))
    assert result.trials["hot80"].min() == min(one.values[0] for one in result.finished)
    assert list(result.test.index) == ["hot80", "unserved"]
    assert (result.test["before"] > result.test["after"])["hot80"]
    assert len(result.study.trials) == 12


class Failing(Valley):
    def judge(self, config: Config, profile: str, case: str) -> Judged:
        if case == "tuesday":
            raise ConfigError(case, "", "rain")
        return super().judge(config, profile, case)


def test_a_case_that_cannot_be_judged_ends_it_with_its_name_and_what_is_done_is_kept(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    with pytest.raises(JudgingError, match="the run on tuesday failed: tuesday: rain"):
        search(source=Failing(), runs=runs)
    assert len(runs.read_bytes().splitlines()) == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trials": 0}, "--trials: must be at least 1, not 0"),
        ({"batch": 0}, "--batch: must be at least 1, not 0"),
        (
            {"objectives": ["hot8O"]},
            "--objective: 'hot8O' is not among the figures of this source; did you mean 'hot80'?",
        ),
        ({"profile": "batch"}, "--profile: there is no profile 'batch'; there are: default-scheduler"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_judged(more: dict[str, Any], said: str) -> None:
    counting = Counting()
    with pytest.raises(ConfigError) as caught:
        search(**dict[str, Any](trials=5, crew=counting) | more)
    assert str(caught.value) == said
    assert counting.judged == []


def test_progress_grows_to_the_end() -> None:
    shares: list[float] = []
    search(12, hear=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_two_processes_find_the_same_as_one() -> None:
    assert told(search(10, crew=crew(2))) == told(search(10))
