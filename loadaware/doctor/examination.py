"""The whole examination, in the order in which one thing rests on another."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from collectors.errors import CollectorError
from collectors.kubernetes_api import Credentials, KubernetesApi
from collectors.manifests import Node
from collectors.reading import NodeIdentity
from loadaware.config import Config, LoadWatcherSource, MetricsServerSource, PrometheusSource
from loadaware.doctor.access import CLUSTER, EVENTS, METRICS, check_access, check_binding
from loadaware.doctor.api_server import check_api_server, check_nodes
from loadaware.doctor.bounded import Limits, Patience
from loadaware.doctor.clock import check_clock
from loadaware.doctor.configuration import check_configuration
from loadaware.doctor.finding import Finding, fail, ok, warn
from loadaware.quantities import Duration
from loadaware.server_files import ServerFiles
from loadaware.sources import make_collector, prometheus_settings

NOT_ASKED = "the API server cannot be asked"


def examine(
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    server: str | None,
    limits: Limits | None = None,
    *,
    files: ServerFiles | None = None,
) -> list[Finding]:
    """Everything that can be checked from here. Never raises, and takes half a minute at most."""
    examination = _Examination(Credentials(kubeconfig, context), limits or Limits(), files or ServerFiles())
    examination.run(config_file, server)
    return examination.findings


class _Examination:
    def __init__(self, credentials: Credentials, limits: Limits, files: ServerFiles) -> None:
        self.findings: list[Finding] = []
        self._files = files
        self._credentials = credentials
        self._call_seconds = limits.call_seconds
        self._api = KubernetesApi(credentials, timeout_seconds=limits.call_seconds)
        self._patience = Patience(limits)
        self._nodes: list[Node] = []

    def run(self, config_file: str | None, server: str | None) -> None:
        good: list[Config] = []
        self._check("configuration", lambda: check_configuration(config_file, good))
        config = good[0] if good else None
        reachable = self._check("API server", lambda: check_api_server(self._api))
        self._check_cluster(config, reachable)
        self._check("metric source", lambda: self._source(config, reachable))
        if server is not None:
            self._check("loadaware server", lambda: self._server(server, config or Config()))
        self._check("kube-scheduler", _kube_scheduler)
        self._api.close()

    def _check(self, what: str, check: Callable[[], Iterable[Finding]]) -> bool:
        """Whether nothing failed in it."""
        found = self._patience.run(what, check)
        self.findings += found
        return all(finding.verdict != "fail" for finding in found)

    def _check_cluster(self, config: Config | None, reachable: bool) -> None:
        if not reachable:
            self.findings.append(_skipped("access, clock, nodes", NOT_ASKED))
            return
        events = (EVENTS,) if config is not None and config.decisions.events else ()
        needs = (*CLUSTER, *(METRICS if _wants_metrics_api(config) else ()), *events)
        self._check("access", lambda: check_access(self._api, needs))
        self._check("binding", lambda: check_binding(self._api))
        self._check("clock", lambda: check_clock(self._credentials, self._call_seconds))
        self._check("nodes", lambda: check_nodes(self._api, self._nodes))

    def _source(self, config: Config | None, reachable: bool) -> Iterator[Finding]:
        if config is None:
            yield _skipped("metric source", "the configuration is wrong")
            return
        config = self._impatient(config)
        source, staleness = config.source, config.staleness
        if isinstance(source, PrometheusSource):
            from loadaware.doctor.prometheus_source import check_prometheus

            yield from check_prometheus(prometheus_settings(source), self._nodes, staleness)
        elif isinstance(source, MetricsServerSource):
            yield from self._metrics_api(source, config, reachable)
        else:
            yield from self._other_source(config)

    def _metrics_api(self, source: MetricsServerSource, config: Config, reachable: bool) -> Iterator[Finding]:
        from loadaware.doctor.metrics_api import check_metrics_api

        if not reachable:
            yield _skipped("metrics.k8s.io", NOT_ASKED)
            return
        yield from check_metrics_api(self._api, source, self._nodes, config.staleness)

    def _other_source(self, config: Config) -> Iterator[Finding]:
        """A load-watcher, or a recorded history: made as for serving."""
        from collectors.load_watcher import LoadWatcher
        from loadaware.doctor.load_watcher_source import check_load_watcher

        try:
            collector = make_collector(config, self._api, self._identities)
            if isinstance(collector, LoadWatcher):
                with collector:
                    yield from check_load_watcher(collector, self._nodes, config.staleness)
                return
            reading = collector.read()
        except CollectorError as error:
            yield fail("metric source", str(error), "check source.folder")
            return
        yield ok("metric source", f"{reading.source} answers with {len(reading.nodes.names)} nodes")

    def _impatient(self, config: Config) -> Config:
        """The same, with a source that is not waited for as long as a server would."""
        source = config.source
        if not isinstance(source, MetricsServerSource | PrometheusSource | LoadWatcherSource):
            return config
        timeout = Duration(min(source.timeout, self._call_seconds))
        return msgspec.structs.replace(config, source=msgspec.structs.replace(source, timeout=timeout))

    def _server(self, url: str, config: Config) -> Iterator[Finding]:
        from loadaware.doctor.running_server import check_server

        return check_server(url, config, self._call_seconds, self._files)

    def _identities(self) -> list[NodeIdentity]:
        return [NodeIdentity(node.name, node.addresses) for node in self._nodes]


def _wants_metrics_api(config: Config | None) -> bool:
    return config is None or isinstance(config.source, MetricsServerSource)


def _skipped(what: str, why: str) -> Finding:
    return warn(what, f"not checked, because {why}", "mend that first, then ask again")


def _kube_scheduler() -> Iterator[Finding]:
    """What cannot be seen from here gets no verdict, only advice."""
    yield ok(
        "kube-scheduler",
        "cannot be seen from here. Check that it runs with --config and what `loadaware schedule-config` prints, that "
        "it can reach the urlPrefix, and that loadaware_requests_total grows when a pod is created",
    )
