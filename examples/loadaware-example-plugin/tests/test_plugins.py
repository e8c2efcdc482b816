"""The arithmetic, written out. Run with `pytest` where loadaware and this distribution are installed."""

import math

import pytest
from collectors.manifests import Pod
from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_filter, make_scorer
from loadaware.state import parse_state

from loadaware_example import CoolestNode, NotUnderMaintenance

POD = Pod(name="web")
MARK = "example.com/maintenance"
NODES = Nodes.of(
    parse_state(
        {
            "nodes": [
                {"name": "cool", "metrics": {"temperature": 20}},
                {"name": "warm", "metrics": {"temperature": 55}, "labels": {MARK: "fans"}},
                {"name": "hot", "metrics": {"temperature": 95}},
                {"name": "dark"},
            ]
        }
    )
)


def test_a_cool_node_gets_100_a_hot_one_0_and_between_it_is_proportional() -> None:
    # (80 - 55) / (80 - 30) = 0.5
    assert CoolestNode().score(NODES, POD).tolist()[:3] == [100.0, 50.0, 0.0]


def test_a_node_without_a_thermometer_is_not_scored() -> None:
    assert math.isnan(CoolestNode().score(NODES, POD)[3])


def test_cool_must_be_below_hot() -> None:
    with pytest.raises(ConfigError, match="cool must be below hot, not 90 and 80"):
        make_scorer("CoolestNode", {"cool": 90})


def test_a_marked_node_is_rejected_with_its_mark() -> None:
    rule = make_filter("NotUnderMaintenance", {})
    assert isinstance(rule, NotUnderMaintenance)
    assert rule.rejects(NODES, POD).tolist() == [False, True, False, False]
    only_warm = Nodes.of(NODES.snapshot.only(NODES.rows[1:2]))
    assert rule.reasons(only_warm, POD) == [f"node is under maintenance: {MARK}=fans"]
