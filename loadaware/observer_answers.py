"""What an observer answers when it is asked: about pods at once, about what it has learned in pieces."""

from collections.abc import Iterator

import msgspec

from loadaware.demand_format import encode
from loadaware.demand_report import report
from loadaware.observer import Observer
from loadaware.queries import DemandQuery, NodeQuery, Piece, PodsQuery, Query, Reply, StateQuery

PIECE_BYTES = 2**20


def answers(observer: Observer, query: Query, now: float) -> Iterator[Reply | Piece]:
    """The messages that make up the answer, in their order."""
    if isinstance(query, PodsQuery):
        yield observer.answer(query)
        return
    try:
        told, refused = _learned(observer, query, now), ""
    except ValueError as error:
        told, refused = b"", str(error)
    for start in range(0, max(len(told), 1), PIECE_BYTES):
        last = start + PIECE_BYTES >= len(told)
        yield Piece(query.number, told[start : start + PIECE_BYTES], last, refused)


def _learned(observer: Observer, query: StateQuery | DemandQuery | NodeQuery, now: float) -> bytes:
    if isinstance(query, NodeQuery):
        return msgspec.json.encode(observer.node_report(query.node))
    if isinstance(query, DemandQuery):
        return msgspec.json.encode(report(observer.export(now), query.sort, query.limit, query.namespace))
    return encode(observer.export(now)) if observer.worth_keeping else b""
