import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.errors import RequestError
from loadaware.extender.victims import (
    BindingArguments,
    Preemption,
    decode_binding,
    decode_preemption,
    encode_binding,
    encode_candidates,
)
from tests.loadaware.running_server import POD

BINDING = {"PodName": "web-1", "PodNamespace": "shop", "PodUID": "uid-1", "Node": "node-a.example"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def preemption(**members: Any) -> Preemption:
    return decode_preemption(json.dumps({"Pod": POD, **members}).encode())


def by_uid(*uids: str, violations: int = 0) -> dict[str, Any]:
    return {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}


def victim(uid: str, cpu: str = "500m") -> dict[str, Any]:
    return {
        "metadata": {"name": f"pod-{uid}", "uid": uid},
        "spec": {"containers": [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
    }


def answered(asked: Preemption, kept: list[str]) -> Any:
    return json.loads(encode_candidates(asked, kept))["NodeNameToMetaVictims"]


def refusal(body: bytes) -> RequestError:
    with pytest.raises(RequestError) as refused:
        decode_preemption(body)
    return refused.value


# -- Preempt ------------------------------------------------------------------------------------------------------


def test_victims_by_uid_are_read_and_answered_as_they_came() -> None:
    victims = {"a": by_uid("u1", "u2", violations=1), "b": by_uid("u3")}
    asked = preemption(NodeNameToVictims=None, NodeNameToMetaVictims=victims)
    assert asked.pod.identity == "uid-1"
    assert list(asked.candidates) == ["a", "b"]
    assert asked.requests == {}
    assert answered(asked, ["a", "b"]) == victims
    assert answered(asked, ["b"]) == {"b": victims["b"]}


def test_whole_victims_are_answered_by_uid_and_their_requests_are_known() -> None:
    whole = {"a": {"Pods": [victim("u1"), victim("u2", "2")], "NumPDBViolations": 3}, "b": {"Pods": [victim("u3")]}}
    asked = preemption(NodeNameToVictims=whole, NodeNameToMetaVictims=None)
    assert answered(asked, ["a", "b"]) == {"a": by_uid("u1", "u2", violations=3), "b": by_uid("u3")}
    assert {uid: amounts["cpu"] for uid, amounts in asked.requests.items()} == {"u1": 0.5, "u2": 2.0, "u3": 0.5}
    assert asked.requests["u1"]["memory"] == 2.0**30


def test_whatever_may_be_absent_may_be_null() -> None:
    asked = preemption(NodeNameToMetaVictims={"a": None, "b": {"Pods": None}, "c": {}})
    assert list(asked.candidates) == ["a", "b", "c"]
    assert answered(asked, ["a"]) == {"a": {"Pods": None, "NumPDBViolations": 0}}
    asked = preemption(NodeNameToVictims={"a": None, "b": {"Pods": None}, "c": {"Pods": []}})
    assert answered(asked, ["a", "c"]) == {"a": by_uid(), "c": by_uid()}


def test_no_candidates_are_no_mistake() -> None:
    assert answered(preemption(NodeNameToMetaVictims={}), []) == {}
    assert answered(preemption(NodeNameToVictims={}), []) == {}


def test_whole_victims_without_a_uid_lend_their_requests_to_nobody() -> None:
    asked = preemption(NodeNameToVictims={"a": {"Pods": [victim("")]}})
    assert asked.requests == {}


def test_keys_in_any_case_are_read_as_go_reads_them() -> None:
    expected = {"Node-A": by_uid("u1", violations=1)}
    by_id = {"pod": POD, "nodeNameToMetaVictims": {"Node-A": {"pods": [{"uid": "u1"}], "numPDBViolations": 1}}}
    assert answered(decode_preemption(json.dumps(by_id).encode()), ["Node-A"]) == expected
    whole = {"POD": POD, "nodenametovictims": {"Node-A": {"pods": [victim("u1")], "numpdbviolations": 1}}}
    asked = decode_preemption(json.dumps(whole).encode())
    assert answered(asked, ["Node-A"]) == expected
    assert asked.requests["u1"]["cpu"] == 0.5


def test_amounts_that_cannot_be_read_are_left_out_and_the_rest_stands() -> None:
    bad_pod = POD | {"spec": {"priority": 7, "containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}
    asked = preemption(Pod=bad_pod, NodeNameToVictims={"a": {"Pods": [victim("u1", "many"), victim("u2")]}})
    assert asked.pod.priority == 7
    assert asked.doubts[0].startswith("bad_quantity: 'lots'")
    assert asked.requests["u1"] == {}
    assert asked.requests["u2"]["cpu"] == 0.5


@pytest.mark.parametrize("amount", ["-1", "1e400", "9" * 400])
def test_victims_that_request_less_than_nothing_or_without_end_free_nothing(amount: str) -> None:
    assert preemption(NodeNameToVictims={"a": {"Pods": [victim("u1", amount)]}}).requests["u1"] == {}


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"Pod": None, "NodeNameToMetaVictims": {}}, "no_pod"),
        ({}, "no_nodes"),
        ({"NodeNameToMetaVictims": None, "NodeNameToVictims": None}, "no_nodes"),
        ({"NodeNameToMetaVictims": []}, "bad_json"),
        ({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 5}]}}}, "bad_json"),
        ({"NodeNameToMetaVictims": {"a": {"Pods": [None]}}}, "bad_json"),
        ({"NodeNameToMetaVictims": {"a": {"NumPDBViolations": 2**64}}}, "bad_json"),
        ({"NodeNameToVictims": {"a": {"Pods": "u1"}}}, "bad_json"),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_with_a_reason(members: dict[str, Any], reason: str) -> None:
    assert refusal(json.dumps({"Pod": POD, **members}).encode()).reason == reason


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b'"\xff"', b"[" * 100_000, b'{"Pod":' * 100_000])
def test_bytes_that_are_no_such_json_are_refused(body: bytes) -> None:
    assert refusal(body).reason == "bad_json"


@given(JSON, JSON, JSON, st.sampled_from(["NodeNameToVictims", "NodeNameToMetaVictims", "nodenametometavictims"]))
def test_any_json_is_a_preemption_that_can_be_answered_or_a_request_error(
    pod: Any, pods: Any, violations: Any, form: str
) -> None:
    victims: list[Any] = [{"a": {"Pods": pods, "NumPDBViolations": violations}}, {"a": {"Pods": [pods]}}, {"a": pods}]
    for body in ({"Pod": one, form: nodes} for one in (POD, pod) for nodes in [*victims, pods]):
        try:
            asked = decode_preemption(json.dumps(body).encode())
        except RequestError:
            continue
        assert answered(asked, list(asked.candidates)).keys() == asked.candidates.keys()


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for decode in (decode_preemption, decode_binding):
        with pytest.raises(RequestError):
            decode(body)


# -- Bind ---------------------------------------------------------------------------------------------------------


def test_a_binding_is_read_with_and_without_a_uid_and_in_any_case() -> None:
    expected = BindingArguments("web-1", "shop", "node-a.example", "uid-1")
    assert decode_binding(json.dumps(BINDING).encode()) == expected
    lower = {key.lower(): value for key, value in BINDING.items()}
    assert decode_binding(json.dumps(lower).encode()) == expected
    without = {key: value for key, value in BINDING.items() if key != "PodUID"}
    assert decode_binding(json.dumps(without).encode()).pod_uid == ""


@pytest.mark.parametrize("member", ["PodName", "PodNamespace", "Node"])
@pytest.mark.parametrize("value", [None, "", 5, ".", "..", "a/b", "../x", "a?b", "a#b", "a%2Fb", "A", "a b", "a\n"])
def test_a_name_that_kubernetes_would_not_give_is_refused(member: str, value: Any) -> None:
    with pytest.raises(RequestError) as refused:
        decode_binding(json.dumps(BINDING | {member: value}).encode())
    assert refused.value.reason == "bad_json"
    assert "ExtenderBindingArgs" in str(refused.value)


def test_the_answer_to_a_binding_carries_an_error_or_an_empty_one() -> None:
    assert json.loads(encode_binding()) == {"Error": ""}
    assert json.loads(encode_binding('pod "x" not found')) == {"Error": 'pod "x" not found'}
