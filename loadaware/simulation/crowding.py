"""What it costs that nodes are full: the one number that both references drive down.

    cost = sum over nodes and steps of C * (U / C)^8

with U the cores wanted on a node in a step, its overhead included, and C its cores. The high power makes a step near
the top count far more than many in the middle: at 90 % a node costs 110 times what it costs at 50 %.

Kept as the root R = U * C^(-7/8), so that a cost is R^8 and three squarings make it. The change from a to b is taken
as b^8 - a^8 = d^2 + 2 * d * a^4 with d = b^4 - a^4, which keeps digits that a difference of 8th powers would lose.
"""

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.futures import Singles, Stretch
from loadaware.simulation.machines import Machines


class Crowding:
    """The load that is known for every node and step. Axes (node, step)."""

    def __init__(self, machines: Machines, steps: int) -> None:
        self._factor = (machines.cores ** (-7.0 / 8.0)).astype(np.float32)
        overhead = self._factor * machines.overhead_cores.astype(np.float32)
        self._root = np.repeat(overhead[:, None], steps, axis=1)
        self._fourth = self._root**4
        self._scratch = np.empty(self._root.size, dtype=np.float32)

    def add(self, node: int, more: Stretch) -> None:
        """More is used on a node."""
        self._root[node, more.first : more.end] += self._factor[node] * more.usage
        self._follow(node, more)

    def remove(self, node: int, less: Stretch) -> None:
        """What was added is not used after all."""
        self._root[node, less.first : less.end] -= self._factor[node] * less.usage
        self._follow(node, less)

    def increase(self, more: Stretch) -> Floats:
        """What the cost would grow by, for each node, if that were used there."""
        shape = len(self._factor), len(more.usage)
        roots = self._scratch[: shape[0] * shape[1]].reshape(shape)
        np.multiply(self._factor[:, None], more.usage, out=roots)
        roots += self._root[:, more.first : more.end]
        return _change(roots, self._fourth[:, more.first : more.end])

    def decrease(self, node: int, less: Stretch) -> float:
        """What the cost would fall by if that, which was added, were not used on this node."""
        roots = self._root[node : node + 1, less.first : less.end] - self._factor[node] * less.usage
        return -float(_change(roots, self._fourth[node : node + 1, less.first : less.end])[0])

    def exchange(self, node: int, less: Stretch, more: Stretch) -> float:
        """What the cost would grow by if the one, which was added, were replaced by the other on this node."""
        first, end = min(less.first, more.first), max(less.end, more.end)
        roots = self._root[node : node + 1, first:end].copy()
        roots[0, less.first - first : less.end - first] -= self._factor[node] * less.usage
        roots[0, more.first - first : more.end - first] += self._factor[node] * more.usage
        return float(_change(roots, self._fourth[node : node + 1, first:end])[0])

    def total(self) -> float:
        """The cost."""
        return float(np.square(self._fourth, dtype=np.float64).sum())

    def _follow(self, node: int, changed: Stretch) -> None:
        squares = np.square(self._root[node, changed.first : changed.end])
        np.square(squares, out=self._fourth[node, changed.first : changed.end])


def _change(roots: Singles, fourth: Singles) -> Floats:
    """From these fourth powers to those of the roots (which are overwritten), per row."""
    np.square(roots, out=roots)
    np.square(roots, out=roots)
    roots -= fourth
    change = np.einsum("ns,ns->n", roots, roots) + 2.0 * np.einsum("ns,ns->n", roots, fourth)
    return np.asarray(change, dtype=np.float64)
