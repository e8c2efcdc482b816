"""The child of observer_process: `python -m loadaware.observe DESCRIPTOR`. Not for people."""

import contextlib
import logging
import os
import pickle
import select
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
    told_to_end, end = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(end, b"."))
    threading.Thread(target=_hear_parent, args=(inbox, told_to_end), daemon=True).start()
    connection, sender = Connection(descriptor, readable=False), Sender()

    def publish(message: Message) -> None:
        connection.send_bytes(sender.pack(message))

    try:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone, or wants another
            observe(order, publish, inbox)
    except CollectorError as error:
        logger.error("the observer cannot begin: %s", error)
        sys.exit(1)


def _hear_parent(inbox: Inbox, told_to_end: int) -> None:
    """Put what the parent says into the inbox; end with the parent. Told to end, the loop does so by itself, after what
    was said before, and keeps what it learned.

    Past Python's buffer: a thread that waits in there would hold its lock when the process ends by itself.
    """
    parent = sys.stdin.fileno()
    heard = [parent, told_to_end]
    while True:
        ready, _, _ = select.select(heard, [], [])
        if parent not in ready:
            inbox.stopping.set()
            heard = [parent]
            continue
        packed = _read(int.from_bytes(_read(8), "big"))
        if not packed:
            os._exit(0)
        inbox.put(pickle.loads(packed))  # noqa: S301 - from our own parent


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
