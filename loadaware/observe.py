"""The child of observer_process: `python -m loadaware.observe DESCRIPTOR`. Not for people."""

import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import Connection

from loadaware.logs import configure_logs
from loadaware.observer_process import Order
from loadaware.service import Message
from loadaware.wiring import observe


def main(descriptor: int) -> None:
    """Read the order from standard input, then observe until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    length = int.from_bytes(sys.stdin.buffer.read(8), "big")
    order: Order = pickle.loads(sys.stdin.buffer.read(length))  # noqa: S301 - from our own parent
    configure_logs(order.config.log)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    connection = Connection(descriptor, readable=False)

    def publish(message: Message) -> None:
        connection.send_bytes(pickle.dumps(message, protocol=5))

    observe(order, publish)


def _exit_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
