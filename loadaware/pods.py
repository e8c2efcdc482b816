"""Bound pods as columns: 150,000 of them in arrays, not objects.

Holds, per pod: the row of its node, the number of its (shared) shape, when it was bound. Sums per node are made
from the columns in one pass. Pods that are not bound, or finished, are not here.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.window import Ints


class BoundPod(NamedTuple):
    """One row, taken out."""

    node_row: int
    shape: Shape
    bound_at: float


class PodTable:
    """Columns by slot; slots are reused."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._node: Ints = np.full(0, -1, dtype=np.intp)
        self._shape: Ints = np.zeros(0, dtype=np.intp)
        self._bound_at: Floats = np.zeros(0)
        self.shapes: list[Shape] = []
        self._shape_numbers: dict[Shape, int] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, identity: str) -> bool:
        return identity in self._slots

    def identities(self) -> Iterable[str]:
        """All pods held."""
        return self._slots.keys()

    def get(self, identity: str) -> BoundPod | None:
        """A pod as it stands here."""
        slot = self._slots.get(identity)
        if slot is None:
            return None
        return BoundPod(int(self._node[slot]), self.shapes[self._shape[slot]], float(self._bound_at[slot]))

    def put(self, pod: Pod, node_row: int, bound_at: float) -> None:
        """Add a pod, or replace what is held of it (a request changed in place)."""
        slot = self._slots.get(pod.identity)
        if slot is None:
            slot = self._take(pod.identity)
        self._node[slot] = node_row
        self._shape[slot] = self._number(pod.shape)
        self._bound_at[slot] = bound_at

    def remove(self, identity: str) -> BoundPod | None:
        """Take a pod out."""
        pod = self.get(identity)
        if pod is not None:
            slot = self._slots.pop(identity)
            self._node[slot] = -1
            self._free.append(slot)
        return pod

    def columns(self) -> tuple[Ints, Ints, Floats]:
        """Node rows, shape numbers and binding times of all pods."""
        held = self._node >= 0
        return self._node[held], self._shape[held], self._bound_at[held]

    def amounts(self, resources: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Per shape: requests, and max(limit, request). Axes (shape, resource)."""
        requests = np.zeros((len(self.shapes), len(resources)))
        limits = np.zeros_like(requests)
        columns = {name: column for column, name in enumerate(resources)}
        for number, shape in enumerate(self.shapes):
            for table, declared in ((requests, shape.requests), (limits, shape.limits)):
                for name, amount in declared:
                    if name in columns:
                        table[number, columns[name]] = amount
        return requests, np.maximum(limits, requests)

    def compact(self) -> None:
        """Forget shapes that no pod has any more."""
        used = np.unique(self._shape[self._node >= 0])
        if 2 * len(used) + 1024 > len(self.shapes):
            return
        self.shapes = [self.shapes[number] for number in used]
        self._shape_numbers = {shape: number for number, shape in enumerate(self.shapes)}
        held = self._node >= 0
        self._shape[held] = np.searchsorted(used, self._shape[held])

    def _number(self, shape: Shape) -> int:
        number = self._shape_numbers.get(shape)
        if number is None:
            number = len(self.shapes)
            self.shapes.append(shape)
            self._shape_numbers[shape] = number
        return number

    def _take(self, identity: str) -> int:
        if not self._free:
            have = len(self._node)
            more = max(1024, have)
            self._node = np.concatenate([self._node, np.full(more, -1, dtype=np.intp)])
            self._shape = np.concatenate([self._shape, np.zeros(more, dtype=np.intp)])
            self._bound_at = np.concatenate([self._bound_at, np.zeros(more)])
            self._free.extend(range(have + more - 1, have - 1, -1))
        slot = self._free.pop()
        self._slots[identity] = slot
        return slot
