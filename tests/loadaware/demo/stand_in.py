"""A stand-in for the real pipeline and server: passes every node, prefers the one that the last reading shows idlest.

It keeps what it was told, and by which thread. `python -m tests.loadaware.demo.stand_in` runs a small demo with it.
"""

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from collectors.cluster import Event, NodeSeen
from collectors.reading import Reading
from loadaware.demo.run import Clock, DemoSettings, run_demo
from loadaware.demo.world import WorldSettings

SMALL_WORLD = WorldSettings(nodes=8, warm_up_seconds=600.0, hours=4.0)


class KeepingPipeline:
    """Keeps what it is told."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: list[Event] = []
        self.readings: list[tuple[float, Reading]] = []
        self.threads: set[int] = set()

    def tell(self, event: Event) -> None:
        self.events.append(event)
        self.threads.add(threading.get_ident())

    def feed(self, reading: Reading) -> None:
        self.readings.append((self.clock(), reading))
        self.threads.add(threading.get_ident())

    def idle_cores(self) -> dict[str, float]:
        cores = {e.node.name: dict(e.node.capacity)["cpu"] for e in self.events if isinstance(e, NodeSeen)}
        if not self.readings:
            return cores
        nodes = self.readings[-1][1].nodes
        used = dict(zip(nodes.names, nodes.usage[:, 0], strict=True))
        return {name: cores[name] - used.get(name, 0.0) for name in cores}


@asynccontextmanager
async def ended(enough: Callable[[], bool]) -> AsyncIterator[None]:
    """Ctrl-C for the demo as soon as it has done enough, however long that takes here."""

    async def watch() -> None:
        while not enough():
            await asyncio.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


class StandIn:
    """A pipeline and a server over it; it ends the demo when it has had enough."""

    def __init__(self, clock: Clock, enough: Callable[["StandIn"], bool] = lambda _: False) -> None:
        self.pipeline = KeepingPipeline(clock)
        self.asked: list[str] = []
        self._enough = enough

    async def filter(self, request: Request) -> JSONResponse:
        args = msgspec.json.decode(await request.body())
        assert args["Nodes"] is None
        return JSONResponse({"NodeNames": args["NodeNames"], "FailedNodes": {}, "Error": ""})

    async def prioritize(self, request: Request) -> JSONResponse:
        args = msgspec.json.decode(await request.body())
        self.asked.append(args["Pod"]["metadata"]["name"])
        idle = self.pipeline.idle_cores()
        return JSONResponse([{"Host": n, "Score": min(30, max(0, int(idle[n])))} for n in args["NodeNames"]])

    def show_beside(self, told: Callable[[], Mapping[str, Any]]) -> None:
        self.beside = told

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        routes = [Route(f"/{verb.__name__}", verb, methods=["POST"]) for verb in (self.filter, self.prioritize)]
        server = uvicorn.Server(
            uvicorn.Config(Starlette(routes=routes), lifespan="off", log_config=None, ws="none", http="httptools")
        )
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.005)
        try:
            async with ended(lambda: self._enough(self)):
                yield
        finally:
            server.should_exit = True
            await task


if __name__ == "__main__":
    sys.exit(run_demo(DemoSettings(SMALL_WORLD, port=0, speed=120.0, line_seconds=0.2), StandIn))
