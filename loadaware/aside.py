"""Work that nobody waits for: put off for a moment, then one piece per turn of the event loop, bounded in number.

So a request waits for one piece at most; and while `ready` says no, for none. What fails is logged, and the next piece
is taken all the same.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)

Work = Callable[[], None]


class Aside:
    """One thread: the event loop's. Without a running loop nothing is done until somebody calls `finish`."""

    def __init__(self, pause_seconds: float, most: int, ready: Callable[[], bool] = lambda: True) -> None:
        self._pause_seconds = pause_seconds
        self._most = most
        self._ready = ready
        self._work: deque[Work] = deque()
        self._waiting_on: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        """Pieces that wait."""
        return len(self._work)

    def put(self, work: Work) -> bool:
        """Do this later. False, and it is dropped, if too much waits already."""
        if len(self._work) >= self._most:
            return False
        self._work.append(work)
        if self._waiting_on is None or self._waiting_on.is_closed():
            self._begin()
        return True

    def finish(self) -> None:
        """Do all of it now."""
        while self._work:
            self._one()

    def _begin(self) -> None:
        try:
            self._waiting_on = asyncio.get_running_loop()
        except RuntimeError:
            self._waiting_on = None
        else:
            self._waiting_on.call_later(self._pause_seconds, self._step)

    def _step(self) -> None:
        loop = self._waiting_on
        if loop is None or not self._work:
            self._waiting_on = None
        elif self._ready():
            self._one()
            loop.call_soon(self._step)
        else:
            loop.call_later(self._pause_seconds, self._step)

    def _one(self) -> None:
        try:
            self._work.popleft()()
        except Exception:
            logger.exception("work that was put aside failed")
