"""A Reading: what every node and pod used at one instant, as frozen arrays; and the Collector that brings it.

The bargain: a collector returns a complete reading or raises CollectorError, never half of one. What was not
measured is NaN, never zero. A reading says what the source said: judging it (stale, absurd, from the future) is
the core's business.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CPU = "cpu"
MEMORY = "memory"

Base = Literal["absolute", "capacity"]


def _frozen(values: npt.ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Measurements:
    """Named rows of usage. Axes: usage (name, resource); times and windows (name,).

    `times` is the end of each row's sampling window in seconds since 1970; `windows` its length in seconds,
    NaN where the source does not tell.
    """

    names: tuple[str, ...]
    usage: Floats
    times: Floats
    windows: Floats

    def __post_init__(self) -> None:
        count = len(self.names)
        for name in ("usage", "times", "windows"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        if self.usage.ndim != 2 or len(self.usage) != count:
            raise ValueError(f"usage has shape {self.usage.shape} for {count} names")
        if self.times.shape != (count,) or self.windows.shape != (count,):
            raise ValueError(f"times {self.times.shape} and windows {self.windows.shape} for {count} names")

    @classmethod
    def empty(cls, resources: int) -> "Measurements":
        """No rows at all."""
        return cls((), np.empty((0, resources)), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class Reading:
    """The whole cluster at one instant.

    `resources` names the second axis of usage: cpu (cores) and memory (bytes) first, then whatever else was
    asked for. `base` is "absolute" for usage in units of the resource, "capacity" for fractions of the node's
    capacity (a source that tells only percent). `node_deviation`, where a source reports a deviation of its own,
    has the shape and base of nodes.usage. Pods are named "namespace/name"; pods is None when the source has no
    pod metrics (or may not tell), which is not the same as no pods.
    """

    source: str
    time: float
    resources: tuple[str, ...]
    nodes: Measurements
    pods: Measurements | None = None
    base: Base = "absolute"
    node_deviation: Floats | None = None
    notes: tuple[str, ...] = field(default=())
    """What a person should know about this reading: series that matched no node, metrics that were denied."""

    def __post_init__(self) -> None:
        for rows in (self.nodes, self.pods):
            if rows is not None and rows.usage.shape[1] != len(self.resources):
                raise ValueError(f"usage has {rows.usage.shape[1]} columns for {len(self.resources)} resources")
        if self.node_deviation is not None:
            object.__setattr__(self, "node_deviation", _frozen(self.node_deviation))


@dataclass(frozen=True)
class NodeIdentity:
    """All the names a metric series may know a node by."""

    name: str
    addresses: tuple[str, ...] = ()
    """InternalIP, ExternalIP, Hostname, InternalDNS ... as the API server lists them."""


@runtime_checkable
class Collector(Protocol):
    """A source of readings."""

    def read(self) -> Reading:
        """A complete reading, or raise CollectorError: never half of one."""
        ...


@runtime_checkable
class HasPodHistory(Protocol):
    """A collector whose source knows what pods used in the past."""

    def pod_history(self, since: float) -> Iterator[Reading]:
        """Readings of pods alone since that moment, oldest first and far apart, or raise CollectorError."""
        ...


@runtime_checkable
class HasHistory(Protocol):
    """A collector whose source has a past."""

    def history(self, since: float) -> Iterator[Reading] | Iterable[Reading]:
        """Readings since that moment, oldest first, or raise CollectorError."""
        ...
