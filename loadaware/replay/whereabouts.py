"""Where every pod is in a replay, and what that leaves of each node: what kube-scheduler would look at.

Amounts are integers, millicores and bytes, as kube-scheduler keeps them. Nodes and pods come and go, so both are
numbered as they come; a node that returns has its old number. `extra` is what pods that were moved add to a node: where
it is not above zero, whatever fitted in reality fits here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from collectors.manifests import Node, Pod, Shape
from collectors.reading import CPU, MEMORY
from loadaware.default_plugins import SPREAD_KINDS
from loadaware.foresight import ZONE_LABEL
from loadaware.simulation.noise import Ints

PODS = "pods"
UNITS = {CPU: 1000.0, MEMORY: 1.0, PODS: 1.0}
RESOURCES = tuple(UNITS)
"""Whatever is looked at to see whether a pod fits; the scores look at the first two."""
SCORED = 2
UNLIMITED = 2**62


@dataclass
class Place:
    """A pod that is on a node."""

    number: int
    row: int
    requests: Ints
    group: str | None


@dataclass
class Whereabouts:
    """Pods on nodes."""

    names: list[str] = field(default_factory=list)
    _rows: dict[str, int] = field(default_factory=dict)
    _nodes: dict[str, Node] = field(default_factory=dict)
    _zone_numbers: dict[str, int] = field(default_factory=dict)
    _zones: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _allocatable: Ints = field(default_factory=lambda: np.zeros((0, len(RESOURCES)), dtype=np.int64))
    _requested: Ints = field(default_factory=lambda: np.zeros((0, len(RESOURCES)), dtype=np.int64))
    extra: Ints = field(default_factory=lambda: np.zeros((0, len(RESOURCES)), dtype=np.int64))
    _places: dict[str, Place] = field(default_factory=dict)
    _replicas: dict[str, Ints] = field(default_factory=dict)
    _asked: dict[int, tuple[Ints, str | None]] = field(default_factory=dict)
    _count: int = 0

    # -- As kube-scheduler's default plugins look at it --------------------------------------------------------------

    @property
    def zones(self) -> Ints:
        """The number of each node's zone."""
        return self._zones

    @property
    def allocatable(self) -> Ints:
        """Of each node (node, resource)."""
        return self._allocatable[:, :SCORED]

    @property
    def requested(self) -> Ints:
        """By the pods of each node (node, resource)."""
        return self._requested[:, :SCORED]

    @property
    def requests(self) -> dict[int, Ints]:
        """Of the pod that is asked about, by its number."""
        return {number: requests[:SCORED] for number, (requests, _) in self._asked.items()}

    def replicas(self, pod: int) -> Ints | None:
        """How many pods of the same owner each node has; None for what is not spread."""
        group = self._asked[pod][1]
        if group is None:
            return None
        known = self._replicas.get(group)
        return np.zeros(len(self.names), dtype=np.int64) if known is None else self._whole(known)

    def ask(self, pod: Pod) -> int:
        """A number for a pod that is to be placed."""
        self._asked = {0: (requests_of(pod.shape), group_of(pod))}
        return 0

    # -- Nodes ------------------------------------------------------------------------------------------------------

    def node_seen(self, node: Node) -> None:
        """A node is there, or changed."""
        row = self._row(node.name)
        amounts = dict(node.allocatable)
        self._nodes[node.name] = node
        self._allocatable[row] = [_whole(amounts, resource) for resource in RESOURCES]
        zone = node.labels.get(ZONE_LABEL, "")
        self._zones[row] = self._zone_numbers.setdefault(zone, len(self._zone_numbers))

    def node_gone(self, name: str) -> list[str]:
        """A node went away; the identities of the pods that are still there."""
        if self._nodes.pop(name, None) is None:
            return []
        row = self._rows[name]
        return [identity for identity, place in self._places.items() if place.row == row]

    @property
    def present(self) -> dict[str, Node]:
        """Nodes that are there."""
        return self._nodes

    def rows(self, names: Sequence[str]) -> Ints:
        """The numbers of nodes; each must have been seen."""
        return np.array([self._rows[name] for name in names], dtype=np.int64)

    def knows(self, name: str) -> bool:
        """Whether a node is there."""
        return name in self._nodes

    def still_fitting(self, pod: Pod, names: Sequence[str]) -> tuple[str, ...]:
        """Of nodes on which the pod fitted in reality, those on which it fits here. What is not known stays."""
        if not self.extra.any():
            return tuple(names)
        full = (self.extra > 0).any(axis=1) & ~self._has_room(pod)
        crowded = {self.names[row] for row in np.flatnonzero(full).tolist()}
        return tuple(name for name in names if name not in crowded)

    def open_to(self, pod: Pod) -> tuple[str, ...]:
        """The nodes that are there, take pods, and have room for this one."""
        fits = self._has_room(pod)
        nodes = self._nodes.values()
        return tuple(n.name for n in nodes if n.ready and not n.unschedulable and fits[self._rows[n.name]])

    def _has_room(self, pod: Pod) -> npt.NDArray[np.bool_]:
        return np.asarray((self._requested + requests_of(pod.shape) <= self._allocatable).all(axis=1))

    # -- Pods -------------------------------------------------------------------------------------------------------

    def node_of(self, identity: str) -> str | None:
        """Where a pod is."""
        place = self._places.get(identity)
        return None if place is None else self.names[place.row]

    def put(self, pod: Pod, node: str) -> None:
        """A pod is on a node; where it was before it is no more."""
        self.take(pod.identity)
        row, requests, group = self._row(node), requests_of(pod.shape), group_of(pod)
        self._places[pod.identity] = Place(self._count, row, requests, group)
        self._count += 1
        self._requested[row] += requests
        self._spread(group, row, 1)

    def take(self, identity: str) -> None:
        """A pod is gone."""
        place = self._places.pop(identity, None)
        if place is not None:
            self._requested[place.row] -= place.requests
            self._spread(place.group, place.row, -1)

    def absent(self, present: Iterable[str]) -> list[str]:
        """Pods that are not among these."""
        kept = set(present)
        return [identity for identity in self._places if identity not in kept]

    def move_extra(self, shape: Shape, source: str, target: str, sign: int = 1) -> None:
        """A pod was moved (or, with sign -1, is no longer)."""
        requests = requests_of(shape) * sign
        self.extra[self._row(source)] -= requests
        self.extra[self._row(target)] += requests

    def _spread(self, group: str | None, row: int, change: int) -> None:
        if group is None:
            return
        counts = self._whole(self._replicas.get(group, np.zeros(0, dtype=np.int64)))
        counts[row] += change
        if counts.any():
            self._replicas[group] = counts
        else:
            self._replicas.pop(group, None)

    def _whole(self, counts: Ints) -> Ints:
        """As long as there are nodes."""
        missing = len(self.names) - len(counts)
        return np.concatenate([counts, np.zeros(missing, dtype=np.int64)]) if missing else counts

    def _row(self, name: str) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self.names)
            self.names.append(name)
            none = np.zeros((1, len(RESOURCES)), dtype=np.int64)
            self._allocatable = np.concatenate([self._allocatable, none])
            self._requested = np.concatenate([self._requested, none])
            self.extra = np.concatenate([self.extra, none])
            self._zones = np.concatenate([self._zones, np.zeros(1, dtype=np.int64)])
        return row


def requests_of(shape: Shape) -> Ints:
    """Millicores, bytes and one pod."""
    requests = dict(shape.requests) | {PODS: 1.0}
    return np.array([round(requests.get(r, 0.0) * unit) for r, unit in UNITS.items()], dtype=np.int64)


def group_of(pod: Pod) -> str | None:
    """Whose replicas are spread together; None if nobody's."""
    if pod.owner is None or pod.owner.kind not in SPREAD_KINDS:
        return None
    return f"{pod.namespace}/{pod.owner.kind}/{pod.owner.name}"


def _whole(amounts: dict[str, float], resource: str) -> int:
    """What a node does not tell is no limit, but CPU and memory it must have."""
    if resource not in amounts:
        return UNLIMITED if resource == PODS else 0
    return round(amounts[resource] * UNITS[resource])
