"""The Prometheus collector: what is asked, how answers are matched to nodes, and what the past was."""

from collectors.prometheus.collector import Prometheus
from collectors.prometheus.match_report import MatchReport
from collectors.prometheus.settings import PrometheusSettings

__all__ = ["MatchReport", "Prometheus", "PrometheusSettings"]
