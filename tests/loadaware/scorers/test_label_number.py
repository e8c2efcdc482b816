import math

import numpy as np
import pytest

from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.label_number import LabelNumber
from tests.loadaware.builders import make_pod, nodes_of

POD = make_pod("web")
HIGHEST = LabelNumber(label="priority")
LOWEST = LabelNumber(label="priority", prefer="Lowest")


def labelled(*values: str | None) -> Nodes:
    return nodes_of({f"n{n}": {"labels": {} if v is None else {"priority": v}} for n, v in enumerate(values)})


SCORES = [
    # label values      highest first      lowest first
    (("20", "10"), [100.0, 0.0], [0.0, 100.0]),
    (("20", "10", "15"), [100.0, 0.0, 50.0], [0.0, 100.0, 50.0]),
    (("-5", "5", "0"), [0.0, 100.0, 50.0], [100.0, 0.0, 50.0]),
    (("1.5", "1e1"), [0.0, 100.0], [100.0, 0.0]),
    (("7", "7"), [100.0, 100.0], [100.0, 100.0]),
    (("7",), [100.0], [100.0]),
]


@pytest.mark.parametrize(("values", "highest", "lowest"), SCORES)
def test_the_number_becomes_the_score_from_either_end(
    values: tuple[str, ...], highest: list[float], lowest: list[float]
) -> None:
    nodes = labelled(*values)
    assert HIGHEST.normalize(HIGHEST.score(nodes, POD)).tolist() == highest
    assert LOWEST.normalize(LOWEST.score(nodes, POD)).tolist() == lowest
    for scorer in (HIGHEST, LOWEST):
        assert scorer.raw(nodes, POD).tolist() == [float(value) for value in values]


@pytest.mark.parametrize("value", [None, "", "high", "1,5", "0x10", "nan", "inf", "1e999", "20Gi"])
def test_a_label_that_is_no_number_leaves_its_node_unscored_and_the_others_as_they_are(value: str | None) -> None:
    nodes = labelled("20", value, "10")
    np.testing.assert_array_equal(HIGHEST.normalize(HIGHEST.score(nodes, POD)), [100.0, math.nan, 0.0])
    assert math.isnan(HIGHEST.raw(nodes, POD)[1])


def test_where_no_node_has_the_label_none_is_scored() -> None:
    assert np.isnan(HIGHEST.normalize(HIGHEST.score(labelled(None, None), POD))).all()


def test_only_the_nodes_asked_about_make_the_range() -> None:
    whole = labelled("0", "10", "20", "100")
    rows = np.array([2, 1], dtype=np.intp)
    some = Nodes(whole.snapshot, rows, whole.requested_now, whole.limits_now, whole.pods_now)
    assert HIGHEST.normalize(HIGHEST.score(some, POD)).tolist() == [100.0, 0.0]


def test_the_label_must_be_named() -> None:
    with pytest.raises(ConfigError, match="label"):
        make_scorer("LabelNumber", {})
    with pytest.raises(ConfigError, match=r"args\.prefer"):
        make_scorer("LabelNumber", {"label": "priority", "prefer": "Middle"})
