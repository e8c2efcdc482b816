"""A check within bounded time, whatever it waits for: a silent server, a name that does not resolve, a login prompt.

The check runs in a thread of its own. When its time is up, what it found so far counts, and the thread is left behind:
it is a daemon, so it never keeps the command from ending.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from loadaware.doctor.finding import Finding, fail

logger = logging.getLogger(__name__)

Check = Callable[[], Iterable[Finding]]


@dataclass(frozen=True)
class Limits:
    """How long an examination may take when everything is dead: half a minute, so that people stay to read it."""

    whole_seconds: float = 28.0
    check_seconds: float = 12.0
    call_seconds: float = 5.0


class Patience:
    """The clock of one examination; it begins to run when it is made."""

    def __init__(self, limits: Limits) -> None:
        self._deadline = time.monotonic() + limits.whole_seconds
        self._check_seconds = limits.check_seconds

    def run(self, what: str, check: Check) -> list[Finding]:
        """What the check finds, in time or not. An error nobody foresaw is a finding too."""
        found: list[Finding] = []

        def collect() -> None:
            try:
                for finding in check():
                    found.append(finding)  # noqa: PERF402 - each counts as soon as it is there
            except Exception as error:  # one failing check never stops the others
                logger.debug("checking %s failed", what, exc_info=True)
                found.append(_unforeseen(what, error))

        thread = threading.Thread(target=collect, name=f"doctor: {what}", daemon=True)
        thread.start()
        seconds = max(min(self._check_seconds, self._deadline - time.monotonic()), 0.1)
        thread.join(seconds)
        return [*found, _late(what, seconds)] if thread.is_alive() else found


def _late(what: str, seconds: float) -> Finding:
    return fail(what, f"not done after {seconds:.2g} s", "see what is slow there, or try again when it is less busy")


def _unforeseen(what: str, error: Exception) -> Finding:
    """The type alone: nobody knows what a message that nobody foresaw would quote."""
    return fail(what, f"the check itself failed ({type(error).__name__})", "this is a bug of loadaware: report it")
