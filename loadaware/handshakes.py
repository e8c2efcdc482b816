"""Handshakes that fail are told in the log: without this nobody here would ever hear of a client that was refused.

A client without a certificate, with one of another authority, one that does not trust ours, one that speaks plain HTTP:
each is a mistake in somebody's configuration. Who just opens the port and closes it, as a probe does, is none.
At most a line a minute, however many knock.
"""

import logging
import ssl
import time

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 60.0
UNDER_WAY = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
GONE = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


class Told:
    """Says what went wrong, and how often since it last said something."""

    def __init__(self) -> None:
        self._said = -PAUSE_SECONDS
        self._kept_quiet = 0

    def failed(self, error: ssl.SSLError, now: float) -> None:
        """A handshake ended like this."""
        if now - self._said < PAUSE_SECONDS:
            self._kept_quiet += 1
            return
        also = f" ({self._kept_quiet} more since the last such line)" if self._kept_quiet else ""
        logger.warning("a client was refused in the TLS handshake: %s%s", error, also)
        self._said, self._kept_quiet = now, 0


def tell_of_failures(context: ssl.SSLContext) -> None:
    """Every connection that this context accepts from now on."""
    told = Told()

    class Connection(ssl.SSLObject):
        def do_handshake(self) -> None:
            try:
                super().do_handshake()
            except (*UNDER_WAY, *GONE):
                raise
            except ssl.SSLError as error:
                told.failed(error, time.monotonic())
                raise

    context.sslobject_class = Connection
