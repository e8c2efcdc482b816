"""The child of observer_process: `python -m loadaware.observe DESCRIPTOR`. Not for people."""

import contextlib
import logging
import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import Connection

from collectors.errors import CollectorError
from loadaware.logs import configure_logs
from loadaware.observer_process import Order, Sender
from loadaware.refresh import Inbox
from loadaware.service import Message
from loadaware.wiring import observe

logger = logging.getLogger(__name__)


def main(descriptor: int) -> None:
    """Read the order from standard input, then observe until it ends."""
    length = int.from_bytes(_read(8), "big")
    if not length:
        return
    order: Order = pickle.loads(_read(length))  # noqa: S301 - from our own parent
    configure_logs(order.config.log)
    inbox = Inbox()
    signal.signal(signal.SIGTERM, lambda *_: inbox.stopping.set())  # the loop ends by itself, and keeps what it learned
    threading.Thread(target=_hear_parent, args=(inbox,), daemon=True).start()
    connection, sender = Connection(descriptor, readable=False), Sender()

    def publish(message: Message) -> None:
        connection.send_bytes(sender.pack(message))

    try:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone, or wants another
            observe(order, publish, inbox)
    except CollectorError as error:
        logger.error("the observer cannot begin: %s", error)
        sys.exit(1)


def _hear_parent(inbox: Inbox) -> None:
    """Put the parent's questions into the inbox; end with the parent.

    Past Python's buffer: a thread that waits in there would hold its lock when the process ends by itself.
    """
    while packed := _read(int.from_bytes(_read(8), "big")):
        inbox.put(pickle.loads(packed))  # noqa: S301 - from our own parent
    os._exit(0)


def _read(count: int) -> bytes:
    """So many bytes of standard input, or none at its end."""
    pieces = b""
    while len(pieces) < count:
        piece = os.read(sys.stdin.fileno(), count - len(pieces))
        if not piece:
            return b""
        pieces += piece
    return pieces


if __name__ == "__main__":
    main(int(sys.argv[1]))
