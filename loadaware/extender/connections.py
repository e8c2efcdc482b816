"""Connections to clients, bounded in number and in patience; all else is uvicorn's: TLS, keep-alive, the clean end.

- Connections beyond the limit are answered 503. (uvicorn alone would then answer 503 on the others, too.)
- One that never asks anything is closed like one that fell idle.
- A request must be whole `PATIENCE_SECONDS` after its first byte, and a client that stops reading its answer is waited
  for as long: a slow client costs a connection for that time, and nobody else anything. kube-scheduler itself waits
  for five seconds.
"""

import asyncio
from asyncio import TimerHandle
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class BoundedConnections(HttpToolsProtocol):
    """One connection."""

    PATIENCE_SECONDS: ClassVar[float] = 30.0

    _request_under_way = False
    _waiting_for_request: TimerHandle | None = None
    _waiting_for_reader: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """One more."""
        super().connection_made(transport)
        surplus = self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency
        self.limit_concurrency = 0 if surplus else None
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """One less."""
        self._wait_no_more_for_request()
        self._wait_no_more_for_reader()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or several requests."""
        super().data_received(data)
        if not self._request_under_way:
            self._wait_no_more_for_request()
        elif self._waiting_for_request is None:
            self._waiting_for_request = self.loop.call_later(self.PATIENCE_SECONDS, self.transport.abort)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._request_under_way = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """The last one."""
        self._request_under_way = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        if self._waiting_for_reader is None:
            self._waiting_for_reader = self.loop.call_later(self.PATIENCE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._wait_no_more_for_reader()

    def _wait_no_more_for_request(self) -> None:
        if self._waiting_for_request is not None:
            self._waiting_for_request.cancel()
            self._waiting_for_request = None

    def _wait_no_more_for_reader(self) -> None:
        if self._waiting_for_reader is not None:
            self._waiting_for_reader.cancel()
            self._waiting_for_reader = None
