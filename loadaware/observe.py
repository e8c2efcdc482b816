"""The child of observer_process: `python -m loadaware.observe DESCRIPTOR`. Not for people."""

import contextlib
import logging
import os
import pickle
import sys
import threading
from multiprocessing.connection import Connection

from collectors.errors import CollectorError
from loadaware.logs import configure_logs
from loadaware.observer_process import Order, Sender
from loadaware.service import Message
from loadaware.wiring import observe

logger = logging.getLogger(__name__)


def main(descriptor: int) -> None:
    """Read the order from standard input, then observe until it ends."""
    length = int.from_bytes(sys.stdin.buffer.read(8), "big")
    if not length:
        return
    order: Order = pickle.loads(sys.stdin.buffer.read(length))  # noqa: S301 - from our own parent
    configure_logs(order.config.log)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    connection, sender = Connection(descriptor, readable=False), Sender()

    def publish(message: Message) -> None:
        connection.send_bytes(sender.pack(message))

    try:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone, or wants another
            observe(order, publish)
    except CollectorError as error:
        logger.error("the observer cannot begin: %s", error)
        sys.exit(1)


def _exit_with_parent() -> None:
    """Past Python's buffer: a thread that waits in there would hold its lock when the process ends by itself."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
