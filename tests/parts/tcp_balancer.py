"""A plain TCP balancer on loopback, as a Service is: connections go round the replicas that are ready.

The bargain: a new connection goes to the next replica whose /readyz is 200 (looked at every `LOOK_SECONDS`, as a
kubelet does, only sooner), or to the next that takes it; one that is there stays where it is until either side closes
it.
"""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

LOOK_SECONDS = 0.25
ASK = b"GET /readyz HTTP/1.1\r\nHost: balancer\r\nConnection: close\r\n\r\n"


class TcpBalancer:
    """Balances in a thread of its own while inside `with`. Replicas are ports of this machine; they may change."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.ready: frozenset[int] = frozenset()
        self.taken: dict[int, int] = dict.fromkeys(ports, 0)
        """How many connections each got so far."""
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._balance, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        looking = asyncio.create_task(self._look())
        self._started.set()
        await self._ended.wait()
        looking.cancel()
        server.close()

    async def _look(self) -> None:
        while True:
            told = await asyncio.gather(*(_is_ready(port) for port in self.ports))
            self.ready = frozenset(port for port, ready in zip(self.ports, told, strict=True) if ready)
            await asyncio.sleep(LOOK_SECONDS)

    async def _balance(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            there = await self._connected()
            if there is None:
                return
            with contextlib.closing(there[1]):
                await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The next ready one that takes a connection; any other if none is ready."""
        self._turn += 1
        ports = self.ports[self._turn % len(self.ports) :] + self.ports[: self._turn % len(self.ports)]
        for port in sorted(ports, key=lambda port: port not in self.ready):
            try:
                there = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self.taken[port] = self.taken.get(port, 0) + 1
            return there
        return None


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side has no more to say: then the other side is told."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _is_ready(port: int) -> bool:
    try:
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(writer):
                writer.write(ASK)
                return b" 200 " in await reader.readline()
    except (OSError, TimeoutError):
        return False
