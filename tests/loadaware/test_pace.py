import pytest

from loadaware.pace import ENOUGH_SECONDS, QUIET_SECONDS, Pace


class Stopwatch:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def stopwatch() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
def pace(stopwatch: Stopwatch) -> Pace:
    return Pace(stopwatch)


def answered(pace: Pace, stopwatch: Stopwatch, verb: str, gap: float) -> None:
    """A request that comes so long after the last answer, and takes half a millisecond."""
    stopwatch.pass_by(gap)
    began = stopwatch.now
    stopwatch.pass_by(0.0005)
    pace.answered(verb, began, stopwatch.now)


def test_there_is_time_before_anybody_has_asked_and_after_the_first_answer(pace: Pace, stopwatch: Stopwatch) -> None:
    assert pace.leaves_time()
    answered(pace, stopwatch, "prioritize", 5.0)
    assert pace.leaves_time()


def test_who_asks_again_at_once_leaves_no_time_until_it_is_quiet(pace: Pace, stopwatch: Stopwatch) -> None:
    for _ in range(3):
        answered(pace, stopwatch, "prioritize", ENOUGH_SECONDS / 10)
    assert not pace.leaves_time()
    stopwatch.pass_by(QUIET_SECONDS * 0.9)
    assert not pace.leaves_time()
    stopwatch.pass_by(QUIET_SECONDS * 0.2)
    assert pace.leaves_time()


def test_a_scheduler_that_works_between_two_pods_leaves_time_after_prioritize_and_none_after_filter(
    pace: Pace, stopwatch: Stopwatch
) -> None:
    for _ in range(3):
        answered(pace, stopwatch, "filter", ENOUGH_SECONDS * 2)
        answered(pace, stopwatch, "prioritize", ENOUGH_SECONDS / 10)
    assert pace.leaves_time()
    answered(pace, stopwatch, "filter", ENOUGH_SECONDS * 2)
    assert not pace.leaves_time()


def test_late_in_a_gap_there_is_no_time_any_more(pace: Pace, stopwatch: Stopwatch) -> None:
    for _ in range(3):
        answered(pace, stopwatch, "prioritize", ENOUGH_SECONDS * 3)
    stopwatch.pass_by(ENOUGH_SECONDS * 1.9)
    assert pace.leaves_time()
    stopwatch.pass_by(ENOUGH_SECONDS * 0.2)
    assert not pace.leaves_time()


def test_the_last_gap_counts_not_those_before(pace: Pace, stopwatch: Stopwatch) -> None:
    for gap in (0.0, 0.0, ENOUGH_SECONDS * 2):
        answered(pace, stopwatch, "prioritize", gap)
    assert pace.leaves_time()
    answered(pace, stopwatch, "prioritize", 0.0)
    assert not pace.leaves_time()
