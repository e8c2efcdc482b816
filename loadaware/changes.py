"""What happened to pods between two snapshots: the small steps from the one who watches to the one who answers."""

import msgspec

from collectors.manifests import Shape

PlainUsage = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""What is expected of a pod: mean, deviation and skew, each per resource."""


class PodBound(msgspec.Struct, frozen=True, gc=False):
    """A pod is on a node now."""

    identity: str
    node: str
    shape: Shape
    bound_at: float
    usage: tuple[float, ...] = ()
    """What was measured of it when this was told, per resource; empty or NaN: nothing."""
    workload: str = ""
    kin: tuple[str, ...] = ()


class PodLeft(msgspec.Struct, frozen=True, gc=False):
    """A pod finished, was deleted, or will never be bound. `node` is None if it was on none."""

    identity: str
    node: str | None = None
    shape: Shape = Shape()
    bound_at: float = float("-inf")
    usage: tuple[float, ...] = ()
    workload: str = ""
    expected: PlainUsage | None = None
    """As in the last snapshot."""


Change = PodBound | PodLeft
