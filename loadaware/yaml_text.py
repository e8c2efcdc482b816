"""Changes of a YAML file as text, so that its comments stay: a key set, a key removed, an item added or removed.

    edit("a: 1  # one", [Set((), "a", 3)])   ->   "a: 3  # one"

A change replaces the text of what it changes and nothing else; comments inside of that are lost. What cannot be done
that way raises CannotEditError: whoever asked writes the whole file anew then, and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


class CannotEditError(Exception):
    """The text is written in a way that cannot be changed in place: an anchor, say, or nothing to hold on to."""


@dataclass(frozen=True)
class Set:
    """A key of the mapping at a path gets a value."""

    path: Path
    key: str
    value: Any


@dataclass(frozen=True)
class Remove:
    """A key of the mapping at a path goes away; nothing happens if it is not there."""

    path: Path
    key: str


@dataclass(frozen=True)
class Append:
    """A list at a path gets another item at its end."""

    path: Path
    value: Any


@dataclass(frozen=True)
class Drop:
    """An item of a list at a path goes away."""

    path: Path
    number: int


Change = Set | Remove | Append | Drop


def edit(text: str, changes: Sequence[Change]) -> str:
    """One change after the other. Raises CannotEditError."""
    for change in changes:
        text = _change(text, change)
    return text


def write(value: Any) -> str:
    """A value as YAML, laid out for people, keys in the order given."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(value, Dumper=Plain, sort_keys=False, width=100, default_flow_style=None, allow_unicode=True))


def _change(text: str, change: Change) -> str:
    import yaml

    try:
        node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise CannotEditError(str(error)) from error
    if "&" in text and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
        raise CannotEditError("the file has anchors")
    for step in change.path:
        node = _child(node, step)
    match change:
        case Set():
            return _set(text, node, change.key, change.value)
        case Remove():
            return _remove(text, node, change.key)
        case Append():
            return _append(text, node, change.value)
        case Drop():
            return _drop(text, node, change.number)


def _child(node: Any, step: str | int) -> Any:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    raise CannotEditError(f"there is no {step!r} to hold on to")


def _set(text: str, mapping: Any, key: str, value: Any) -> str:
    entries = _entries(mapping)
    flow = bool(mapping.flow_style)
    for name, old in entries:
        if name.value == key:
            return text[: name.end_mark.index] + _rendered(value, name.start_mark.column, flow) + text[_end(old) :]
    if not entries:
        raise CannotEditError("the mapping is empty")
    if flow:
        place = mapping.end_mark.index - 1
        return f"{text[:place].rstrip()}, {key}{_rendered(value, 0, flow)}{text[place:]}"
    column = entries[0][0].start_mark.column
    place = _line_end(text, _end(entries[-1][1]))
    return _insert(text, place, f"{' ' * column}{key}{_rendered(value, column, flow)}\n")


def _remove(text: str, mapping: Any, key: str) -> str:
    entries = _entries(mapping)
    places = [place for place, (name, _) in enumerate(entries) if name.value == key]
    if not places:
        return text
    if len(entries) == 1:
        raise CannotEditError("nothing would be left of the mapping")
    place = places[0]
    name, value = entries[place]
    if place + 1 < len(entries):
        return text[: name.start_mark.index] + text[entries[place + 1][0].start_mark.index :]
    if mapping.flow_style:
        return text[: _end(entries[place - 1][1])] + text[_end(value) :]
    return text[: _line_begin(text, name.start_mark.index)] + text[_line_end(text, _end(value)) :]


def _append(text: str, sequence: Any, value: Any) -> str:
    items = _items(sequence)
    if sequence.flow_style:
        place = sequence.end_mark.index - 1
        return f"{text[:place].rstrip()}, {_flow(value)}{text[place:]}"
    column = _dash(text, items[0]) - _line_begin(text, items[0].start_mark.index)
    lines = write([value]).splitlines(keepends=True) if isinstance(value, dict | list) else [f"- {_flow(value)}\n"]
    return _insert(text, _line_end(text, _end(items[-1])), "".join(" " * column + line for line in lines))


def _drop(text: str, sequence: Any, number: int) -> str:
    items = _items(sequence)
    if len(items) < 2 or sequence.flow_style:
        raise CannotEditError("the list cannot be shortened in place")
    begin = _line_begin(text, _dash(text, items[number]))
    if number + 1 < len(items):
        return text[:begin] + text[_line_begin(text, _dash(text, items[number + 1])) :]
    return text[:begin] + text[_line_end(text, _end(items[number])) :]


def _entries(node: Any) -> list[tuple[Any, Any]]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise CannotEditError("there is no mapping")
    return list(node.value)


def _items(node: Any) -> list[Any]:
    import yaml

    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise CannotEditError("there is no list to hold on to")
    return list(node.value)


def _rendered(value: Any, column: int, flow: bool) -> str:
    """A value behind its key: `: 3`, or a block below it."""
    text = write(value) if isinstance(value, dict | list) else ""
    if flow or not text or text[0] in "[{":
        return f": {_flow(value)}"
    deeper = column if isinstance(value, list) else column + 2
    return ":\n" + "".join(" " * deeper + line for line in text.splitlines(keepends=True)).rstrip("\n")


def _flow(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)).split("\n...")[0].strip()


def _end(node: Any) -> int:
    """Where a node's own text ends; a block collection's mark is behind the comments that follow it."""
    import yaml

    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(node, yaml.MappingNode) else last)


def _dash(text: str, item: Any) -> int:
    return text.rindex("-", 0, item.start_mark.index)


def _line_begin(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """Behind the line break; the end of the text if there is none."""
    if index and text[index - 1] == "\n":
        return index
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _insert(text: str, place: int, more: str) -> str:
    before = text[:place]
    return before + ("" if not before or before.endswith("\n") else "\n") + more + text[place:]
