"""Keep pods off nodes that are already busy."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta, field

from collectors.manifests import SYSTEM_CRITICAL_PRIORITY, Pod, Shape
from collectors.reading import CPU, MEMORY, Floats
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.quantities import Duration
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.scorer import percent
from loadaware.window import Bools

Percent = Annotated[float, Meta(gt=0, le=100)]
_ESTIMATES = EstimatedLoad()


class UsageThreshold(Filter, frozen=True, kw_only=True):
    """Reject a node whose usage is above a share of what it has.

        rejected if 100 * usage / allocatable > threshold, for any resource with a threshold
        statistic  mean, maximum, latest or a percentile of the window; or estimated: (mean + in flight + estimate of
                   the pod), rounded to whole percent, with the estimates of EstimatedLoad

    Pods of high priority can have thresholds of their own, on what high-priority pods use now (and the estimates, if
    the statistic is `estimated`). Pods of DaemonSets and of system-critical priority pass: they must run where they
    must run. What was not measured passes.
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
    """The window of `mean`, `maximum`, `latest` or `estimated`, if not the main one; one that is not kept rejects
    nobody. Percentiles are kept of the main window alone."""
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
        what = "high-priority" if self._separate(nodes, pod) else self.statistic
        return [
            ", ".join(
                f"{what} {resource} usage {share[n]:.0f} % > {threshold:g} %"
                for resource, threshold, share in columns
                if share[n] > threshold
            )
            for n in range(len(nodes))
        ]

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What a pod is estimated to use, for `estimated`."""
        return _ESTIMATES.demand(shape)

    def _thresholds(self, nodes: Nodes, pod: Pod) -> Mapping[str, Percent]:
        return self.high_priority_thresholds if self._separate(nodes, pod) else self.thresholds

    def _separate(self, nodes: Nodes, pod: Pod) -> bool:
        return bool(self.high_priority_thresholds) and nodes.is_high_priority(pod)

    def _percent(self, nodes: Nodes, pod: Pod, resource: str) -> Floats:
        separate = self._separate(nodes, pod)
        used = nodes.high_priority_usage(resource) if separate else self._usage(nodes, resource)
        if self.statistic != "estimated":
            return percent(used, nodes.allocatable(resource))
        expected = nodes.in_flight(resource) + self.demand(pod.shape).get(resource, 0.0)
        return np.floor(percent(used + expected, nodes.allocatable(resource)) + 0.5)

    def _usage(self, nodes: Nodes, resource: str) -> Floats:
        if self.statistic in ("mean", "estimated"):
            return nodes.mean_or_latest(resource) if self.window is None else nodes.usage("mean", resource, self.window)
        if self.statistic in ("maximum", "latest"):
            return nodes.usage(self.statistic, resource, self.window)
        return nodes.percentile(float(self.statistic[1:]), resource)


def _must_run(pod: Pod) -> bool:
    return pod.priority >= SYSTEM_CRITICAL_PRIORITY or (pod.owner is not None and pod.owner.kind == "DaemonSet")
