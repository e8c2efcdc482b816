"""How much time requests leave between them, so that work that nobody waits for is done where it holds nobody up.

    gap after a verb = begin of the next request - end of the last answer to that verb

kube-scheduler asks to prioritize right after filter, and then has its own work before the next pod, some milliseconds
of it. Whoever asks again at once is waiting for us; then everything else waits, until nobody has asked for a while.
"""

from collections.abc import Callable

ENOUGH_SECONDS = 0.0015
"""What must be left of a gap for a piece of work to fit into it."""
QUIET_SECONDS = 0.05


class Pace:
    """One thread: the event loop's. `stopwatch` gives seconds that only go up."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._gaps: dict[str, float] = {}
        self._verb = ""
        self._ended = float("-inf")

    def answered(self, verb: str, began: float, ended: float) -> None:
        """A request was answered from then until then, by the stopwatch."""
        self._gaps[self._verb] = began - self._ended
        self._verb, self._ended = verb, ended

    def leaves_time(self) -> bool:
        """Whether a piece of work will probably be done before the next request comes."""
        passed = self._stopwatch() - self._ended
        return passed >= QUIET_SECONDS or self._gaps.get(self._verb, float("inf")) - passed >= ENOUGH_SECONDS
