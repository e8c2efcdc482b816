"""The laws that every scorer of the table obeys. A new row is covered by being a row.

A scorer that breaks a law by its nature stands in EXCEPTIONS with the reason; one that needs args, or deserves to be
tried with several, in VARIANTS.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import Scorer
from tests.contracts.clusters import ONE_NODE, PODS, UNITS, Cluster, Declared, clusters

VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "EstimatedLoad": ({}, {"aggregated": "p95", "resourceWeights": {"cpu": 3.0}}),
    "LabelNumber": ({"label": "number"}, {"label": "number", "prefer": "Lowest"}),
    "LoadVariationRiskBalancing": ({}, {"safeVarianceMargin": 2.0, "safeVarianceSensitivity": 2.0}),
    "LowRiskOverCommitment": ({}, {"riskLimitWeights": {"cpu": 0.0, "memory": 1.0}}),
    "LowestUsage": ({}, {"resources": {"cpu": 2.0, "memory": 1.0}, "countInFlight": False}),
    "MetricRank": ({"metric": "cpu"},),
    "NodeResourcesAllocatable": ({}, {"mode": "Most"}),
    "Peaks": ({"nodePowerModel": {"*": {"k0": 470.0, "k1": -91.5, "k2": -0.0719}}},),
    "TargetLoadPacking": ({}, {"targetUtilization": 75.0, "defaultRequestsMultiplier": 2.0}),
}

NOT_OF_USAGE = "it does not look at usage at all"
EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "not measured": {
        "LabelNumber": NOT_OF_USAGE,
        "NetworkCost": NOT_OF_USAGE,
        "NodeResourcesAllocatable": NOT_OF_USAGE,
        "PodState": NOT_OF_USAGE,
    },
    "units": {
        "NodeResourcesAllocatable": "its weights set cores against bytes, as the peer's do",
    },
    "more load": {
        "Peaks": "it follows the power model: a node that is busy may take a pod for less power than an idle one",
        "LowRiskOverCommitment": "close to full the peer's Beta is all or nothing, and the chance to stay below the "
        "requests, divided by that to stay below the limits, rises again",
    },
}
"""Law -> scorer -> why it does not hold for it."""

FEW = settings(max_examples=20)
"""There are many rows and each law is simple."""

BEST_AT: Mapping[str, str] = {
    "TargetLoadPacking": "target_utilization",
}
"""Scorers that like load up to a percentage of capacity: the law of more load is tried above it."""


def rows(law: str | None = None) -> list[Any]:
    """Every scorer in every variant, except those that are excused from the law."""
    excused = EXCEPTIONS[law] if law else {}
    return [
        pytest.param(make_scorer(name, args), id=f"{name}-{number}")
        for name in SCORERS
        if name not in excused
        for number, args in enumerate(VARIANTS.get(name, ({},)))
    ]


def scores_of(scorer: Scorer, nodes: Nodes, declared: Declared, units: Floats | None = None) -> Floats:
    """What a ranking takes from a scorer."""
    return scorer.normalize(scorer.score(nodes, declared.pod(units)))


def equal(ours: Floats, theirs: Floats) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-6)


def test_only_scorers_of_the_table_are_excused_varied_or_best_at_something() -> None:
    excused = {name for reasons in EXCEPTIONS.values() for name in reasons}
    assert excused | set(VARIANTS) | set(BEST_AT) <= set(SCORERS)


@pytest.mark.parametrize("scorer", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_a_score_is_from_0_to_100_or_not_measured(scorer: Scorer, cluster: Cluster, declared: Declared) -> None:
    nodes = cluster.nodes()
    score = scores_of(scorer, nodes, declared)
    assert score.shape == (len(cluster),)
    assert score.dtype == np.float64
    assert (np.isnan(score) | ((score >= 0.0) & (score <= 100.0))).all()
    raw = scorer.raw(nodes, declared.pod())
    assert raw.shape == (len(cluster),)
    assert not np.isinf(raw).any()


@pytest.mark.parametrize("scorer", rows())
def test_asking_about_no_nodes_gives_no_scores(scorer: Scorer) -> None:
    nodes = ONE_NODE.nodes([])
    assert scores_of(scorer, nodes, Declared(1, 0, 1)).shape == (0,)
    assert scorer.raw(nodes, Declared(1, 0, 1).pod()).shape == (0,)


@pytest.mark.parametrize("scorer", rows())
@FEW
@given(cluster=clusters(), declared=PODS, data=st.data())
def test_the_order_of_the_nodes_is_irrelevant(
    scorer: Scorer, cluster: Cluster, declared: Declared, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(cluster))))
    score = scores_of(scorer, cluster.nodes(), declared)
    equal(scores_of(scorer, cluster.nodes(order), declared), score[list(order)])
    equal(scores_of(scorer, cluster.taken(order).nodes(), declared), score[list(order)])


@pytest.mark.parametrize("scorer", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_all_at_once_is_the_same_as_one_by_one(scorer: Scorer, cluster: Cluster, declared: Declared) -> None:
    together = scorer.score(cluster.nodes(), declared.pod())
    alone = [scorer.score(cluster.nodes([row]), declared.pod())[0] for row in range(len(cluster))]
    equal(together, np.array(alone))


@pytest.mark.parametrize("scorer", rows())
@FEW
@given(cluster=clusters(), declared=PODS)
def test_nothing_that_a_scorer_is_given_changes(scorer: Scorer, cluster: Cluster, declared: Declared) -> None:
    nodes = cluster.nodes()
    before = {column.name: getattr(cluster, column.name).copy() for column in fields(cluster)}
    for answer in (scorer.score(nodes, declared.pod()), scorer.raw(nodes, declared.pod())):
        if answer.flags.writeable:
            answer[:] = -1.0
    snapshot = nodes.snapshot
    for name, now in (
        ("capacity", snapshot.capacity),
        ("allocatable", snapshot.allocatable),
        ("mean", snapshot.statistics.mean),
        ("deviation", snapshot.statistics.deviation),
        ("requested", nodes.requested_now),
        ("limits", nodes.limits_now),
        ("in_flight", nodes.in_flight_usage),
        ("pods", nodes.pods_now),
    ):
        np.testing.assert_array_equal(now, before[name])


@pytest.mark.parametrize("scorer", rows("not measured"))
@FEW
@given(cluster=clusters(), declared=PODS)
def test_a_node_that_was_not_measured_has_no_score_and_an_idle_one_has(
    scorer: Scorer, cluster: Cluster, declared: Declared
) -> None:
    assert np.isnan(scores_of(scorer, cluster.unmeasured().nodes(), declared)).all()
    assert np.isnan(scorer.raw(cluster.unmeasured().nodes(), declared.pod())).all()
    assert not np.isnan(scores_of(scorer, cluster.idle().nodes(), declared)).any()


@pytest.mark.parametrize("scorer", rows("not measured"))
@FEW
@given(cluster=clusters(all_measured=True), declared=PODS)
def test_a_node_that_was_not_measured_takes_no_score_from_its_neighbours(
    scorer: Scorer, cluster: Cluster, declared: Declared
) -> None:
    lost = cluster.mean.copy()
    lost[0] = np.nan
    score = scores_of(scorer, cluster.with_mean(lost).nodes(), declared)
    assert np.isnan(score[0])
    assert not np.isnan(score[1:]).any()


@pytest.mark.parametrize("scorer", rows("units"))
@FEW
@given(cluster=clusters(), declared=PODS, units=UNITS)
def test_the_scale_of_units_is_irrelevant(scorer: Scorer, cluster: Cluster, declared: Declared, units: Floats) -> None:
    small = scores_of(scorer, cluster.nodes(), declared)
    equal(scores_of(scorer, cluster.scaled(units).nodes(), declared, units), small)


@pytest.mark.parametrize("scorer", rows("more load"))
@FEW
@given(cluster=clusters(all_measured=True), declared=PODS, more=st.floats(0.0, 1.0), resource=st.integers(0, 1))
def test_more_load_never_scores_higher(
    scorer: Scorer, cluster: Cluster, declared: Declared, more: float, resource: int
) -> None:
    best_at = BEST_AT.get(type(scorer).__name__)
    if best_at is not None:
        above = cluster.capacity * (getattr(scorer, best_at) + 1e-6) / 100.0
        cluster = cluster.with_mean(np.maximum(cluster.mean, above))
    loaded = cluster.mean.copy()
    loaded[0, resource] += more * cluster.capacity[0, resource]
    before = scores_of(scorer, cluster.nodes(), declared)
    after = scores_of(scorer, cluster.with_mean(loaded).nodes(), declared)
    assert not after[0] > before[0] + 1e-9
