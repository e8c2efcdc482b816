"""Expected usage of every node at this moment: the snapshot's, and every pod that came or went since. One thread.

A pod just bound (or booked) counts at once with what its workload uses, a pod gone leaves at once with what was
expected of it: no in-flight case, no diluted window, no ghost load.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.expected import RHO
from loadaware.kin import UNKNOWN, Kin, kin_of
from loadaware.siblings import Siblings
from loadaware.snapshot import Snapshot
from loadaware.window import Ints

MOST_TOUCHED = 1024
"""Workloads asked about or changed since the snapshot; beyond that the first ones fall back to what it says."""


@dataclass(frozen=True, eq=False)
class Usage:
    """Expected usage of a pod: mean and deviation (resource,)."""

    mean: Floats
    deviation: Floats
    pods: float = 1.0

    @cached_property
    def counted(self) -> Floats:
        """As siblings count it: deviations and, last, the number of pods."""
        return np.append(self.deviation, self.pods)

    def times(self, share: float) -> "Usage":
        """A share of it."""
        return self if share == 1.0 else Usage(self.mean * share, self.deviation * share, share)


class Expectations:
    """The snapshot's `expected`, kept up to date. Empty while nothing was learned."""

    def __init__(self) -> None:
        self._snapshot = Snapshot.empty()
        self.mean: Floats = np.zeros((0, 0))
        self.variance: Floats = np.zeros((0, 0))
        self._siblings: dict[str, Siblings] = {}
        self._of_pod: dict[tuple[Shape, str], Usage] = {}

    @property
    def known(self) -> bool:
        """Whether pods' demand was learned at all."""
        return self._snapshot.expected is not None

    def restart(self, snapshot: Snapshot) -> None:
        """Begin anew from a snapshot."""
        self._snapshot = snapshot
        self._siblings.clear()
        self._of_pod.clear()
        if snapshot.expected is not None:
            self.mean = snapshot.expected.mean.copy()
            self.variance = snapshot.expected.variance.copy()

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
            return Usage(nothing, nothing)
        request = np.array([shape.request(resource) for resource in self._snapshot.resources])
        return Usage(*expected.of_pod(request, workload, kin))

    def siblings(self, workload: str) -> Siblings:
        """Where a workload's pods are, as of now."""
        siblings = self._siblings.get(workload)
        if siblings is None:
            expected = self._snapshot.expected
            if len(self._siblings) >= MOST_TOUCHED:
                del self._siblings[next(iter(self._siblings))]
            siblings = Siblings.nobody(self.mean.shape[1]) if expected is None else expected.siblings(workload)
            self._siblings[workload] = siblings
        return siblings

    def add(self, rows: int | Ints, workload: str, usage: Usage) -> None:
        """A pod more on a node, or on each of several."""
        if self.known:
            before = self.siblings(workload).count(rows, usage.counted, 1.0)
            self.mean[rows] += usage.mean
            self.variance[rows] += usage.deviation * (usage.deviation + 2.0 * RHO * before)

    def remove(self, rows: int | Ints, workload: str, usage: Usage) -> None:
        """A pod less on a node, or on each of several: the exact opposite of adding it."""
        if self.known:
            after = self.siblings(workload).count(rows, usage.counted, -1.0) - usage.deviation
            self.mean[rows] -= usage.mean
            variance = self.variance[rows] - usage.deviation * (usage.deviation + 2.0 * RHO * after)
            self.variance[rows] = np.maximum(variance, 0.0)
