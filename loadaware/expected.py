"""What every node is expected to use, from what its pods are expected to use: a part of the snapshot.

    mean(node)     = rest(node) + sum of the pods' means
    S(node, w)     = sum of the deviations of the pods of workload w on the node
    variance(node) = (1 - rho) * sum of the pods' variances + rho * sum over w of S(node, w)^2

rho = 1: replicas of a workload peak together, workloads do not. `rest` is what no pod accounts for: daemons, kubelet,
the kernel; a running mean of node usage less its pods' usage.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from collectors.reading import Floats
from loadaware.demand import Ratios, grouped
from loadaware.kin import UNKNOWN, Kin
from loadaware.prior import Told
from loadaware.siblings import Siblings
from loadaware.window import Ints

RHO = 1.0


@dataclass(frozen=True, eq=False)
class Expected:
    """Means and variances (node, resource); per workload its ratios and where its deviations add up."""

    mean: Floats
    variance: Floats
    workloads: tuple[str, ...]
    workload_ratios: Ratios
    cluster_ratios: Ratios
    starts: Ints
    """The pairs of workload w are pairs[starts[w]:starts[w + 1]]."""
    pair_rows: Ints
    pair_deviations: Floats
    """S of each pair (workload, node), and the number of its pods last: (pair, resource + 1)."""
    told: Told = field(default_factory=Told)
    """What names tell of a workload that is not among these."""
    units: Floats = field(default_factory=lambda: np.ones(2))
    """What a pod that requests nothing is taken to request, per resource."""
    bases: Floats | None = None
    """What the ratios of each workload are relative to (workload, resource); NaN, or None: what the pod requests."""

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Number of each workload."""
        return {name: number for number, name in enumerate(self.workloads)}

    def siblings(self, workload: str) -> Siblings:
        """Where the pods of a workload are: a copy, to be kept up to date by who asks."""
        number = self.index.get(workload)
        if number is None:
            return Siblings.nobody(self.mean.shape[1])
        pairs = slice(self.starts[number], self.starts[number + 1])
        return Siblings(self.pair_rows[pairs].copy(), self.pair_deviations[pairs].copy())

    def of_pod(self, request: Floats, workload: str, kin: Kin = UNKNOWN) -> tuple[Floats, Floats]:
        """Expected usage and deviation (resource,) of a pod that is not measured yet."""
        request = np.where(request > 0, request, self.units)
        number = self.index.get(workload)
        if number is not None and self.bases is not None:
            request = np.where(np.isnan(self.bases[number]), request, self.bases[number])
        if number is None:
            level = self.told.level(kin)
            mean, variance = level * self.cluster_ratios.mean, level * level * self.cluster_ratios.variance
        else:
            mean, variance = self.workload_ratios.mean[number], self.workload_ratios.variance[number]
        return mean * request, np.sqrt(variance) * request


def expect(  # noqa: PLR0917 - columns of the same pods
    rest: Floats, rows: Ints, workloads: Ints, means: Floats, deviations: Floats, workload_count: int
) -> tuple[Floats, Floats, Ints, Ints, Floats]:
    """Mean and variance per node, and the pairs (starts, rows, deviations and number), from the columns of the pods."""
    count, resources = rest.shape
    keys, position = np.unique(workloads * max(count, 1) + rows, return_inverse=True)
    pair_rows, pair_workloads = keys % max(count, 1), keys // max(count, 1)
    pair_deviations = grouped(position, deviations, len(keys))
    variance = RHO * grouped(pair_rows, pair_deviations**2, count)
    if RHO < 1.0:
        variance = variance + (1.0 - RHO) * grouped(rows, deviations**2, count)
    mean = rest + grouped(rows, means, count)
    starts = np.searchsorted(pair_workloads, np.arange(workload_count + 1)).astype(np.intp)
    numbers = np.bincount(position, minlength=len(keys))
    pairs = np.column_stack([pair_deviations, numbers])
    return mean, variance.reshape(count, resources), starts, pair_rows.astype(np.intp), pairs
