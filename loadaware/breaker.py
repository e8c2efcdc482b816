"""A breaker around plugins: one that raises, answers nonsense or overruns its time is skipped, and scheduling goes on.

After `FAILURES` failures in a row a plugin is switched off for `OFF_SECONDS`; then it is tried again. A skipped scorer
has no say and its weight does not count; a skipped filter rejects nobody. Each failure is counted and named.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

T = TypeVar("T")

FAILURES = 3
OFF_SECONDS = 60.0


@dataclass(slots=True)
class Spent:
    """How often plugins of one name answered, and how long that took."""

    runs: int = 0
    seconds: float = 0.0


@dataclass
class _State:
    name: str
    plugin: object
    """Held, so that nobody else gets its id."""
    spent: Spent
    failures_in_a_row: int = 0
    off_until: float = float("-inf")
    reason: str = ""


@dataclass
class Breaker:
    """State per plugin of a profile. `stopwatch` gives seconds that only go up."""

    clock: Callable[[], float]
    stopwatch: Callable[[], float]
    budget_seconds: float = 0.05
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By plugin and kind: raised, nonsense, overran."""
    spent: dict[str, Spent] = field(default_factory=dict)
    """By plugin; goes on when the plugins are others."""
    _states: dict[int, _State] = field(default_factory=dict)

    def run(
        self, name: str, plugin: object, call: Callable[[], T], check: Callable[[Any], str]
    ) -> tuple[T | None, str]:
        """The call's value and nothing, or None and why it is skipped. `check` says what is wrong with a value."""
        state = self._states.get(id(plugin)) or self._begin(name, plugin)
        if self.clock() < state.off_until:
            return None, f"switched off after repeated failures: {state.reason}"
        started = self.stopwatch()
        try:
            value = call()
        except Exception as error:  # noqa: BLE001 - others' code may fail in any way; it must not take us down
            return None, self._failed(name, state, "raised", f"{type(error).__name__}: {error}")
        problem = check(value)
        if problem:
            return None, self._failed(name, state, "nonsense", problem)
        took = self.stopwatch() - started
        spent = state.spent
        spent.runs += 1
        spent.seconds += took
        if took > self.budget_seconds:
            # Late is not wrong: the answer is there, so it is used; but repeated lateness switches it off.
            self._failed(name, state, "overran", f"took {took * 1000:.0f} ms of {self.budget_seconds * 1000:.0f}")
        else:
            state.failures_in_a_row = 0
        return value, ""

    def _begin(self, name: str, plugin: object) -> _State:
        state = self._states[id(plugin)] = _State(name, plugin, self.spent.setdefault(name, Spent()))
        return state

    def aside(self) -> "Breaker":
        """One that knows what this one knows and tells it nothing: for questions that must leave no trace."""
        states = {key: replace(state, spent=Spent()) for key, state in self._states.items()}
        return Breaker(self.clock, self.stopwatch, self.budget_seconds, _states=states)

    def forget(self) -> None:
        """The plugins are others now."""
        self._states.clear()

    def switched_off(self) -> dict[str, str]:
        """Plugins that are off now, and why."""
        now = self.clock()
        return {state.name: state.reason for state in self._states.values() if now < state.off_until}

    def _failed(self, name: str, state: _State, kind: str, reason: str) -> str:
        self.failures[name, kind] += 1
        state.failures_in_a_row += 1
        state.reason = reason
        if state.failures_in_a_row >= FAILURES:
            state.failures_in_a_row = 0
            state.off_until = self.clock() + OFF_SECONDS
        return reason
