"""Trimaran's Peaks: place a pod where the cluster's power consumption rises least."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import numpy as np

from collectors.manifests import Pod, Shape
from collectors.reading import CPU, Floats
from loadaware.nodes import Nodes
from loadaware.scorers.normalize import stretched
from loadaware.scorers.scorer import Scorer, millis, percent

EVERY_OTHER_NODE = "*"


class PowerModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """power(x) = k0 + k1 * e^(k2 * x), x the CPU utilization in percent."""

    k0: float
    """The constant part; it makes no difference to the score."""
    k1: float
    """How much the curve rises."""
    k2: float
    """How steeply."""


class Peaks(Scorer, frozen=True, kw_only=True):
    """Place where power rises least, by each node's power model.

        U = 100 * (mean + in flight) / capacity          U' = U + 100 * request / capacity
        rise = K1 * (e^(K2 * U') - e^(K2 * U))
        score = 100 * (1 - (rise - least) / (most - least)) over the nodes asked;  U' > 100: 0

    The peer gives an overloaded node its best score; `compatible` brings that back. A node without a model takes that
    of "*"; without one, or without a measurement, it is not scored.
    """

    when: ClassVar[str] = (
        "You measured what your machines draw at which utilization, and want the cluster to draw less."
    )
    beware: ClassVar[str] = (
        "It is as good as its models; without any, no node is scored. It looks at CPU alone and packs by design, "
        "so give it a limit such as `UsageThreshold`."
    )

    node_power_model: Mapping[str, PowerModel] = {}
    """Models by node name; `*` is that of every other node."""
    compatible: bool = False
    """Score as the peer does, its best score for overloaded nodes included, and nothing in flight."""

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """The rise in power; infinite on a node that would be overloaded."""
        if self.compatible:
            return self.raw(nodes, pod)
        before, after = self._utilization(nodes, pod, nodes.in_flight(CPU))
        return np.where(after > 100.0, np.inf, self._rise(nodes, before, after))

    def normalize(self, scores: Floats) -> Floats:
        """The least rise 100, the most 0."""
        return _as_the_peer(scores) if self.compatible else _spread(scores)

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """The integer that the peer gives before it normalizes: the rise in units of 1e-15, cut to a whole number."""
        before, after = self._utilization(nodes, pod, np.zeros(len(nodes)))
        rise = self._rise(nodes, before, after)
        whole = np.trunc(np.where(after > 100.0, 0.0, rise) * 1e15)
        return np.where(np.isnan(before), np.nan, whole)

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the pod requests. The peer adds overhead only where some container requests CPU."""
        requesting = any(dict(c.requests).get(CPU, 0.0) > 0 for c in (*shape.containers, *shape.init_containers))
        return {CPU: shape.request(CPU) if requesting else 0.0}

    def _utilization(self, nodes: Nodes, pod: Pod, in_flight: Floats) -> tuple[Floats, Floats]:
        """Percent without and with the pod, summed in millicores as the peer does: just full is not above 100."""
        capacity = 1000.0 * nodes.capacity(CPU)
        before = percent(nodes.mean_or_latest(CPU) + in_flight, nodes.capacity(CPU))
        with np.errstate(divide="ignore", invalid="ignore"):
            return before, 100.0 * (before / 100.0 * capacity + millis(self.demand(pod.shape)[CPU])) / capacity

    def _rise(self, nodes: Nodes, before: Floats, after: Floats) -> Floats:
        default = self.node_power_model.get(EVERY_OTHER_NODE)
        models = [self.node_power_model.get(name, default) for name in nodes.names]
        k1 = np.array([np.nan if model is None else model.k1 for model in models])
        k2 = np.array([np.nan if model is None else model.k2 for model in models])
        with np.errstate(over="ignore", invalid="ignore"):
            return k1 * (np.exp(k2 * after) - np.exp(k2 * before))


def _spread(rise: Floats) -> Floats:
    """Least rise 100, most 0; all the same 100; overloaded 0."""
    overloaded = np.isposinf(rise)
    return np.where(overloaded, 0.0, stretched(-np.where(overloaded, np.nan, rise)))


def _as_the_peer(raw: Floats) -> Floats:
    """As the peer does: all zero unchanged, all equal 100, else 100 - the whole part of the share."""
    measured = raw[~np.isnan(raw)]
    if not measured.size or not measured.any():
        return raw
    least, most = measured.min(), measured.max()
    if least == most:
        return np.where(np.isnan(raw), np.nan, 100.0)
    return 100.0 - np.trunc(100.0 * (raw - least) / (most - least))
