"""Keep pods off nodes that are already busy."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta, field

from collectors.manifests import SYSTEM_CRITICAL_PRIORITY, Pod
from collectors.reading import CPU, MEMORY, Floats
from loadaware.filters.filter import Filter
from loadaware.snapshot import Nodes
from loadaware.window import Bools

Percent = Annotated[float, Meta(gt=0, le=100)]


class UsageThreshold(Filter, frozen=True, kw_only=True):
    """Reject a node whose mean usage is above a share of what it has.

        rejected if 100 * mean / allocatable > threshold, for any resource with a threshold

    Pods of DaemonSets and of system-critical priority pass: they must run where they must run.
    """

    load_rule: ClassVar[bool] = True
    thresholds: Mapping[str, Percent] = field(default_factory=lambda: {CPU: 65.0, MEMORY: 95.0})

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        rejected = np.zeros(len(nodes), dtype=np.bool_)
        if _must_run(pod):
            return rejected
        for resource, threshold in self.thresholds.items():
            with np.errstate(invalid="ignore"):
                rejected |= _percent(nodes, resource) > threshold
        return rejected

    def reason(self, nodes: Nodes, pod: Pod, position: int) -> str:
        """Names each resource above its threshold."""
        parts = []
        for resource, threshold in self.thresholds.items():
            percent = _percent(nodes, resource)[position]
            if percent > threshold:
                parts.append(f"{resource} usage {percent:.0f} % > {threshold:g} %")
        return ", ".join(parts)


def _percent(nodes: Nodes, resource: str) -> Floats:
    return 100.0 * nodes.mean_or_latest(resource) / nodes.allocatable(resource)


def _must_run(pod: Pod) -> bool:
    return pod.priority >= SYSTEM_CRITICAL_PRIORITY or (pod.owner is not None and pod.owner.kind == "DaemonSet")
