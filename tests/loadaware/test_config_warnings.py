"""A right configuration that does nothing, or will fail, is warned of with the path of what it says in vain."""

from pathlib import Path

import pytest

from loadaware.config import Config, parse
from loadaware.config_warnings import warnings


def scorer(text: str) -> str:
    return f"profiles: [{{scorers: [{text}]}}]"


def rule(text: str) -> str:
    return f"profiles: [{{scorers: [{{name: LowestUsage}}], filters: [{text}]}}]"


RULES = "{policies: {cool: {rules: [{metric: heat, operator: GreaterThan, target: 70}]}}}"
HEAT = "source: {type: Prometheus, url: 'http://a', nodeQueries: {heat: node_heat}}\n"


def test_the_defaults_are_worth_no_warning() -> None:
    assert warnings(Config()) == []


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            scorer("{name: EstimatedLoad, args: {aggregated: p99}}"),
            "profiles[0].scorers[0].args.aggregated: p99 is not among window.percentiles: nothing is scored",
        ),
        (
            rule("{name: UsageThreshold, args: {statistic: p50}}"),
            "profiles[0].filters[0].args.statistic: p50 is not among window.percentiles: nothing is rejected",
        ),
        (
            rule("{name: UsageThreshold, args: {window: 7m}}"),
            "profiles[0].filters[0].args.window: a window of 420s is neither window.length nor among window.others: "
            "nothing is rejected",
        ),
        (
            scorer(
                "{name: MultiWindowLoad, args: {priority: [{resource: cpu, statistic: mean, window: 2h, weight: 1}]}}"
            ),
            "profiles[0].scorers[0].args.priority[0].window: a window of 7200s is neither window.length nor among "
            "window.others: the term counts for nothing",
        ),
        (
            scorer("{name: Peaks}"),
            "profiles[0].scorers[0].args.nodePowerModel: there is no power model: nothing is scored",
        ),
        (
            scorer("{name: MetricRank, args: {metric: heat}}"),
            "profiles[0].scorers[0].args.metric: no source tells 'heat'; a Prometheus source's nodeQueries can: "
            "nothing is scored",
        ),
        (
            scorer("{name: NetworkCost, args: {latencyMetric: heat}}"),
            "profiles[0].scorers[0].args.latencyMetric: no source tells 'heat'; a Prometheus source's nodeQueries can: "
            "it adds nothing",
        ),
        (
            rule(f"{{name: MetricRules, args: {RULES}}}"),
            "profiles[0].filters[0].args.policies[cool].rules[0].metric: no source tells 'heat'; a Prometheus source's "
            "nodeQueries can: the rule is never violated",
        ),
        ("profiles: [{schedulerName: batch}]", "profiles[0].scorers: there are none: every node is equal"),
        ("source: {type: Replay, folder: /nowhere}", "source.folder: there is no folder /nowhere"),
    ],
)
def test_what_does_nothing_is_told_with_its_path(text: str, warning: str) -> None:
    assert warnings(parse(text)) == [warning]


@pytest.mark.parametrize(
    "text",
    [
        scorer("{name: EstimatedLoad, args: {aggregated: p99}}") + "\nwindow: {percentiles: [99]}",
        rule("{name: UsageThreshold, args: {statistic: p95, window: 15m}}"),
        rule("{name: UsageThreshold, args: {window: 7m}}") + "\nwindow: {others: [7m]}",
        scorer("{name: MultiWindowLoad}"),
        scorer("{name: Peaks, args: {nodePowerModel: {'*': {k0: 1, k1: 1, k2: 1}}}}"),
        scorer("{name: MetricRank, args: {metric: memory}}"),
        HEAT + scorer("{name: MetricRank, args: {metric: heat}}"),
        HEAT.replace("source", "secondSource") + rule(f"{{name: MetricRules, args: {RULES}}}"),
    ],
)
def test_what_is_kept_or_provided_is_no_cause_for_warning(text: str) -> None:
    assert warnings(parse(text)) == []


def test_where_learned_demand_cannot_be_kept_or_asked_for_is_told(tmp_path: Path) -> None:
    text = "demand: {stateFile: /nowhere/demand, handOver: {url: 'http://a', caFile: /ca.pem}}"
    assert warnings(parse(text)) == [
        "demand.stateFile: there is no folder /nowhere",
        "demand.handOver.caFile: there is no file '/ca.pem'",
    ]
    assert warnings(parse(f"demand: {{stateFile: {tmp_path}/demand, handOver: {{url: 'http://a'}}}}")) == []


def test_a_file_of_decisions_in_no_folder_is_told(tmp_path: Path) -> None:
    assert warnings(parse("decisions: {file: /nowhere/decisions.jsonl}")) == [
        "decisions.file: there is no folder /nowhere"
    ]
    assert warnings(parse(f"decisions: {{file: {tmp_path}/decisions.jsonl}}")) == []


def test_certificates_that_are_not_there_are_told_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").touch()
    config = parse(f"server: {{tls: {{certFile: {tmp_path}/cert.pem, keyFile: /key.pem, clientCaFile: /ca.pem}}}}")
    assert warnings(config) == [
        "server.tls.keyFile: there is no file '/key.pem'",
        "server.tls.clientCaFile: there is no file '/ca.pem'",
    ]
