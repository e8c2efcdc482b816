"""The laws that every filter of the table obeys. A new row is covered by being a row.

A filter that breaks a law by its nature stands in EXCEPTIONS with the reason; one that needs args, or deserves to be
tried with several, in VARIANTS.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.reading import Floats
from loadaware.filters import FILTERS
from loadaware.filters.filter import Filter
from loadaware.plugins import make_filter
from tests.contracts.clusters import ONE_NODE, PODS, UNITS, Cluster, Declared, clusters

RULES = [
    {"metric": "cpu", "operator": "GreaterThan", "target": "2"},
    {"metric": "memory", "operator": "GreaterThan", "target": "4Gi"},
]
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "LabelEquals": ({"label": "number", "value": "1"},),
    "LabelExpression": ({"matchExpressions": [{"key": "number", "operator": "Gt", "values": ["1"]}]},),
    "LabelPresent": ({"label": "number", "absent": True}, {"label": "gpu"}),
    "MetricRules": (
        {"defaultPolicy": "busy", "policies": {"busy": {"rules": RULES}}},
        {"defaultPolicy": "busy", "policies": {"busy": {"rules": RULES, "join": "allOf"}}},
    ),
    "UsageThreshold": (
        {},
        {"thresholds": {"cpu": 30.0}, "statistic": "estimated"},
        {"thresholds": {"memory": 50.0, "disk": 10.0}, "statistic": "p95"},
    ),
}

FEW = settings(max_examples=20)
"""There are many rows and each law is simple."""

NOT_OF_USAGE = "it looks at labels, not at usage"
EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "not measured": {
        "LabelEquals": NOT_OF_USAGE,
        "LabelExpression": NOT_OF_USAGE,
        "LabelPresent": NOT_OF_USAGE,
    },
    "units": {
        "MetricRules": "its targets are written in the metric's own units",
    },
    "more load": {},
}
"""Law -> filter -> why it does not hold for it."""


def rows(law: str | None = None) -> list[Any]:
    """Every filter in every variant, except those that are excused from the law."""
    excused = EXCEPTIONS[law] if law else {}
    return [
        pytest.param(make_filter(name, args), id=f"{name}-{number}")
        for name in FILTERS
        if name not in excused
        for number, args in enumerate(VARIANTS.get(name, ({},)))
    ]


def test_only_filters_of_the_table_are_excused_or_varied() -> None:
    excused = {name for reasons in EXCEPTIONS.values() for name in reasons}
    assert excused | set(VARIANTS) <= set(FILTERS)


@pytest.mark.parametrize("rule", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_a_filter_says_yes_or_no_of_each_node_and_why(rule: Filter, cluster: Cluster, declared: Declared) -> None:
    rejected = rule.rejects(cluster.nodes(), declared.pod())
    assert rejected.shape == (len(cluster),)
    assert rejected.dtype == np.bool_
    reasons = rule.reasons(cluster.nodes(np.flatnonzero(rejected).tolist()), declared.pod())
    assert len(reasons) == rejected.sum()
    assert all(reasons)


@pytest.mark.parametrize("rule", rows())
def test_asking_about_no_nodes_rejects_none(rule: Filter) -> None:
    nodes = ONE_NODE.nodes([])
    assert rule.rejects(nodes, Declared(1, 0, 1).pod()).shape == (0,)
    assert rule.reasons(nodes, Declared(1, 0, 1).pod()) == []


@pytest.mark.parametrize("rule", rows())
@FEW
@given(cluster=clusters(), declared=PODS, data=st.data())
def test_the_order_of_the_nodes_is_irrelevant(
    rule: Filter, cluster: Cluster, declared: Declared, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(cluster))))
    rejected = rule.rejects(cluster.nodes(), declared.pod())
    assert rule.rejects(cluster.nodes(order), declared.pod()).tolist() == rejected[list(order)].tolist()


@pytest.mark.parametrize("rule", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_all_at_once_is_the_same_as_one_by_one(rule: Filter, cluster: Cluster, declared: Declared) -> None:
    together = rule.rejects(cluster.nodes(), declared.pod())
    alone = [bool(rule.rejects(cluster.nodes([row]), declared.pod())[0]) for row in range(len(cluster))]
    assert together.tolist() == alone


@pytest.mark.parametrize("rule", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_nothing_that_a_filter_is_given_changes(rule: Filter, cluster: Cluster, declared: Declared) -> None:
    nodes = cluster.nodes()
    before = {column.name: getattr(cluster, column.name).copy() for column in dataclasses.fields(cluster)}
    rejected = rule.rejects(nodes, declared.pod())
    rule.reasons(cluster.nodes(nodes.rows[rejected].tolist()), declared.pod())
    for name, now in (
        ("mean", nodes.snapshot.statistics.mean),
        ("requested", nodes.requested_now),
        ("in_flight", nodes.in_flight_usage),
        ("pods", nodes.pods_now),
    ):
        np.testing.assert_array_equal(now, before[name])


@pytest.mark.parametrize("rule", rows("not measured"))
@FEW
@given(cluster=clusters(), declared=PODS)
def test_a_node_that_was_not_measured_passes(rule: Filter, cluster: Cluster, declared: Declared) -> None:
    assert not rule.rejects(cluster.unmeasured().nodes(), declared.pod()).any()


@pytest.mark.parametrize("rule", rows("units"))
@FEW
@given(cluster=clusters(), declared=PODS, units=UNITS)
def test_the_scale_of_units_is_irrelevant(rule: Filter, cluster: Cluster, declared: Declared, units: Floats) -> None:
    small = rule.rejects(cluster.nodes(), declared.pod())
    assert rule.rejects(cluster.scaled(units).nodes(), declared.pod(units)).tolist() == small.tolist()


@pytest.mark.parametrize("rule", rows("more load"))
@FEW
@given(cluster=clusters(all_measured=True), declared=PODS, more=st.floats(0.0, 1.0), resource=st.integers(0, 1))
def test_more_load_never_lets_a_rejected_node_pass(
    rule: Filter, cluster: Cluster, declared: Declared, more: float, resource: int
) -> None:
    loaded = cluster.mean.copy()
    loaded[0, resource] += more * cluster.capacity[0, resource]
    before = rule.rejects(cluster.nodes(), declared.pod())
    after = rule.rejects(cluster.with_mean(loaded).nodes(), declared.pod())
    assert after[0] >= before[0]
    assert after[1:].tolist() == before[1:].tolist()
