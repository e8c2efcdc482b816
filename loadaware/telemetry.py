"""Every Prometheus instrument, in one class. The registry is given, so tests and embedders keep their own.

Labels are bounded: verbs and reasons are ours, profiles come from the config. No node or pod name is a label here.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

_LATENCY_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_NODES_BUCKETS = (1, 10, 50, 100, 500, 1000, 5000, 10000)


class Telemetry:
    """What is counted and measured. docs/metrics.md names each; a test keeps the two equal."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        self.registry = registry
        self.requests = Counter(
            "loadaware_requests", "Answered extender requests.", ("verb", "profile"), registry=registry
        )
        self.errors = Counter(
            "loadaware_request_errors", "Requests refused, or answered neutrally, by reason.", ("verb", "reason"),
            registry=registry,
        )  # fmt: skip
        self.duration = Histogram(
            "loadaware_request_duration_seconds", "Time from the whole body to the answer.", ("verb",),
            buckets=_LATENCY_BUCKETS, registry=registry,
        )  # fmt: skip
        self.nodes_asked = Histogram(
            "loadaware_request_nodes", "Nodes asked about per request.", ("verb",),
            buckets=_NODES_BUCKETS, registry=registry,
        )  # fmt: skip
        self.rejected = Counter(
            "loadaware_rejected_nodes", "Nodes rejected by filter requests.", ("profile",), registry=registry
        )
        self.relaxed = Counter(
            "loadaware_relaxed_filters", "Filter answers where load rules would have rejected every node.",
            ("profile",), registry=registry,
        )  # fmt: skip
        self.plugin_failures = Counter(
            "loadaware_plugin_failures", "Failures of filters and scorers, by kind.", ("plugin", "kind"),
            registry=registry,
        )  # fmt: skip
        self.bookings = Gauge("loadaware_bookings", "Ranked pods not yet seen bound.", registry=registry)
        self.nodes = Gauge("loadaware_nodes", "Nodes known.", registry=registry)
        self.unmeasured_nodes = Gauge("loadaware_unmeasured_nodes", "Known nodes without CPU usage.", registry=registry)
        self.quarantined_nodes = Gauge(
            "loadaware_quarantined_nodes", "Nodes whose measurements are not believed, by reason.", ("reason",),
            registry=registry,
        )  # fmt: skip
        self.nodes_on_rung = Gauge(
            "loadaware_nodes_on_rung",
            "Nodes on each rung of the degradation ladder: fresh, ageing, expired, unknown.",
            ("rung",),
            registry=registry,
        )
        self.pods = Gauge("loadaware_bound_pods", "Bound pods known.", registry=registry)
        self.data_age = Gauge("loadaware_data_age_seconds", "Age of the newest sample of any node.", registry=registry)
        self.readings = Counter("loadaware_readings", "Readings taken from the metric source.", registry=registry)
        self.reading_failures = Counter(
            "loadaware_reading_failures", "Readings that failed; the last good one stays in force.", registry=registry
        )
        self.reading_duration = Gauge(
            "loadaware_reading_duration_seconds", "Time the last reading and its snapshot took.", registry=registry
        )
        self.observer_restarts = Counter(
            "loadaware_observer_restarts", "Times the observer process was started anew.", registry=registry
        )
        self.config_reloads = Counter(
            "loadaware_config_reloads", "Configuration files taken or refused.", ("outcome",), registry=registry
        )
        Info("loadaware_build", "Version of loadaware.", registry=registry).info({"version": version})
