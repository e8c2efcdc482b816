"""Does Prometheus answer, does every query return, and whose are the series?

The commonest trouble is that series name nodes otherwise than the cluster does. Then the hint says which label and
which pattern would match, if a node's name is anywhere in the series.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from collectors.errors import CollectorError, SourceRefusedError
from collectors.manifests import Node
from collectors.prometheus import Prometheus
from collectors.prometheus.match_report import QueryReport
from collectors.prometheus.queries import Query
from collectors.prometheus.query_plan import MANDATORY
from collectors.prometheus.settings import PrometheusSettings
from collectors.reading import CPU, NodeIdentity
from loadaware.config import StalenessSection
from loadaware.doctor.finding import Finding, fail, ok, some, warn
from loadaware.doctor.measured import seconds

if TYPE_CHECKING:
    from collectors.prometheus.client import PrometheusClient

WHAT = "Prometheus"
_REACH = Query("node", CPU, "vector(1)")
_NEWEST = Query("node", CPU, "max(timestamp(up))")
_REFUSED = {
    401: "set source.bearerTokenFile or source.basicAuth",
    403: "these credentials may not query: see source.bearerTokenFile, source.basicAuth, source.headers (a tenant)",
    404: "the address must be where /api/v1/query is: some servers have it under a path, such as /prometheus",
}
_UNREACHABLE = "check source.url, and that it can be reached from here (service name, namespace, network policy)"
_STALE = "see Prometheus' targets page: scraping has stopped, or its clock and ours differ"
_EXPORTER = "have Prometheus scrape node-exporter, cAdvisor or the kubelet, or write your own query in {setting}"
_ALIKE = "name the label that holds the node in source.nodeLabel, and cut its value with source.nodePattern"
_LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)='([^']*)'")


def check_prometheus(
    settings: PrometheusSettings, nodes: Sequence[Node], staleness: StalenessSection
) -> Iterator[Finding]:
    """Reachable first: without that no query is worth a try."""
    from collectors.prometheus.client import PrometheusClient

    with closing(PrometheusClient(settings.url, settings.access, settings.method)) as client:
        try:
            client.at(_REACH, time.time())
        except CollectorError as error:
            yield fail(WHAT, str(error), _reach_fix(error))
            return
        yield ok(WHAT, f"{settings.url} answers queries")
        yield from _check_freshness(client, staleness)
    yield from _check_queries(settings, nodes)


def _reach_fix(error: CollectorError) -> str:
    return _REFUSED.get(error.status, _UNREACHABLE) if isinstance(error, SourceRefusedError) else _UNREACHABLE


def _check_freshness(client: "PrometheusClient", staleness: StalenessSection) -> Iterator[Finding]:
    """By the newest sample of any target; where nothing is scraped by itself (no `up`), nothing is said."""
    now = time.time()
    try:
        answered = client.at(_NEWEST, now)
    except CollectorError:
        return
    if not len(answered.values):
        return
    age = max(now - float(answered.values.max()), 0.0)
    detail = f"the newest sample of any target is {seconds(age)} old"
    what = f"{WHAT} freshness"
    yield ok(what, detail) if age <= staleness.fresh else warn(what, detail, _STALE)


def _check_queries(settings: PrometheusSettings, nodes: Sequence[Node]) -> Iterator[Finding]:
    identities = [NodeIdentity(node.name, node.addresses) for node in nodes]
    with Prometheus(settings, lambda: identities) as collector:
        report = collector.match_report()
    for note in report.notes:
        yield ok(WHAT, note)
    for query in report.queries:
        yield from _judge_query(query, identities)


def _judge_query(report: QueryReport, nodes: Sequence[NodeIdentity]) -> Iterator[Finding]:
    """What it gave, and beside that whatever the source warned of."""
    query = report.query
    what = f"{query.kind} {query.resource} query"
    setting = f"source.{query.kind}Queries.{query.resource}"
    vital = query.kind == "node" and query.resource in MANDATORY
    judge = fail if vital else warn
    if report.error:
        yield judge(what, report.error, f"try it in Prometheus' own page; to ask otherwise, set {setting}")
    elif not report.series:
        yield judge(what, f"gives no series: {query}", _EXPORTER.format(setting=setting))
    elif query.kind == "pod":
        yield _judge_pods(what, report, setting)
    elif not nodes:
        yield ok(what, f"{report.series} series; not matched, because the cluster's nodes are not known")
    elif not report.matched:
        yield judge(what, _strangers(report), _matching_hint(report, nodes))
    else:
        yield _judge_nodes(what, report, nodes)
    for warning in report.warnings:
        yield warn(what, f"the source warns: {warning}", "see Prometheus' own log")


def _judge_pods(what: str, report: QueryReport, setting: str) -> Finding:
    if report.matched:
        return ok(what, f"{report.series} series of {len(report.matched)} pods")
    examples = ", ".join(report.unmatched_examples)
    detail = f"none of {report.series} series names a pod, such as {examples}"
    return warn(what, detail, f"aggregate by (namespace, pod) in {setting}")


def _judge_nodes(what: str, report: QueryReport, nodes: Sequence[NodeIdentity]) -> Finding:
    detail = f"{report.series} series match {len(report.matched)} of {len(nodes)} nodes by label {report.label}"
    if report.without_series:
        unmatched = f"; {_strangers(report)}" if report.unmatched else ""
        detail = f"{detail}; without a series: {some(report.without_series)}{unmatched}"
        fix = _matching_hint(report, nodes) if report.unmatched else "see Prometheus' targets page for these nodes"
        return warn(what, detail, fix)
    if report.repeated:
        detail = f"{detail}; more than one series for {some(report.repeated)}: the highest counts"
        return warn(what, detail, "see which label differs between them, and take `max without (that label)`")
    others = f"; {report.unmatched} others are not of this cluster" if report.unmatched else ""
    return ok(what, detail + others)


def _strangers(report: QueryReport) -> str:
    return f"{report.unmatched} series match no node, such as {', '.join(report.unmatched_examples)}"


def _matching_hint(report: QueryReport, nodes: Sequence[NodeIdentity]) -> str:
    """Which label and pattern would match, if any name of a node is inside a label of the examples."""
    known = list(dict.fromkeys(name for node in nodes for name in (node.name, *node.addresses)))
    for example in report.unmatched_examples:
        for label, value in _LABEL.findall(example):
            inside = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", value)]
            if inside:
                pattern = _pattern(value, max(inside, key=len))
                return f"set source.nodeLabel: {label} and source.nodePattern: '{pattern}'"
    return f"{_ALIKE}; the cluster knows them as {some(known)}"


def _pattern(value: str, name: str) -> str:
    """What is around the name, literally, and the name as a group."""
    before, _, after = value.partition(name)
    return f"^{_literal(before)}(?P<node>.+){_literal(after)}$"


def _literal(text: str) -> str:
    """Numbers differ from node to node."""
    return re.sub(r"[0-9]+", "[0-9]+", re.escape(text))
