"""Pods that a replay placed elsewhere, and what that changes: usage of nodes, and who is relieved.

    usage' = usage + (of pods moved here) - (of pods moved away)        per node and resource, as each pod was measured

So a node that nothing was moved to or from measures what it did, to the last bit. What is published of a node is at
most its capacity, as it would be measured; what it is asked for is kept beside it, for the ledger.

    relief of a move = integral of the pod's CPU while its real node was above 80 %
                     - integral of the pod's CPU while its node in the replay is above 80 %      in core-seconds
"""

from dataclasses import dataclass, replace

import numpy as np

from collectors.manifests import Pod
from collectors.reading import CPU, Floats, Measurements, Reading
from loadaware.simulation.noise import Ints

HOT = 0.8


@dataclass
class Move:
    """A pod that is elsewhere than it was."""

    pod: Pod
    home: str
    """The node that it was on in reality."""
    node: str
    time: float
    relief: float = 0.0


@dataclass(frozen=True, eq=False)
class Shifted:
    """A reading as it would have been. `demand` is what nodes are asked for: absolute, not cut at capacity."""

    reading: Reading
    demand: Floats


class Moves:
    """All moves of pods that are still there."""

    def __init__(self) -> None:
        self.moved: dict[str, Move] = {}
        self._names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._index: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def __len__(self) -> int:
        return len(self.moved)

    def shift(self, reading: Reading, capacity: Floats) -> Shifted:
        """The reading with every moved pod's usage where the pod is now. `capacity` is (node, resource) as in it."""
        demand = reading.nodes.usage * capacity if reading.base == "capacity" else reading.nodes.usage
        if not self.moved:
            return Shifted(reading, demand)
        used, homes, nodes = self._rows(reading)
        change = np.zeros((len(demand) + 1, demand.shape[1]))  # the last row is for nodes that are not in the reading
        np.subtract.at(change, homes, used)
        np.add.at(change, nodes, used)
        return self._changed(reading, capacity, demand, change[:-1])

    def credit(self, reading: Reading, seconds: float, recorded: Floats, replayed: Floats) -> None:
        """Add up who is relieved. `recorded` and `replayed` are utilizations of the reading's nodes."""
        if not self.moved:
            return
        used, homes, nodes = self._rows(reading)
        hot = [np.append(utilization > HOT, False) for utilization in (recorded, replayed)]
        relief = used[:, reading.resources.index(CPU)] * seconds * (hot[0][homes].astype(int) - hot[1][nodes])
        moves = list(self.moved.values())
        for number in np.flatnonzero(relief).tolist():
            moves[number].relief += float(relief[number])

    def _rows(self, reading: Reading) -> tuple[Floats, Ints, Ints]:
        """Of each move: what the pod uses (zero if it is not measured), and the rows of its two nodes (-1: not there).

        Where the source has no pods, a pod uses what it requests.
        """
        nodes, pods = self._indices(reading)
        moves = self.moved.values()
        homes = np.array([nodes.get(move.home, -1) for move in moves], dtype=np.int64)
        targets = np.array([nodes.get(move.node, -1) for move in moves], dtype=np.int64)
        if reading.pods is None:
            return np.array([_requested(move.pod, reading.resources) for move in moves]), homes, targets
        places = np.array([pods.get(move.pod.key, -1) for move in moves], dtype=np.int64)
        usage = np.nan_to_num(reading.pods.usage)
        return np.vstack([usage, np.zeros(usage.shape[1])])[places], homes, targets

    def _changed(self, reading: Reading, capacity: Floats, demand: Floats, change: Floats) -> Shifted:
        moved = change != 0.0
        asked = np.where(moved, np.maximum(demand + change, 0.0), demand)
        measured = np.where(moved, np.fmin(asked, capacity), demand)
        usage = np.where(moved, measured / capacity, reading.nodes.usage) if reading.base == "capacity" else measured
        return Shifted(replace(reading, nodes=_with(reading.nodes, usage)), asked)

    def _indices(self, reading: Reading) -> tuple[dict[str, int], dict[str, int]]:
        """Where each name stands; worked out anew only if the names changed."""
        names = reading.nodes.names, () if reading.pods is None else reading.pods.names
        nodes, pods = self._index
        if names[0] is not self._names[0]:
            nodes = {name: row for row, name in enumerate(names[0])}
        if names[1] is not self._names[1]:
            pods = {name: row for row, name in enumerate(names[1])}
        self._names, self._index = names, (nodes, pods)
        return self._index


def _with(rows: Measurements, usage: Floats) -> Measurements:
    return Measurements(rows.names, usage, rows.times, rows.windows)


def _requested(pod: Pod, resources: tuple[str, ...]) -> Floats:
    return np.array([pod.shape.request(resource) for resource in resources])
