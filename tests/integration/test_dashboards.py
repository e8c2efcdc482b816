"""Every panel's query, asked of a real Prometheus that scrapes the demo: each gives numbers, or none for a reason."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from deploy.grafana.make import DASHBOARDS
from loadaware.telemetry import Telemetry
from tests.parts.processes import Process, free_port, wait_for
from tests.parts.prometheus_server import MetricsExporter, PrometheusServer

pytestmark = pytest.mark.integration

VARIABLES = {"$job": ".*", "$instance": ".*", "$profile": ".*", "$node": ".*", "$__rate_interval": "15s"}
QUERIES = {
    f"{dashboard.title}: {panel.title} {number}": query.expression
    for dashboard in DASHBOARDS
    for panel in dashboard.panels
    for number, query in enumerate(panel.queries)
}
ABSENT_IS_RIGHT = {
    "Overview: Errors by reason 0": "nothing goes wrong",
    "Overview: Nodes in quarantine 0": "every simulated measurement is believable",
    "Decisions: Rejected nodes by filter 0": "its profile has no filters",
    "Decisions: Load rules relaxed 0": "its profile has no filters",
    "Decisions: Failures of plugins 0": "nothing goes wrong",
    "Shadow and tuning: Configuration files 0": "it reads none",
}


def filled(query: str) -> str:
    """With all chosen, and a rate over a few scrapes."""
    for name, value in VARIABLES.items():
        query = query.replace(name, value)
    return query


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """Scrapes a demo that ends with the test, or by itself."""
    folder, port = tmp_path_factory.mktemp("dashboards"), free_port()
    options = ["--port", str(port), "--nodes", "12", "--speed", "240", "--duration", "1800"]
    demo = Process("demo", [sys.executable, "-m", "loadaware", "demo", *options], folder / "logs")
    with demo, PrometheusServer(folder, scrape_targets=[f"127.0.0.1:{port}"]) as server:
        wait_for(lambda: server.query("rate(loadaware_requests_total[15s]) > 0"), "the demo to be asked", demo)
        yield server


def numbers(prometheus: PrometheusServer, name: str) -> list[float]:
    """What a panel would show now, without what is no number."""
    values = [float(series["value"][1]) for series in prometheus.query(filled(QUERIES[name]))]
    return [value for value in values if math.isfinite(value)]


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in ABSENT_IS_RIGHT])
def test_a_panel_shows_numbers(prometheus: PrometheusServer, name: str) -> None:
    assert wait_for(lambda: numbers(prometheus, name), f"numbers of {QUERIES[name]}", prometheus.process)


@pytest.mark.parametrize("name", ABSENT_IS_RIGHT)
def test_a_panel_that_has_nothing_to_show_is_understood_all_the_same(prometheus: PrometheusServer, name: str) -> None:
    assert prometheus.query(filled(QUERIES[name])) == [], "it does show something: take it off the list"


def test_what_the_demo_cannot_show_is_shown_where_it_happens(tmp_path: Path) -> None:
    """The same instruments, moved by hand."""
    telemetry = Telemetry(CollectorRegistry(), "0.0.0")

    def happens() -> str:
        telemetry.errors.labels("prioritize", "internal").inc()
        telemetry.quarantined_nodes.labels("frozen").set(3)
        telemetry.rejected.labels("default-scheduler", "UsageThreshold").inc(5)
        telemetry.relaxed.labels("default-scheduler").inc()
        telemetry.plugin_failures.labels("Broken", "raised").inc()
        telemetry.config_reloads.labels("taken").inc()
        for agrees, correlation in (("true", 0.9), ("false", -0.2)):
            telemetry.shadow_agreement.labels("trial", agrees).inc()
            telemetry.shadow_rank_correlation.labels("trial").observe(correlation)
            telemetry.shadow_load_difference.labels("trial").observe(-0.1)
        return generate_latest(telemetry.registry).decode()

    with MetricsExporter(happens()) as exporter, PrometheusServer(tmp_path, scrape_targets=[exporter.target]) as server:

        def all_shown() -> bool:
            exporter.text = happens()
            return all(numbers(server, name) for name in ABSENT_IS_RIGHT)

        assert wait_for(all_shown, "every panel to show what happened", server.process)
