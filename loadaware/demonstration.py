"""`loadaware demo`: the real pipeline and the real server, fed by a simulated cluster instead of a real one."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvloop

from collectors.cluster import Event, NodeGone, NodeSeen
from collectors.reading import Reading
from loadaware.config import Config, ServerSection
from loadaware.demo.run import DemoSettings, run_demo
from loadaware.demo.world import WorldSettings
from loadaware.observer import Observer
from loadaware.observer_answers import answers
from loadaware.profiles import observer_settings
from loadaware.queries import Query
from loadaware.server import make_server
from loadaware.service import Service
from loadaware.status import Status
from loadaware.wiring import make_service


class Pipeline:
    """The observer's half in this process, its messages handed to the service as the observer process would."""

    def __init__(self, config: Config, service: Service, clock: Callable[[], float]) -> None:
        self._observer = Observer(observer_settings(config))
        self._service = service
        self._clock = clock
        self._readings = 0

    def answer(self, query: Query) -> None:
        """What people ask of what was learned."""
        for message in answers(self._observer, query, self._clock()):
            self._service.take(message)

    def tell(self, event: Event) -> None:
        """What the simulated API server tells."""
        self._service.take(self._observer.tell(event, self._clock()))
        if isinstance(event, NodeSeen | NodeGone):
            self._service.take(self._observer.snapshot(self._clock()))

    def feed(self, reading: Reading) -> None:
        """What the simulated metrics-server publishes."""
        self._observer.feed(reading, self._clock())
        self._service.take(self._observer.snapshot(self._clock()))
        self._readings += 1
        self._service.take(
            Status(
                readings=self._readings,
                nodes=self._observer.node_count,
                pods=self._observer.pod_count,
                last_success=self._clock(),
                source=reading.source,
            )
        )


class DemoService:
    """What the demo needs: a pipeline to feed and a server that answers from it."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self._service = make_service(config, clock=clock)
        self._section = config.server
        self.pipeline = Pipeline(config, self._service, clock)

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Answer on a socket that listens already."""
        self._service.demand_questions.send = self._send_to(asyncio.get_running_loop())
        server = make_server(self._service, self._section)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        try:
            yield
        finally:
            server.should_exit = True
            await task

    def _send_to(self, loop: asyncio.AbstractEventLoop) -> Callable[[Query], bool]:
        """Questions come from other threads; the pipeline belongs to the loop's."""

        def send(query: Query) -> bool:
            loop.call_soon_threadsafe(self.pipeline.answer, query)
            return True

        return send


def run(  # noqa: PLR0917 - the command line passes them by name
    port: int,
    nodes: int,
    load: float,
    speed: float,
    seed: int,
    duration_seconds: float | None,
    picture: str | None = None,
) -> int:
    """Run until Ctrl-C, or for so many seconds; the exit code."""
    logging.disable(logging.INFO)
    config = Config(server=ServerSection(address="127.0.0.1", port=port))
    settings = DemoSettings(
        world=WorldSettings(nodes=nodes, load=load, seed=seed),
        port=port,
        speed=speed,
        stop_after_seconds=duration_seconds,
        picture=picture,
    )
    return run_demo(settings, lambda clock: DemoService(config, clock), loop_factory=uvloop.new_event_loop)
