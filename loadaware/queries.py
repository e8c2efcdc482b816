"""Questions to the observer that are asked rarely, and its replies: what it knows of some pods, what it has learned.

The serving process keeps no table of pods; preemption names victims by uid. So it asks, waits a moment, and goes on
without an answer if none comes. What was learned is asked for by people and by other replicas; it may be large, so it
comes in pieces, each of which is taken in before anybody notices.
"""

import msgspec


class PodsQuery(msgspec.Struct, frozen=True):
    """What do these pods use? Named by identity (uid, or namespace/name)."""

    number: int
    identities: tuple[str, ...]


class StateQuery(msgspec.Struct, frozen=True):
    """All that was learned, as demand_format writes it; nothing at all while it is not whole."""

    number: int


class DemandQuery(msgspec.Struct, frozen=True):
    """What workloads request and use, as JSON: see demand_report."""

    number: int
    sort: str
    limit: int
    namespace: str | None = None


class NodeQuery(msgspec.Struct, frozen=True):
    """The samples and the pods of one node, as JSON: see node_report."""

    number: int
    node: str


Query = PodsQuery | StateQuery | DemandQuery | NodeQuery


class PodReply(msgspec.Struct, frozen=True):
    """One bound pod: what was measured of it, else what it requests, per resource."""

    identity: str
    node: str
    usage: dict[str, float]


class Reply(msgspec.Struct, frozen=True):
    """The answer to the query of that number; pods that are not known are left out."""

    number: int
    pods: tuple[PodReply, ...]


class Piece(msgspec.Struct, frozen=True):
    """A part of the answer to the query of that number, in their order."""

    number: int
    data: bytes
    last: bool
    refused: str = ""
    """What is wrong with the query, if it cannot be answered."""
