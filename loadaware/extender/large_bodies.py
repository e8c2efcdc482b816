"""Bodies too large to be read between two other requests are read in another process. Who sends them waits a little
longer; nobody else does.

Python runs one thread at a time, and the decoder holds the interpreter from the first byte to the last: 60 MB of whole
nodes in a thread beside the event loop stop it for a tenth of a second, 60 MB of names for seconds. So they go, piece
by piece as they arrive, to a file in memory, which a child process is handed to read; what comes back is the pod
and the names. The nodes that a filter lets pass stay there until it is told which: the child writes the answer, too.
docs/decisions/0006-the-wire.md has the figures.

    up to 1 MiB                       read at once: 20,000 names of 50 letters
    whole nodes up to 8 MiB           read at once, as kube-scheduler writes them: 1,000 nodes of 8 KiB
    everything larger                 in the child, one at a time, at most `MOST_UNDER_WAY` being received

The child is started with the first large body and lives as long as the server. One that dies or takes too long over a
body is replaced, and that body is refused: it is not tried again where everybody would die of it. If none can be
started at all, the server reads by itself.
"""

import asyncio
import contextlib
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Self

from loadaware.errors import RequestError

logger = logging.getLogger(__name__)

MOST_NODES = 20_000
"""More are not looked at one by one: the answer changes nothing. Four times the largest cluster that Kubernetes
promises to run; so many are ranked in some 20 ms."""
AT_ONCE_BYTES = 2**20
MOST_AT_ONCE_BYTES = 8 * 2**20
WHOLE_NODES_END = b'"NodeNames":null}'
"""How a request with whole nodes ends when Go has written it."""
MOST_UNDER_WAY = 8
READING_SECONDS = 20.0
"""How long the child may take; 128 MiB of names are read in some five."""
PIECE_BYTES = 2**18


def read_at_once(body: bytes) -> bool:
    """Whether a body is soon read."""
    if len(body) <= AT_ONCE_BYTES:
        return True
    return len(body) <= MOST_AT_ONCE_BYTES and body[-20:].rstrip().endswith(WHOLE_NODES_END)


class MemoryFile:
    """Bytes in memory that another process can be handed without copying them."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = os.memfd_create("loadaware") if descriptor is None else descriptor

    def append(self, piece: bytes) -> None:
        """Some more."""
        view = memoryview(piece)
        while view:
            view = view[os.write(self.descriptor, view) :]

    @property
    def size(self) -> int:
        """In bytes."""
        return os.fstat(self.descriptor).st_size

    def whole(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """All of it, bit by bit."""
        at = 0
        while piece := os.pread(self.descriptor, PIECE_BYTES, at):
            yield piece
            at += len(piece)

    def close(self) -> None:
        """Let go of it."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def send(channel: socket.socket, word: str, file: MemoryFile) -> None:
    """A word and a file to the other end."""
    socket.send_fds(channel, [word.encode()], [file.descriptor])


def receive(channel: socket.socket) -> tuple[str, MemoryFile]:
    """The same at the other end. Raises EOFError when it has ended."""
    word, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
    if not word or not descriptors:
        raise EOFError
    return word.decode(), MemoryFile(descriptors[0])


def as_file(content: bytes) -> MemoryFile:
    """Bytes as a file."""
    file = MemoryFile()
    file.append(content)
    return file


def pickled(value: object) -> MemoryFile:
    """A value as a file."""
    return as_file(pickle.dumps(value, protocol=5))


class LargeBodies:
    """The child, and the queue before it."""

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", "loadaware.extender.body_reader")) -> None:
        self._command = command
        self._turn = asyncio.Lock()
        self._guard = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._closed = False
        self._under_way = 0

    @contextlib.contextmanager
    def room(self) -> Iterator[MemoryFile]:
        """A file for a body. Raises RequestError if too many are under way."""
        if self._under_way >= MOST_UNDER_WAY:
            raise RequestError("too_busy", f"{MOST_UNDER_WAY} large bodies are being read already", 503)
        try:
            file = MemoryFile()
        except OSError as error:
            raise RequestError("unread", f"there is no room for a large body: {error}", 503) from error
        self._under_way += 1
        try:
            with file:
                yield file
        finally:
            self._under_way -= 1

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """The child for one body alone; whether there is one."""
        async with self._turn:
            yield await asyncio.to_thread(self._started)

    async def ask(self, word: str, file: MemoryFile) -> tuple[str, MemoryFile]:
        """Say a word, hand over a file; what comes back. Raises RequestError if nothing does."""
        try:
            return await asyncio.to_thread(self._asked, word, file)
        except (OSError, EOFError) as error:
            self._end()
            logger.error("the process that reads large bodies failed at one: %s", str(error) or "it ended")
            raise RequestError("unread", "the body could not be read in time", 503) from error

    def close(self) -> None:
        """End the child, for good."""
        self._closed = True
        self._end()

    def _asked(self, word: str, file: MemoryFile) -> tuple[str, MemoryFile]:
        channel = self._channel
        if channel is None:
            raise EOFError
        send(channel, word, file)
        return receive(channel)

    def _started(self) -> bool:
        with self._guard:
            if self._child is not None and self._child.poll() is None:
                return True
        self._end()
        with self._guard:
            if self._closed:
                return False
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.settimeout(READING_SECONDS)
            try:
                self._child = subprocess.Popen(self._command, stdin=theirs.fileno())  # noqa: S603 - our own module
                self._channel = ours
            except OSError as error:
                logger.warning("no process to read large bodies can be started: %s", error)
                ours.close()
            finally:
                theirs.close()
            return self._child is not None

    def _end(self) -> None:
        with self._guard:
            child, self._child = self._child, None
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if child is not None:
            child.kill()
            child.wait()
