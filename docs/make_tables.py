"""Tables of settings, made from the code: names, types and defaults from classes, words from the docstrings beneath.

For the pages that docs/make.py writes.
"""

import ast
import inspect
import typing
from collections.abc import Mapping
from itertools import pairwise
from types import ModuleType

import msgspec

from loadaware.quantities import Duration, Quantity, format_duration

HEADING = ["| setting | type | default | meaning |", "|---|---|---|---|"]
PLAIN: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    Duration: "duration",
    Quantity: "quantity",
    type(None): "",
}
FieldDocs = dict[str, dict[str, str]]


def field_docs(*modules: ModuleType) -> FieldDocs:
    """The docstring beneath each field, by class."""
    bodies = [ast.parse(inspect.getsource(module)).body for module in modules]
    return {node.name: _words_of(node.body) for body in bodies for node in body if isinstance(node, ast.ClassDef)}


def _words_of(body: list[ast.stmt]) -> dict[str, str]:
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def rows(kind: type[msgspec.Struct], docs: FieldDocs) -> list[str]:
    """One line per field of a class."""
    words = {name: text for base in reversed(kind.__mro__) for name, text in docs.get(base.__name__, {}).items()}
    hints = typing.get_type_hints(kind, include_extras=True)
    return [
        f"| `{field.encode_name}` | {type_name(hints[field.name])} | {_default(field)} | {words.get(field.name, '')} |"
        for field in msgspec.structs.fields(kind)
    ]


def type_name(kind: object) -> str:
    """A type in the words of YAML."""
    if isinstance(kind, type) and kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{title(kind)}](#{anchor(kind)})"
    if typing.get_origin(kind) is typing.Annotated:
        plain, *metas = typing.get_args(kind)
        return " ".join([type_name(plain), *(_bounds(meta) for meta in metas)])
    return _composed_type_name(kind)


def _composed_type_name(kind: object) -> str:
    arguments = [a for a in typing.get_args(kind) if a not in (type(None), Ellipsis)]
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{a}`" for a in arguments)
    if typing.get_origin(kind) is tuple:
        exactly = "" if Ellipsis in typing.get_args(kind) else f"{len(arguments)} times "
        return f"list of {exactly}{type_name(arguments[0])}"
    if len(arguments) == 2 and "Mapping" in str(kind):
        return f"map of {type_name(arguments[0])} to {type_name(arguments[1]) or 'anything'}"
    return " or ".join(type_name(a) for a in arguments)


def _bounds(meta: msgspec.Meta) -> str:
    words = (("above", meta.gt), ("from", meta.ge), ("below", meta.lt), ("to", meta.le))
    return " ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    return default_text(field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory())


def default_text(value: object) -> str:
    """A default as one writes it in YAML; sections have one of their own."""
    if isinstance(value, msgspec.Struct):
        return "see there"
    if isinstance(value, tuple | list) and not any(isinstance(item, msgspec.Struct) for item in value):
        return ", ".join(default_text(item) for item in value) or "none"
    return "none" if value in (None, "", {}, ()) else f"`{as_yaml(value)}`"


def as_yaml(value: object) -> str:
    """A value as one writes it in YAML, on one line."""
    if isinstance(value, msgspec.Struct):
        told = [(f, getattr(value, f.name)) for f in msgspec.structs.fields(value)]
        return as_yaml({f.encode_name: item for f, item in told if f.required or item not in (f.default, {})})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {as_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(as_yaml(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _number_as_yaml(value) if isinstance(value, float) else str(value)


def _number_as_yaml(value: float) -> str:
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Quantity):
        return f"{value / 2**20:g}Mi" if value >= 2**20 else f"{value * 1000:g}m"
    return str(int(value)) if value.is_integer() else str(value)


def title(kind: type) -> str:
    """A section's heading."""
    return kind.__name__.removesuffix("Section")


def anchor(kind: type) -> str:
    """The heading's link."""
    return title(kind).lower()
