"""PromQL that works where nobody wrote any, for the three exporters that clusters have.

Values are absolute: cores and bytes. `$window` stands for the length over which rates are taken (see
PrometheusSettings.rate_window_seconds), in these queries and in the user's own.

Node queries keep every label but those they sum over, because which label names the node depends on the
installation. Pod queries take the highest of equal containers before they sum: two jobs scraping one kubelet, or a
restarted container whose old series lingers, must not count twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from collectors.reading import CPU, MEMORY

WINDOW = "$window"


@dataclass(frozen=True)
class QuerySet:
    """Queries that belong together, by resource."""

    name: str
    nodes: Mapping[str, str]
    pods: Mapping[str, str] = field(default_factory=dict)


def _rate(series: str) -> str:
    """A rate over the whole window, and nothing for a series younger than it: Prometheus divides what it has seen by
    the whole window, so that a node just started would read as idle.
    """
    return f"(rate({series}[{WINDOW}]) and {series} offset {WINDOW})"


def _pod_sum(expression: str) -> str:
    return f"sum by (namespace, pod) (max by (namespace, pod, container) ({expression}))"


NODE_EXPORTER = QuerySet(
    "node-exporter",
    nodes={
        # Time stolen by the hypervisor or spent waiting for disks is not used, as for cAdvisor.
        CPU: "sum without (cpu, mode) " + _rate('node_cpu_seconds_total{mode!~"idle|iowait|steal"}'),
        MEMORY: "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes",
    },
)
"""The operating system's own account. It has no pods."""

CADVISOR = QuerySet(
    "cAdvisor",
    nodes={
        CPU: "sum without (cpu) " + _rate('container_cpu_usage_seconds_total{id="/"}'),
        MEMORY: 'container_memory_working_set_bytes{id="/"}',
    },
    pods={
        CPU: _pod_sum(_rate('container_cpu_usage_seconds_total{container!="",container!="POD"}')),
        MEMORY: _pod_sum('container_memory_working_set_bytes{container!="",container!="POD"}'),
    },
)
"""The kubelet's /metrics/cadvisor. Some installations drop its root cgroup (id="/") and keep the pods."""

KUBELET = QuerySet(
    "kubelet",
    nodes={
        CPU: _rate("node_cpu_usage_seconds_total"),
        MEMORY: "node_memory_working_set_bytes",
    },
    pods={
        CPU: "max by (namespace, pod) " + _rate("pod_cpu_usage_seconds_total"),
        MEMORY: "max by (namespace, pod) (pod_memory_working_set_bytes)",
    },
)
"""The kubelet's /metrics/resource, which is what metrics-server reads."""

QUERY_SETS: Mapping[str, QuerySet] = MappingProxyType(
    {query_set.name.lower(): query_set for query_set in (NODE_EXPORTER, CADVISOR, KUBELET)}
)
"""By the name a user writes, in the order in which they are tried when nobody chose."""
