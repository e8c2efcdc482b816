"""What a history is made of: everything the core is told, one record after the other.

A record has a sequence number (the total order: replaying in this order is exact) and the time at which the core was
told. The content is one of the values below, an event of the cluster or a reading. What only the core understands
(a checkpoint's state, a mark's detail) is kept as bytes: a history stores it and never looks inside.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from collectors.cluster import Event
from collectors.manifests import Pod
from collectors.reading import Reading

RecordKind = Literal["events", "readings", "requests", "answers", "checkpoints", "marks"]
RECORD_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)


class Request(msgspec.Struct, frozen=True, gc=False):
    """A question the core was asked: a verb of the extender, the profile in force, a pod and the nodes offered."""

    verb: str
    profile: str
    pod: Pod
    node_names: tuple[str, ...] = ()
    detail: bytes = b""
    """What a verb carries beyond that (victims, say), in the asker's own form."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What the core answered. Each tuple is empty or in the order of the request's node names."""

    request: int
    """Sequence number of the request."""
    priorities: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    verdicts: tuple[str | None, ...] = ()
    """None where the node passed, else why not."""
    detail: bytes = b""


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """The core's whole state after all records with a smaller sequence number."""

    state: bytes


class Mark(msgspec.Struct, frozen=True, gc=False):
    """Anything else that moves the core: a snapshot came into force, the configuration changed, the recorder began."""

    name: str
    detail: bytes = b""


Content = Event | Reading | Request | Answer | Checkpoint | Mark


@dataclass(frozen=True)
class Record:
    """One thing the core was told or said."""

    sequence: int
    time: float
    content: Content
