"""The observer in a process of its own, so that reading and decoding never stall a request.

Measured with 5,000 nodes and 150,000 pods (docs/decisions/0002-observer-process.md): decoding in a thread of the
serving process stalls it for a quarter of a second at a time. So the child reads, decodes, keeps the window and makes
snapshots; the parent receives finished ones over a pipe and swaps a reference. If the child dies the parent goes on
with the last snapshot and starts another. If the parent dies the child notices that its standard input ended.
"""

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

import msgspec

from loadaware.config import Config
from loadaware.service import Message
from loadaware.status import Status

logger = logging.getLogger(__name__)

RESTART_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Patience before each new start; the last one stays."""


class Order(msgspec.Struct, frozen=True):
    """What the child is to do."""

    config: Config
    kubeconfig: str | None = None
    context: str | None = None


class ObserverProcess:
    """Starts the child, hands its messages over, starts it again when it ends.

    `deliver` is called in a thread of this class; hand on to your own thread from there.
    """

    def __init__(self, order: Order, deliver: Callable[[Message], None]) -> None:
        self._order = order
        self._deliver = deliver
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._restarts = 0
        self._thread = threading.Thread(target=self._supervise, name="observer", daemon=True)

    def start(self) -> None:
        """Start the child, and keep it started."""
        self._thread.start()

    @property
    def process_id(self) -> int | None:
        """Of the child that runs now."""
        process = self._process
        return None if process is None else process.pid

    def stop(self) -> None:
        """End the child and the thread."""
        self._stopping.set()
        process = self._process
        if process is not None:
            _end(process)
        self._thread.join(timeout=10)

    def _supervise(self) -> None:
        attempt = 0
        while not self._stopping.is_set():
            received = self._run_once()
            if self._stopping.is_set():
                return
            attempt = 0 if received else attempt + 1
            patience = RESTART_SECONDS[min(attempt, len(RESTART_SECONDS) - 1)]
            self._restarts += 1
            logger.error("the observer process ended; answers go on, starting it again in %g s", patience)
            self._stopping.wait(patience)

    def _run_once(self) -> int:
        """One life of the child; how many messages it sent."""
        reader, writer = os.pipe()
        try:
            self._process = process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "loadaware.observe", str(writer)],
                stdin=subprocess.PIPE,
                pass_fds=(writer,),
            )
        finally:
            os.close(writer)
        with contextlib.closing(Connection(reader, writable=False)) as connection:
            try:
                self._give_order(process)
                return self._receive(connection)
            finally:
                _end(process)

    def _give_order(self, process: subprocess.Popen[bytes]) -> None:
        """Standard input stays open: its end tells the child that we are gone."""
        assert process.stdin is not None  # noqa: S101 - asked for above
        order = pickle.dumps(self._order)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(len(order).to_bytes(8, "big") + order)
            process.stdin.flush()

    def _receive(self, connection: Connection) -> int:
        received = 0
        while True:
            try:
                message = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own child
            except (EOFError, OSError):
                return received
            received += 1
            if isinstance(message, Status):
                message = msgspec.structs.replace(message, restarts=self._restarts)
            self._deliver(message)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, then insist."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
