"""The short way from a socket to an answer, for the two requests that kube-scheduler waits for at every pod.

The bargain: a POST to filter or prioritize that comes as kube-scheduler sends it (HTTP/1.1, a Content-Length, kept
alive) is answered here as soon as its last byte is read, without an ASGI scope, task or message. Everything else,
whatever is unusual about it, goes the plain way, to uvicorn and the app. Both ways ask the same `Answers`, and a test
holds them to the same bytes.

- A request behind another one that is still being answered goes the plain way, which keeps the order.
- So does every further one of a single read: who sends hundreds at once must not keep others from being read.
- A client that does not read its answers is left to the plain way, which waits for it.
- What is too large to be read between two other requests (see large_bodies.py) is handed over once it is whole.
"""

import re
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from loadaware.extender.answers import Answers
from loadaware.extender.connections import BoundedConnections
from loadaware.extender.large_bodies import MOST_AT_ONCE_BYTES, read_at_once
from loadaware.extender.trace_context import trace_of

_PATH = re.compile(rb"/(?:([A-Za-z0-9._-]+)/)?(filter|prioritize)")
_VERBS = {b"filter": "filter", b"prioritize": "prioritize"}
_HEAD = b"%b%bcontent-length: %d\r\ncontent-type: application/json\r\n%b\r\n"
_UNUSUAL = frozenset((b"expect", b"transfer-encoding", b"upgrade"))


class HotPath(BoundedConnections):
    """A connection that answers what is hot by itself."""

    answers: ClassVar[Answers]

    _asked: tuple[str, str | None] | None = None
    """Verb and profile of a hot request that is being read."""
    _trace: str | None = None
    """Its `traceparent`."""
    _pieces: list[bytes]
    _answered_one = False
    _is_last = False

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or several requests."""
        self._answered_one = False
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Here it is decided."""
        self._asked = self._hot()
        if self._asked is None:
            super().on_headers_complete()
        else:
            self._pieces = []

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        if self._asked is None:
            super().on_body(body)
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Answer."""
        if self._asked is None:
            super().on_message_complete()
            return
        (verb, profile), self._asked = self._asked, None
        pieces, self._pieces = self._pieces, []
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if read_at_once(body):
            self._request_under_way = False
            self._answer(verb, profile, body)
        else:
            super().on_headers_complete()
            super().on_body(body)
            super().on_message_complete()

    def shutdown(self) -> None:
        """Close, after the answer to a request that is being read."""
        if self._asked is None:
            super().shutdown()
        else:
            self._is_last = True

    def connection_lost(self, exc: Exception | None) -> None:
        """The end; perhaps in the middle of a body."""
        if self._asked is not None:
            self.answers.disconnected(self._asked[0])
            self._asked = None
        super().connection_lost(exc)

    def _hot(self) -> tuple[str, str | None] | None:
        """Verb and profile, if there is nothing unusual about the request and nothing before it."""
        path = _PATH.fullmatch(self.url)
        parser = self.parser
        if (
            path is None
            or self._answered_one
            or self.limit_concurrency is not None
            or self.flow.write_paused
            or self._is_answering()
            or parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
            or not self._is_of_plain_length()
        ):
            return None
        profile, verb = path.groups()
        return _VERBS[verb], None if profile is None else profile.decode()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _is_of_plain_length(self) -> bool:
        """Whether one header tells its length, that is not too much, and none says that the body comes otherwise."""
        length, self._trace = b"", None
        for name, value in self.headers:
            if name in _UNUSUAL or (name == b"content-length" and length):
                return False
            if name == b"content-length":
                length = value
            elif name == b"traceparent":
                self._trace = trace_of(value)
        most = min(self.answers.body_limit_bytes, MOST_AT_ONCE_BYTES)
        return length.isdigit() and len(length) <= 12 and int(length) <= most

    def _answer(self, verb: str, profile: str | None, body: bytes) -> None:
        status, content = self.answers.answer(verb, body, profile, self._trace)
        self._answered_one = True
        default = b"".join([b"%b: %b\r\n" % header for header in self.server_state.default_headers])
        closing = b"connection: close\r\n" if self._is_last else b""
        self.transport.writelines([_HEAD % (STATUS_LINE[status], default, len(content), closing), content])
        if self._is_last:
            self.transport.close()
        self.on_response_complete()
        if verb == "prioritize":
            self.loop.call_soon(self.answers.settle)


def hot_path(answers: Answers) -> type[HotPath]:
    """The class of the connections that these answers are for; uvicorn makes one for each."""
    return type("HotPath", (HotPath,), {"answers": answers})
