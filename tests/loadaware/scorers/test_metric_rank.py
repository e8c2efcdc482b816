import math

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.metric_rank import MetricRank
from tests.loadaware.builders import make_pod, nodes_of

POD = make_pod("web")
COOLEST = MetricRank(metric="temperature")
HOTTEST = MetricRank(metric="temperature", operator="GreaterThan")


def measured(*values: float | None) -> Nodes:
    return nodes_of({f"n{n}": {} if v is None else {"metrics": {"temperature": v}} for n, v in enumerate(values)})


RANKS = [
    # metric      lowest first: 100 * (1 - rank / (measured - 1))      10 - rank
    ((40.0, 60.0), [100.0, 0.0], [10.0, 9.0]),
    ((40.0, 60.0, 41.0), [100.0, 0.0, 50.0], [10.0, 8.0, 9.0]),
    ((40.0, 40.0, 60.0), [100.0, 100.0, 0.0], [10.0, 10.0, 8.0]),  # equal values share a rank
    ((40.0, 60.0, 60.0), [100.0, 50.0, 50.0], [10.0, 9.0, 9.0]),
    ((40.0, None, 60.0), [100.0, math.nan, 0.0], [10.0, math.nan, 9.0]),
    ((40.0,), [100.0], [10.0]),
    ((7.0, 7.0), [100.0, 100.0], [10.0, 10.0]),
    ((-5.0, 5.0), [100.0, 0.0], [10.0, 9.0]),
]


@pytest.mark.parametrize(("values", "scores", "raw"), RANKS)
def test_nodes_are_ranked_by_a_metric_lowest_first(
    values: tuple[float | None, ...], scores: list[float], raw: list[float]
) -> None:
    nodes = measured(*values)
    np.testing.assert_allclose(COOLEST.normalize(COOLEST.score(nodes, POD)), scores)
    np.testing.assert_array_equal(COOLEST.raw(nodes, POD), raw)


def test_or_highest_first() -> None:
    nodes = measured(40.0, 60.0, 41.0)
    assert HOTTEST.normalize(HOTTEST.score(nodes, POD)).tolist() == [0.0, 100.0, 50.0]
    assert HOTTEST.raw(nodes, POD).tolist() == [8.0, 10.0, 9.0]


def test_the_peers_number_is_below_zero_from_the_twelfth_node_and_the_score_never_is() -> None:
    nodes = measured(*(float(n) for n in range(13)))
    assert COOLEST.raw(nodes, POD).tolist() == [10.0 - n for n in range(13)]
    scores = COOLEST.normalize(COOLEST.score(nodes, POD))
    assert scores.tolist() == pytest.approx([100.0 * (1 - n / 12) for n in range(13)])


def test_the_latest_value_counts_of_a_resource_with_a_window() -> None:
    nodes = nodes_of(
        {
            "a": {"usage": {"cpu": {"mean": "10%", "latest": "90%"}}},
            "b": {"usage": {"cpu": {"mean": "50%", "latest": "20%"}}},
        }
    )
    scorer = MetricRank(metric="cpu")
    assert scorer.normalize(scorer.score(nodes, POD)).tolist() == [0.0, 100.0]


def test_a_metric_that_does_not_exist_scores_nobody() -> None:
    scorer = MetricRank(metric="colour")
    scores = scorer.normalize(scorer.score(measured(40.0, 60.0), POD))
    assert np.isnan(scores).all()
    assert np.isnan(scorer.raw(measured(40.0, 60.0), POD)).all()


def test_the_metric_must_be_named_and_the_operator_known() -> None:
    with pytest.raises(ConfigError, match="metric"):
        make_scorer("MetricRank", {})
    with pytest.raises(ConfigError, match=r"args\.operator"):
        make_scorer("MetricRank", {"metric": "x", "operator": "Equals"})
