"""Bound pods as columns: 150,000 of them in arrays, not objects.

Holds, per pod: the row of its node, the number of its (shared) shape, when it was bound, its priority, its
application, whether it is terminating, and what it used when last measured. Sums per node are made from the columns in
one pass. Pods that are not bound, or finished, are not here.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.window import Bools, Ints

APPLICATION_LABELS = ("app.kubernetes.io/name", "app", "k8s-app")
"""Where a pod says which application it belongs to, the first that it has."""
FEW = 1024
"""Of shapes, or of applications: not worth forgetting."""


class BoundPod(NamedTuple):
    """One row, taken out."""

    node_row: int
    shape: Shape
    bound_at: float
    usage: tuple[float, ...] = ()
    """What was measured of it, per resource; empty if nothing was."""


class PodColumns(NamedTuple):
    """All pods, one entry each."""

    nodes: Ints
    shapes: Ints
    bound_at: Floats
    priorities: npt.NDArray[np.int64]
    applications: Ints
    terminating: Bools
    usage: Floats
    running: Bools
    slots: Ints

    def where(self, chosen: Bools) -> "PodColumns":
        """Only some of the pods."""
        return PodColumns._make(column[chosen] for column in self)


T = TypeVar("T")


class _Numbered(Generic[T]):
    """Things met, numbered in the order of meeting."""

    def __init__(self) -> None:
        self.things: list[T] = []
        self._numbers: dict[T, int] = {}

    def number(self, thing: T) -> int:
        number = self._numbers.get(thing)
        if number is None:
            number = self._numbers[thing] = len(self.things)
            self.things.append(thing)
        return number

    def keep(self, used: Ints) -> None:
        """Forget all but these; they are numbered anew in this order."""
        self.things = [self.things[number] for number in used.tolist()]
        self._numbers = {thing: number for number, thing in enumerate(self.things)}


class PodTable:
    """Columns by slot; slots are reused."""

    def __init__(self, resources: int = 2) -> None:
        self._slots: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self._key_of: dict[int, str] = {}
        self._free: list[int] = []
        self._shapes: _Numbered[Shape] = _Numbered()
        self._applications: _Numbered[str] = _Numbered()
        self._columns = _empty_columns(0, resources)
        self._measured: tuple[Sequence[str], Ints] = ((), np.zeros(0, np.intp))
        self._amounts: tuple[Floats, Floats] = (np.zeros((0, resources)), np.zeros((0, resources)))

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, identity: str) -> bool:
        return identity in self._slots

    @property
    def shapes(self) -> list[Shape]:
        """The shapes met, by number."""
        return self._shapes.things

    @property
    def applications(self) -> list[str]:
        """The applications met, by number, as namespace/name; "" for pods of none."""
        return self._applications.things

    def identities(self) -> Iterable[str]:
        """All pods held."""
        return self._slots.keys()

    def get(self, identity: str) -> BoundPod | None:
        """A pod as it stands here."""
        slot = self._slots.get(identity)
        if slot is None:
            return None
        c = self._columns
        shape = self.shapes[c.shapes[slot]]
        usage = () if np.isnan(c.usage[slot]).all() else tuple(c.usage[slot].tolist())
        return BoundPod(int(c.nodes[slot]), shape, float(c.bound_at[slot]), usage)

    def slot(self, identity: str) -> int | None:
        """The slot of a pod."""
        return self._slots.get(identity)

    def put(self, pod: Pod, node_row: int, bound_at: float) -> int:
        """Add a pod, or replace what is held of it (a request changed in place); its slot."""
        identity = pod.identity
        slot = self._slots.get(identity)
        if slot is None:
            slot = self._take(identity, pod.key)
        c = self._columns
        c.nodes[slot] = node_row
        c.shapes[slot] = self._shapes.number(pod.shape)
        c.bound_at[slot] = bound_at
        self._update(slot, pod)
        return slot

    def update(self, pod: Pod) -> None:
        """What may change of a pod without moving or resizing it."""
        self._update(self._slots[pod.identity], pod)

    def _update(self, slot: int, pod: Pod) -> None:
        c = self._columns
        c.priorities[slot] = pod.priority
        c.applications[slot] = self._applications.number(application_of(pod))
        c.terminating[slot] = pod.deleted_at is not None
        c.running[slot] = pod.phase != "Pending"

    def remove(self, identity: str) -> BoundPod | None:
        """Take a pod out."""
        pod = self.get(identity)
        if pod is not None:
            slot = self._slots.pop(identity)
            key = self._key_of.pop(slot)
            if self._keys.get(key) == slot:
                del self._keys[key]
            self._columns.nodes[slot] = -1
            self._free.append(slot)
            self._measured = ((), np.zeros(0, np.intp))
        return pod

    def measured(self, names: Sequence[str]) -> Ints:
        """The slots of the pods (namespace/name) of a reading, -1 for a stranger; kept for the same names again."""
        if names is not self._measured[0]:
            slots = np.fromiter(map(self._keys.get, names, repeat(-1)), dtype=np.intp, count=len(names))
            self._measured = (names, slots)
        return self._measured[1]

    def measure(self, slots: Ints, usage: Floats) -> None:
        """What the pods in these slots use now; a pod left out was not measured."""
        self._columns.usage[:] = np.nan
        self._columns.usage[slots[slots >= 0]] = usage[slots >= 0]

    def nodes(self, slots: Ints) -> Ints:
        """The row of the node of the pod in each slot, -1 for none."""
        return self._columns.nodes[slots]

    def find(self, names: Sequence[str]) -> Ints:
        """The slots of pods (namespace/name), -1 for a stranger; nothing is noted of them."""
        return np.fromiter((self._keys.get(name, -1) for name in names), dtype=np.intp, count=len(names))

    def all_slots(self) -> Ints:
        """The slots of all pods, in the order of `identities`."""
        return np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots))

    def on(self, node_row: int) -> Ints:
        """The slots of the pods on a node."""
        return np.flatnonzero(self._columns.nodes == node_row)

    def key(self, slot: int) -> str:
        """namespace/name of the pod in a slot."""
        return self._key_of[slot]

    def usage(self, slots: Ints) -> Floats:
        """What was last measured of the pods in these slots (pod, resource)."""
        return self._columns.usage[slots]

    def bound_at(self, slots: Ints) -> Floats:
        """When the pods in these slots were bound."""
        return self._columns.bound_at[slots]

    def requests(self, slots: Ints, resources: tuple[str, ...]) -> Floats:
        """What the pods in these slots request (pod, resource)."""
        return self.amounts(resources)[0][self._columns.shapes[slots]]

    def running(self, slots: Ints) -> Bools:
        """Which of the pods in these slots are past their init phase."""
        return self._columns.running[slots]

    def columns(self) -> PodColumns:
        """All pods."""
        return self._columns.where(self._columns.nodes >= 0)

    def amounts(self, resources: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Per shape: requests, and max(limit, request). Axes (shape, resource). No shape is read twice."""
        known = self._amounts
        if known[0].shape[1] != len(resources) or len(known[0]) > len(self.shapes):
            known = (np.zeros((0, len(resources))), np.zeros((0, len(resources))))
        fresh = self.shapes[len(known[0]) :]
        if fresh:
            requests = np.array([[shape.request(resource) for resource in resources] for shape in fresh])
            limits = [dict(shape.limits) for shape in fresh]
            limited = np.array([[limit.get(resource, 0.0) for resource in resources] for limit in limits])
            known = (np.concatenate([known[0], requests]), np.concatenate([known[1], np.maximum(limited, requests)]))
        self._amounts = known
        return known

    def compact(self) -> None:
        """Forget shapes and applications that no pod has any more, once they are the most."""
        held = self._columns.nodes >= 0
        before = len(self.shapes)
        _renumber(self._shapes, self._columns.shapes, held)
        if len(self.shapes) != before:
            self._amounts = (self._amounts[0][:0], self._amounts[1][:0])
        _renumber(self._applications, self._columns.applications, held)

    def _take(self, identity: str, key: str) -> int:
        if not self._free:
            have = len(self._columns.nodes)
            more = _empty_columns(max(1024, have), self._columns.usage.shape[1])
            self._columns = PodColumns._make(map(np.concatenate, zip(self._columns, more, strict=True)))
            self._columns.slots[have:] = np.arange(have, len(self._columns.slots))
            self._free.extend(range(len(self._columns.nodes) - 1, have - 1, -1))
        slot = self._free.pop()
        self._slots[identity] = self._keys[key] = slot
        self._key_of[slot] = key
        self._columns.usage[slot] = np.nan
        self._measured = ((), np.zeros(0, np.intp))
        return slot


def _renumber(numbered: _Numbered[T], column: Ints, held: Bools) -> None:
    if len(numbered.things) < FEW:
        return
    used = np.unique(column[held])
    if 2 * len(used) + FEW <= len(numbered.things):
        numbered.keep(used)
        column[held] = np.searchsorted(used, column[held])


def application_of(pod: Pod) -> str:
    """namespace/name of the application that a pod says it belongs to; "" if it says none."""
    labels = pod.labels
    for label in APPLICATION_LABELS:
        if label in labels:
            return f"{pod.namespace}/{labels[label]}" if labels[label] else ""
    return ""


def _empty_columns(count: int, resources: int) -> PodColumns:
    return PodColumns(
        nodes=np.full(count, -1, dtype=np.intp),
        shapes=np.zeros(count, dtype=np.intp),
        bound_at=np.zeros(count),
        priorities=np.zeros(count, dtype=np.int64),
        applications=np.zeros(count, dtype=np.intp),
        terminating=np.zeros(count, dtype=np.bool_),
        usage=np.full((count, resources), np.nan),
        running=np.zeros(count, dtype=np.bool_),
        slots=np.zeros(count, dtype=np.intp),
    )
