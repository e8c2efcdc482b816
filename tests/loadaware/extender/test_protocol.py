import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadaware.errors import RequestError
from loadaware.extender import protocol
from loadaware.extender.protocol import Arguments, decode_arguments, decode_known
from loadaware.filtering import Filtering
from loadaware.known_names import KnownNames
from loadaware.ranking import Ranking

POD: dict[str, Any] = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "uid-1", "creationTimestamp": None, "labels": None},
    "spec": {
        "schedulerName": "packing",
        "priority": 7,
        "containers": [{"name": "web", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}}],
        "initContainers": None,
    },
    "status": {"phase": "Pending"},
}


def body(**members: Any) -> bytes:
    return json.dumps(members).encode()


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {}, "status": {"capacity": {"cpu": "4"}}, **more}


def node_list(*names: str) -> dict[str, Any]:
    return {"metadata": {}, "items": [node(name) for name in names]}


def refusal(content: bytes, *, keep_nodes: bool = False) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode_arguments(content, keep_nodes=keep_nodes)
    return caught.value


def ranking(**priorities: int) -> Ranking:
    numbers = np.array(list(priorities.values()), dtype=np.int64)
    return Ranking("default", list(priorities), numbers.astype(np.float64), numbers)


# -- Requests -----------------------------------------------------------------------------------------------------


def test_names_and_pod_are_read_as_kube_scheduler_sends_them_with_null_for_what_is_absent() -> None:
    arguments = decode_arguments(body(Pod=POD, Nodes=None, NodeNames=["b", "a"]))
    assert arguments.names == ["b", "a"]
    assert arguments.whole_nodes is None
    assert arguments.doubts == ()
    assert (arguments.pod.key, arguments.pod.identity) == ("shop/web-1", "uid-1")
    assert arguments.pod.scheduler_name == "packing"
    assert arguments.pod.shape.request("cpu") == 0.25
    assert arguments.pod.shape.request("memory") == 64 * 2**20


def test_members_that_we_do_not_know_are_passed_over() -> None:
    arguments = decode_arguments(body(Pod=POD | {"apiVersion": "v1"}, NodeNames=["a"], Hint={"deep": [1, {}]}))
    assert arguments.names == ["a"]


@pytest.mark.parametrize("pod_key", ["Pod", "pod", "POD"])
@pytest.mark.parametrize("names_key", ["NodeNames", "nodenames", "nodeNames", "NODENAMES"])
def test_keys_are_taken_in_any_case_as_go_takes_them(pod_key: str, names_key: str) -> None:
    arguments = decode_arguments(json.dumps({pod_key: POD, names_key: ["a"], "Nodes": None}).encode())
    assert arguments.names == ["a"]
    assert arguments.pod.name == "web-1"


@pytest.mark.parametrize("nodes_key", ["Nodes", "nodes", "NODES"])
@pytest.mark.parametrize("items_key", ["items", "Items"])
@pytest.mark.parametrize("keep_nodes", [False, True])
def test_keys_of_whole_nodes_are_taken_in_any_case_too(nodes_key: str, items_key: str, keep_nodes: bool) -> None:
    content = json.dumps({"Pod": POD, "NodeNames": None, nodes_key: {items_key: [node("a"), node("b")]}}).encode()
    assert decode_arguments(content, keep_nodes=keep_nodes).names == ["a", "b"]


def test_whole_nodes_are_kept_byte_for_byte_if_they_are_wanted_back() -> None:
    odd = b'{"metadata": {"name": "b"},  "odd":[1, 2.50, "\\u00e9"]}'
    content = b'{"Pod": {}, "NodeNames": null, "Nodes": {"items": [%b, {"metadata":{"name":"a"}}]}}' % odd
    arguments = decode_arguments(content, keep_nodes=True)
    assert arguments.names == ["b", "a"]
    assert arguments.whole_nodes is not None
    assert bytes(arguments.whole_nodes["b"]) == odd


def test_whole_nodes_are_not_kept_if_nobody_wants_them_back() -> None:
    assert decode_arguments(body(Pod=POD, Nodes=node_list("a"))).whole_nodes is None


def test_names_go_before_whole_nodes_if_both_are_sent() -> None:
    arguments = decode_arguments(body(Pod=POD, Nodes=node_list("a"), NodeNames=["b"]), keep_nodes=True)
    assert arguments.names == ["b"]
    assert arguments.whole_nodes is None


@pytest.mark.parametrize("nodes", [{"items": []}, {"items": None}, {}])
@pytest.mark.parametrize("keep_nodes", [False, True])
def test_an_empty_list_of_nodes_is_a_list(nodes: dict[str, Any], keep_nodes: bool) -> None:
    assert decode_arguments(body(Pod=POD, Nodes=nodes), keep_nodes=keep_nodes).names == []
    assert decode_arguments(body(Pod=POD, NodeNames=[]), keep_nodes=keep_nodes).names == []


def test_a_node_named_twice_is_asked_for_twice_by_name_or_whole() -> None:
    assert decode_arguments(body(Pod=POD, NodeNames=["a", "b", "a"])).names == ["a", "b", "a"]
    for keep_nodes in (False, True):
        arguments = decode_arguments(body(Pod=POD, Nodes=node_list("a", "b", "a")), keep_nodes=keep_nodes)
        assert arguments.names == ["a", "b", "a"]


@pytest.mark.parametrize("content", [b'{"NodeNames": ["a"]}', b'{"Pod": null, "NodeNames": ["a"]}'])
def test_a_body_without_a_pod_is_refused(content: bytes) -> None:
    assert refusal(content).reason == "no_pod"


@pytest.mark.parametrize("content", [b'{"Pod": {}}', b'{"Pod": {}, "NodeNames": null, "Nodes": null }'])
def test_a_body_without_nodes_is_refused(content: bytes) -> None:
    assert refusal(content).reason == "no_nodes"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"kind: Pod",
        b'{"Pod": {}, "NodeNames": ["a"]',
        b'{"Pod": 5, "NodeNames": ["a"]}',
        b'{"Pod": {}, "NodeNames": "a"}',
        b'{"Pod": {}, "NodeNames": [null]}',
        b'{"Pod": {}, "NodeNames": ["\xff"]}',
        b'{"Pod": {"metadata": null}, "NodeNames": ["a"]}',
        b'{"Pod": {}, "NodeNames": ["a"], "More": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["empty", "null", "list", "yaml", "cut", "pod", "names", "null-name", "utf-8", "metadata", "nested"],
)
def test_what_is_not_the_wires_json_is_refused_in_words(content: bytes) -> None:
    error = refusal(content)
    assert (error.reason, error.status) == ("bad_json", 400)
    assert str(error).startswith("the body is not ExtenderArgs as JSON: ")
    assert len(str(error)) < 200


@pytest.mark.parametrize("nodes", [b"5", b"[]", b'{"items": {}}', b'{"items": [{}]}', b'{"items": [{"metadata": 1}]}'])
@pytest.mark.parametrize("keep_nodes", [False, True])
def test_nodes_that_are_no_node_list_are_refused(nodes: bytes, keep_nodes: bool) -> None:
    assert refusal(b'{"Pod": {}, "Nodes": %b}' % nodes, keep_nodes=keep_nodes).reason == "bad_nodes"


# -- Doubts: the pod is still to be placed ------------------------------------------------------------------------


@pytest.mark.parametrize("amount", ["lots", "", "-1", "1e400", "9" * 400, 10**400, -0.5], ids=lambda a: str(a)[:6])
@pytest.mark.parametrize("where", ["containers", "initContainers", "overhead", "limits"])
def test_an_amount_that_cannot_be_believed_leaves_the_pod_declaring_nothing(amount: Any, where: str) -> None:
    spec = json.loads(json.dumps(POD["spec"]))
    if where == "overhead":
        spec["overhead"] = {"cpu": amount}
    elif where == "limits":
        spec["containers"][0]["resources"]["limits"] = {"cpu": amount}
    else:
        spec[where] = [{"resources": {"requests": {"cpu": amount}}}]
    arguments = decode_arguments(body(Pod=POD | {"spec": spec}, NodeNames=["a"]))
    assert [doubt.partition(":")[0] for doubt in arguments.doubts] == ["bad_quantity"]
    assert arguments.pod.shape.requests == arguments.pod.shape.limits == ()


def test_a_pod_with_a_bad_amount_keeps_its_scheduler_name_and_its_priority() -> None:
    spec = POD["spec"] | {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}
    pod = decode_arguments(body(Pod=POD | {"spec": spec}, NodeNames=["a"])).pod
    assert (pod.scheduler_name, pod.priority, pod.identity) == ("packing", 7, "uid-1")


def test_an_amount_as_large_as_kubernetes_keeps_is_believed() -> None:
    spec = {"containers": [{"resources": {"requests": {"memory": "7Ei"}}}]}
    arguments = decode_arguments(body(Pod={"spec": spec}, NodeNames=["a"]))
    assert arguments.doubts == ()
    assert arguments.pod.shape.request("memory") == 7 * 2.0**60


# -- Any body at all ----------------------------------------------------------------------------------------------

NAMES = st.text(max_size=5)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
QUANTITIES = st.dictionaries(st.sampled_from(["cpu", "memory"]), ANYTHING | st.sampled_from(["1", "250m", "2Gi"]))
RESOURCES = st.fixed_dictionaries({}, optional={"requests": QUANTITIES, "limits": QUANTITIES}) | ANYTHING
CONTAINERS = st.lists(st.fixed_dictionaries({}, optional={"resources": RESOURCES}), max_size=2) | ANYTHING
SPECS = st.fixed_dictionaries(
    {}, optional={"containers": CONTAINERS, "schedulerName": ANYTHING, "overhead": QUANTITIES}
)
PODS = st.fixed_dictionaries({}, optional={"metadata": ANYTHING, "spec": SPECS | ANYTHING, "status": ANYTHING})
NODES = st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"name": NAMES | ANYTHING})}) | ANYTHING
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "Pod": PODS | ANYTHING,
        "pod": PODS,
        "NodeNames": st.lists(NAMES, max_size=4) | ANYTHING,
        "nodenames": st.lists(NAMES, max_size=4),
        "Nodes": st.fixed_dictionaries({"items": st.lists(NODES, max_size=3) | ANYTHING}) | ANYTHING,
    },
)


def outcome(content: bytes, keep_nodes: bool) -> Arguments | RequestError:
    try:
        return decode_arguments(content, keep_nodes=keep_nodes)
    except RequestError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.one_of(MEMBERS, ANYTHING), st.booleans())
def test_any_json_yields_arguments_or_a_refusal(value: Any, keep_nodes: bool) -> None:
    said = outcome(json.dumps(value).encode(), keep_nodes)
    if isinstance(said, RequestError):
        assert said.reason in {"bad_json", "bad_nodes", "no_pod", "no_nodes"}
    else:
        assert all(isinstance(name, str) for name in said.names)
        assert all(np.isfinite(amount) for _, amount in said.pod.shape.requests)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.booleans())
@example(b'{"Pod":{},"NodeNames":["\\ud800"]}', True)
@example(b'{"Pod":{"metadata":{"name":"\xc3("}},"NodeNames":[]}', True)
@example(b'{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"\xff"}}]}}', True)
def test_any_bytes_yield_arguments_or_a_refusal(content: bytes, keep_nodes: bool) -> None:
    said = outcome(content, keep_nodes)
    assert isinstance(said, Arguments) or said.status == 400


def outcome_among(content: bytes, table: tuple[str, ...]) -> Arguments | RequestError:
    try:
        return decode_known(content, table)
    except RequestError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.one_of(MEMBERS, ANYTHING), st.lists(NAMES, unique=True, max_size=5))
@example({"Pod": {}, "NodeNames": [0]}, [])
@example({"Pod": {}, "NodeNames": [0, 1]}, ["a", "b"])
@example({"Pod": {}, "NodeNames": [], "Nodes": {"items": [{"metadata": {"name": "a"}}]}}, ["a"])
@example({"Pod": {}, "NodeNames": ["b", "a", "b"]}, ["a", "b"])
@example({"Pod": {}, "NodeNames": ["b", "stranger"]}, ["a", "b"])
def test_reading_names_as_rows_reads_the_same(value: Any, table: list[str]) -> None:
    content = json.dumps(value).encode()
    plain, among = outcome(content, keep_nodes=False), outcome_among(content, tuple(table))
    if isinstance(plain, RequestError):
        assert isinstance(among, RequestError)
        assert (among.reason, str(among)) == (plain.reason, str(plain))
    else:
        assert isinstance(among, Arguments)
        assert (among.pod, list(among.names), among.doubts) == (plain.pod, list(plain.names), plain.doubts)


def test_known_names_are_read_without_a_string_for_each() -> None:
    table = tuple(f"node-{number}" for number in range(50))
    names = decode_known(body(Pod=POD, NodeNames=["node-7", "node-0"]), table).names
    assert isinstance(names, KnownNames)
    assert (names.rows.tolist(), names[0], list(names[1:])) == ([7, 0], table[7], ["node-0"])
    assert names[0] is table[7]


@given(st.lists(NAMES, max_size=6), st.booleans(), st.booleans())
def test_every_node_asked_for_is_answered_once_per_asking(names: list[str], whole: bool, keep_nodes: bool) -> None:
    asked = {"Nodes": node_list(*names)} if whole else {"NodeNames": names}
    arguments = decode_arguments(body(Pod=POD, **asked), keep_nodes=keep_nodes)
    assert [host["Host"] for host in json.loads(protocol.encode_all_equal(arguments))] == names
    assert passing_names(json.loads(protocol.encode_all_passing(arguments))) == names


def passing_names(answer: dict[str, Any]) -> list[str]:
    if answer["Nodes"] is not None:
        assert answer["NodeNames"] is None
        return [item["metadata"]["name"] for item in answer["Nodes"]["items"]]
    names: list[str] = answer["NodeNames"]
    return names


# -- Answers ------------------------------------------------------------------------------------------------------


def test_a_prioritize_answer_is_a_bare_list_in_the_order_asked() -> None:
    assert json.loads(protocol.encode_priorities(ranking(b=30, a=0, c=7))) == [
        {"Host": "b", "Score": 30},
        {"Host": "a", "Score": 0},
        {"Host": "c", "Score": 7},
    ]


def test_a_prioritize_answer_about_no_node_is_an_empty_list() -> None:
    assert protocol.encode_priorities(ranking()) == b"[]"


TABLES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=12, unique=True)


@settings(deadline=None)
@given(table=TABLES, data=st.data())
@example(table=["a", "b" * 200, "c"], data=None)
def test_hosts_copied_from_a_table_are_those_written_one_by_one(table: list[str], data: st.DataObject | None) -> None:
    rows, scores = [2, 0, 1, 0], [0, 999, 7, 30]
    if data is not None:
        rows = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=20))
        scores = [data.draw(st.integers(0, 1200)) for _ in rows]
    names, numbers = [table[row] for row in rows], np.array(scores, dtype=np.int64)
    one_by_one = Ranking("default", names, numbers.astype(np.float64), numbers)
    from_table = Ranking("default", names, numbers.astype(np.float64), numbers, rows=np.array(rows), table=tuple(table))
    written = json.loads(protocol.encode_priorities(from_table))
    assert written == json.loads(protocol.encode_priorities(one_by_one))
    assert written == [{"Host": name, "Score": score} for name, score in zip(names, scores, strict=True)]


def test_another_table_of_hosts_is_noticed() -> None:
    zero, row = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.intp)
    for name in ("one", "two", "two", "one"):
        answer = protocol.encode_priorities(Ranking("p", [name], np.zeros(1), zero, rows=row, table=(name,)))
        assert json.loads(answer) == [{"Host": name, "Score": 0}]


def test_a_filter_answer_by_name_has_gos_names_and_both_maps_of_reasons() -> None:
    filtering = Filtering("default", ("b", "a"), {"c": "busy"}, {"d": "no such label"})
    assert json.loads(protocol.encode_filtering(filtering, None)) == {
        "Nodes": None,
        "NodeNames": ["b", "a"],
        "FailedNodes": {"c": "busy"},
        "FailedAndUnresolvableNodes": {"d": "no such label"},
        "Error": "",
    }


def test_a_filter_answer_with_whole_nodes_gives_those_that_pass_back_as_they_came() -> None:
    arguments = decode_arguments(body(Pod=POD, Nodes=node_list("a", "b", "c")), keep_nodes=True)
    filtering = Filtering("default", ("c", "a"), {"b": "busy"}, {})
    answer = json.loads(protocol.encode_filtering(filtering, arguments.whole_nodes))
    assert answer["Nodes"] == {"items": [node("c"), node("a")]}
    assert answer["NodeNames"] is None
    assert answer["FailedNodes"] == {"b": "busy"}


@pytest.mark.parametrize("asked", [{"NodeNames": ["a"]}, {"Nodes": node_list("a")}], ids=["names", "whole"])
def test_the_list_of_a_filter_answer_is_never_null_even_if_no_node_passes(asked: dict[str, Any]) -> None:
    arguments = decode_arguments(body(Pod=POD, **asked), keep_nodes=True)
    answer = json.loads(protocol.encode_filtering(Filtering("default", (), {"a": "busy"}, {}), arguments.whole_nodes))
    assert passing_names(answer) == []
    assert answer["FailedNodes"] == {"a": "busy"}
    assert answer["FailedAndUnresolvableNodes"] == {}


def test_arguments_know_of_no_doubt_unless_there_is_one() -> None:
    assert Arguments(decode_arguments(body(Pod=POD, NodeNames=[])).pod, []).doubts == ()
