from collections.abc import Mapping
from typing import Any

import pytest

from loadaware.errors import ConfigError
from loadaware.filters.filter import Filter
from loadaware.filters.labels import LabelEquals, LabelExpression, LabelPresent, Requirement
from loadaware.nodes import Nodes
from loadaware.plugins import make_filter
from tests.loadaware.builders import make_pod, nodes_of

POD = make_pod("web")


def labelled(labels: Mapping[str, str]) -> Nodes:
    return nodes_of({"node": {"labels": labels}})


def verdict(rule: Filter, labels: Mapping[str, str]) -> str | None:
    """Why a node with these labels is rejected; None if it is not."""
    nodes = labelled(labels)
    (rejected,) = rule.rejects(nodes, POD).tolist()
    return rule.reasons(nodes, POD)[0] if rejected else None


@pytest.mark.parametrize("kind", [LabelPresent, LabelEquals, LabelExpression])
def test_no_eviction_helps_against_a_label_and_it_may_empty_the_list(kind: type[Filter]) -> None:
    assert kind.unresolvable
    assert not kind.load_rule
    assert not kind.by_measurements


def test_nodes_without_the_label_are_rejected_by_its_name() -> None:
    rule = LabelPresent(label="gpu")
    assert verdict(rule, {"gpu": "true"}) is None
    assert verdict(rule, {"gpu": ""}) is None
    assert verdict(rule, {"cpu": "true"}) == "node has no label gpu"
    assert verdict(rule, {}) == "node has no label gpu"


def test_or_nodes_that_have_it() -> None:
    rule = LabelPresent(label="gpu", absent=True)
    assert verdict(rule, {"gpu": ""}) == "node has the label gpu"
    assert verdict(rule, {}) is None


def test_a_label_must_have_the_value() -> None:
    rule = LabelEquals(label="cpu", value="true")
    assert verdict(rule, {"cpu": "true"}) is None
    assert verdict(rule, {"cpu": "True"}) == "node's label cpu is 'True', not 'true'"
    assert verdict(rule, {"cpu": ""}) == "node's label cpu is '', not 'true'"
    assert verdict(rule, {}) == "node has no label cpu; it should be 'true'"


EXPRESSIONS = [
    # operator, values      label value      meets it, as Kubernetes decides
    ("In", ("a", "b"), "a", True),
    ("In", ("a", "b"), "c", False),
    ("In", ("a", "b"), None, False),
    ("NotIn", ("a", "b"), "c", True),
    ("NotIn", ("a", "b"), "a", False),
    ("NotIn", ("a", "b"), None, True),
    ("Exists", (), "", True),
    ("Exists", (), None, False),
    ("DoesNotExist", (), None, True),
    ("DoesNotExist", (), "x", False),
    ("Gt", ("5",), "6", True),
    ("Gt", ("5",), "5", False),
    ("Gt", ("-5",), "-4", True),
    ("Gt", ("5",), "10", True),  # as numbers, not as text
    ("Lt", ("5",), "4", True),
    ("Lt", ("5",), "5", False),
    ("Lt", ("5",), None, False),
    ("Lt", ("5",), "few", False),
    ("Lt", ("5",), "4.5", False),  # whole numbers alone
    ("Gt", ("5",), "1_000", False),  # no number to Kubernetes
    ("Gt", ("5",), " 6", False),
    ("Gt", ("5",), "", False),
]


@pytest.mark.parametrize(("operator", "values", "value", "meets"), EXPRESSIONS)
def test_expressions_are_met_as_in_a_node_selector(
    operator: Any, values: tuple[str, ...], value: str | None, meets: bool
) -> None:
    rule = LabelExpression(match_expressions=(Requirement("tier", operator, values),))
    reason = verdict(rule, {} if value is None else {"tier": value})
    assert (reason is None) is meets
    if not meets:
        assert reason == f"node's labels do not meet: {Requirement('tier', operator, values)}"


def test_every_requirement_must_be_met_and_the_first_that_is_not_is_named() -> None:
    first, second = Requirement("zone", "In", ("a", "b")), Requirement("gpu", "Exists")
    rule = LabelExpression(match_expressions=(first, second))
    assert verdict(rule, {"zone": "a", "gpu": ""}) is None
    assert verdict(rule, {"zone": "a"}) == "node's labels do not meet: gpu Exists"
    assert verdict(rule, {}) == "node's labels do not meet: zone In a,b"


def test_an_expression_without_requirements_rejects_nobody() -> None:
    assert verdict(LabelExpression(match_expressions=()), {}) is None


def test_several_nodes_are_each_judged_by_their_own_labels() -> None:
    nodes = nodes_of({"a": {"labels": {"x": "1"}}, "b": {"labels": {"x": "2"}}, "c": {}})
    assert LabelPresent(label="x").rejects(nodes, POD).tolist() == [False, False, True]
    assert LabelEquals(label="x", value="2").rejects(nodes, POD).tolist() == [True, False, True]
    assert LabelEquals(label="x", value="3").reasons(nodes, POD) == [
        "node's label x is '1', not '3'",
        "node's label x is '2', not '3'",
        "node has no label x; it should be '3'",
    ]
    assert LabelPresent(label="x").rejects(nodes_of({}), POD).tolist() == []


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ({"operator": "In"}, "operator In needs values"),
        ({"operator": "NotIn", "values": []}, "operator NotIn needs values"),
        ({"operator": "Exists", "values": ["x"]}, "operator Exists takes no values"),
        ({"operator": "DoesNotExist", "values": ["x"]}, "operator DoesNotExist takes no values"),
        ({"operator": "Gt", "values": ["many"]}, "operator Gt needs one whole number"),
        ({"operator": "Gt", "values": ["1_000"]}, "operator Gt needs one whole number"),
        ({"operator": "Lt", "values": ["1", "2"]}, "operator Lt needs one whole number"),
        ({"operator": "Lt"}, "operator Lt needs one whole number"),
        ({"operator": "Is", "values": ["x"]}, "operator"),
    ],
)
def test_requirements_that_cannot_be_meant_are_refused_with_their_path(
    requirement: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_filter("LabelExpression", {"matchExpressions": [{"key": "tier", **requirement}]})
    assert message in str(caught.value)
    assert "args.matchExpressions[0]" in str(caught.value)


@pytest.mark.parametrize("name", ["LabelPresent", "LabelEquals", "LabelExpression"])
def test_a_label_must_be_named(name: str) -> None:
    with pytest.raises(ConfigError):
        make_filter(name, {})
