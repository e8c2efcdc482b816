"""`loadaware serve`: from a configuration to a running server, and a clean end."""

import asyncio
import logging

import uvloop

from collectors.kubernetes_api import Credentials, KubernetesApi
from loadaware.config import Config
from loadaware.garbage import keep_freed_memory
from loadaware.logs import configure_logs
from loadaware.observer_process import Order
from loadaware.server import has_own_port, serve
from loadaware.state import load_state
from loadaware.wiring import make_service

logger = logging.getLogger(__name__)


def run_server(config: Config, order: Order | None, config_file: str | None, state_file: str | None) -> None:
    """Serve until SIGTERM or Ctrl-C. Raises ConfigError or CollectorError before anything is started."""
    configure_logs(config.log)
    keep_freed_memory()
    api = None if order is None else KubernetesApi(Credentials(order.kubeconfig, order.context))
    service = make_service(config, config_file or "<defaults>", api=api)
    if state_file is not None:
        service.take(load_state(state_file))
    scheme = "https" if config.server.tls else "http"
    logger.info("serving on %s://%s:%d", scheme, config.server.address, config.server.port)
    if has_own_port(config.server, config.people):
        address = config.people.address or config.server.address
        logger.info("for people on %s://%s:%d", scheme, address, config.people.port)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(service, config, order, config_file))
