from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from collectors.errors import CollectorError, SourceUnreachableError
from collectors.failover import Failover, disagreement
from collectors.reading import Base, Collector, HasHistory, HasPodHistory, Measurements, Reading

NAN = float("nan")


def reading(usage: Mapping[str, float], source: str = "first", base: Base = "absolute") -> Reading:
    rows = np.array([[cpu, 1e9] for cpu in usage.values()]).reshape(-1, 2)
    times = np.full(len(usage), 1000.0)
    nodes = Measurements(tuple(usage), rows, times, np.full(len(usage), NAN))
    return Reading(source, 1000.0, ("cpu", "memory"), nodes, base=base)


class Source:
    """Gives what it is told to, and counts how often it was asked."""

    def __init__(self, usage: Mapping[str, float] | None, name: str = "first") -> None:
        self.usage = usage
        self.name = name
        self.reads = 0

    def read(self) -> Reading:
        self.reads += 1
        if self.usage is None:
            raise SourceUnreachableError(f"http://{self.name}", "nobody there")
        return reading(self.usage, self.name)


class WithPast(Source):
    """A source that has a past too."""

    past_works = True

    def history(self, since: float) -> Iterable[Reading]:
        if not self.past_works:
            raise SourceUnreachableError(f"http://{self.name}", "no past")
        yield replace(reading({"a": 1.0}, self.name), time=since)


# -- Taking over ----------------------------------------------------------------------------------------------------


def test_while_the_first_works_its_reading_is_the_reading() -> None:
    failover = Failover(Source({"a": 1.0}), Source({"a": 1.0}, "second"))
    assert isinstance(failover, Collector)
    answer = failover.read()
    assert answer.source == "first"
    assert answer.notes == ()


def test_the_second_takes_over_while_the_first_fails_and_says_so() -> None:
    first, second = Source(None), Source({"a": 2.0}, "second")
    failover = Failover(first, second)
    for _ in range(3):
        answer = failover.read()
        assert answer.source == "second"
        assert answer.nodes.usage[0, 0] == 2.0
        (note,) = answer.notes
        assert note.startswith("the second source stands in, because the first failed: ")
        assert "nobody there" in note
    first.usage = {"a": 1.0}
    assert failover.read().source == "first"


def test_the_first_is_asked_anew_each_time() -> None:
    first = Source(None)
    failover = Failover(first, Source({"a": 2.0}, "second"))
    for _ in range(4):
        failover.read()
    assert first.reads == 4


def test_when_both_fail_the_first_s_error_is_raised_with_the_second_s_beside_it() -> None:
    with pytest.raises(CollectorError, match="http://first") as caught:
        Failover(Source(None), Source(None, "second")).read()
    assert any("the second source failed too" in note for note in caught.value.__notes__)
    assert "http://second" in str(caught.value.__cause__)


def test_what_is_no_failure_of_a_source_is_not_hidden() -> None:
    class Broken:
        def read(self) -> Reading:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Failover(Broken(), Source({"a": 1.0})).read()


def test_a_note_of_the_reading_itself_is_kept() -> None:
    class Noting(Source):
        def read(self) -> Reading:
            return replace(super().read(), notes=("two series matched no node",))

    failover = Failover(Source(None), Noting({"a": 1.0}, "second"))
    assert failover.read().notes[1:] == ("two series matched no node",)


# -- Comparing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("every", "asked"), [(1, 6), (2, 3), (5, 2), (10, 1)])
def test_the_second_is_compared_at_the_first_reading_and_then_now_and_then(every: int, asked: int) -> None:
    second = Source({"a": 1.0}, "second")
    failover = Failover(Source({"a": 1.0}), second, compare_every=every)
    for _ in range(6):
        failover.read()
    assert second.reads == asked


def test_a_disagreement_beyond_the_margin_is_told() -> None:
    failover = Failover(Source({"a": 1.0, "b": 4.0}), Source({"a": 2.0, "b": 4.0}, "second"), margin=0.2)
    # a differs by 1 of 2, b by nothing: the median is 25 %
    assert failover.read().notes == ("the two sources disagree: CPU usage differs by 25% at the median node",)
    within = Failover(Source({"a": 1.0, "b": 4.0}), Source({"a": 2.0, "b": 4.0}, "second"), margin=0.25)
    assert within.read().notes == ()


def test_a_second_source_that_fails_is_worth_a_note_and_no_more() -> None:
    failover = Failover(Source({"a": 1.0}), Source(None, "second"))
    answer = failover.read()
    assert answer.source == "first"
    (note,) = answer.notes
    assert note.startswith("the second source cannot be compared: ")


DISAGREEMENTS = [
    # one, other      median over common nodes of |a - b| / max(a, b)
    ({"a": 1.0}, {"a": 1.0}, 0.0),
    ({"a": 1.0}, {"a": 2.0}, 0.5),
    ({"a": 2.0}, {"a": 1.0}, 0.5),
    ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "b": 2.0, "c": 4.0}, 0.5),
    ({"a": 1.0, "b": 8.0}, {"a": 2.0, "x": 8.0}, 0.5),  # only what both know
    ({"a": 1.0, "b": NAN}, {"a": 2.0, "b": 1.0}, 0.5),  # and both measured
    ({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 2.0}, 0.5),  # nothing and nothing says nothing
    ({"a": 0.0}, {"a": 1.0}, 1.0),
    ({"a": 1.0}, {"b": 1.0}, None),
    ({"a": NAN}, {"a": 1.0}, None),
    ({"a": 0.0}, {"a": 0.0}, None),
    ({}, {"a": 1.0}, None),
    ({"a": 1.0}, {}, None),
]


@pytest.mark.parametrize(("one", "other", "expected"), DISAGREEMENTS)
def test_disagreement_is_the_median_difference_of_common_nodes(
    one: Mapping[str, float], other: Mapping[str, float], expected: float | None
) -> None:
    assert disagreement(reading(one), reading(other)) == expected


def test_shares_of_capacity_are_not_compared_with_cores() -> None:
    assert disagreement(reading({"a": 0.5}, base="capacity"), reading({"a": 2.0})) is None
    assert disagreement(reading({"a": 0.5}, base="capacity"), reading({"a": 0.25}, base="capacity")) == 0.5


# -- The past -------------------------------------------------------------------------------------------------------


def past(failover: Failover) -> list[tuple[str, float]]:
    return [(r.source, r.time) for r in failover.history(42.0)]


def test_the_past_is_that_of_the_first_source_that_has_one() -> None:
    assert isinstance(Failover(Source(None), Source(None)), HasHistory)
    assert past(Failover(WithPast({}), WithPast({}, "second"))) == [("first", 42.0)]
    assert past(Failover(Source({}), WithPast({}, "second"))) == [("second", 42.0)]
    assert past(Failover(WithPast({}), Source({}, "second"))) == [("first", 42.0)]
    assert past(Failover(Source({}), Source({}, "second"))) == []


def test_if_the_first_cannot_tell_its_past_the_second_does() -> None:
    first, second = WithPast({}), WithPast({}, "second")
    first.past_works = False
    assert past(Failover(first, second)) == [("second", 42.0)]
    second.past_works = False
    with pytest.raises(CollectorError, match="http://second"):
        past(Failover(first, second))


# -- What pods used -------------------------------------------------------------------------------------------------


class WithPodPast(Source):
    """A source that knows what pods used; it breaks off after so many readings."""

    breaks_after: int | None = None

    def pod_history(self, since: float) -> Iterator[Reading]:
        for number in range(3):
            if number == self.breaks_after:
                raise SourceUnreachableError(f"http://{self.name}", "no past")
            yield replace(reading({}, self.name), time=since + number)


def test_pods_past_is_the_first_source_s_that_can_tell_it() -> None:
    first, second = WithPodPast({"a": 1.0}), WithPodPast({"a": 1.0}, "second")
    failover = Failover(first, second)
    assert isinstance(failover, HasPodHistory)
    assert [past.source for past in failover.pod_history(500.0)] == ["first"] * 3
    first.breaks_after = 0
    assert [past.source for past in failover.pod_history(500.0)] == ["second"] * 3
    assert [past.source for past in Failover(Source({}), second).pod_history(0.0)] == ["second"] * 3
    assert list(Failover(Source({}), Source({})).pod_history(0.0)) == []


def test_a_past_that_breaks_off_is_not_told_twice_and_one_that_nobody_tells_is_an_error() -> None:
    first, second = WithPodPast({"a": 1.0}), WithPodPast({"a": 1.0}, "second")
    first.breaks_after = 2
    seen: list[float] = []
    with pytest.raises(SourceUnreachableError, match="first"):
        seen.extend(past.time for past in Failover(first, second).pod_history(500.0))
    assert seen == [500.0, 501.0]
    first.breaks_after = second.breaks_after = 0
    with pytest.raises(SourceUnreachableError, match="second"):
        list(Failover(first, second).pod_history(500.0))
