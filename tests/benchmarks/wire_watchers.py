"""People and Prometheus, looking on while a server is measured."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.benchmarks.wire_servers import Server

SCRAPE_SECONDS = 1.0


@contextmanager
def watched(server: Server, pages: int) -> Iterator[None]:
    """So many open pages, and a scrape every second."""
    ended = threading.Event()
    looks: list[Callable[[Server, threading.Event], None]] = [_scrape, *[_look] * pages]
    threads = [threading.Thread(target=look, args=(server, ended)) for look in looks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _scrape(server: Server, ended: threading.Event) -> None:
    while not ended.wait(SCRAPE_SECONDS):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10.0)
        connection.request("GET", "/metrics")
        connection.getresponse().read()
        connection.close()


def _look(server: Server, ended: threading.Event) -> None:
    """Read the stream of a page, piece by piece: it tells something each second."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10.0)
    connection.request("GET", "/live")
    answer = connection.getresponse()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"/live answers {answer.status}")
    while not ended.is_set() and answer.read1(1 << 16):
        pass
    connection.close()
