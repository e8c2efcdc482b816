"""The real server over a service of a test, in a thread, on one port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loadaware.config import PeopleSection, ServerSection
from loadaware.quantities import Duration
from loadaware.server import make_server
from loadaware.service import Service
from tests.parts.processes import PATIENCE_SECONDS, wait_for


@contextmanager
def served(service: Service, port: int = 0, **people: Any) -> Iterator[str]:
    """Its address."""
    section = ServerSection(address="127.0.0.1", port=port, leaving=Duration(0.0))
    server = make_server(service, section, people=PeopleSection(port=None, **people))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the server")
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
