"""What a right configuration says in vain: settings that do nothing, or will fail once it runs."""

from collections.abc import Iterator
from pathlib import Path

from loadaware.config import Config, ProfileSection, PrometheusSource, ReplaySource
from loadaware.filters.filter import Filter
from loadaware.filters.metric_rules import MetricRules
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.plugins import make_filter, make_scorer
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.metric_rank import MetricRank
from loadaware.scorers.multi_window_load import MultiWindowLoad
from loadaware.scorers.network_cost import NetworkCost
from loadaware.scorers.peaks import Peaks
from loadaware.scorers.scorer import Scorer


def warnings(config: Config) -> list[str]:
    """One line per doubt, each with its path. Raises ConfigError for what is plainly wrong."""
    profiles = [w for n, profile in enumerate(config.profiles) for w in _of_profile(config, profile, f"profiles[{n}]")]
    return [*_of_files(config), *profiles]


def _of_files(config: Config) -> Iterator[str]:
    """Files that are not where the configuration says, seen from here."""
    for path, source in (("source", config.source), ("secondSource", config.second_source)):
        if isinstance(source, ReplaySource) and not Path(source.folder).is_dir():
            yield f"{path}.folder: there is no folder {source.folder}"
    if config.demand.state_file and not Path(config.demand.state_file).absolute().parent.is_dir():
        yield f"demand.stateFile: there is no folder {Path(config.demand.state_file).absolute().parent}"
    if config.decisions.file and not Path(config.decisions.file).absolute().parent.is_dir():
        yield f"decisions.file: there is no folder {Path(config.decisions.file).absolute().parent}"
    if from_other := config.demand.hand_over:
        names = {"caFile": from_other.ca_file, "certFile": from_other.cert_file, "keyFile": from_other.key_file}
        for name, file in names.items():
            if file and not Path(file).is_file():
                yield f"demand.handOver.{name}: there is no file {file!r}"
    if tls := config.server.tls:
        files = {"certFile": tls.cert_file, "keyFile": tls.key_file, "clientCaFile": tls.client_ca_file}
        for name, file in files.items():
            if (file or name != "clientCaFile") and not Path(file).is_file():
                yield f"server.tls.{name}: there is no file {file!r}"


def _of_profile(config: Config, profile: ProfileSection, path: str) -> Iterator[str]:
    if not profile.scorers:
        yield f"{path}.scorers: there are none: every node is equal"
    for n, scorer in enumerate(profile.scorers):
        where = f"{path}.scorers[{n}].args"
        yield from _of_scorer(config, make_scorer(scorer.name, scorer.args), where)
    for n, rule in enumerate(profile.filters):
        where = f"{path}.filters[{n}].args"
        yield from _of_filter(config, make_filter(rule.name, rule.args), where)


def _of_scorer(config: Config, scorer: Scorer, path: str) -> Iterator[str]:
    if isinstance(scorer, EstimatedLoad):
        yield from _percentile(config, scorer.aggregated, f"{path}.aggregated", "nothing is scored")
    if isinstance(scorer, MultiWindowLoad):
        for n, term in enumerate(scorer.priority):
            yield from _window(config, term.window, f"{path}.priority[{n}].window", "the term counts for nothing")
    if isinstance(scorer, Peaks) and not scorer.node_power_model:
        yield f"{path}.nodePowerModel: there is no power model: nothing is scored"
    if isinstance(scorer, MetricRank):
        yield from _metric(config, scorer.metric, f"{path}.metric", "nothing is scored")
    if isinstance(scorer, NetworkCost) and scorer.latency_metric:
        yield from _metric(config, scorer.latency_metric, f"{path}.latencyMetric", "it adds nothing")


def _of_filter(config: Config, rule: Filter, path: str) -> Iterator[str]:
    if isinstance(rule, UsageThreshold):
        yield from _percentile(config, rule.statistic, f"{path}.statistic", "nothing is rejected")
        if rule.window is not None:
            yield from _window(config, rule.window, f"{path}.window", "nothing is rejected")
    if isinstance(rule, MetricRules):
        for name, policy in rule.policies.items():
            for n, one in enumerate(policy.rules):
                where = f"{path}.policies[{name}].rules[{n}].metric"
                yield from _metric(config, one.metric, where, "the rule is never violated")


def _percentile(config: Config, statistic: str, path: str, so: str) -> Iterator[str]:
    """p95 and the like must be kept; other statistics always are."""
    number = statistic.removeprefix("p")
    if number.isdigit() and float(number) not in config.window.percentiles:
        yield f"{path}: {statistic} is not among window.percentiles: {so}"


def _window(config: Config, seconds: float, path: str, so: str) -> Iterator[str]:
    if seconds not in (config.window.length, *config.window.others):
        yield f"{path}: a window of {seconds:g}s is neither window.length nor among window.others: {so}"


def _metric(config: Config, metric: str, path: str, so: str) -> Iterator[str]:
    """Every source tells cpu and memory; others are named by Prometheus' nodeQueries alone."""
    sources = [s for s in (config.source, config.second_source) if isinstance(s, PrometheusSource)]
    if metric not in {"cpu", "memory", *(name for source in sources for name in source.node_queries)}:
        yield f"{path}: no source tells {metric!r}; a Prometheus source's nodeQueries can: {so}"
