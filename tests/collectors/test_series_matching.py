"""Which series speaks of which node: a table of cases, then laws."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.reading import NodeIdentity
from collectors.series_matching import NodeMatcher, NodeRule, host_of, match_nodes, match_pods

PLAIN = (
    NodeIdentity("node-1", ("10.0.0.1", "fd00::1", "node-1")),
    NodeIdentity("node-2", ("10.0.0.2", "203.0.113.2", "node-2")),
    NodeIdentity("node-3"),
)
QUALIFIED = (
    NodeIdentity("web.east.example", ("10.1.0.1", "web.east.example")),
    NodeIdentity("web.west.example", ("10.1.0.2", "web.west.example")),
    NodeIdentity("db.east.example", ("10.1.0.3",)),
)
CLOUD = (
    NodeIdentity("ip-10-2-0-1.ec2.internal", ("10.2.0.1", "ip-10-2-0-1.ec2.internal", "ec2-1.amazonaws.example")),
    NodeIdentity("ip-10-2-0-2.ec2.internal", ("10.2.0.2", "ip-10-2-0-2.ec2.internal", "ec2-2.amazonaws.example")),
)


@pytest.mark.parametrize(
    ("nodes", "value", "expected"),
    [
        (PLAIN, "node-1", "node-1"),
        (PLAIN, "NODE-1", "node-1"),
        (PLAIN, "node-1:9100", "node-1"),
        (PLAIN, "node-1.example.internal:9100", "node-1"),
        (PLAIN, "Node-1.Example.Internal.", "node-1"),
        (PLAIN, "10.0.0.1", "node-1"),
        (PLAIN, "10.0.0.2:9100", "node-2"),
        (PLAIN, "203.0.113.2:443", "node-2"),
        (PLAIN, "fd00::1", "node-1"),
        (PLAIN, "[fd00::1]:9100", "node-1"),
        (PLAIN, "FD00:0:0:0::1", "node-1"),
        (PLAIN, "[fd00::1%eth0]:9100", "node-1"),
        (PLAIN, "::ffff:10.0.0.1", "node-1"),
        (PLAIN, "https://10.0.0.1:10250/metrics", "node-1"),
        (PLAIN, "node-3:9100", "node-3"),
        (PLAIN, "node-10", None),
        (PLAIN, "node", None),
        (PLAIN, "10.0.0.10:9100", None),
        (PLAIN, "1.10.0.0.1", None),
        (PLAIN, "", None),
        (PLAIN, "a b c", None),
        (QUALIFIED, "web.east.example:9100", "web.east.example"),
        (QUALIFIED, "web", None),
        (QUALIFIED, "web:9100", None),
        (QUALIFIED, "web.north.example", None),
        (QUALIFIED, "web.east", "web.east.example"),
        (QUALIFIED, "db", "db.east.example"),
        (QUALIFIED, "db.west.example", None),
        (CLOUD, "ip-10-2-0-1", "ip-10-2-0-1.ec2.internal"),
        (CLOUD, "ec2-2.amazonaws.example:9100", "ip-10-2-0-2.ec2.internal"),
        (CLOUD, "ip-10-2-0-1.other.internal", None),
    ],
)
def test_a_value_means_the_node_it_names(nodes: tuple[NodeIdentity, ...], value: str, expected: str | None) -> None:
    assert NodeMatcher(nodes).node_of(value) == expected


def test_an_address_that_two_nodes_share_means_neither() -> None:
    matcher = NodeMatcher([NodeIdentity("a", ("127.0.0.1",)), NodeIdentity("b", ("127.0.0.1",))])
    assert matcher.node_of("127.0.0.1:10250") is None
    assert matcher.node_of("a") == "a"


def test_a_name_of_one_node_beats_the_short_name_of_another() -> None:
    matcher = NodeMatcher([NodeIdentity("web"), NodeIdentity("web.east.example")])
    assert matcher.node_of("web") == "web"
    assert matcher.node_of("web.east.example") == "web.east.example"
    assert matcher.node_of("web.north.example") == "web"


def test_a_host_name_address_does_not_beat_the_short_name_of_another_node() -> None:
    matcher = NodeMatcher([NodeIdentity("web.east", ("web",)), NodeIdentity("web.west")])
    assert matcher.node_of("web") is None


@pytest.mark.parametrize(
    ("value", "host"),
    [("Host.:80", "host"), ("http://h:1/x", "h"), ("[::1]", "::1"), ("[h]", None), (" 10.0.0.1 ", "10.0.0.1")],
)
def test_a_host_is_freed_from_port_scheme_brackets_and_case(value: str, host: str | None) -> None:
    assert host_of(value) == host


# -- Choosing the label ----------------------------------------------------------------------------------------------


def test_the_label_that_names_the_most_nodes_is_chosen() -> None:
    """kube-state-metrics on the host network: one instance speaks of all nodes."""
    series = [{"instance": "10.0.0.1:8080", "node": name, "job": "x"} for name in ("node-1", "node-2", "node-3")]
    matching = match_nodes(series, NodeMatcher(PLAIN))
    assert matching.label == "node"
    assert matching.owners == ("node-1", "node-2", "node-3")


def test_the_node_label_wins_a_tie() -> None:
    matching = match_nodes([{"instance": "10.0.0.2:9100", "node": "node-1"}], NodeMatcher(PLAIN))
    assert (matching.label, matching.owners) == ("node", ("node-1",))


def test_a_label_that_names_no_node_is_passed_over() -> None:
    series = [{"node": "prod", "instance": "10.0.0.1:9100"}, {"node": "prod", "instance": "10.0.0.2:9100"}]
    matching = match_nodes(series, NodeMatcher(PLAIN))
    assert (matching.label, matching.owners) == ("instance", ("node-1", "node-2"))


def test_an_unusual_label_is_found_if_no_usual_one_serves() -> None:
    series = [{"a": "node-1", "machine": "node-1"}, {"a": "x", "machine": "node-2"}]
    matching = match_nodes(series, NodeMatcher(PLAIN))
    assert (matching.label, matching.owners) == ("machine", ("node-1", "node-2"))


def test_a_given_label_is_the_only_one_looked_at() -> None:
    series = [{"node": "node-1", "machine": "node-2"}]
    assert match_nodes(series, NodeMatcher(PLAIN), NodeRule(label="machine")).owners == ("node-2",)
    assert match_nodes(series, NodeMatcher(PLAIN), NodeRule(label="absent")).owners == (None,)


@pytest.mark.parametrize("pattern", ["^cluster-a/([^/]+)/", "^cluster-a/(?P<node>[^/]+)", "node-[0-9]+"])
def test_a_pattern_cuts_the_node_out_of_a_value(pattern: str) -> None:
    series = [{"path": "cluster-a/node-2/cpu"}, {"path": "elsewhere"}]
    matching = match_nodes(series, NodeMatcher(PLAIN), NodeRule("path", pattern))
    assert matching.owners == ("node-2", None)
    assert matching.unmatched_examples == ("{path='elsewhere'}",)


def test_the_group_called_node_wins_over_the_first_group() -> None:
    rule = NodeRule("path", "^([^/]+)/(?P<node>[^/]+)")
    assert match_nodes([{"path": "node-1/node-2"}], NodeMatcher(PLAIN), rule).owners == ("node-2",)


def test_a_pattern_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="is no regular expression"):
        NodeRule(pattern="(")


def test_a_matching_tells_strangers_and_repetitions() -> None:
    series = [{"node": name} for name in ("node-1", "node-1", "node-9", "node-2")]
    matching = match_nodes(series, NodeMatcher(PLAIN))
    assert matching.unmatched == 1
    assert matching.unmatched_examples == ("{node='node-9'}",)
    assert matching.repeated == ("node-1",)
    assert matching.counts == {"node-1": 2, "node-2": 1}


def test_no_series_match_nothing() -> None:
    matching = match_nodes([], NodeMatcher(PLAIN))
    assert (matching.label, matching.owners, matching.unmatched) == (None, (), 0)


def test_pods_are_taken_at_the_word_of_their_labels() -> None:
    series = [{"namespace": "a", "pod": "p"}, {"namespace": "a"}, {"pod": "p"}]
    assert match_pods(series).owners == ("a/p", None, None)
    assert match_pods([{"ns": "a", "name": "p"}], "ns", "name").owners == ("a/p",)


# -- Laws ------------------------------------------------------------------------------------------------------------

LAW = settings(max_examples=60, deadline=None)
LABELS = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=4).filter(
    lambda text: text[0] != "-" and text[-1] != "-" and not text.isdecimal()
)
DOMAINS = st.sampled_from(["", ".east.example", ".west.example", ".east", ".x"])
NAMES = st.builds(str.__add__, st.sampled_from(["a", "b", "node-1", "node-10"]) | LABELS, DOMAINS)
ADDRESSES = st.one_of(
    st.ip_addresses(network="10.0.0.0/29").map(str), st.ip_addresses(network="fd00::/126").map(str), NAMES
)
NODES = st.lists(
    st.builds(NodeIdentity, NAMES, st.lists(ADDRESSES, max_size=3).map(tuple)),
    min_size=1,
    max_size=6,
    unique_by=lambda node: node.name,
)
PORTS = st.sampled_from(["", ":9100"])


def _rendered(text: str, port: str, shout: bool) -> str:
    host = f"[{text}]" if ":" in text and port else text
    return (host.upper() if shout else host) + port


@LAW
@given(NODES, st.data())
def test_the_order_of_nodes_is_irrelevant(nodes: list[NodeIdentity], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(nodes))
    values = data.draw(st.lists(NAMES | ADDRESSES, max_size=8))
    first, second = NodeMatcher(nodes), NodeMatcher(shuffled)
    assert [first.node_of(value) for value in values] == [second.node_of(value) for value in values]


@LAW
@given(NODES, st.data(), PORTS, st.booleans())
def test_every_node_is_found_by_its_own_name(
    nodes: list[NodeIdentity], data: st.DataObject, port: str, shout: bool
) -> None:
    node = data.draw(st.sampled_from(nodes))
    assert NodeMatcher(nodes).node_of(_rendered(node.name, port, shout)) == node.name


@LAW
@given(NODES, st.data(), PORTS, st.booleans())
def test_no_node_gets_the_series_of_another(
    nodes: list[NodeIdentity], data: st.DataObject, port: str, shout: bool
) -> None:
    """A name or address of one node, or its short host name, is never taken for another node's, unless that other
    is called exactly so.
    """
    node = data.draw(st.sampled_from(nodes))
    known = [node.name, *node.addresses]
    shorts = [text.partition(".")[0] for text in known if host_of(text) and not text[0].isdecimal()]
    shorts = [text for text in shorts if ":" not in text]
    value = data.draw(st.sampled_from(known + shorts))
    found = NodeMatcher(nodes).node_of(_rendered(value, port, shout))
    exact = [other.name for other in nodes if value in (other.name, *other.addresses)]
    assert found in {None, node.name, *exact}
    if exact == [node.name] and value not in shorts:
        assert found == node.name


@LAW
@given(NODES, st.data())
def test_a_fully_qualified_name_never_means_a_node_with_another_one(
    nodes: list[NodeIdentity], data: st.DataObject
) -> None:
    node = data.draw(st.sampled_from(nodes))
    stranger = node.name.partition(".")[0] + ".elsewhere.test"
    found = NodeMatcher(nodes).node_of(stranger)
    qualified = {
        other.name for other in nodes if any("." in text for text in (other.name, *other.addresses) if _is_name(text))
    }
    assert found not in qualified


def _is_name(text: str) -> bool:
    return ":" not in text and not text.replace(".", "").isdecimal()


@LAW
@given(NODES, st.data())
def test_the_order_of_series_is_irrelevant(nodes: list[NodeIdentity], data: st.DataObject) -> None:
    series = data.draw(
        st.lists(st.dictionaries(st.sampled_from(["node", "instance", "zone"]), NAMES | ADDRESSES), max_size=6)
    )
    order = data.draw(st.permutations(range(len(series))))
    matcher = NodeMatcher(nodes)
    straight, mixed = match_nodes(series, matcher), match_nodes([series[i] for i in order], matcher)
    assert mixed.label == straight.label
    assert mixed.owners == tuple(straight.owners[i] for i in order)
