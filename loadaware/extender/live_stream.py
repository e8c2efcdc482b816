"""GET /live: what the page is told, as long as it is open. Lines of JSON that fetch() reads, so a token can come along.

The bargain: however many look and however badly they read, scheduling does not notice.

- So many streams at once, further ones are answered 503.
- Each tick is made once and given to all; without anybody who looks nothing is made.
- A stream that does not take its lines holds `MOST_WAITING` of them at most and is then cut; what its connection has
  buffered goes with the connection, which waits for its reader as long as any other (connections.py).
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from loadaware.live import LiveFrames

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
MOST_WAITING = 8
RETRY_SECONDS = 10


class LiveStreams:
    """All streams. One thread: the event loop's."""

    def __init__(self, frames: LiveFrames, most: int, tick_seconds: float = TICK_SECONDS) -> None:
        self._frames = frames
        self._most = most
        self._tick_seconds = tick_seconds
        self._open: set[_Listener] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    async def stream(self, request: Request) -> Response:
        """One more who looks."""
        if self._closed or len(self._open) >= self._most:
            why = "it is being stopped" if self._closed else f"{self._most} pages are open already (people.streams)"
            content = msgspec.json.encode({"error": f"no stream: {why}; try again later"})
            return Response(content, 503, {"retry-after": str(RETRY_SECONDS)}, media_type="application/json")
        listener = _Listener()
        self._open.add(listener)
        return _Lines(listener, self._begun, self._open.discard)

    def close(self) -> None:
        """End them all, and take no more."""
        self._closed = True
        if self._ticking is not None:
            self._ticking.cancel()
        for listener in list(self._open):
            listener.end()

    async def _begun(self, listener: "_Listener") -> None:
        """Somebody is there to be told."""
        listener.put(await self._frames.welcome())
        listener.welcomed = True
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        while self._open:
            await asyncio.sleep(self._tick_seconds)
            try:
                lines = await self._frames.next()
            except Exception:
                logger.exception("a tick of the live page cannot be made")
                continue
            for listener in [each for each in self._open if each.welcomed]:
                if not listener.put(lines):
                    listener.end()
                    self._open.discard(listener)


class _Listener:
    """Lines that wait for one stream."""

    def __init__(self) -> None:
        self.welcomed = False
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._ended = False

    def put(self, lines: bytes) -> bool:
        """Whether there was room."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting.append(lines)
        self._news.set()
        return True

    def end(self) -> None:
        """No more of it."""
        self._ended = True
        self._waiting.clear()
        self._news.set()

    async def take(self) -> bytes | None:
        """The next lines; None at the end."""
        while not self._waiting and not self._ended:
            self._news.clear()
            await self._news.wait()
        return None if self._ended else self._waiting.popleft()


class _Lines(Response):
    """The answer: lines as they come, until one side has enough."""

    media_type = "application/x-ndjson"

    def __init__(
        self, listener: _Listener, begun: Callable[[_Listener], Awaitable[None]], left: Callable[[_Listener], None]
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._listener, self._begun, self._left = listener, begun, left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, and be forgotten."""
        leaving = asyncio.ensure_future(_gone(receive))
        leaving.add_done_callback(lambda _: self._listener.end())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._begun(self._listener)
            while (lines := await self._listener.take()) is not None:
                await send({"type": "http.response.body", "body": lines, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._left(self._listener)
            leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
