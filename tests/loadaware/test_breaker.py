from collections.abc import Callable

import pytest

from loadaware.breaker import FAILURES, OFF_SECONDS, Breaker
from tests.loadaware.builders import Clock


class Plugin:
    """Does what it is told: answers, raises, or takes its time."""

    def __init__(self, stopwatch: Clock) -> None:
        self.calls = 0
        self.error: Exception | None = None
        self.seconds = 0.0
        self.answer = "good"
        self._stopwatch = stopwatch

    def __call__(self) -> str:
        self.calls += 1
        self._stopwatch.advance(self.seconds)
        if self.error is not None:
            raise self.error
        return self.answer


class Bench:
    """A breaker with a plugin in it, under clocks that one can turn."""

    def __init__(self) -> None:
        self.clock, self.stopwatch = Clock(), Clock(0.0)
        self.breaker = Breaker(self.clock, self.stopwatch, budget_seconds=0.05)
        self.plugin = Plugin(self.stopwatch)
        self.plugins: dict[str, object] = {}

    def run(self, name: str = "plugin", call: Callable[[], str] | None = None) -> tuple[str | None, str]:
        plugin = self.plugins.setdefault(name, object())
        check = {"bad": "bad answer"}.get
        return self.breaker.run(name, plugin, call or self.plugin, lambda value: check(value, ""))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_good_answer_goes_through(bench: Bench) -> None:
    assert bench.run() == ("good", "")
    assert bench.breaker.failures == {}
    assert bench.breaker.switched_off() == {}


def test_a_plugin_that_raises_is_skipped_with_what_it_raised(bench: Bench) -> None:
    bench.plugin.error = KeyError("colour")
    assert bench.run() == (None, "KeyError: 'colour'")
    assert bench.breaker.failures == {("plugin", "raised"): 1}


def test_a_plugin_that_answers_nonsense_is_skipped_with_what_is_wrong(bench: Bench) -> None:
    bench.plugin.answer = "bad"
    assert bench.run() == (None, "bad answer")
    assert bench.breaker.failures == {("plugin", "nonsense"): 1}


def test_a_late_answer_is_used_but_counted(bench: Bench) -> None:
    bench.plugin.seconds = 0.08
    assert bench.run() == ("good", "")
    assert bench.breaker.failures == {("plugin", "overran"): 1}


def test_an_answer_just_in_time_is_in_time(bench: Bench) -> None:
    bench.plugin.seconds = 0.05
    assert bench.run() == ("good", "")
    assert bench.breaker.failures == {}


def fail(bench: Bench, times: int) -> None:
    bench.plugin.error = RuntimeError("no")
    for _ in range(times):
        bench.run()
    bench.plugin.error = None


def test_after_three_failures_in_a_row_it_is_switched_off_and_not_called(bench: Bench) -> None:
    fail(bench, FAILURES)
    assert bench.breaker.switched_off() == {"plugin": "RuntimeError: no"}
    for _ in range(10):
        assert bench.run() == (None, "switched off after repeated failures: RuntimeError: no")
    assert bench.plugin.calls == FAILURES
    assert bench.breaker.failures == {("plugin", "raised"): FAILURES}


def test_after_a_minute_it_is_tried_again_and_if_well_stays(bench: Bench) -> None:
    fail(bench, FAILURES)
    bench.clock.advance(OFF_SECONDS - 0.1)
    assert bench.run()[0] is None
    bench.clock.advance(0.1)
    assert bench.run() == ("good", "")
    assert bench.breaker.switched_off() == {}


def test_one_that_fails_on_takes_three_more_failures_to_be_switched_off_again(bench: Bench) -> None:
    fail(bench, FAILURES)
    bench.clock.advance(OFF_SECONDS)
    fail(bench, FAILURES - 1)
    assert bench.breaker.switched_off() == {}
    fail(bench, 1)
    assert list(bench.breaker.switched_off()) == ["plugin"]


def test_failures_that_are_not_in_a_row_switch_nothing_off(bench: Bench) -> None:
    for _ in range(20):
        fail(bench, FAILURES - 1)
        assert bench.run() == ("good", "")
    assert bench.breaker.switched_off() == {}
    assert bench.breaker.failures == {("plugin", "raised"): 20 * (FAILURES - 1)}


def test_failures_of_different_kinds_add_up(bench: Bench) -> None:
    fail(bench, 1)
    bench.plugin.answer = "bad"
    bench.run()
    bench.plugin.answer, bench.plugin.seconds = "good", 1.0
    assert bench.run() == ("good", "")
    assert bench.breaker.switched_off() == {"plugin": "took 1000 ms of 50"}


def test_plugins_do_not_suffer_for_each_other(bench: Bench) -> None:
    fail(bench, FAILURES)
    other = Plugin(bench.stopwatch)
    assert bench.run("other", other) == ("good", "")
    assert list(bench.breaker.switched_off()) == ["plugin"]


def test_who_wants_to_stop_the_program_may(bench: Bench) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run("plugin", interrupted)


def test_runs_and_their_time_are_summed_up_by_name_whatever_comes_of_the_plugins(bench: Bench) -> None:
    bench.plugin.seconds = 0.01
    bench.run()
    bench.breaker.forget()
    bench.plugins.clear()
    bench.run()
    bench.plugin.error = ValueError("no")
    bench.run()
    assert list(bench.breaker.spent) == ["plugin"]
    assert bench.breaker.spent["plugin"].runs == 2
    assert bench.breaker.spent["plugin"].seconds == pytest.approx(0.02)
