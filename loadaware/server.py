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

import msgspec
import uvicorn

from loadaware.adviser import AdviserSettings
from loadaware.config import Config, ServerSection, load
from loadaware.errors import ConfigError
from loadaware.extender.answers import Answers
from loadaware.extender.app import app_over
from loadaware.extender.hot_path import hot_path
from loadaware.extender.large_bodies import LargeBodies
from loadaware.garbage import Housekeeping, collected_by_hand
from loadaware.isolation import workers_of
from loadaware.observer_process import ObserverProcess, Order
from loadaware.profiles import adviser_settings, hindsight_settings, shown
from loadaware.queries import Query
from loadaware.service import Message, Service
from loadaware.sources import check_source

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 2.0
"""How often the file is looked at: a ConfigMap arrives as a swapped link, which no file event tells reliably."""


class Server(uvicorn.Server):
    """Ends cleanly when told to. (uvicorn raises the signal again after the drain: nothing behind it would run.)"""

    def __init__(self, config: uvicorn.Config, bodies: LargeBodies) -> None:
        super().__init__(config)
        self._bodies = bodies

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is under way, then end what was started."""
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


def make_server(service: Service, section: ServerSection, file: str = "<config>") -> Server:
    """A uvicorn server over the app, with the limits of the configuration. Raises ConfigError for certificates."""
    tls = section.tls
    answers, bodies = Answers(service, int(section.body_limit)), LargeBodies()
    config = uvicorn.Config(
        app_over(answers, bodies),
        host=section.address,
        port=section.port,
        http=hot_path(answers),
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=section.connections,
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
    return Server(config, bodies)


async def serve(service: Service, config: Config, order: Order | None = None, config_file: str | None = None) -> None:
    """Serve until told to stop. With an order, an observer process brings the news; without, nothing changes."""
    loop = asyncio.get_running_loop()

    def deliver(message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody is left to tell
            loop.call_soon_threadsafe(service.take, message)

    server = make_server(service, config.server, config_file or "<defaults>")
    if service.api is not None:
        _ = service.api.url  # no credentials at all are wrong input; an API server that is away will come back
    observers = Observers(deliver, order)
    service.questions.send = service.demand_questions.send = observers.ask
    start_workers(service.adviser.settings)
    reloading = Reloading(service, observers, config_file, config) if config_file else None
    housekeeping = Housekeeping(lambda: server.server_state.total_requests)
    tasks = [asyncio.create_task(each.run()) for each in (reloading, housekeeping) if each]
    try:
        with collected_by_hand():
            await server.serve()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        stop_workers(service.adviser.settings)
        await asyncio.to_thread(service.hindsight.close)
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
            config = msgspec.structs.replace(config, log=self._order.config.log)
            self._order = msgspec.structs.replace(self._order, config=config, resuming=True)
            self._current = self._started(self._order)

    def ask(self, query: Query) -> bool:
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


def _observed(config: Config) -> tuple[object, ...]:
    return config.source, config.second_source, config.interval, config.window, config.high_priority, config.demand


class Reloading:
    """Takes the configuration file anew whenever it changes: all of it, or nothing."""

    def __init__(self, service: Service, observers: Observers, file: str, config: Config) -> None:
        self._service = service
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
        if (config.server, config.log) != (self._config.server, self._config.log):
            logger.warning("changes under `server` and `log` need a restart; the rest is taken")
        before = self._service.adviser.settings
        start_workers(settings)
        self._service.adviser.configure(settings)
        self._service.shown = shown(config)
        self._service.hindsight.configure(hindsight_settings(config))
        stop_workers(before)
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
