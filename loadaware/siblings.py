"""Where the pods of one workload are: they peak together, and kube-scheduler keeps them apart.

Of thousands of nodes they are on a few, so they are kept by row: a table (place, root + 1) of the sums of their roots
(deviations, then skews, of each resource: see usage.py) and, last, how many they are. Grows by doubling. One thread.
"""

import numpy as np

from collectors.reading import Floats
from loadaware.window import Ints

FEW = 8


class Siblings:
    """The rows of the snapshot that a workload's pods are on, and what they are there."""

    def __init__(self, rows: Ints, values: Floats) -> None:
        self._rows, self._values = rows, values
        self._place = {row: place for place, row in enumerate(rows.tolist())}

    @classmethod
    def nobody(cls, roots: int) -> "Siblings":
        """Of a workload without pods."""
        return cls(np.zeros(0, np.intp), np.zeros((0, roots + 1)))

    def __len__(self) -> int:
        """Rows that are known."""
        return len(self._place)

    @property
    def rows(self) -> Ints:
        """Where they are, or have been since the snapshot."""
        return self._rows[: len(self._place)]

    @property
    def roots(self) -> Floats:
        """Their sums at each of these places (place, root)."""
        return self._values[: len(self._place), :-1]

    @property
    def numbers(self) -> Floats:
        """How many they are at each of these places."""
        return self._values[: len(self._place), -1]

    def count(self, rows: int | Ints, amounts: Floats, sign: float) -> Floats:
        """One more there, or one less. The roots that were there before (root,) or (row, root)."""
        places: int | list[int]
        places = self._at(rows) if isinstance(rows, int) else [self._at(row) for row in rows.tolist()]
        after = self._values[places] + sign * amounts
        before = self._values[places, :-1].copy()
        self._values[places] = after
        return before

    def spread(self, nodes: int) -> Floats:
        """Their roots on every one of so many nodes (node, root)."""
        everywhere = np.zeros((nodes, self._values.shape[1] - 1))
        everywhere[self.rows] = self.roots
        return everywhere

    def _at(self, row: int) -> int:
        place = self._place.get(row)
        if place is None:
            place = self._place[row] = len(self._place)
            if place >= len(self._rows):
                self._grow()
            self._rows[place] = row
        return place

    def _grow(self) -> None:
        more = max(len(self._rows), FEW)
        self._rows = np.concatenate([self._rows, np.zeros(more, np.intp)])
        self._values = np.concatenate([self._values, np.zeros((more, self._values.shape[1]))])
