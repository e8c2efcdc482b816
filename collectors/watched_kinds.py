"""How each kind that we watch is asked for, read and told: the words between the API server and collectors.watch.

A page or an event is decoded straight into the structs of collectors.manifests. Only where some object does not
fit is each object taken by itself, so that one bad object costs nothing but itself.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from collectors.cluster import Event, Kind, NamespaceGone, NamespaceSeen, NodeGone, NodeSeen, PodGone, PodSeen
from collectors.manifests import (
    NamespaceManifest,
    NodeManifest,
    PodManifest,
    namespace_from,
    node_from,
    pod_from,
)

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class Metadata(msgspec.Struct, rename="camel", gc=False):
    """What tells one object, and one version of it, from another."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str = ""


class Outline(msgspec.Struct, gc=False):
    """What any object has, and an error's Status: enough to know which one it is and where the watch stands."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    code: int = 0
    message: str = ""


class Said(msgspec.Struct, gc=False):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the object it happened to."""

    type: str
    object: msgspec.Raw


class PageMetadata(msgspec.Struct, gc=False):
    """The version that the whole list shows, and what to ask for to get its next page."""

    resource_version: str = msgspec.field(name="resourceVersion")
    following: str = msgspec.field(name="continue", default="")


ManifestType = TypeVar("ManifestType")


class Page(msgspec.Struct, Generic[ManifestType], gc=False):
    """A page of a list."""

    metadata: PageMetadata
    items: list[ManifestType]


class _Named(Protocol):
    name: str
    namespace: str | None
    uid: str | None


Item = NodeManifest | PodManifest | NamespaceManifest | msgspec.Raw
"""An object on a page: decoded, or still to be."""

SAID = msgspec.json.Decoder(Said)
OUTLINE = msgspec.json.Decoder(Outline)
_RAW_PAGE = msgspec.json.Decoder(Page[msgspec.Raw])


class WatchedKind(Generic[ManifestType]):
    """How one kind is asked for, read and told."""

    def __init__(
        self,
        path: str,
        manifest: type[ManifestType],
        *,
        seen: Callable[[ManifestType], Event],
        gone: Callable[[str], Event],
        lost: str,
        key: Callable[[_Named], str],
        field_selector: str = "",
    ) -> None:
        self.path = path
        self.selection: dict[str, str | int] = {"fieldSelector": field_selector} if field_selector else {}
        self.gone = gone
        self.lost = lost
        self.key = key
        self._seen = seen
        self._one = msgspec.json.Decoder(manifest)
        self._page = msgspec.json.Decoder(Page[manifest])  # type: ignore[valid-type]

    def page(self, body: bytes) -> Page[Any]:
        """A page in one go; if some object on it does not fit, then with all objects still to be decoded."""
        try:
            return self._page.decode(body)
        except msgspec.DecodeError:
            return _RAW_PAGE.decode(body)

    def seen(self, item: Item) -> Event:
        """The event of an object that is there."""
        manifest: Any = self._one.decode(item) if isinstance(item, msgspec.Raw) else item
        return self._seen(manifest)

    def key_of(self, item: Item) -> str:
        """What `Relisted` calls this object; empty where not even that can be read."""
        if not isinstance(item, msgspec.Raw):
            return self.key(item.metadata)
        try:
            return self.key(OUTLINE.decode(item).metadata)
        except msgspec.DecodeError:
            return ""


def _by_name(metadata: _Named) -> str:
    return metadata.name


def _by_identity(metadata: _Named) -> str:
    return metadata.uid or f"{metadata.namespace or 'default'}/{metadata.name}"


KINDS: dict[Kind, WatchedKind[Any]] = {
    "nodes": WatchedKind(
        "/api/v1/nodes",
        NodeManifest,
        seen=lambda manifest: NodeSeen(node_from(manifest)),
        gone=NodeGone,
        key=_by_name,
        lost="without nodes nothing can be ranked; allow list and watch on nodes",
    ),
    "pods": WatchedKind(
        "/api/v1/pods",
        PodManifest,
        seen=lambda manifest: PodSeen(pod_from(manifest)),
        gone=PodGone,
        key=_by_identity,
        field_selector=UNFINISHED,
        lost="pods placed but not yet measured are known only from our own answers, and what bound pods request "
        "is not known; allow list and watch on pods",
    ),
    "namespaces": WatchedKind(
        "/api/v1/namespaces",
        NamespaceManifest,
        seen=lambda manifest: NamespaceSeen(namespace_from(manifest)),
        gone=NamespaceGone,
        key=_by_name,
        lost="namespaces cannot opt out by annotation (pods still can); allow list and watch on namespaces",
    ),
}
