"""Short ways to say what tests of the core talk about: nodes, pods, readings, snapshots, a clock one can turn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from collectors.manifests import Node, Owner, Pod, Shape, shape_of
from collectors.reading import CPU, MEMORY, Base, Measurements, Reading
from loadaware.adviser import AdviserSettings
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.profile import NamedFilter, Profile, WeightedScorer
from loadaware.scorers.scorer import Scorer
from loadaware.snapshot import Snapshot
from loadaware.state import parse_state

GIB = 2.0**30


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        self.now += seconds
        return self.now


def make_shape(
    cpu: float = 0.0, memory: float = 0.0, cpu_limit: float = 0.0, memory_limit: float = 0.0, **more: float
) -> Shape:
    """A shape of one container that declares this; nothing for what is zero."""
    requests = {CPU: cpu, MEMORY: memory, **more}
    limits = {CPU: cpu_limit, MEMORY: memory_limit}
    return shape_of(((_declared(requests), _declared(limits)),))


def _declared(amounts: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def make_pod(
    name: str = "web-1", *, cpu: float = 0.0, memory: float = 0.0, cpu_limit: float = 0.0, **facts: Any
) -> Pod:
    """A pod of one container."""
    facts.setdefault("uid", f"uid-{name}")
    facts.setdefault("shape", make_shape(cpu, memory, cpu_limit))
    return Pod(name=name, **facts)


def daemon_pod(name: str = "agent-1", **facts: Any) -> Pod:
    """A pod that a DaemonSet owns."""
    return make_pod(name, owner=Owner("DaemonSet", "agent"), **facts)


def make_node(name: str = "a", cpu: float = 4.0, memory: float = 16 * GIB, **facts: Any) -> Node:
    """A node that has this much, all of it allocatable unless told otherwise."""
    capacity = ((CPU, cpu), (MEMORY, memory))
    return Node(name=name, **{"capacity": capacity, "allocatable": capacity, **facts})


def make_reading(
    usage: Mapping[str, Sequence[float]],
    time: float,
    *,
    times: Sequence[float] | None = None,
    resources: tuple[str, ...] = (CPU, MEMORY),
    base: Base = "absolute",
    deviation: Sequence[Sequence[float]] | None = None,
) -> Reading:
    """What each node used; `time` is every node's unless `times` says otherwise."""
    rows = np.array(list(usage.values()), dtype=np.float64).reshape(len(usage), len(resources))
    at = np.full(len(usage), time) if times is None else np.array(times, dtype=np.float64)
    measurements = Measurements(tuple(usage), rows, at, np.full(len(usage), np.nan))
    reported = None if deviation is None else np.array(deviation, dtype=np.float64)
    return Reading("test", time, resources, measurements, base=base, node_deviation=reported)


def snapshot_of(nodes: Mapping[str, Mapping[str, Any]]) -> Snapshot:
    """A snapshot from a state file's nodes by name; four cores and 16Gi unless told otherwise."""
    defaults = {"capacity": {CPU: "4", MEMORY: "16Gi"}}
    return parse_state({"nodes": [{"name": name, **defaults, **state} for name, state in nodes.items()]})


def nodes_of(nodes: Mapping[str, Mapping[str, Any]]) -> Nodes:
    """The columns of such a snapshot."""
    return Nodes.of(snapshot_of(nodes))


def cpu_mean(percent: float) -> dict[str, Any]:
    """A state file's node whose mean CPU usage is this much of its capacity."""
    return {"usage": {CPU: {"mean": f"{percent}%"}}}


def make_profile(scorer: Scorer, name: str = "default-scheduler", *filters: Filter, **settings: Any) -> Profile:
    """A profile of one scorer."""
    weighted = (WeightedScorer(type(scorer).__name__, scorer),)
    return Profile(name, weighted, tuple(NamedFilter(type(f).__name__, f) for f in filters), **settings)


def make_settings(*profiles: Profile, **settings: Any) -> AdviserSettings:
    """Profiles by name, the first being the default."""
    return AdviserSettings({p.name: p for p in profiles}, profiles[0].name, **settings)
