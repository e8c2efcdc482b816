"""Questions under way to the observer: numbered, bounded in number, and waited for only so long."""

import asyncio
from collections.abc import Callable, Sequence

from loadaware.queries import PodReply, PodsQuery, Reply

MOST_WAITING = 64
WAIT_SECONDS = 0.25
"""Preemption is rare and kube-scheduler waits seconds for it; but no answer is better than a late one."""


class Questions:
    """One thread: the event loop's. `send`, set by whoever runs the observer, may wait: it is called in another."""

    def __init__(self) -> None:
        self.send: Callable[[PodsQuery], bool] | None = None
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._sending: asyncio.Future[bool] | None = None

    async def pods(self, identities: Sequence[str]) -> dict[str, PodReply]:
        """What the observer knows of these pods; nothing if it does not answer in time."""
        if self.send is None or not identities or len(self._waiting) >= MOST_WAITING:
            return {}
        self._number += 1
        number = self._number
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                if not await self._sent(self.send, PodsQuery(number, tuple(identities))):
                    return {}
                reply = await self._waiting[number]
        except TimeoutError:
            return {}
        finally:
            self._waiting.pop(number, None)
        return {pod.identity: pod for pod in reply.pods}

    async def _sent(self, send: Callable[[PodsQuery], bool], query: PodsQuery) -> bool:
        """Whether it was sent. One after the other: those that wait for the pipe would each hold a thread."""
        while self._sending is not None and not self._sending.done():
            await asyncio.wait([self._sending])
        self._sending = asyncio.get_running_loop().run_in_executor(None, send, query)
        return await asyncio.shield(self._sending)

    def take(self, reply: Reply) -> None:
        """A reply; too late, it is dropped."""
        future = self._waiting.get(reply.number)
        if future is not None and not future.done():
            future.set_result(reply)
