"""`loadaware demo`: the real pipeline and the real server, fed by a simulated cluster instead of a real one."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from collectors.cluster import Event, NodeGone, NodeSeen
from collectors.reading import Reading
from loadaware.asked_aside import AskedAside
from loadaware.config import (
    DEFAULT_PROFILES,
    Config,
    HistorySection,
    ProfileSection,
    ScorerReference,
    ServerSection,
)
from loadaware.demo.run import DemoSettings, run_demo
from loadaware.demo.world import WorldSettings
from loadaware.observer import Observer
from loadaware.observer_answers import answers
from loadaware.profiles import observer_settings
from loadaware.queries import Query
from loadaware.recorded import AskedBatch, Configured
from loadaware.recorder import Recorder
from loadaware.server import make_server
from loadaware.service import Service
from loadaware.status import Status
from loadaware.wiring import make_recorder, make_service

BESIDE = ProfileSection(
    scheduler_name="trimaran", shadow=True, scorers=(ScorerReference(name="LoadVariationRiskBalancing"),)
)
"""In shadow, so that there is a comparison to look at."""


class Pipeline:
    """The observer's half in this process, its messages handed to the service as the observer process would."""

    def __init__(
        self, config: Config, service: Service, clock: Callable[[], float], recorder: Recorder | None = None
    ) -> None:
        self._observer = Observer(observer_settings(config))
        self._service = service
        self._clock = clock
        self._readings = 0
        self._recorder = recorder
        if recorder is not None:
            recorder.began(clock())

    def answer(self, query: Query) -> None:
        """What people ask of what was learned."""
        for message in answers(self._observer, query, self._clock()):
            self._service.take(message)

    def tell(self, event: Event) -> None:
        """What the simulated API server tells."""
        now = self._clock()
        changes = self._observer.tell(event, now)
        if self._recorder is not None:
            self._recorder.event(event, now)
            self._recorder.changes(len(changes), now)
        self._service.take(changes)
        if isinstance(event, NodeSeen | NodeGone):
            self._publish(now)

    def feed(self, reading: Reading) -> None:
        """What the simulated metrics-server publishes."""
        now = self._clock()
        self._observer.feed(reading, now)
        if self._recorder is not None:
            self._recorder.reading(reading, now)
        self._publish(now)
        self._readings += 1
        self._service.take(
            Status(
                readings=self._readings,
                nodes=self._observer.node_count,
                pods=self._observer.pod_count,
                last_success=self._clock(),
                source=reading.source,
                history_lost=0 if self._recorder is None else self._recorder.lost,
            )
        )

    def _publish(self, now: float) -> None:
        snapshot = self._observer.snapshot(now)
        if self._recorder is not None:
            self._recorder.snapshot(now)
        self._service.take(snapshot)
        if self._recorder is not None:
            self._recorder.checkpoint(lambda: self._observer.export(now), now)


class DemoService:
    """What the demo needs: a pipeline to feed and a server that answers from it."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        """Raises HistoryError if the configuration asks for a history that cannot be written."""
        self._service = make_service(config, clock=clock)
        self._section = config.server
        self._recorder, self._asked = _recording(config, self._service)
        self.pipeline = Pipeline(config, self._service, clock, self._recorder)

    def show_beside(self, told: Callable[[], Mapping[str, Any]]) -> None:
        """What the page shows beside the cluster that is served."""
        self._service.beside = told

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
            self.close()

    def close(self) -> None:
        """Write what is to be written."""
        self._service.hindsight.close()
        if self._asked is not None:
            self._asked.close()
        if self._recorder is not None:
            self._recorder.close()

    def _send_to(self, loop: asyncio.AbstractEventLoop) -> Callable[[Query], bool]:
        """Questions come from other threads; the pipeline belongs to the loop's."""

        def send(query: Query) -> bool:
            loop.call_soon_threadsafe(self.pipeline.answer, query)
            return True

        return send


def _recording(config: Config, service: Service) -> tuple[Recorder | None, AskedAside | None]:
    """Whoever writes the history, if one is to be written, and whoever brings it the answers."""
    if not config.history.folder:
        return None, None
    recorder = make_recorder(config, config.history.folder, service.take, requests=True)

    def send(told: AskedBatch | Configured) -> bool:
        if isinstance(told, AskedBatch):
            recorder.asked(told)
        return True

    asked = AskedAside(service.hindsight.decisions, send)
    service.on_recorded = asked.heard
    service.on_asked = asked.note
    service.answers_lost = lambda: asked.lost
    asked.start()
    recorder.start()
    return recorder, asked


def run(  # noqa: PLR0917 - the command line passes them by name
    port: int,
    nodes: int,
    load: float,
    speed: float,
    seed: int,
    duration_seconds: float | None,
    picture: str | None = None,
    record: str = "",
) -> int:
    """Run until Ctrl-C, or for so many seconds; the exit code."""
    logging.disable(logging.INFO)
    config = Config(
        server=ServerSection(address="127.0.0.1", port=port),
        history=HistorySection(folder=record),
        profiles=(*DEFAULT_PROFILES, BESIDE),
    )
    settings = DemoSettings(
        world=WorldSettings(nodes=nodes, load=load, seed=seed),
        port=port,
        speed=speed,
        stop_after_seconds=duration_seconds,
        picture=picture,
    )
    return run_demo(settings, lambda clock: DemoService(config, clock), loop_factory=uvloop.new_event_loop)
