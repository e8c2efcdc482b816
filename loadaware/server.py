"""Serving: uvicorn over the app, the observer's messages on the event loop, config reloads, a clean end."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import uvicorn

from loadaware.config import Config, ServerSection, load
from loadaware.errors import ConfigError
from loadaware.extender.app import make_app
from loadaware.observer_process import ObserverProcess, Order
from loadaware.profiles import adviser_settings
from loadaware.service import Message, Service

logger = logging.getLogger(__name__)

RELOAD_SECONDS = 2.0
"""How often the file is looked at: a ConfigMap arrives as a swapped link, which no file event tells reliably."""


def make_server(service: Service, section: ServerSection) -> uvicorn.Server:
    """A uvicorn server over the app, with the limits of the configuration."""
    tls = section.tls
    return uvicorn.Server(
        uvicorn.Config(
            make_app(service, int(section.body_limit)),
            host=section.address,
            port=section.port,
            http="httptools",
            loop="uvloop",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=section.connections,
            timeout_keep_alive=int(section.keep_alive),
            timeout_graceful_shutdown=int(section.drain),
            ssl_certfile=tls.cert_file if tls else None,
            ssl_keyfile=tls.key_file if tls else None,
            ssl_ca_certs=(tls.client_ca_file or None) if tls else None,
            ssl_cert_reqs=2 if tls and tls.client_ca_file else 0,
        )
    )


async def serve(service: Service, config: Config, order: Order | None = None, config_file: str | None = None) -> None:
    """Serve until told to stop. With an order, an observer process brings the news; without, nothing changes."""
    loop = asyncio.get_running_loop()

    def deliver(message: Message) -> None:
        loop.call_soon_threadsafe(service.take, message)

    observers = Observers(deliver, order)
    reloading = asyncio.create_task(_reload(service, config_file, config, observers)) if config_file else None
    try:
        await make_server(service, config.server).serve()
    finally:
        if reloading is not None:
            reloading.cancel()
        await asyncio.to_thread(observers.stop)


class Observers:
    """The observer process of the moment: one at a time, replaced when what it must do changes."""

    def __init__(self, deliver: Callable[[Message], None], order: Order | None) -> None:
        self._deliver = deliver
        self._order = order
        self._current: ObserverProcess | None = None
        if order is not None:
            self._start(order)

    def replace(self, config: Config) -> None:
        """Take a new configuration, if it concerns the observer."""
        if self._order is None or _observed(config) == _observed(self._order.config):
            return
        self.stop()
        self._order = Order(config, self._order.kubeconfig, self._order.context)
        self._start(self._order)

    def stop(self) -> None:
        """End it."""
        if self._current is not None:
            self._current.stop()
            self._current = None

    def _start(self, order: Order) -> None:
        self._current = ObserverProcess(order, self._deliver)
        self._current.start()


def _observed(config: Config) -> tuple[object, ...]:
    return config.source, config.interval, config.window


async def _reload(service: Service, file: str, config: Config, observers: Observers) -> None:
    """Take the file anew whenever it changes: all of it, or nothing."""
    taken = await asyncio.to_thread(_content, file)
    while True:
        await asyncio.sleep(RELOAD_SECONDS)
        content = await asyncio.to_thread(_content, file)
        if content is None or content == taken:
            continue
        taken = content
        try:
            fresh = load(file)
            settings = adviser_settings(fresh, file)
        except ConfigError as error:
            service.telemetry.config_reloads.labels("refused").inc()
            logger.error("the new configuration is refused, the old one stays: %s", error)
            continue
        if fresh.server != config.server:
            logger.warning("changes under `server` need a restart; the rest is taken")
        service.adviser.configure(settings)
        await asyncio.to_thread(observers.replace, fresh)
        config = fresh
        service.telemetry.config_reloads.labels("taken").inc()
        logger.info("the new configuration is in force")


def _content(file: str) -> bytes | None:
    try:
        return Path(file).read_bytes()
    except OSError:
        return None
