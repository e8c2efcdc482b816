"""Readings as fractions of what each node had at that moment: nodes that left meanwhile keep the size they had."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import msgspec
import numpy as np

from collectors.cluster import Event, NodeSeen
from collectors.history import Checkpoint, HistoryReader, Record
from collectors.reading import Reading
from loadaware.recorder import CheckpointState

Amounts = dict[str, float]
Change = tuple[int, str, Amounts]
"""After which record, whose, and what it has from then on."""


def size_changes(reader: HistoryReader, until: float | None) -> list[Change]:
    """Everything that was told of nodes' sizes, in order."""
    changes: list[Change] = []
    known: dict[str, Amounts] = {}
    for record in reader.records(None, until, kinds=["events", "checkpoints"]):
        for event in _events(record):
            if isinstance(event, NodeSeen) and known.get(event.node.name) != (has := dict(event.node.allocatable)):
                known[event.node.name] = has
                changes.append((record.sequence, event.node.name, has))
    return changes


def _events(record: Record) -> Iterable[Event]:
    if isinstance(record.content, Checkpoint):
        return msgspec.msgpack.decode(record.content.state, type=CheckpointState).events
    return (record.content,)  # type: ignore[return-value]


def scaled(readings: Iterable[Record], changes: list[Change]) -> Iterator[Record]:
    """Readings without nodes of unknown size, usage divided by what the node had then. Before anything was told of a
    node, it has what was told first.
    """
    first = {name: has for _, name, has in reversed(changes)}
    sizes, ahead = dict(first), chain(changes, [(2**63, "", Amounts())])
    after, name, has = next(ahead)
    for record in readings:
        while after < record.sequence:
            sizes[name] = has
            after, name, has = next(ahead)
        if isinstance(record.content, Reading):
            yield replace(record, content=_divided(record.content, sizes))


def _divided(reading: Reading, sizes: dict[str, Amounts]) -> Reading:
    rows = [row for row, name in enumerate(reading.nodes.names) if name in sizes]
    names = tuple(reading.nodes.names[row] for row in rows)
    usage = reading.nodes.usage[rows]
    if reading.base != "capacity":
        has = [[sizes[name].get(resource, np.nan) for resource in reading.resources] for name in names]
        with np.errstate(divide="ignore", invalid="ignore"):
            usage = usage / np.array(has).reshape(usage.shape)
    nodes = replace(
        reading.nodes, names=names, usage=usage, times=reading.nodes.times[rows], windows=reading.nodes.windows[rows]
    )
    return replace(reading, nodes=nodes, node_deviation=None)
