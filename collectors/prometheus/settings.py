"""What a user may say about a Prometheus. Values only: cheap to import, checked when made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from collectors.http_access import HttpAccess, base_url
from collectors.prometheus.default_queries import CADVISOR, KUBELET, QUERY_SETS
from collectors.prometheus.query_plan import MANDATORY, Questions
from collectors.series_matching import NodeRule

AUTO = "auto"


@dataclass(frozen=True)
class PrometheusSettings:
    """What to ask, whom, and how. Raises ValueError for settings that cannot work."""

    url: str
    access: HttpAccess = field(default_factory=HttpAccess)
    method: Literal["GET", "POST"] = "POST"
    """GET for a proxy that allows no POST, such as the API server's service proxy under a read-only role."""
    node_queries: Mapping[str, str] = field(default_factory=dict)
    """PromQL by resource, one series per node, absolute values. cpu and memory left out come from a default set."""
    pod_queries: Mapping[str, str] = field(default_factory=dict)
    """PromQL by resource, one series per pod."""
    default_set: str = AUTO
    """node-exporter, cadvisor or kubelet; auto takes the first of these that has series."""
    pods: bool = True
    node_label: str | None = None
    node_pattern: str | None = None
    namespace_label: str = "namespace"
    pod_label: str = "pod"
    rate_window_seconds: float = 120.0
    """What `$window` means in a query: at least twice the scrape interval, or there are no rates. Longer is
    steadier and later: load shows in full only after this long."""
    step_seconds: float = 30.0
    """Between the readings of a history."""
    history_pods: bool = False
    """Whether a history has pods too: some 30 times as much to read."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", base_url(self.url))
        if self.default_set != AUTO and self.default_set not in QUERY_SETS:
            raise ValueError(f"{self.default_set!r} is none of {AUTO}, {', '.join(QUERY_SETS)}")
        if not self.rate_window_seconds > 0 or not self.step_seconds > 0:
            raise ValueError("the rate window and the step must be positive")
        for resource, query in (*self.node_queries.items(), *self.pod_queries.items()):
            if not resource or not query.strip():
                raise ValueError(f"the query for {resource!r} is empty")
        _ = self.node_rule

    @property
    def node_rule(self) -> NodeRule:
        """How series name their node."""
        return NodeRule(self.node_label, self.node_pattern)

    @property
    def resources(self) -> tuple[str, ...]:
        """The second axis of a reading: cpu, memory, then the others in the order in which they are named."""
        return tuple(dict.fromkeys((*MANDATORY, *self.node_queries, *(self.pod_queries if self.pods else ()))))

    def questions(self, kind: Literal["node", "pod"]) -> Questions:
        """What could be asked about nodes or pods."""
        chosen = [QUERY_SETS[self.default_set]] if self.default_set != AUTO else list(QUERY_SETS.values())
        if kind == "node":
            return Questions(kind, self.node_queries, chosen, self.rate_window_seconds)
        sets = [query_set for query_set in chosen if query_set.pods] or [CADVISOR, KUBELET]
        return Questions(kind, self.pod_queries, sets, self.rate_window_seconds)
