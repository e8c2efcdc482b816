"""Clusters for the laws that every scorer and filter obeys: drawn by hypothesis, turned about, fed as `Nodes`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from hypothesis import strategies as st

from collectors.manifests import Pod, shape_of
from collectors.reading import CPU, MEMORY, Floats
from loadaware.nodes import Nodes
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics

RESOURCES = (CPU, MEMORY)
WINDOWS = (300.0, 600.0, 3600.0, 86400.0)


@dataclass(frozen=True, eq=False)
class Cluster:
    """Arrays (node, resource) in base units, NaN where nothing was measured; `pods` and `labels` are (node,)."""

    capacity: Floats
    allocatable: Floats
    mean: Floats
    deviation: Floats
    requested: Floats
    limits: Floats
    in_flight: Floats
    pods: Floats
    labels: Floats
    """A number that each node has as a label."""

    def __len__(self) -> int:
        return len(self.pods)

    def statistics(self) -> Statistics:
        maximum = self.mean + self.deviation
        return Statistics(
            self.mean.copy(), self.deviation.copy(), self.mean.copy(), maximum, {95.0: maximum.copy(), 50.0: self.mean}
        )

    def snapshot(self) -> Snapshot:
        return Snapshot(
            time=0.0,
            names=tuple(f"node-{n}" for n in range(len(self))),
            resources=RESOURCES,
            capacity=self.capacity.copy(),
            allocatable=self.allocatable.copy(),
            statistics=self.statistics(),
            sampled_at=np.full(len(self), np.inf),
            requested=self.requested.copy(),
            limits=self.limits.copy(),
            pod_counts=self.pods.copy(),
            labels=tuple({"number": str(int(n))} for n in self.labels),
            windows={length: self.statistics() for length in WINDOWS},
        )

    def nodes(self, rows: Sequence[int] | None = None) -> Nodes:
        """The columns of some rows, all of them by default."""
        asked = np.array(range(len(self)) if rows is None else rows, dtype=np.intp)
        live = (self.requested.copy(), self.limits.copy(), self.pods.copy(), self.in_flight[asked])
        return Nodes(self.snapshot(), asked, *live)

    def taken(self, order: Sequence[int]) -> "Cluster":
        """The same nodes in another order."""
        return Cluster(*(getattr(self, column.name)[list(order)] for column in fields(self)))

    def scaled(self, units: Floats) -> "Cluster":
        """The same cluster in other units of cpu and memory."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        return Cluster(**{name: values * units if values.ndim == 2 else values for name, values in columns.items()})

    def with_mean(self, mean: Floats) -> "Cluster":
        return replace(self, mean=mean)

    def unmeasured(self) -> "Cluster":
        """The same nodes, none of them measured."""
        nothing = np.full_like(self.mean, np.nan)
        return replace(self, mean=nothing, deviation=nothing)

    def idle(self) -> "Cluster":
        """The same nodes, measured, and doing nothing."""
        return replace(self, mean=np.zeros_like(self.mean), deviation=np.zeros_like(self.mean))


SIZES = np.array([1.0, 2.0, 4.0, 7.91, 16.0, 96.0])
OFTEN = (0.0, 0.4, 1.0)
"""Shares at which formulas have their corners."""


@st.composite
def clusters(draw: st.DrawFn, *, all_measured: bool = False, most: int = 5) -> Cluster:
    """Up to `most` unequal nodes, by a seed: a thousand floats drawn one by one would be slow and shrink no better."""
    rows = draw(st.integers(1, most))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    capacity = dice.choice(SIZES, (rows, 2)) * np.array([1.0, 4 * 2.0**30])
    requested = capacity * _shares(dice, rows, 1.0, OFTEN)
    return Cluster(
        capacity=capacity,
        allocatable=capacity * dice.uniform(0.5, 1.0, (rows, 2)),
        mean=capacity * _shares(dice, rows, 1.2, OFTEN if all_measured else (*OFTEN, np.nan)),
        deviation=capacity * _shares(dice, rows, 0.5, (0.0,)),
        requested=requested,
        limits=requested + capacity * _shares(dice, rows, 1.0, (0.0,)),
        in_flight=capacity * _shares(dice, rows, 0.5, (0.0,)),
        pods=dice.integers(0, 110, rows).astype(np.float64),
        labels=dice.integers(0, 3, rows).astype(np.float64),
    )


def _shares(dice: np.random.Generator, rows: int, most: float, often: tuple[float, ...]) -> Floats:
    """Shares up to `most`; each with even odds one of those met often."""
    return np.where(dice.random((rows, 2)) < 0.5, dice.choice(often, (rows, 2)), dice.uniform(0.0, most, (rows, 2)))


@dataclass(frozen=True)
class Declared:
    """What a pod's only container declares: cpu in steps of 20 millicores, so that no rounding hides in the units."""

    cpu_steps: int
    limit_steps: int
    mebibytes: int

    def pod(self, units: Floats | None = None) -> Pod:
        cpu, memory = (1.0, 1.0) if units is None else units.tolist()
        requests = ((CPU, 0.02 * self.cpu_steps * cpu), (MEMORY, self.mebibytes * 2.0**20 * memory))
        limits = ((CPU, 0.02 * self.limit_steps * cpu),) if self.limit_steps else ()
        return Pod(name="web", uid="uid-web", shape=shape_of(((requests, limits),)))


_ONES = np.ones((1, 2))
ONE_NODE = Cluster(_ONES, _ONES, _ONES, _ONES, _ONES, _ONES, _ONES, pods=np.ones(1), labels=np.ones(1))

PODS = st.builds(Declared, st.integers(1, 200), st.integers(0, 200), st.integers(1, 8192))
UNITS = st.tuples(st.sampled_from([2, 5, 1000]), st.sampled_from([2, 1024])).map(
    lambda units: np.array(units, dtype=np.float64)
)
