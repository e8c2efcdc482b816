"""A small real cluster whose kubelets are played by kwok: API server, metrics-server and Prometheus see the same load.

The bargain: `add_node` gives a node that both sources will measure; `source` is what a configuration says to read one
of them. Schedulers are the tests' own. `clear` leaves the cluster empty; nodes of other tests must have other names.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.parts.audit import Audit
from tests.parts.control_plane import ControlPlane
from tests.parts.kwok import LOADS, Kwok, resource_path
from tests.parts.metrics_server import MetricsServer
from tests.parts.prometheus_server import PrometheusServer

NODE_QUERIES = {"cpu": "rate(node_cpu_usage_seconds_total[$window])", "memory": "node_memory_working_set_bytes"}
POD_QUERIES = {
    "cpu": "sum by (namespace, pod) (rate(container_cpu_usage_seconds_total[$window]))",
    "memory": "sum by (namespace, pod) (container_memory_working_set_bytes)",
}


class Cluster:
    """All parts started on entry, stopped on exit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.audit = Audit(folder)
        self.control_plane = ControlPlane(folder / "control-plane", api_server_flags=self.audit.flags())
        self._targets = folder / "targets.json"
        self._names: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.audit.write_policy()
            stack.enter_context(self.control_plane)
            self.api = self.control_plane.api
            self.kwok = stack.enter_context(Kwok(self.control_plane))
            self.metrics_server = stack.enter_context(MetricsServer(self.control_plane))
            self._aim()
            config = scraping(self._targets, self.kwok.port)
            self.prometheus = stack.enter_context(PrometheusServer(self.folder / "prometheus", config=config))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add_node(self, name: str, **of_node: Any) -> None:
        """A node that is up and scraped; the settings are those of `Kwok.add_node`."""
        self.kwok.add_node(name, **of_node)
        self._names.append(name)
        self._aim()

    def clear(self) -> None:
        """Delete every node and every pod."""
        self._names.clear()
        self._aim()
        self.api.delete(f"/api/v1/namespaces/{LOADS}/pods")
        self.api.clear()

    def source(self, kind: str) -> dict[str, Any]:
        """The `source` of a configuration: MetricsServer or Prometheus."""
        if kind == "MetricsServer":
            return {"type": kind}
        return {
            "type": kind,
            "url": self.prometheus.url,
            "nodeQueries": NODE_QUERIES,
            "podQueries": POD_QUERIES,
            "nodeLabel": "node",
            "rateWindow": "5s",
        }

    def _aim(self) -> None:
        """Let Prometheus scrape the nodes that there are; the file is there whole, or as it was."""
        written = self._targets.with_suffix(".new")
        written.write_text(json.dumps([{"targets": self._names}]))
        written.replace(self._targets)


def scraping(targets: Path, port: int) -> str:
    """A configuration of Prometheus: each target is the name of a node, of which kwok tells at its own path."""
    to_path = {"source_labels": ["__address__"], "target_label": "__metrics_path__", "replacement": resource_path("$1")}
    to_label = {"source_labels": ["__address__"], "target_label": "node"}
    to_kwok = {"target_label": "__address__", "replacement": f"127.0.0.1:{port}"}
    job = {
        "job_name": "kubelets",
        "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}],
        "relabel_configs": [to_path, to_label, to_kwok],
    }
    timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
    return json.dumps({"global": timing, "scrape_configs": [job]}, indent=2)
