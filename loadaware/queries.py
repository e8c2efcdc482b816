"""Questions to the observer that are asked rarely, and its replies: what it knows of some pods.

The serving process keeps no table of pods; preemption names victims by uid. So it asks, waits a moment, and goes on
without an answer if none comes.
"""

import msgspec


class PodsQuery(msgspec.Struct, frozen=True):
    """What do these pods use? Named by identity (uid, or namespace/name)."""

    number: int
    identities: tuple[str, ...]


class PodReply(msgspec.Struct, frozen=True):
    """One bound pod: what was measured of it, else what it requests, per resource."""

    identity: str
    node: str
    usage: dict[str, float]


class Reply(msgspec.Struct, frozen=True):
    """The answer to the query of that number; pods that are not known are left out."""

    number: int
    pods: tuple[PodReply, ...]
