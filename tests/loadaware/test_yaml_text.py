from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadaware.yaml_text import Append, CannotEditError, Change, Drop, Remove, Set, edit, write


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("a: 1  # one\nb: 2\n", Set((), "b", 3), "a: 1  # one\nb: 3\n"),
        ("a: 1  # one\nb: 2\n", Set((), "a", 3), "a: 3  # one\nb: 2\n"),
        ("a: 1 # one", Set((), "b", 2), "a: 1 # one\nb: 2\n"),
        ("a: 1\n# end\n", Set((), "b", [1, 2]), "a: 1\nb: [1, 2]\n# end\n"),
        (
            "a:\n  b: 1\n  # in\nc: 2\n",
            Set(("a",), "d", {"x": {"y": 1}}),
            "a:\n  b: 1\n  d:\n    x: {y: 1}\n  # in\nc: 2\n",
        ),
        ("{a: 1}", Set((), "b", {"x": [1]}), "{a: 1, b: {x: [1]}}"),
        ("- a: 1\n  b: 2\n", Remove((0,), "a"), "- b: 2\n"),
        ("a: 1\nb: 2 # two\n", Remove((), "b"), "a: 1\n"),
        ("{a: 1, b: 2}", Remove((), "b"), "{a: 1}"),
        ("a: 1\n", Remove((), "b"), "a: 1\n"),
        ("x:\n  - a: 1 # one\n# end\n", Append(("x",), {"b": 2}), "x:\n  - a: 1 # one\n  - {b: 2}\n# end\n"),
        ("[1]", Append((), 2), "[1, 2]"),
        ("- a: 1\n- b: 2 # two\n- c: 3\n", Drop((), 1), "- a: 1\n- c: 3\n"),
        ("- a: 1\n- c: 3 # three\n# end\n", Drop((), 1), "- a: 1\n# end\n"),
    ],
)
def test_a_change_changes_what_it_names_and_nothing_else(before: str, change: Change, after: str) -> None:
    assert edit(before, [change]) == after


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("a: 1\n", Set(("b",), "c", 1)),
        ("", Set((), "a", 1)),
        ("a: 1\n", Remove((), "a")),
        ("[1]", Set((), "a", 1)),
        ("- 1\n", Drop((), 0)),
        ("a: {}\n", Set(("a",), "b", 1)),
        ("a: 1\n", Append((), 1)),
        ("a: &x [1]\nb: *x\n", Set((), "a", 1)),
        ("{", Set((), "a", 1)),
    ],
)
def test_what_cannot_be_done_in_place_is_said_so(text: str, change: Change) -> None:
    with pytest.raises(CannotEditError):
        edit(text, [change])


scalars = st.integers(-5, 5) | st.sampled_from(["a", "b c", "x: y", "# no", "1", "true", "-"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqrs"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abcd"), values, min_size=1), st.sampled_from("abcdef"), values, st.booleans())
def test_a_key_that_is_set_has_its_value_and_every_other_has_its_own(
    mapping: dict[str, Any], key: str, value: Any, flow: bool
) -> None:
    text = yaml.safe_dump(mapping, default_flow_style=flow, sort_keys=False)
    assert yaml.safe_load(edit(text, [Set((), key, value)])) == mapping | {key: value}
    assert yaml.safe_load(write(mapping)) == mapping
