"""Serving: uvicorn over the app, the observer's messages on the event loop, config reloads, a clean end."""

import asyncio
import contextlib
import logging
import math
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec
import uvicorn
from starlette.applications import Starlette

from loadaware.adviser import AdviserSettings
from loadaware.asked_aside import AskedAside
from loadaware.certificates import Certificates
from loadaware.config import Config, PeopleSection, ServerSection, load
from loadaware.config_text import config_text, without_secrets
from loadaware.errors import ConfigError
from loadaware.extender.access import Gate
from loadaware.extender.answers import Answers
from loadaware.extender.app import app_over, people_app
from loadaware.extender.connections import BoundedConnections
from loadaware.extender.hot_path import hot_path
from loadaware.extender.large_bodies import LargeBodies
from loadaware.extender.live_stream import LiveStreams
from loadaware.extender.people import People, features
from loadaware.garbage import Housekeeping, collected_by_hand
from loadaware.isolation import workers_of
from loadaware.leaving import leave
from loadaware.observer_process import ObserverProcess, Order
from loadaware.profiles import adviser_settings, hindsight_settings, shown
from loadaware.queries import Query
from loadaware.recorded import AskedBatch, Configured
from loadaware.service import Message, Service
from loadaware.sources import check_source

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 2.0
"""How often the file is looked at: a ConfigMap arrives as a swapped link, which no file event tells reliably."""


class Server(uvicorn.Server):
    """Ends cleanly when told to. (uvicorn raises the signal again after the drain: nothing behind it would run.)"""

    def __init__(
        self,
        config: uvicorn.Config,
        bodies: LargeBodies,
        service: Service,
        leaving_seconds: float,
        streams: LiveStreams | None = None,
    ) -> None:
        super().__init__(config)
        self._bodies = bodies
        self._streams = streams
        self._service = service
        self._leaving_seconds = leaving_seconds
        self._patient = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first SIGTERM leaves time for clients to go; Ctrl-C does not, nor does a second signal."""
        self._patient = sig == signal.SIGTERM and not self.should_exit
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let clients go, answer what is under way, then end what was started."""
        self._service.leaving = True
        if self._streams is not None:
            self._streams.close()
        await leave(self.server_state, self._leaving_seconds, hurry=lambda: not self._patient)
        await super().shutdown(sockets)
        self._bodies.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGTERM and Ctrl-C end it, while it serves in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class PeopleServer(uvicorn.Server):
    """Beside the extender's, in the same event loop: it heeds no signals and ends when it is told to."""

    def __init__(self, config: uvicorn.Config, streams: LiveStreams) -> None:
        super().__init__(config)
        self._streams = streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams would never end by themselves."""
        self._streams.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None."""
        yield


def make_server(
    service: Service, section: ServerSection, file: str = "<config>", people: PeopleSection | None = None
) -> Server:
    """A uvicorn server over the app, with the limits of the configuration. Raises ConfigError for certificates and for
    a token that cannot be read. What is for people is served too, unless it has a port of its own.
    """
    people = people or PeopleSection(port=None)
    answers, bodies, gate = Answers(service, int(section.body_limit)), LargeBodies(), Gate(people, file)
    theirs = (
        None if has_own_port(section, people) or not any(features(people).values()) else People(service, people, gate)
    )
    elsewhere = f"is on port {people.port}" if has_own_port(section, people) else "is switched off"
    app = app_over(answers, bodies, gate, verbs=section.extender, people=theirs, elsewhere=elsewhere)
    http = hot_path(answers) if section.extender else BoundedConnections
    config = _uvicorn_config(app, http, section, section.address, section.port, section.connections, file)
    return Server(config, bodies, service, section.leaving, theirs.streams if theirs else None)


def make_people_server(
    service: Service, section: ServerSection, people: PeopleSection, file: str = "<config>"
) -> PeopleServer | None:
    """The server on the people's own port; None if they have none. Raises ConfigError as make_server does."""
    if not has_own_port(section, people) or people.port is None:
        return None
    gate = Gate(people, file)
    theirs = People(service, people, gate)
    app = people_app(Answers(service, int(section.body_limit)), LargeBodies(), gate, theirs)
    address = people.address or section.address
    config = _uvicorn_config(app, BoundedConnections, section, address, people.port, people.connections, file)
    return PeopleServer(config, theirs.streams)


def has_own_port(section: ServerSection, people: PeopleSection) -> bool:
    """Whether what is for people is served, and apart from the extender. (Port 0 is any free one.)"""
    apart = people.port is not None and (people.port != section.port or people.port == 0)
    return apart and any(features(people).values())


def _uvicorn_config(  # noqa: PLR0917 - what, how, where
    app: Starlette,
    http: type[BoundedConnections],
    section: ServerSection,
    address: str,
    port: int,
    connections: int,
    file: str,
) -> uvicorn.Config:
    tls = section.tls
    config = uvicorn.Config(
        app,
        host=address,
        port=port,
        http=http,
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=connections,
        timeout_keep_alive=math.ceil(section.keep_alive),
        timeout_graceful_shutdown=math.ceil(section.drain),
        ssl_certfile=tls.cert_file if tls else None,
        ssl_keyfile=tls.key_file if tls else None,
        ssl_ca_certs=(tls.client_ca_file or None) if tls else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if tls and tls.client_ca_file else ssl.CERT_NONE,
    )
    try:
        config.load()
    except OSError as error:  # unreadable, not PEM, or a key that does not belong to the certificate
        files = ", ".join(filter(None, msgspec.structs.astuple(tls) if tls else ()))
        raise ConfigError(file, "server.tls", f"{files}: {error}") from error
    return config


async def serve(service: Service, config: Config, order: Order | None = None, config_file: str | None = None) -> None:
    """Serve until told to stop. With an order, an observer process brings the news; without, nothing changes."""
    loop = asyncio.get_running_loop()

    def deliver(message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to tell
            loop.call_soon_threadsafe(service.take, message)

    file = config_file or "<defaults>"
    server = make_server(service, config.server, file, config.people)
    people = make_people_server(service, config.server, config.people, file)
    if service.api is not None:
        _ = service.api.url  # no credentials at all are wrong input; an API server that is away will come back
    observers = Observers(deliver, order)
    service.questions.send = service.demand_questions.send = observers.ask
    asked = AskedAside(service.hindsight.decisions, observers.ask) if config.history.folder else None
    if asked is not None:
        service.on_recorded = asked.heard
        service.on_asked = asked.note
        service.answers_lost = lambda: asked.lost
        asked.start()
    start_workers(service.adviser.settings)
    reloading = Reloading(service, observers, config_file, config, asked) if config_file else None
    housekeeping = Housekeeping(lambda: server.server_state.total_requests)
    tls, contexts = config.server.tls, [each.config.ssl for each in (server, people) if each is not None]
    certificates = [Certificates(context, tls) for context in contexts if tls and context]
    tasks = [asyncio.create_task(each.run()) for each in (reloading, housekeeping, *certificates) if each]
    beside = None if people is None else asyncio.create_task(people.serve())
    try:
        with collected_by_hand():
            await server.serve()
    finally:
        if people is not None and beside is not None:
            people.should_exit = True
            await asyncio.gather(beside, return_exceptions=True)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stop_workers(service.adviser.settings)
        await asyncio.to_thread(service.hindsight.close)
        if asked is not None:
            await asyncio.to_thread(asked.close)
        await asyncio.to_thread(observers.stop)


class Observers:
    """The observer process of the moment: one at a time, replaced when what it must do changes. Any thread may call."""

    def __init__(self, deliver: Callable[[Message], None], order: Order | None) -> None:
        self._deliver = deliver
        self._order = order
        self._lock = threading.Lock()
        self._current = None if order is None else self._started(order)

    def replace(self, config: Config) -> None:
        """Take a new configuration, if it concerns the observer."""
        with self._lock:
            if self._order is None or self._current is None or _observed(config) == _observed(self._order.config):
                return
            self._current.stop()
            config = msgspec.structs.replace(config, log=self._order.config.log, history=self._order.config.history)
            self._order = msgspec.structs.replace(self._order, config=config, resuming=True)
            self._current = self._started(self._order)

    def ask(self, query: Query | AskedBatch | Configured) -> bool:
        """Send a question to the process of the moment; whether it could be sent."""
        current = self._current
        return current is not None and current.ask(query)

    def stop(self) -> None:
        """End it, for good."""
        with self._lock:
            if self._current is not None:
                self._current.stop()
                self._current = None

    def _started(self, order: Order) -> ObserverProcess:
        process = ObserverProcess(order, self._deliver)
        process.start()
        return process


def _fixed(config: Config) -> tuple[object, ...]:
    return config.server, config.people, config.log, config.history


def _observed(config: Config) -> tuple[object, ...]:
    return config.source, config.second_source, config.interval, config.window, config.high_priority, config.demand


class Reloading:
    """Takes the configuration file anew whenever it changes: all of it, or nothing."""

    def __init__(
        self, service: Service, observers: Observers, file: str, config: Config, asked: AskedAside | None = None
    ) -> None:
        self._service = service
        self._asked = asked
        self._observers = observers
        self._file = file
        self._content = _content(file)
        self._config = config
        with contextlib.suppress(ConfigError):
            self._config = load(file)  # without what the command line overrides

    async def run(self) -> None:
        """Look, and look again."""
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Take the file if it is not the one that was looked at last."""
        content = await asyncio.to_thread(_content, self._file)
        if content is None or content == self._content:
            return
        self._content = content
        try:
            config, settings = await asyncio.to_thread(_loaded, self._file)
        except ConfigError as error:
            self._refuse(str(error))
        except Exception as error:
            logger.exception("reading the new configuration failed in an unforeseen way")
            self._refuse(f"{type(error).__name__}: {error}")
        else:
            await self._take(config, settings)

    def _refuse(self, problem: str) -> None:
        self._service.telemetry.config_reloads.labels("refused").inc()
        logger.error("the new configuration is refused, the old one stays: %s", problem)

    async def _take(self, config: Config, settings: AdviserSettings) -> None:
        if _fixed(config) != _fixed(self._config):
            logger.warning("changes under `server`, `people`, `log` and `history` need a restart; the rest is taken")
        before = self._service.adviser.settings
        start_workers(settings)
        self._service.adviser.configure(settings)
        self._service.shown = shown(config)
        self._service.hindsight.configure(hindsight_settings(config))
        stop_workers(before)
        if self._asked is not None:
            self._asked.configured(config_text(without_secrets(config)), self._service.clock())
        await asyncio.to_thread(self._observers.replace, config)
        self._config = config
        self._service.telemetry.config_reloads.labels("taken").inc()
        logger.info("the new configuration is in force")


def _loaded(file: str) -> tuple[Config, AdviserSettings]:
    config = load(file)
    check_source(config, file)
    return config, adviser_settings(config, file)


def start_workers(settings: AdviserSettings) -> None:
    """Put isolated plugins to use."""
    for worker in workers_of((*settings.profiles.values(), *settings.shadows.values())):
        worker.start()


def stop_workers(settings: AdviserSettings) -> None:
    """End the workers of settings that are no longer in force."""
    for worker in workers_of((*settings.profiles.values(), *settings.shadows.values())):
        worker.close()


def _content(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes()
    except OSError:
        return None
