"""The child that reads large bodies (see large_bodies.py), started with a socket as its standard input.

filter, prioritize  + body          ->  arguments + (pod, names, doubts), or too_many + (pod, count, doubts)
preempt             + body          ->  preemption + Preemption, or answer + JSON that drops no candidate
decided             + Filtering     ->  answer + JSON, about the body read last; None: every node passes
any                                 ->  refused + what RequestError says
"""

import mmap
import os
import pickle
import signal
import socket

from loadaware.errors import RequestError
from loadaware.extender import protocol, victims
from loadaware.extender.large_bodies import MOST_NODES, MemoryFile, as_file, pickled, receive, send

NICENESS = 10
"""Who sends so much can wait; the server, on perhaps the same core, cannot."""


class BodyReader:
    """Answers one word after the other."""

    def __init__(self) -> None:
        self._arguments: protocol.Arguments | None = None

    def answer(self, word: str, file: MemoryFile) -> tuple[str, MemoryFile]:
        """A word and a file in return."""
        try:
            if word == "decided":
                return "answer", self._encoded(file)
            return self._read(word, file)
        except RequestError as error:
            return "refused", pickled((error.reason, error.problem, error.status))

    def _read(self, word: str, file: MemoryFile) -> tuple[str, MemoryFile]:
        self._arguments = None
        body = _content(file)
        if word == "preempt":
            return _preemption(body)
        arguments = protocol.decode_arguments(body, keep_nodes=word == "filter")
        self._arguments = arguments if word == "filter" else None
        if len(arguments.names) > MOST_NODES:
            return "too_many", pickled((arguments.pod, len(arguments.names), arguments.doubts))
        return "arguments", pickled((arguments.pod, list(arguments.names), arguments.doubts))

    def _encoded(self, file: MemoryFile) -> MemoryFile:
        filtering, arguments = pickle.loads(file.whole()), self._arguments  # noqa: S301 - from our own parent
        if arguments is None:
            raise RequestError("unread", "there is no body to answer", 503)
        self._arguments = None
        if filtering is None:
            return as_file(protocol.encode_all_passing(arguments))
        return as_file(protocol.encode_filtering(filtering, arguments.whole_nodes))


def _preemption(body: bytes) -> tuple[str, MemoryFile]:
    preemption = victims.decode_preemption(body)
    if sum(len(node.pods or ()) + 1 for node in preemption.candidates.values()) > MOST_NODES:
        return "answer", as_file(victims.encode_candidates(preemption, list(preemption.candidates)))
    return "preemption", pickled(preemption)


def _content(file: MemoryFile) -> bytes:
    """Without a copy: the decoder takes whatever holds bytes."""
    if not file.size:
        return b""
    mapped: bytes = mmap.mmap(file.descriptor, 0, prot=mmap.PROT_READ)  # type: ignore[assignment]
    return mapped


def main() -> None:
    """Until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    os.nice(NICENESS)
    channel = socket.socket(fileno=0)
    reader = BodyReader()
    while True:
        try:
            word, file = receive(channel)
        except (EOFError, OSError):
            return
        with file:
            said, answer = reader.answer(word, file)
        with answer:
            send(channel, said, answer)


if __name__ == "__main__":
    main()
