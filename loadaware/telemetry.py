"""Every Prometheus instrument, in one class. The registry is given, so tests and embedders keep their own.

Labels are bounded: verbs and reasons are ours, profiles come from the config. No node or pod name is a label here; the
series per node, which are bounded in number instead, are in node_series.py.
"""

from collections import deque

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from collectors.reading import Floats
from loadaware.bulk_histogram import BulkHistogram
from loadaware.quick_histogram import QuickHistogram

BUSY_ABOVE = (0.5, 0.65, 0.8, 0.9)
"""Utilizations from which on a node counts as busy, one gauge for each."""
MOST_RANKINGS = 64
"""Answers to prioritize whose scores wait to be summed up."""

_LATENCY_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_NODES_BUCKETS = (1, 10, 50, 100, 500, 1000, 5000, 10000)
_SPREAD_BUCKETS = (0, 1, 2, 5, 10, 20, 40, 60, 80, 100)
_MARGIN_BUCKETS = (0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100)
_CORRELATION_BUCKETS = (-0.5, 0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_ERROR_BUCKETS = (-0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_DEVIATIONS_BUCKETS = (-4, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 4)


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
        self.duration = QuickHistogram(
            "loadaware_request_duration_seconds", "Time from the whole body to the answer.", ("verb", "profile"),
            _LATENCY_BUCKETS, registry,
        )  # fmt: skip
        self.nodes_asked = QuickHistogram(
            "loadaware_request_nodes", "Nodes asked about per request.", ("verb", "profile"), _NODES_BUCKETS, registry
        )
        self.rejected = Counter(
            "loadaware_rejected_nodes", "Nodes that each filter rejected.", ("profile", "filter"), registry=registry
        )
        self.relaxed = Counter(
            "loadaware_relaxed_filters", "Filter answers where load rules would have rejected every node.",
            ("profile",), registry=registry,
        )  # fmt: skip
        self.plugin_failures = Counter(
            "loadaware_plugin_failures", "Failures of filters and scorers, by kind.", ("plugin", "kind"),
            registry=registry,
        )  # fmt: skip
        self.plugin_runs = Counter(
            "loadaware_plugin_runs", "Times a filter or scorer was asked and answered.", ("plugin",), registry=registry
        )
        self.plugin_seconds = Counter(
            "loadaware_plugin_seconds", "Time that filters and scorers took.", ("plugin",), registry=registry
        )
        self._answers_and_learning(registry)
        self._shadows(registry)
        self._cluster(registry)
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
        self.decisions_unwritten = Counter(
            "loadaware_decisions_unwritten", "Lines that are missing from the file of decisions.", registry=registry
        )
        self.shadow_dropped = Counter(
            "loadaware_shadow_dropped", "Requests that no profile in shadow was compared on.", registry=registry
        )
        self.history_lost = Counter(
            "loadaware_history_lost_records", "Records that are missing from the history, by reason.", ("reason",),
            registry=registry,
        )  # fmt: skip
        self.source_age = Gauge(
            "loadaware_source_age_seconds", "Time since the last good reading of each source.", ("source",),
            registry=registry,
        )  # fmt: skip
        self.source_rung = Gauge(
            "loadaware_source_rung", "Rung of the newest data: 0 fresh, 1 ageing, 2 expired, 3 unknown.",
            registry=registry,
        )  # fmt: skip
        Info("loadaware_build", "Version of loadaware.", registry=registry).info({"version": version})

    def _answers_and_learning(self, registry: CollectorRegistry) -> None:
        """How clear the answers are, and whether what was expected comes true."""
        self._rankings: deque[tuple[str, Floats]] = deque(maxlen=MOST_RANKINGS)
        self.score_spread = BulkHistogram(
            "loadaware_score_spread", "Best score less worst, of answers to prioritize.", ("profile",),
            _SPREAD_BUCKETS, registry,
        )  # fmt: skip
        self.score_margin = BulkHistogram(
            "loadaware_score_margin", "Best score less second best, of answers to prioritize.", ("profile",),
            _MARGIN_BUCKETS, registry,
        )  # fmt: skip
        self.calibration_error = BulkHistogram(
            "loadaware_calibration_error", "Measured less expected CPU usage of a node, per allocatable.", (),
            _ERROR_BUCKETS, registry,
        )  # fmt: skip
        self.calibration_deviations = BulkHistogram(
            "loadaware_calibration_deviations", "Measured less expected CPU usage of a node, in expected deviations.",
            (), _DEVIATIONS_BUCKETS, registry,
        )  # fmt: skip
        self.learned_workloads = Gauge(
            "loadaware_learned_workloads", "Workloads whose demand was learned.", registry=registry
        )
        self.in_flight_pods = Gauge(
            "loadaware_in_flight_pods", "Pods placed on nodes whose newest sample has not seen them.", registry=registry
        )
        self.in_flight_cores = Gauge("loadaware_in_flight_cores", "Cores that those pods request.", registry=registry)
        self.first_choice = Counter(
            "loadaware_first_choice", "Ranked pods seen bound, by whether they went to a node of our best priority.",
            ("won",), registry=registry,
        )  # fmt: skip

    def _shadows(self, registry: CollectorRegistry) -> None:
        """Profiles that are scored aside, beside the one that answers."""
        self.shadow_agreement = Counter(
            "loadaware_shadow_agreement", "Requests scored in shadow, by whether the first choice is the same.",
            ("profile", "agrees"), registry=registry,
        )  # fmt: skip
        self.shadow_rank_correlation = Histogram(
            "loadaware_shadow_rank_correlation", "Rank correlation of a shadow's scores with those answered.",
            ("profile",), buckets=_CORRELATION_BUCKETS, registry=registry,
        )  # fmt: skip
        self.shadow_load_difference = Histogram(
            "loadaware_shadow_load_difference",
            "Expected CPU utilization, with the pod, of a shadow's first choice less that of the one answered.",
            ("profile",), buckets=_ERROR_BUCKETS, registry=registry,
        )  # fmt: skip

    def _cluster(self, registry: CollectorRegistry) -> None:
        """The cluster as a whole: is it balanced?"""
        self.cluster_utilization = Gauge(
            "loadaware_cluster_utilization", "Usage of all measured nodes per their allocatable.", ("resource",),
            registry=registry,
        )  # fmt: skip
        self.cluster_imbalance = Gauge(
            "loadaware_cluster_imbalance", "Standard deviation of utilization between nodes.", ("resource",),
            registry=registry,
        )  # fmt: skip
        self.busy_nodes = Gauge(
            "loadaware_busy_nodes", "Nodes whose utilization is above a bound.", ("resource", "above"),
            registry=registry,
        )  # fmt: skip

    def ranked(self, profile: str, scores: Floats) -> None:
        """Remember the scores of an answer. Costs an append: they are summed up in `sum_up`, when someone looks."""
        self._rankings.append((profile, scores))

    def sum_up(self) -> None:
        """Count what waits. Any thread may, off the way of requests."""
        while self._rankings:
            try:
                profile, scores = self._rankings.popleft()
            except IndexError:  # another thread took the last one
                return
            if len(scores) > 1:
                second, best = np.partition(scores, -2)[-2:].tolist()
                self.score_spread.observe(np.array([best - scores.min()]), profile)
                self.score_margin.observe(np.array([best - second]), profile)
