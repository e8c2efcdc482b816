"""Nodes and pods as the API server tells them, reduced to what placing needs.

JSON is decoded by msgspec into structs that name only those members, so the rest is skipped at full speed; then
turned into the frozen facts `Node` and `Pod`. Replicas declare the same resources: those are kept once, as a
shared `Shape`, so that 150,000 pods stay small. Facts are not tracked by the garbage collector (gc=False): they
hold no cycles.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from collectors.quantity import parse_quantity

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""Pods at this priority or above (system-cluster-critical, system-node-critical) keep the cluster alive."""

Resources = tuple[tuple[str, float], ...]
"""Sorted (resource, amount) pairs: hashable, and the same object for the same declaration."""


class Container(msgspec.Struct, frozen=True, gc=False):
    """What one container declares, in base units."""

    requests: Resources = ()
    limits: Resources = ()


class Shape(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """What a pod declares: the same for all replicas, so kept once (see `shape_of`).

    requests = max(sum over containers, any init container) + overhead, per resource, as kube-scheduler counts;
    limits the same way, a limit left out counting as zero, overhead added only where some limit is declared.
    Init containers with restartPolicy Always are sidecars: they run beside the others and are summed with them; an
    init container runs beside the sidecars that were started before it, so their amounts are in its own.
    """

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Resources = ()
    requests: Resources = ()
    limits: Resources = ()

    def request(self, resource: str) -> float:
        """The declared request of one resource, zero if none."""
        return dict(self.requests).get(resource, 0.0)

    def limit(self, resource: str) -> float:
        """The declared limit of one resource, zero if none."""
        return dict(self.limits).get(resource, 0.0)


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controller of a pod, as its ownerReferences name it (a ReplicaSet, a Job, ...)."""

    kind: str
    name: str


class Pod(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A pod's facts. `node` is None while it is not bound; times are seconds since 1970, None if not told."""

    namespace: str = "default"
    name: str = ""
    uid: str = ""
    node: str | None = None
    phase: str = "Pending"
    shape: Shape = Shape()
    owner: Owner | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    images: tuple[str, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    created_at: float | None = None
    bound_at: float | None = None
    deleted_at: float | None = None
    nominated_node: str | None = None

    @property
    def key(self) -> str:
        """namespace/name, the way pod metrics name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def identity(self) -> str:
        """The uid, or namespace/name where a client sends none."""
        return self.uid or self.key

    @property
    def finished(self) -> bool:
        """Whether it no longer uses anything."""
        return self.phase in ("Succeeded", "Failed")


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node's facts; capacity and allocatable in base units."""

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    capacity: Resources = ()
    allocatable: Resources = ()
    addresses: tuple[str, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    created_at: float | None = None


class Namespace(msgspec.Struct, frozen=True, gc=False):
    """A namespace's facts."""

    name: str
    annotations: Mapping[str, str] = {}


# -- What the API server writes: only the members we read -----------------------------------------------------------

_Quantities = dict[str, str | int | float]


class _Camel(msgspec.Struct, rename="camel", gc=False):
    pass


class _OwnerReference(_Camel):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(_Camel):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_OwnerReference] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class _ContainerResources(_Camel):
    requests: _Quantities | None = None
    limits: _Quantities | None = None


class _Container(_Camel):
    image: str | None = None
    resources: _ContainerResources | None = None
    restart_policy: str | None = None


class _PodSpec(_Camel):
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    overhead: _Quantities | None = None


class _Condition(_Camel):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _PodStatus(_Camel):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None


class PodManifest(_Camel):
    """A v1 Pod as JSON writes it."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


class _Address(_Camel):
    type: str = ""
    address: str = ""


class _NodeSpec(_Camel):
    unschedulable: bool | None = None


class _NodeStatus(_Camel):
    capacity: _Quantities | None = None
    allocatable: _Quantities | None = None
    addresses: list[_Address] | None = None
    conditions: list[_Condition] | None = None


class NodeManifest(_Camel):
    """A v1 Node as JSON writes it."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None


class NamespaceManifest(_Camel):
    """A v1 Namespace as JSON writes it."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


# -- From the API server's words to facts ---------------------------------------------------------------------------


def pod_from(manifest: PodManifest) -> Pod:
    """A pod's facts. Raises QuantityError if a declared amount is no quantity."""
    metadata = manifest.metadata
    spec = manifest.spec or _PodSpec()
    status = manifest.status or _PodStatus()
    containers = spec.containers or []
    return Pod(
        namespace=metadata.namespace or "default",
        name=metadata.name,
        uid=metadata.uid or "",
        node=spec.node_name or None,
        phase=status.phase or "Pending",
        shape=_shape_from(spec),
        owner=_controller(metadata.owner_references),
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        images=tuple(c.image for c in containers if c.image),
        scheduler_name=spec.scheduler_name or "default-scheduler",
        priority=spec.priority or 0,
        created_at=parse_time(metadata.creation_timestamp),
        bound_at=_bound_at(status),
        deleted_at=parse_time(metadata.deletion_timestamp),
        nominated_node=status.nominated_node_name or None,
    )


def node_from(manifest: NodeManifest) -> Node:
    """A node's facts. Raises QuantityError if a declared amount is no quantity."""
    metadata = manifest.metadata
    status = manifest.status or _NodeStatus()
    capacity = resources_from(status.capacity or status.allocatable)
    return Node(
        name=metadata.name,
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        capacity=capacity,
        allocatable=resources_from(status.allocatable) or capacity,
        addresses=tuple(a.address for a in status.addresses or () if a.address),
        unschedulable=bool(manifest.spec and manifest.spec.unschedulable),
        ready=all(c.status == "True" for c in status.conditions or () if c.type == "Ready"),
        created_at=parse_time(metadata.creation_timestamp),
    )


def namespace_from(manifest: NamespaceManifest) -> Namespace:
    """A namespace's facts."""
    return Namespace(manifest.metadata.name, manifest.metadata.annotations or {})


def pod_from_object(manifest: Mapping[str, Any]) -> Pod:
    """A pod's facts from a parsed manifest (YAML, a test). Raises msgspec.ValidationError or QuantityError."""
    return pod_from(msgspec.convert(manifest, PodManifest))


def node_from_object(manifest: Mapping[str, Any]) -> Node:
    """A node's facts from a parsed manifest. Raises msgspec.ValidationError or QuantityError."""
    return node_from(msgspec.convert(manifest, NodeManifest))


def resources_from(quantities: Mapping[str, str | int | float] | None) -> Resources:
    """Sorted pairs in base units."""
    if not quantities:
        return ()
    return tuple(sorted((name, parse_quantity(value)) for name, value in quantities.items()))


@lru_cache(maxsize=4096)
def parse_time(text: str | None) -> float | None:
    """An RFC 3339 time as seconds since 1970 (UTC if it names no zone); None for what cannot be read."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None


def _controller(references: list[_OwnerReference] | None) -> Owner | None:
    for reference in references or ():
        if reference.controller:
            return Owner(reference.kind, reference.name)
    return Owner(references[0].kind, references[0].name) if references else None


def _bound_at(status: _PodStatus) -> float | None:
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "True":
            return parse_time(condition.last_transition_time) or parse_time(status.start_time)
    return parse_time(status.start_time)


def _shape_from(spec: _PodSpec) -> Shape:
    initial: list[tuple[Resources, Resources]] = []
    sidecars: list[tuple[Resources, Resources]] = []
    for container in spec.init_containers or ():
        declared = _declared(container)
        if container.restart_policy == "Always":
            sidecars.append(declared)
        else:
            initial.append(_together([declared, *sidecars]) if sidecars else declared)
    return shape_of(
        (*(_declared(c) for c in spec.containers or ()), *sidecars), tuple(initial), resources_from(spec.overhead)
    )


def _together(declared: list[tuple[Resources, Resources]]) -> tuple[Resources, Resources]:
    return _total([d[0] for d in declared], (), ()), _total([d[1] for d in declared], (), ())


def _declared(container: _Container) -> tuple[Resources, Resources]:
    declared = container.resources
    if declared is None:
        return (), ()
    return _shared(declared.requests), _shared(declared.limits)


def _shared(quantities: _Quantities | None) -> Resources:
    return _read_once(tuple(quantities.items())) if quantities else ()


@lru_cache(maxsize=16_384)
def _read_once(quantities: tuple[tuple[str, str | int | float], ...]) -> Resources:
    """Many pods declare the same, and each is asked about while kube-scheduler waits."""
    return resources_from(dict(quantities))


_Declared = tuple[tuple[Resources, Resources], ...]


@lru_cache(maxsize=65_536)
def shape_of(containers: _Declared, init_containers: _Declared = (), overhead: Resources = ()) -> Shape:
    """The shared shape of everything that declares this."""
    limits = _total([c[1] for c in containers], [c[1] for c in init_containers], ())
    return Shape(
        containers=tuple(Container(*c) for c in containers),
        init_containers=tuple(Container(*c) for c in init_containers),
        overhead=overhead,
        requests=_total([c[0] for c in containers], [c[0] for c in init_containers], overhead),
        limits=_total([limits], [], tuple(o for o in overhead if dict(limits).get(o[0], 0.0) > 0)),
    )


def _total(running: Iterable[Resources], initial: Iterable[Resources], overhead: Resources) -> Resources:
    total: dict[str, float] = {}
    for declared in running:
        for name, amount in declared:
            total[name] = total.get(name, 0.0) + amount
    for declared in initial:
        for name, amount in declared:
            total[name] = max(total.get(name, 0.0), amount)
    for name, amount in overhead:
        total[name] = total.get(name, 0.0) + amount
    return tuple(sorted(total.items()))
