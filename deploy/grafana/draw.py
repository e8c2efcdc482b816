"""Draws the dashboards for the docs: `python -m deploy.grafana.draw [seconds]`.

The demo runs for that long (60 s), a real Prometheus scrapes it, and each panel's own queries are drawn.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import requests

from deploy.grafana.drawing import drawn
from deploy.grafana.make import DASHBOARDS
from tests.parts.processes import Process, free_port
from tests.parts.prometheus_server import PrometheusServer

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
VARIABLES = {"$job": ".*", "$instance": ".*", "$profile": ".*", "$node": ".*", "$__rate_interval": "15s"}
STEPS = 60


def main(seconds: float = 60.0) -> None:
    """Run, ask, write."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        options = ["--port", str(port), "--speed", "240", "--duration", str(seconds + 60)]
        demo = Process("demo", [sys.executable, "-m", "loadaware", "demo", *options], Path(folder) / "logs")
        with demo, PrometheusServer(Path(folder), scrape_targets=[f"127.0.0.1:{port}"]) as server:
            server.wait_for_series("rate(loadaware_requests_total[15s]) > 0", 60.0)
            begun = time.time()
            time.sleep(seconds)
            answers = _answers(server.url, begun, time.time())
    PICTURES.mkdir(exist_ok=True)
    for dashboard in DASHBOARDS:
        path = PICTURES / f"{dashboard.uid}.svg"
        path.write_text(drawn(dashboard, answers))
        sys.stdout.write(f"{path.relative_to(PICTURES.parents[1])}\n")


def _answers(url: str, start: float, end: float) -> dict[str, list[dict[str, Any]]]:
    queries = {query.expression for dashboard in DASHBOARDS for panel in dashboard.panels for query in panel.queries}
    with requests.Session() as session:
        session.trust_env = False
        return {query: _range(session, url, query, start, end) for query in queries}


def _range(session: requests.Session, url: str, query: str, start: float, end: float) -> list[dict[str, Any]]:
    asked = query
    for name, value in VARIABLES.items():
        asked = asked.replace(name, value)
    values = {"query": asked, "start": start, "end": end, "step": (end - start) / STEPS}
    response = session.post(f"{url}/api/v1/query_range", data=values, timeout=30)
    response.raise_for_status()
    result: list[dict[str, Any]] = response.json()["data"]["result"]
    return result


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
