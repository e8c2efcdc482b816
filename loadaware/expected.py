"""What every node is expected to use, from what its pods are expected to use: a part of the snapshot.

    mean(node)     = rest(node) + sum of the pods' means
    variance, third moment        by workload, as usage.py says: replicas peak together, workloads do not

`rest` is what no pod accounts for: daemons, kubelet, the kernel; a running mean of node usage less its pods' usage.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from collectors.reading import Floats
from loadaware.kin import UNKNOWN, Kin
from loadaware.prior import Told
from loadaware.ratios import Ratios, grouped
from loadaware.siblings import Siblings
from loadaware.usage import Usage
from loadaware.window import Ints


@dataclass(frozen=True, eq=False)
class Expected:
    """Of every node what it is expected to use; per workload its ratios and where its roots add up."""

    cumulants: Floats
    """(node, cumulant, resource): see usage.py."""
    workloads: tuple[str, ...]
    workload_ratios: Ratios
    cluster_ratios: Ratios
    starts: Ints
    """The pairs of workload w are pairs[starts[w]:starts[w + 1]]."""
    pair_rows: Ints
    pair_roots: Floats
    """S and T of each pair (workload, node), and the number of its pods last: (pair, root + 1)."""
    told: Told = field(default_factory=Told)
    """What names tell of a workload that is not among these."""
    units: Floats = field(default_factory=lambda: np.ones(2))
    """What a pod that requests nothing is taken to request, per resource."""
    bases: Floats | None = None
    """What the ratios of each workload are relative to (workload, resource); NaN, or None: what the pod requests."""

    @property
    def mean(self) -> Floats:
        """Usage of every node (node, resource)."""
        return self.cumulants[:, 0]

    @property
    def variance(self) -> Floats:
        """Of that (node, resource)."""
        return self.cumulants[:, 1]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Number of each workload."""
        return {name: number for number, name in enumerate(self.workloads)}

    def siblings(self, workload: str) -> Siblings:
        """Where the pods of a workload are: a copy, to be kept up to date by who asks."""
        number = self.index.get(workload)
        if number is None:
            return Siblings.nobody(2 * self.cumulants.shape[2])
        pairs = slice(self.starts[number], self.starts[number + 1])
        return Siblings(self.pair_rows[pairs].copy(), self.pair_roots[pairs].copy())

    def of_pod(self, request: Floats, workload: str, kin: Kin = UNKNOWN) -> Usage:
        """Expected usage (resource,) of a pod that is not measured yet."""
        request = np.where(request > 0, request, self.units)
        number = self.index.get(workload)
        if number is None:
            return self.cluster_ratios.times(self.told.level(kin)).usage(request)
        if self.bases is not None:
            request = np.where(np.isnan(self.bases[number]), request, self.bases[number])
        return self.workload_ratios.at(number).usage(request)


def expect(
    rest: Floats, rows: Ints, workloads: Ints, usage: Usage, workload_count: int
) -> tuple[Floats, Ints, Ints, Floats]:
    """Cumulants per node, and the pairs (starts, rows, roots and number), from the columns of the pods."""
    count, resources = rest.shape
    keys, position = np.unique(workloads * max(count, 1) + rows, return_inverse=True)
    pair_rows, pair_workloads = keys % max(count, 1), keys // max(count, 1)
    roots = grouped(position, usage.roots, len(keys))
    mean = rest + grouped(rows, usage.mean, count)
    spread = grouped(pair_rows, np.concatenate([roots[:, :resources] ** 2, roots[:, resources:] ** 3], axis=1), count)
    cumulants = np.concatenate([mean[:, None], spread.reshape(count, 2, resources)], axis=1)
    starts = np.searchsorted(pair_workloads, np.arange(workload_count + 1)).astype(np.intp)
    numbers = np.bincount(position, minlength=len(keys))
    return cumulants, starts, pair_rows.astype(np.intp), np.column_stack([roots, numbers])
