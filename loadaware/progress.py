"""How far something long is: a bar with the time left on a terminal, a line now and then elsewhere; standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

LINE_SECONDS = 15.0
"""Between two lines where there is no terminal."""

Hear = Callable[[float], None]
"""Hears the share that is done."""


@contextmanager
def progress(what: str) -> Iterator[Hear]:
    """While the block is entered, shares from 0 to 1 are shown."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield Lines(what).hear
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn())
    left = (TimeRemainingColumn(compact=True), TextColumn("left"))
    with Progress(*columns, *left, console=console, transient=True, speed_estimate_period=120.0) as shown:
        task = shown.add_task("", total=1.0)
        yield lambda share: shown.update(task, completed=share)


class Lines:
    """Progress where nobody watches."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._clock = what, clock
        self._begun = self._said = clock()

    def hear(self, share: float) -> None:
        """Say so, if the last word is some time ago."""
        now = self._clock()
        if now - self._said < LINE_SECONDS or not 0 < share < 1:
            return
        self._said = now
        left = (now - self._begun) * (1 - share) / share
        sys.stderr.write(f"loadaware: {self._what}: {100 * share:.0f} %, about {duration(left)} left\n")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """For people: 40 s, 12 min, 3.5 h, 14 days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def moment(time: float) -> str:
    """For people."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
