"""The observer in a process of its own, so that reading and decoding never stall a request.

Measured with 5,000 nodes and 150,000 pods (docs/decisions/0002-observer-process.md): decoding in a thread of the
serving process stalls it for more than half a second at a time. So the child reads, decodes, keeps the window and makes
snapshots; the parent receives finished ones over a pipe and swaps a reference. If the child dies the parent goes on
with the last snapshot and starts another. If the parent dies the child notices that its standard input ended.
"""

import contextlib
import dataclasses
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection

import msgspec

from collectors.manifests import Shape
from loadaware.config import Config
from loadaware.queries import Query
from loadaware.recorded import AskedBatch, Configured
from loadaware.service import Message
from loadaware.snapshot import Snapshot
from loadaware.status import Status

logger = logging.getLogger(__name__)

RESTART_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Patience before each new start; the last one stays."""
STEADY_SECONDS = 60.0
"""A child that lived this long was no failure from the start: patience begins anew."""
LAST_WORDS_SECONDS = 10.0
"""How long a child that has fallen silent may take to end: its own exit status says more than ours."""
ENDING_SECONDS = 10.0
"""How long one that is told to end may take to keep what it has: a first flush of a recording loads a library."""


class Order(msgspec.Struct, frozen=True):
    """What the child is to do."""

    config: Config
    kubeconfig: str | None = None
    context: str | None = None
    resuming: bool = False
    """Whether the parent has a picture already, and can wait for a better one."""


class ObserverProcess:
    """Starts the child, hands its messages over, starts it again when it ends.

    `deliver` is called in a thread of this class; hand on to your own thread from there.
    """

    def __init__(
        self, order: Order, deliver: Callable[[Message], None], restart_seconds: Sequence[float] = RESTART_SECONDS
    ) -> None:
        self._order = order
        self._deliver = deliver
        self._restart_seconds = restart_seconds
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: subprocess.Popen[bytes] | None = None
        self._status = Status()
        self._thread = threading.Thread(target=self._supervise, name="observer", daemon=True)

    def start(self) -> None:
        """Start the child, and keep it started."""
        self._thread.start()

    @property
    def process_id(self) -> int | None:
        """Of the child that runs now."""
        process = self._process
        return None if process is None else process.pid

    def ask(self, query: Query | AskedBatch | Configured) -> bool:
        """Send the child a question; whether it could be sent. May wait for the pipe."""
        process = self._listening
        return process is not None and _send(process, query)

    def stop(self) -> None:
        """End the child and the thread."""
        self._stopping.set()
        process = self._process
        if process is not None:
            _end(process)
        self._thread.join(timeout=2 * ENDING_SECONDS)

    def _supervise(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is the parent's business
        self._deliver(self._status)
        attempt = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            problem = self._live()
            if self._stopping.is_set():
                return
            attempt = 0 if time.monotonic() - started >= STEADY_SECONDS else attempt
            patience = self._restart_seconds[min(attempt, len(self._restart_seconds) - 1)]
            attempt += 1
            logger.error("%s; answers go on, starting it again in %g s", problem, patience)
            self._tell_of_restart(problem)
            self._stopping.wait(patience)

    def _tell_of_restart(self, problem: str) -> None:
        """Its counts begin anew with the next child."""
        last = self._status
        self._status = msgspec.structs.replace(
            last,
            restarts=last.restarts + 1,
            readings=0,
            failures=0,
            history_lost=0,
            consecutive_failures=last.consecutive_failures + 1,
            last_error=problem,
        )
        self._deliver(self._status)

    def _live(self) -> str:
        """One life of the child; how it ended."""
        try:
            return f"the observer process ended with status {self._run_once()}"
        except Exception:
            logger.exception("the observer process cannot be run")
            return "the observer process cannot be run; the log has the details"

    def _run_once(self) -> int:
        """One life of the child; its exit status."""
        reader, writer = os.pipe()
        with contextlib.closing(Connection(reader, writable=False)) as connection:
            try:
                self._process = process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-m", "loadaware.observe", str(writer)],
                    stdin=subprocess.PIPE,
                    pass_fds=(writer,),
                )
            finally:
                os.close(writer)
            try:
                if not self._stopping.is_set():  # else `stop` may have come too early to see this child
                    self._give_order(process)
                    self._listening = process  # not before: the first thing that the child reads is its order
                    self._receive(connection)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=LAST_WORDS_SECONDS)
            finally:
                self._listening = None
                _end(process)
            return process.returncode

    def _give_order(self, process: subprocess.Popen[bytes]) -> None:
        """Standard input stays open: its end tells the child that we are gone."""
        _send(process, self._order)

    def _receive(self, connection: Connection) -> None:
        receiver = Receiver()
        while True:
            try:
                packed = connection.recv_bytes()
            except (EOFError, OSError):
                return
            message = receiver.unpack(packed)
            if isinstance(message, Status):
                self._status = message = msgspec.structs.replace(message, restarts=self._status.restarts)
            elif isinstance(message, Snapshot):
                self._order = msgspec.structs.replace(self._order, resuming=True)
            self._deliver(message)


def _send(process: subprocess.Popen[bytes], thing: Order | Query | AskedBatch | Configured) -> bool:
    """Length and pickle, in one piece; whether the child is there to read it."""
    assert process.stdin is not None  # noqa: S101 - asked for in Popen
    packed = pickle.dumps(thing)
    try:
        process.stdin.write(len(packed).to_bytes(8, "big") + packed)
        process.stdin.flush()
    except (BrokenPipeError, ValueError):  # it ended, or was stopped, that early
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, then insist. The pipe is closed last: a question that waits in it would keep us waiting, too."""
    process.terminate()
    try:
        process.wait(timeout=ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()


# -- On the pipe: unpickling holds the parent's interpreter, so what it has already is not sent again ----------------


@dataclasses.dataclass(frozen=True)
class _Difference:
    """A snapshot without labels and shapes, and how those differ from the last one's: 1 ms instead of 30 or 60."""

    snapshot: Snapshot
    labels: dict[str, Mapping[str, str]]
    """Of nodes that are new or changed."""
    kept_shapes: int
    """How many of the last shapes still stand, from the first on."""
    shapes: tuple[Shape, ...]
    """Those that follow."""


class Sender:
    """The child's end."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        self._shapes: tuple[Shape, ...] = ()

    def pack(self, message: Message) -> bytes:
        """A message as bytes."""
        told = self._difference(message) if isinstance(message, Snapshot) else message
        return pickle.dumps(told, protocol=5)

    def _difference(self, snapshot: Snapshot) -> _Difference:
        labels = dict(zip(snapshot.names, snapshot.labels, strict=False))
        changed = {name: mine for name, mine in labels.items() if self._labels.get(name) != mine}
        shapes, last = tuple(snapshot.shapes), self._shapes
        both = min(len(shapes), len(last))
        kept = next((number for number in range(both) if shapes[number] is not last[number]), both)
        self._labels, self._shapes = labels, shapes
        return _Difference(dataclasses.replace(snapshot, labels=(), shapes=()), changed, kept, shapes[kept:])


class Receiver:
    """The parent's end, for one life of the child."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        self._shapes: tuple[Shape, ...] = ()

    def unpack(self, packed: bytes) -> Message:
        """The message that was packed."""
        told: _Difference | Message = pickle.loads(packed)  # noqa: S301 - from our own child
        return self._whole(told) if isinstance(told, _Difference) else told

    def _whole(self, told: _Difference) -> Snapshot:
        names, known = told.snapshot.names, self._labels | told.labels
        self._labels = {name: known[name] for name in names if name in known}
        self._shapes = self._shapes[: told.kept_shapes] + told.shapes
        return dataclasses.replace(told.snapshot, labels=tuple(self._labels.values()), shapes=self._shapes)
