"""From the configuration's `source` (and `secondSource`) to the collector that reads it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from collectors.kubernetes_api import KubernetesApi
from collectors.reading import Collector, NodeIdentity
from loadaware.config import Config, HandOverSection, LoadWatcherSource, MetricsServerSource, PrometheusSource, Source
from loadaware.errors import ConfigError

if TYPE_CHECKING:
    from collectors.http_access import HttpAccess
    from collectors.prometheus import PrometheusSettings

Identities = Callable[[], Sequence[NodeIdentity]]


def make_collector(config: Config, api: KubernetesApi, nodes: Identities) -> Collector:
    """The metric source that the configuration names, with the second behind it if there is one."""
    first = _make(config.source, api, nodes)
    if config.second_source is None:
        return first
    from collectors.failover import Failover

    return Failover(first, _make(config.second_source, api, nodes), config.disagreement_margin)


def check_source(config: Config, file: str) -> None:
    """Whether the sources' settings can work together. Raises ConfigError."""
    from collectors.http_access import HttpAccess, base_url

    for path, source in (("source", config.source), ("secondSource", config.second_source)):
        try:
            if isinstance(source, PrometheusSource):
                prometheus_settings(source)
            elif isinstance(source, LoadWatcherSource):
                base_url(source.url)
                HttpAccess(timeout_seconds=source.timeout)
        except ValueError as error:
            raise ConfigError(file, path, str(error)) from error
    if config.demand.hand_over is not None:
        try:
            base_url(config.demand.hand_over.url)
            hand_over_access(config.demand.hand_over)
        except ValueError as error:
            raise ConfigError(file, "demand.handOver", str(error)) from error


def hand_over_access(section: HandOverSection) -> "HttpAccess":
    """How another replica is approached. Raises ValueError if the settings cannot work together."""
    from collectors.http_access import HttpAccess

    return HttpAccess(
        timeout_seconds=section.timeout,
        ca_file=section.ca_file or None,
        client_certificate_file=section.cert_file or None,
        client_key_file=section.key_file or None,
    )


def has_past(config: Config) -> bool:
    """Whether the window is to be filled from the source's past at start."""
    return any(isinstance(s, PrometheusSource) and s.history for s in (config.source, config.second_source))


def prometheus_settings(source: PrometheusSource) -> "PrometheusSettings":
    """The collector's own settings from the configuration's. Raises ValueError if they cannot work together."""
    from collectors.http_access import HttpAccess
    from collectors.prometheus import PrometheusSettings

    basic = source.basic_auth
    return PrometheusSettings(
        url=source.url,
        access=HttpAccess(
            timeout_seconds=source.timeout,
            bearer_token_file=source.bearer_token_file or None,
            username=basic.username if basic else None,
            password_file=basic.password_file if basic else None,
            headers=source.headers,
            ca_file=source.ca_file or None,
            insecure_skip_verify=source.insecure_skip_verify,
        ),
        node_queries=source.node_queries,
        pod_queries=source.pod_queries,
        pods=source.pods,
        rate_window_seconds=source.rate_window,
        node_label=source.node_label or None,
        node_pattern=source.node_pattern or None,
    )


def _make(source: Source, api: KubernetesApi, nodes: Identities) -> Collector:
    """Imports what it makes: nobody pays for a source that is not used."""
    if isinstance(source, MetricsServerSource):
        from collectors.metrics_server import MetricsServer

        return MetricsServer(api, pods=source.pods, timeout_seconds=source.timeout)
    if isinstance(source, PrometheusSource):
        from collectors.prometheus import Prometheus

        return Prometheus(prometheus_settings(source), nodes)
    if isinstance(source, LoadWatcherSource):
        from collectors.http_access import HttpAccess
        from collectors.load_watcher import LoadWatcher

        return LoadWatcher(source.url, HttpAccess(timeout_seconds=source.timeout), nodes)
    from collectors.replay import Replay

    return Replay(source.folder, speed=source.speed, loop=source.loop)
