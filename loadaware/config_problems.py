"""What is wrong with a value, in words: path, problem, and the nearest right word.

msgspec says "Object contains unknown field `intervall` - at `$.server`". We add what fields there are, by walking the
same path through the types, and the key where it says only that some value of a mapping is wrong.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import inspect

_MESSAGE = re.compile(r"(?s)(.*?)(?: - at (?:`key` in )?`\$(.*)`)?\Z")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value '(.*)'")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
_SOME_VALUE = "[...]"


def explain_problem(message: str, value: Any, kind: type[Any]) -> tuple[str, str, str]:
    """Path, problem and hint for a ValidationError's message about `value`, converted to `kind`."""
    match = _MESSAGE.match(message)
    problem, path = (match.group(1), match.group(2) or "") if match else (message, "")
    problem = f"wrong key: {problem}" if "` - at `key` in `$" in message else problem
    steps = _steps(path)
    whole = inspect.type_info(kind)
    here = _walk(whole, value, steps) or _walk(whole, value, steps[:-1])
    if unknown := _UNKNOWN.fullmatch(problem):
        word = unknown.group(1)
        known = sorted({field.encode_name for struct in here for field in _fields(struct)})
        where = ".".join(part for part in (path.lstrip("."), word) if part)
        return where, "there is no such setting", nearest(word, known)
    if missing := _MISSING.fullmatch(problem):
        return path.lstrip("."), f"{missing.group(1)} is required and missing", ""
    if invalid := _VALUE.fullmatch(problem):
        return (
            path.lstrip("."),
            f"{invalid.group(1)!r} is not one of the choices",
            nearest(invalid.group(1), _choices(here)),
        )
    return path.lstrip("."), problem.replace("`", ""), ""


def name_keys(message: str, value: Any, problem_of: Callable[[Any], str]) -> str:
    """The message with `[...]`, some value of a mapping, made the key: the one that fails with the others left out."""
    named = message
    while (match := _MESSAGE.match(named)) and _SOME_VALUE in (match.group(2) or ""):
        steps = _steps(match.group(2).partition(_SOME_VALUE)[0])
        mapping = value
        for step in steps:
            mapping = _child(mapping, step)
        keys = mapping if isinstance(mapping, dict) else ()
        wrong = [key for key in keys if problem_of(_with(value, steps, {key: mapping[key]})) == message]
        if not wrong:
            break
        named = named.replace(_SOME_VALUE, f"[{wrong[0]}]", 1)
    return named


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest known word, or all of them if they are few."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6) or [k for k in known if k.lower() == word.lower()]
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(known)}" if known else ""


def _steps(path: str) -> list[str]:
    return [name or index for name, index in _STEP.findall(path)]


def _walk(info: inspect.Type, value: Any, steps: list[str]) -> list[inspect.Type]:
    """The types that the end of a path may have; a tagged union is narrowed by the value's own tag."""
    here = _alternatives(info, value)
    for step in steps:
        value = _child(value, step)
        here = [alternative for one in here for alternative in _alternatives(_type_of(one, step), value)]
    return here


def _alternatives(info: inspect.Type | None, value: Any) -> list[inspect.Type]:
    if info is None:
        return []
    if not isinstance(info, inspect.UnionType):
        return [info]
    tagged: list[inspect.Type] = [t for t in info.types if isinstance(t, inspect.StructType) and _tag_fits(t, value)]
    return tagged or list(info.types)


def _tag_fits(info: inspect.StructType, value: Any) -> bool:
    return isinstance(value, dict) and info.tag_field is not None and value.get(info.tag_field) == info.tag


def _child(value: Any, step: str) -> Any:
    try:
        return value[int(step)] if isinstance(value, list | tuple) else value[step]
    except (LookupError, TypeError, ValueError):
        return None


def _with(value: Any, steps: list[str], new: Any) -> Any:
    """The value with what is at the end of the steps replaced."""
    if not steps:
        return new
    step, *rest = steps
    if isinstance(value, list):
        at = int(step)
        return [*value[:at], _with(value[at], rest, new), *value[at + 1 :]]
    return {**value, step: _with(value[step], rest, new)}


def _type_of(info: inspect.Type, step: str) -> inspect.Type | None:
    if isinstance(info, inspect.StructType):
        return next((f.type for f in info.fields if f.encode_name == step), None)
    if isinstance(info, inspect.DictType):
        return info.value_type
    return getattr(info, "item_type", None)


def _fields(info: inspect.Type) -> tuple[inspect.Field, ...]:
    return info.fields if isinstance(info, inspect.StructType) else ()


def _choices(here: list[inspect.Type]) -> list[str]:
    literal = [str(v) for info in here if isinstance(info, inspect.LiteralType) for v in info.values]
    return literal or [str(info.tag) for info in here if isinstance(info, inspect.StructType) and info.tag]
