"""Expected usage of every node at this moment: the snapshot's, and every pod that came or went since. One thread.

A pod just bound (or booked) counts at once with what its workload uses, a pod gone leaves at once with what was
expected of it: no in-flight case, no diluted window, no ghost load.
"""

from typing import NamedTuple

import numpy as np

from collectors.manifests import Shape
from collectors.reading import Floats
from loadaware.expected import RHO
from loadaware.snapshot import Snapshot

MOST_TOUCHED = 1024
"""Workloads asked about or changed since the snapshot; beyond that the first ones fall back to what it says."""


class Usage(NamedTuple):
    """Expected usage of a pod: mean and deviation (resource,)."""

    mean: Floats
    deviation: Floats

    def times(self, share: float) -> "Usage":
        """A share of it."""
        return Usage(self.mean * share, self.deviation * share)


class Expectations:
    """The snapshot's `expected`, kept up to date. Empty while nothing was learned."""

    def __init__(self) -> None:
        self._snapshot = Snapshot.empty()
        self.mean: Floats = np.zeros((0, 0))
        self.variance: Floats = np.zeros((0, 0))
        self._shared: dict[str, Floats] = {}

    @property
    def known(self) -> bool:
        """Whether pods' demand was learned at all."""
        return self._snapshot.expected is not None

    def restart(self, snapshot: Snapshot) -> None:
        """Begin anew from a snapshot."""
        self._snapshot = snapshot
        self._shared.clear()
        if snapshot.expected is not None:
            self.mean = snapshot.expected.mean.copy()
            self.variance = snapshot.expected.variance.copy()

    def of_pod(self, shape: Shape, workload: str) -> Usage:
        """What a pod that is not measured yet will probably use."""
        expected = self._snapshot.expected
        if expected is None:
            nothing = np.zeros(len(self._snapshot.resources))
            return Usage(nothing, nothing)
        request = np.array([shape.request(resource) for resource in self._snapshot.resources])
        return Usage(*expected.of_pod(request, workload))

    def shared(self, workload: str) -> Floats:
        """Sum of the deviations of a workload's pods on each node (node, resource), as of now."""
        shared = self._shared.get(workload)
        if shared is None:
            expected = self._snapshot.expected
            shared = np.zeros(self.mean.shape) if expected is None else expected.shared(workload)
            if len(self._shared) >= MOST_TOUCHED:
                del self._shared[next(iter(self._shared))]
            self._shared[workload] = shared
        return shared

    def add(self, row: int, workload: str, usage: Usage) -> None:
        """A pod more on a node."""
        if self.known:
            shared = self.shared(workload)[row]
            self.mean[row] += usage.mean
            self.variance[row] += usage.deviation**2 + 2.0 * RHO * usage.deviation * shared
            shared += usage.deviation

    def remove(self, row: int, workload: str, usage: Usage) -> None:
        """A pod less on a node: the exact opposite of adding it."""
        if self.known:
            shared = self.shared(workload)[row]
            shared -= usage.deviation
            self.mean[row] -= usage.mean
            self.variance[row] -= usage.deviation**2 + 2.0 * RHO * usage.deviation * shared
            np.maximum(self.variance[row], 0.0, out=self.variance[row])
