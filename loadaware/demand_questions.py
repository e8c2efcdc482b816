"""Questions to the observer about what it has learned: answers may be long, and come in pieces.

Asked by people and by other replicas, never by kube-scheduler: they may wait for seconds. Bounded in number.
"""

import asyncio
from collections.abc import Callable

from loadaware.queries import DemandQuery, NodeQuery, Piece, Query, StateQuery

MOST_WAITING = 8
PATIENCE_SECONDS = 5.0


class DemandQuestions:
    """One thread: the event loop's. `send`, set by whoever runs the observer, may wait: it is called in another."""

    def __init__(self) -> None:
        self.send: Callable[[Query], bool] | None = None
        self._number = 0
        self._waiting: dict[int, tuple[list[bytes], asyncio.Future[list[bytes]]]] = {}
        self._state: asyncio.Future[list[bytes] | None] | None = None

    async def state(self) -> list[bytes] | None:
        """All that was learned, in pieces; None if nobody tells. Several who ask at once are given the same."""
        if self._state is None:
            self._state = asyncio.ensure_future(self._told(StateQuery))
            self._state.add_done_callback(self._let_go)
        return await asyncio.shield(self._state)

    async def demand(self, sort: str, limit: int, namespace: str | None) -> list[bytes] | None:
        """What workloads request and use, as JSON in pieces; None if nobody tells. Raises ValueError for `sort`."""
        return await self._told(lambda number: DemandQuery(number, sort, limit, namespace))

    async def node(self, name: str) -> list[bytes] | None:
        """The samples and pods of a node, as JSON in pieces; None if nobody tells."""
        return await self._told(lambda number: NodeQuery(number, name))

    def take(self, piece: Piece) -> None:
        """A part of an answer; too late, it is dropped."""
        waiting = self._waiting.get(piece.number)
        if waiting is None or waiting[1].done():
            return
        pieces, future = waiting
        pieces.append(piece.data)
        if piece.refused:
            future.set_exception(ValueError(piece.refused))
        elif piece.last:
            future.set_result(pieces)

    async def _told(self, query: Callable[[int], Query]) -> list[bytes] | None:
        if self.send is None or len(self._waiting) >= MOST_WAITING:
            return None
        loop = asyncio.get_running_loop()
        self._number += 1
        number, future = self._number, loop.create_future()
        self._waiting[number] = [], future
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                sent = await loop.run_in_executor(None, self.send, query(number))
                return await future if sent else None
        except TimeoutError:
            return None
        finally:
            del self._waiting[number]

    def _let_go(self, _: object) -> None:
        """It may be many megabytes."""
        self._state = None
