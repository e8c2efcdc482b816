"""How far something long is, in a notebook: one line that changes. Elsewhere as commands tell it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from loadaware.progress import Hear, duration, progress

PAUSE_SECONDS = 1.0


@contextmanager
def telling(what: str) -> Iterator[Hear]:
    """While the block is entered, shares from 0 to 1 are shown."""
    if not in_notebook():
        with progress(what) as hear:
            yield hear
        return
    from IPython.display import display

    line = Line(what, display({"text/plain": f"{what} ..."}, raw=True, display_id=True))
    yield line.hear
    line.done()


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


class Line:
    """A line that is written anew, once a second at most."""

    def __init__(self, what: str, shown: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._shown, self._clock = what, shown, clock
        self._begun = self._said = clock()

    def hear(self, share: float) -> None:
        """So much is done."""
        now = self._clock()
        if now - self._said >= PAUSE_SECONDS and 0 < share < 1:
            self._said = now
            left = (now - self._begun) * (1 - share) / share
            self._show(f"{100 * share:.0f} %, about {duration(left)} left")

    def done(self) -> None:
        """It is over."""
        self._show(f"done in {duration(self._clock() - self._begun)}")

    def _show(self, text: str) -> None:
        self._shown.update({"text/plain": f"{self._what}: {text}"}, raw=True)
