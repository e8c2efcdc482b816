"""What the cluster tells us, event by event: the vocabulary between the API server and the core.

A relist (first list, or after 410 Gone) is told as `Relisted` with everything there is: what it does not name is
gone. Everything else is a small step. Events arrive in the order in which the API server told them, per kind.
"""

from typing import Literal

import msgspec

from collectors.manifests import Namespace, Node, Pod

Kind = Literal["nodes", "pods", "namespaces"]


class NodeSeen(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A node is there, or changed."""

    node: Node


class NodeGone(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A node left the cluster."""

    name: str


class PodSeen(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A pod is there, or changed (bound, finished, resized, terminating)."""

    pod: Pod


class PodGone(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A pod was deleted. `identity` as in Pod.identity."""

    identity: str


class NamespaceSeen(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A namespace is there, or changed."""

    namespace: Namespace


class NamespaceGone(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A namespace was deleted."""

    name: str


class Relisted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A whole kind was listed anew: forget whatever of it is not named here. Names for nodes and namespaces,
    identities for pods. The Seen events of what is new or changed came before it.
    """

    kind: Kind
    present: frozenset[str]


class Forbidden(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Watching a kind is not allowed; we go on without it. `lost` says what that costs."""

    kind: Kind
    lost: str


Event = NodeSeen | NodeGone | PodSeen | PodGone | NamespaceSeen | NamespaceGone | Relisted | Forbidden
