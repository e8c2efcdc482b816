"""Simulated time for a live program: it runs `speed` times as fast as real time, and never leaps.

Whoever drives the simulation ticks the clock; between ticks it runs on by itself, but not further than
`longest_pause`. A process that was stopped or starved loses time instead of seeing hours pass in one step.
"""

from collections.abc import Callable


class DemoClock:
    """Call it for the simulated time in seconds since 1970. It may be read from any thread; one thread ticks it."""

    def __init__(self, start: float, speed: float, monotonic: Callable[[], float], longest_pause: float = 0.5) -> None:
        self._monotonic = monotonic
        self._speed = speed
        self._longest_pause = longest_pause
        self._last: tuple[float, float] | None = None
        self._held = start

    def __call__(self) -> float:
        """The simulated time."""
        last = self._last
        if last is None:
            return self._held
        simulated, real = last
        return simulated + min(self._monotonic() - real, self._longest_pause) * self._speed

    def hold(self, time: float) -> None:
        """Stand still at this time."""
        self._held, self._last = time, None

    def tick(self) -> float:
        """Run from here on; returns the time."""
        now = self()
        self._last = (now, self._monotonic())
        return now
