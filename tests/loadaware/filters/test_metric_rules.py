from collections.abc import Mapping
from typing import Any

import pytest

from collectors.cluster import NodeSeen
from collectors.manifests import Pod
from loadaware.adviser import Adviser
from loadaware.core import Core
from loadaware.errors import ConfigError
from loadaware.filters.metric_rules import MetricRules, Policy, Rule
from loadaware.ladder import Staleness
from loadaware.nodes import Nodes
from loadaware.observer import ObserverSettings
from loadaware.plugins import make_filter
from loadaware.quantities import Quantity
from loadaware.scorers.lowest_usage import LowestUsage
from tests.loadaware.builders import (
    GIB,
    Clock,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    nodes_of,
    snapshot_of,
)

HOT = Rule("temperature", "GreaterThan", Quantity(80.0))
BROKEN = Rule("health", "Equals", Quantity(0.0))
SCARCE = Rule("free", "LessThan", Quantity(1024.0))
POLICIES = {
    "cool": Policy((HOT,)),
    "any": Policy((HOT, BROKEN)),
    "all": Policy((HOT, BROKEN), join="allOf"),
    "room": Policy((SCARCE,)),
    "empty": Policy(()),
    "colourful": Policy((Rule("colour", "GreaterThan", Quantity(0.0)), HOT)),
}
RULES = MetricRules(policies=POLICIES)


def wants(policy: str) -> Pod:
    return make_pod("web", labels={"telemetry-policy": policy})


def measured(**metrics: float) -> Nodes:
    return nodes_of({"node": {"metrics": metrics}})


def verdict(policy: str, **metrics: float) -> str | None:
    """Why a node with these metrics is rejected; None if it is not."""
    nodes, pod = measured(**metrics), wants(policy)
    (rejected,) = RULES.rejects(nodes, pod).tolist()
    return RULES.reasons(nodes, pod)[0] if rejected else None


VERDICTS = [
    # policy, metrics      reason
    ("cool", {"temperature": 80.0}, None),  # not above it
    ("cool", {"temperature": 81.5}, "policy cool: temperature 81.5 > 80"),
    ("room", {"free": 1024.0}, None),
    ("room", {"free": 1023.0}, "policy room: free 1023 < 1024"),
    ("any", {"temperature": 70.0, "health": 1.0}, None),
    ("any", {"temperature": 70.0, "health": 0.0}, "policy any: health 0 = 0"),
    ("any", {"temperature": 90.0, "health": 0.0}, "policy any: temperature 90 > 80, health 0 = 0"),
    ("all", {"temperature": 90.0, "health": 1.0}, None),
    ("all", {"temperature": 70.0, "health": 0.0}, None),
    ("all", {"temperature": 90.0, "health": 0.0}, "policy all: temperature 90 > 80, health 0 = 0"),
    ("empty", {"temperature": 90.0}, None),
    ("cool", {"health": 1.0}, None),  # what was not measured violates nothing
    ("all", {"temperature": 90.0}, None),
    ("colourful", {"temperature": 70.0}, None),  # a metric that does not exist
    ("colourful", {"temperature": 90.0}, "policy colourful: temperature 90 > 80"),  # does not stop the other rules
]


@pytest.mark.parametrize(("policy", "metrics", "reason"), VERDICTS)
def test_rules_reject_nodes_that_violate_them(policy: str, metrics: Mapping[str, float], reason: str | None) -> None:
    assert verdict(policy, **metrics) == reason


def test_the_latest_value_counts_of_a_resource_with_a_window() -> None:
    nodes = nodes_of({"node": {"usage": {"cpu": {"mean": "1", "latest": "3"}}}})
    rules = MetricRules(policies={"p": Policy((Rule("cpu", "GreaterThan", Quantity(2.0)),))})
    assert rules.rejects(nodes, wants("p")).tolist() == [True]


# -- Which policy ---------------------------------------------------------------------------------------------------


def test_a_pod_names_its_policy_by_a_label_or_else_an_annotation() -> None:
    nodes = measured(temperature=90.0, health=1.0)
    annotated = make_pod("web", annotations={"telemetry-policy": "cool"})
    assert RULES.rejects(nodes, annotated).tolist() == [True]
    both = make_pod("web", labels={"telemetry-policy": "all"}, annotations={"telemetry-policy": "cool"})
    assert RULES.rejects(nodes, both).tolist() == [False]


def test_the_key_is_a_setting() -> None:
    rules = MetricRules(policies=POLICIES, pod_key="policy")
    nodes = measured(temperature=90.0)
    assert rules.rejects(nodes, make_pod("web", labels={"policy": "cool"})).tolist() == [True]
    assert rules.rejects(nodes, wants("cool")).tolist() == [False]


def test_a_pod_that_names_no_policy_takes_the_default_if_there_is_one() -> None:
    nodes = measured(temperature=90.0)
    assert RULES.rejects(nodes, make_pod("web")).tolist() == [False]
    rules = MetricRules(policies=POLICIES, default_policy="cool")
    assert rules.rejects(nodes, make_pod("web")).tolist() == [True]
    assert rules.reasons(nodes, make_pod("web")) == ["policy cool: temperature 90 > 80"]
    assert rules.rejects(nodes, wants("empty")).tolist() == [False]


def test_a_policy_nobody_configured_is_told_by_name_with_those_there_are() -> None:
    assert RULES.pre_filter(wants("cool")) is None
    assert RULES.pre_filter(make_pod("web")) is None
    assert RULES.pre_filter(wants("cold")) == (
        "the pod names the policy 'cold', which is not configured; there are: cool, any, all, room, empty, colourful"
    )
    assert MetricRules(policies={}).pre_filter(wants("x")) == (
        "the pod names the policy 'x', which is not configured; there are: none"
    )


# -- Inside a profile -----------------------------------------------------------------------------------------------


def adviser_of(rules: MetricRules, states: Mapping[str, Mapping[str, Any]]) -> Adviser:
    adviser = Adviser(make_settings(make_profile(LowestUsage(), "x", rules)), Clock())
    adviser.receive(snapshot_of(states))
    return adviser


NODES = {"hot": {"metrics": {"temperature": 90.0}}, "cool": {"metrics": {"temperature": 20.0}}, "silent": {}}


def test_a_pod_with_an_unknown_policy_goes_nowhere_not_even_to_a_node_nobody_told_of() -> None:
    answer = adviser_of(RULES, NODES).filter(wants("cold"), [*NODES, "stranger"])
    assert answer.passed == ()
    assert set(answer.failed) == {*NODES, "stranger"}
    assert all("'cold', which is not configured" in reason for reason in answer.failed.values())
    assert not answer.relaxed
    assert answer.skipped == {}


def test_pods_that_name_no_policy_do_no_harm_to_those_that_do() -> None:
    adviser = adviser_of(RULES, NODES)
    for n in range(10):
        answer = adviser.filter(make_pod(f"plain-{n}"), list(NODES), book=False)
        assert answer.passed == tuple(NODES)
        assert answer.skipped == {}
    assert adviser.filter(wants("cool"), list(NODES)).failed == {"hot": "policy cool: temperature 90 > 80"}


def test_a_policy_that_every_node_violates_may_empty_the_list() -> None:
    answer = adviser_of(RULES, {"hot": NODES["hot"]}).filter(wants("cool"), ["hot"])
    assert answer.passed == ()
    assert not answer.relaxed


def test_a_metric_that_has_expired_rejects_nobody_and_does_again_when_it_is_back() -> None:
    clock = Clock(10_000.0)
    settings = make_settings(make_profile(LowestUsage(), "x", RULES), staleness=Staleness(300.0, 900.0))
    resources = ("cpu", "memory", "temperature")
    core = Core(settings, clock, ObserverSettings(resources=resources))
    core.tell(NodeSeen(make_node("node")))
    verdicts = []
    for age in (0.0, 600.0, 899.0, 901.0):
        clock.now = 10_000.0 + age
        if not age:
            core.feed(make_reading({"node": (1.0, GIB, 90.0)}, clock(), resources=resources))
        verdicts.append("node" in core.filter(wants("cool"), book=False).failed)
    core.feed(make_reading({"node": (1.0, GIB, 95.0)}, clock(), resources=resources))
    verdicts.append("node" in core.filter(wants("cool"), book=False).failed)
    assert verdicts == [True, True, True, False, True]


# -- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"policies": {}, "defaultPolicy": "cool"}, "defaultPolicy names 'cool'"),
        ({"policies": {"p": {"rules": [{"metric": "x", "operator": "Above", "target": 1}]}}}, "operator"),
        ({"policies": {"p": {"rules": [{"metric": "x", "operator": "Equals"}]}}}, "target"),
        ({"policies": {"p": {"rules": [{"metric": "x", "operator": "Equals", "target": "much"}]}}}, "target"),
        ({"policies": {"p": {"rules": [], "join": "noneOf"}}}, "join"),
        ({}, "policies"),
    ],
)
def test_policies_that_cannot_be_meant_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_filter("MetricRules", args)
    assert message in str(caught.value)
    assert "args" in str(caught.value)


def test_targets_are_quantities() -> None:
    rule = {"metric": "free", "operator": "LessThan", "target": "1Ki"}
    made = make_filter("MetricRules", {"policies": {"room": {"rules": [rule]}}})
    assert made == MetricRules(policies={"room": Policy((SCARCE,))})
