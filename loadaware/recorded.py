"""What the server and the recorder in the observer process tell each other.

The recorder numbers everything it writes. Before each publication (a snapshot, or changes) it tells the number, which
is in force once the publication is: so the server knows from which part of the record an answer was made. It tells its
answers late, when nobody waits, and each carries that number. So a replay asks at exactly the point at which it was
asked.
"""

import msgspec

from collectors.manifests import Pod

BESIDE = frozenset({"bind", "preempt"})
"""Verbs whose answers are no decisions: each has the number of the last decision before it, and comes behind that."""


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """What is published next has this sequence number in the record."""

    sequence: int


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A request and its answer."""

    number: int
    """Of the decision: the order in which the server answered. See BESIDE for what is no decision."""
    time: float
    verb: str
    profile: str
    pod: Pod
    node_names: tuple[str, ...]
    priorities: tuple[int, ...] = ()
    verdicts: tuple[str | None, ...] = ()
    """None where the node passed, else why not."""
    aside: bool = False
    """Whether kube-scheduler was told something else: that all nodes are equal."""
    heard: int = 0
    """The sequence number of the last publication that it was made from."""


class AskedBatch(msgspec.Struct, frozen=True):
    """Answers for the recorder, in the order in which they became known."""

    asked: tuple[Asked, ...]
    lost: int = 0
    """How many were dropped since the last batch."""


class Configured(msgspec.Struct, frozen=True):
    """The server took another configuration."""

    time: float
    config: str
    heard: int


class AskedDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a recorded request carries beside its pod and its nodes."""

    heard: int = 0
    number: int = 0
    aside: bool = False


def pack_detail(asked: Asked) -> bytes:
    """For the record."""
    return msgspec.msgpack.encode(AskedDetail(asked.heard, asked.number, asked.aside))


def unpack_detail(detail: bytes) -> AskedDetail | None:
    """From the record; None if whoever wrote the request did not tell."""
    return msgspec.msgpack.decode(detail, type=AskedDetail) if detail else None
