"""A clock that stands still while the event loop does one round: an answer, its booking and its record have one time.

Only for whoever records: a replay has one time per request, and must come to the same answer where a booking ends at
just that moment. Outside the event loop's thread it is the clock beneath it.
"""

import asyncio
from collections.abc import Callable


class StandingClock:
    """Call it for the time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._now: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self) -> float:
        """Seconds since 1970."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self._clock()
        if self._now is None or self._loop is not loop:
            self._now, self._loop = self._clock(), loop
            loop.call_soon(self._release)
        return self._now

    def _release(self) -> None:
        self._now = None
