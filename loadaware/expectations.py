"""Expected usage of every node at this moment: the snapshot's, and every pod that came or went since. One thread.

A pod just bound (or booked) counts at once with what its workload uses, a pod gone leaves at once with what was
expected of it: no in-flight case, no diluted window, no ghost load.
"""

import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.kin import UNKNOWN, Kin, kin_of
from loadaware.siblings import Siblings
from loadaware.snapshot import Snapshot
from loadaware.usage import CUMULANTS, Usage
from loadaware.window import Ints

MOST_TOUCHED = 1024
"""Workloads asked about or changed since the snapshot; beyond that the first ones fall back to what it says."""


class Expectations:
    """The snapshot's `expected`, kept up to date. Empty while nothing was learned."""

    def __init__(self) -> None:
        self._snapshot = Snapshot.empty()
        self.cumulants: Floats = np.zeros((0, CUMULANTS, 0))
        """Of every node (node, cumulant, resource): see usage.py."""
        self._siblings: dict[str, Siblings] = {}
        self._of_pod: dict[tuple[Shape, str], Usage] = {}

    @property
    def known(self) -> bool:
        """Whether pods' demand was learned at all."""
        return self._snapshot.expected is not None

    @property
    def mean(self) -> Floats:
        """Expected usage of every node (node, resource)."""
        return self.cumulants[:, 0]

    @property
    def variance(self) -> Floats:
        """Of that (node, resource)."""
        return self.cumulants[:, 1]

    def restart(self, snapshot: Snapshot) -> None:
        """Begin anew from a snapshot."""
        self._snapshot = snapshot
        self._siblings.clear()
        self._of_pod.clear()
        if snapshot.expected is not None:
            self.cumulants = snapshot.expected.cumulants.copy()

    def knows(self, workload: str) -> bool:
        """Whether a workload was measured, so that its names need not be asked."""
        expected = self._snapshot.expected
        return expected is not None and workload in expected.index

    def of(self, pod: Pod, workload: str) -> Usage:
        """The same, with the pod's names looked at only if nothing better is known."""
        known = self._of_pod.get((pod.shape, workload))
        if known is not None:
            return known
        return self.of_pod(pod.shape, workload, UNKNOWN if self.knows(workload) else kin_of(pod))

    def of_pod(self, shape: Shape, workload: str, kin: Kin = UNKNOWN) -> Usage:
        """What a pod that is not measured yet will probably use. Of siblings the first one's names count for all."""
        usage = self._of_pod.get((shape, workload))
        if usage is None:
            if len(self._of_pod) >= MOST_TOUCHED:
                self._of_pod.clear()
            usage = self._of_pod[shape, workload] = self._work_out(shape, workload, kin)
        return usage

    def _work_out(self, shape: Shape, workload: str, kin: Kin) -> Usage:
        expected = self._snapshot.expected
        if expected is None:
            nothing = np.zeros(len(self._snapshot.resources))
            return Usage(nothing, nothing, nothing)
        request = np.array([shape.request(resource) for resource in self._snapshot.resources])
        return expected.of_pod(request, workload, kin)

    def siblings(self, workload: str) -> Siblings:
        """Where a workload's pods are, as of now."""
        siblings = self._siblings.get(workload)
        if siblings is None:
            expected = self._snapshot.expected
            if len(self._siblings) >= MOST_TOUCHED:
                del self._siblings[next(iter(self._siblings))]
            roots = 2 * self.cumulants.shape[2]
            siblings = Siblings.nobody(roots) if expected is None else expected.siblings(workload)
            self._siblings[workload] = siblings
        return siblings

    def add(self, rows: int | Ints, workload: str, usage: Usage) -> None:
        """A pod more on a node, or on each of several."""
        if self.known:
            before = self.siblings(workload).count(rows, usage.counted, 1.0)
            self.cumulants[rows] += usage.beside(before)

    def remove(self, rows: int | Ints, workload: str, usage: Usage) -> None:
        """A pod less on a node, or on each of several: the exact opposite of adding it."""
        if self.known:
            after = self.siblings(workload).count(rows, usage.counted, -1.0) - usage.roots
            left = self.cumulants[rows] - usage.beside(after)
            left[..., 1:, :] = np.maximum(left[..., 1:, :], 0.0)
            self.cumulants[rows] = left
