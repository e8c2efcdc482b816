"""Keep pods off nodes that are already busy."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta, field

from collectors.manifests import SYSTEM_CRITICAL_PRIORITY, Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.filters.filter import Filter
from loadaware.quantities import Duration
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.snapshot import Nodes
from loadaware.window import Bools

Percent = Annotated[float, Meta(gt=0, le=100)]
_ESTIMATES = EstimatedLoad()


class UsageThreshold(Filter, frozen=True, kw_only=True):
    """Reject a node whose usage is above a share of what it has.

        rejected if 100 * usage / allocatable > threshold, for any resource with a threshold
        statistic  mean, maximum, latest or a percentile of the window; or estimated: (mean + in flight + estimate of
                   the pod), rounded to whole percent, with the estimates of EstimatedLoad

    Pods of high priority can have thresholds of their own, on the usage of high-priority pods alone. Pods of
    DaemonSets and of system-critical priority pass: they must run where they must run. What was not measured passes.
    """

    when: ClassVar[str] = (
        "A ceiling: nodes above it get no further pods, however the other scores turn out. It goes well with "
        "scorers that pack."
    )
    beware: ClassVar[str] = (
        "A share of busy nodes is normal; a low threshold takes choice away from the scorers and sends bursts to "
        "the few nodes below it. `mean` looks back a whole window, so a sudden rise is seen late; `estimated` "
        "sees pods in flight."
    )
    load_rule: ClassVar[bool] = True
    in_flight_rule: ClassVar[str] = "LessMeasured"

    thresholds: Mapping[str, Percent] = field(default_factory=lambda: {CPU: 65.0, MEMORY: 95.0})
    """Percent of allocatable per resource above which a node is rejected."""
    statistic: Literal["mean", "maximum", "latest", "p50", "p90", "p95", "p99", "estimated"] = "mean"
    """What is compared with the threshold."""
    window: Duration | None = None
    """The window of `mean`, `maximum` or `latest`, if not the main one; one that is not kept rejects nobody."""
    high_priority_thresholds: Mapping[str, Percent] = {}
    """For pods of high priority, on the usage of such pods alone. Empty: as for the others."""

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """See the class."""
        rejected = np.zeros(len(nodes), dtype=np.bool_)
        if _must_run(pod):
            return rejected
        for resource, threshold in self._thresholds(nodes, pod).items():
            rejected |= self._percent(nodes, pod, resource) > threshold
        return rejected

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """Names each resource above its threshold."""
        columns = [(r, t, self._percent(nodes, pod, r)) for r, t in self._thresholds(nodes, pod).items()]
        return [
            ", ".join(
                f"{self.statistic} {resource} usage {percent[n]:.0f} % > {threshold:g} %"
                for resource, threshold, percent in columns
                if percent[n] > threshold
            )
            for n in range(len(nodes))
        ]

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What a pod is estimated to use, for `estimated`."""
        return _ESTIMATES.demand(shape)

    def _thresholds(self, nodes: Nodes, pod: Pod) -> Mapping[str, Percent]:
        separate = self.high_priority_thresholds and nodes.is_high_priority(pod)
        return self.high_priority_thresholds if separate else self.thresholds

    def _percent(self, nodes: Nodes, pod: Pod, resource: str) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            percent = 100.0 * self._usage(nodes, pod, resource) / nodes.allocatable(resource)
        return np.floor(percent + 0.5) if self.statistic == "estimated" else percent

    def _usage(self, nodes: Nodes, pod: Pod, resource: str) -> Floats:
        if self.high_priority_thresholds and nodes.is_high_priority(pod):
            return nodes.high_priority_usage(resource)
        if self.statistic == "estimated":
            expected = nodes.in_flight(resource) + self.demand(pod.shape).get(resource, 0.0)
            return nodes.mean_or_latest(resource) + expected
        if self.statistic == "mean" and self.window is None:
            return nodes.mean_or_latest(resource)
        if self.statistic in ("mean", "maximum", "latest"):
            return nodes.usage(self.statistic, resource, self.window)
        return nodes.percentile(float(self.statistic[1:]), resource)


def _must_run(pod: Pod) -> bool:
    return pod.priority >= SYSTEM_CRITICAL_PRIORITY or (pod.owner is not None and pod.owner.kind == "DaemonSet")
