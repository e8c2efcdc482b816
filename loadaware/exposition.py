"""The text of /metrics, made where no request waits for it.

On the event loop only what must be: gauges are set and a moment is taken down (some array operations, and one ranking
of the reference pod). The text is written in another thread, family by family, with a rest after each, so that the loop
gets the interpreter whenever it wants it. Scrapes that come while one is being made share the next.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric

from loadaware.node_series import NodeFacts, node_series
from loadaware.service import Service

T = TypeVar("T")

MOST_NODES = 10_000
"""Nodes with series of their own in one answer, whoever asks for more."""
REST_SECONDS = 0.0001
"""Between two pieces of text: long enough for whoever waits for the interpreter to take it."""


def nodes_asked(text: str | None, usual: int) -> int:
    """How many nodes `?nodes=` asks for: a number, or all there may be. Raises ValueError."""
    if text is None:
        return usual
    if text == "all":
        return MOST_NODES
    if not (text.isascii() and text.isdigit()) or int(text[:9]) > MOST_NODES:
        raise ValueError(f"nodes is a number in 0..{MOST_NODES} or all, not {text:.100}")
    return int(text)


class Exposition:
    """Makes the text; one at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = asyncio.Lock()
        self._begun = 0
        self._last: tuple[int, int, bytes] | None = None

    async def text(self, nodes: int) -> bytes:
        """The metrics as of now, with series of this many nodes."""
        asked = self._begun
        async with self._turn:
            if self._last is not None and self._last[0] > asked and self._last[1] == nodes:
                return self._last[2]
            self._begun += 1
            begun = self._begun
            self._service.update_gauges()
            await asyncio.sleep(0)  # requests first: scoring the reference pod is as much work as one of them
            facts = self._service.node_facts() if nodes else None
            text = await asyncio.to_thread(self._made, facts, nodes)
            self._last = begun, nodes, text
            return text

    def _made(self, facts: NodeFacts | None, nodes: int) -> bytes:
        telemetry = self._service.telemetry
        telemetry.sum_up()
        pieces = list(_rested(_families(telemetry.registry)))
        if facts is not None:
            pieces += [piece.encode() for piece in _rested(node_series(facts, nodes))]
        return b"".join(pieces)


def _families(registry: CollectorRegistry) -> Iterator[bytes]:
    """Without the moments at which series were made: as many again, and nobody asks for them."""
    for family in registry.collect():
        family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
        yield generate_latest(_One(family))


def _rested(pieces: Iterable[T]) -> Iterator[T]:
    for piece in pieces:
        yield piece
        time.sleep(REST_SECONDS)


class _One(CollectorRegistry):
    """A registry of one family, collected already."""

    def __init__(self, family: Metric) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family
