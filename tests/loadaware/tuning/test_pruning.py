import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.tuning.objective import choose, dominates, front, values_of
from loadaware.tuning.pruning import Pruning, estimate
from loadaware.tuning.source import Judged


def judged(*hot80: float, unserved: float | None = None) -> list[Judged]:
    return [Judged(figures={"hot80": value, "unserved": unserved}) for value in hot80]


@pytest.mark.parametrize(
    ("ours", "theirs", "given_up"),
    [
        ((12.2, 12.2), (10.0, 10.0), True),  # 22 % twice: more than 0.3 / sqrt(2)
        ((12.1, 12.1), (10.0, 10.0), False),  # 21 %: could be luck
        ((11.6,) * 4, (10.0,) * 4, True),  # 16 % four times: more than 0.3 / 2
        ((11.4,) * 4, (10.0,) * 4, False),
        ((20.0, 9.9), (10.0, 10.0), False),  # once better: not clear
        ((8.0, 8.0), (10.0, 10.0), False),
        ((10.0, 10.0), (10.0, 10.0), False),
        ((0.5, 0.1), (0.0, 0.0), True),  # any more than nothing
    ],
)
def test_a_trial_is_given_up_if_it_is_worse_in_each_case_and_by_a_margin(
    ours: tuple[float, ...], theirs: tuple[float, ...], given_up: bool
) -> None:
    assert Pruning().gives_up(judged(*ours), judged(*theirs), ["hot80"]) is given_up
    assert not Pruning(on=False).gives_up(judged(*ours), judged(*theirs), ["hot80"])


def test_a_trial_that_is_better_in_one_of_two_objectives_is_not_given_up() -> None:
    ours, theirs = judged(20.0, unserved=1.0), judged(10.0, unserved=2.0)
    assert not Pruning().gives_up(ours, theirs, ["hot80", "unserved"])
    assert Pruning().gives_up(ours, judged(10.0, unserved=0.5), ["hot80", "unserved"])


def test_an_unknown_figure_gives_nobody_up() -> None:
    assert not Pruning().gives_up(judged(1.0), judged(1.0), ["unserved"])


def test_cases_are_judged_in_growing_steps_and_all_at_once_without_pruning() -> None:
    assert Pruning().steps("abcdefg") == [("a", "b"), ("c", "d"), ("e", "f", "g")]
    assert Pruning(on=False).steps("abc") == [("a", "b", "c")]


PERCENT = st.integers(0, 10**6).map(lambda number: number / 10**4)
"""As runs tell them: what is told apart is told apart in a mean, too."""


@given(st.lists(st.tuples(PERCENT, PERCENT), min_size=1, max_size=6), st.integers(1, 6))
def test_whoever_is_given_up_is_told_as_worse_than_the_best(pairs: list[tuple[float, float]], seen: int) -> None:
    theirs = judged(*(b for _, b in pairs))
    ours, part = judged(*(a for a, _ in pairs[:seen])), theirs[:seen]
    if Pruning().gives_up(ours, part, ["hot80"]):
        assert estimate(ours, part, theirs, ["hot80"])[0] > values_of(theirs, ["hot80"])[0]


Points = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=8)


@given(Points)
def test_the_front_is_beaten_by_nobody_and_whatever_is_not_on_it_is(points: list[tuple[float, float]]) -> None:
    values = dict(enumerate(points))
    on_it = front(values)
    assert on_it
    for number, own in values.items():
        beaten = any(dominates(other, own) for other in values.values())
        assert (number in on_it) is not beaten


@given(Points)
def test_whoever_is_chosen_is_on_the_front(points: list[tuple[float, float]]) -> None:
    values = dict(enumerate(points))
    assert choose(values) in front(values)
