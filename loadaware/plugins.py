"""Filters and scorers by name: ours from the tables, others' from entry points; args checked and typed."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from loadaware.config import convert
from loadaware.config_problems import nearest
from loadaware.errors import ConfigError
from loadaware.filters import FILTERS
from loadaware.filters.filter import Filter
from loadaware.scorers import SCORERS
from loadaware.scorers.scorer import Scorer

P = TypeVar("P", Scorer, Filter)


def make_scorer(name: str, args: Mapping[str, Any], file: str = "<args>", path: str = "") -> Scorer:
    """A scorer by name. Raises ConfigError for an unknown name or wrong args."""
    return _make(name, args, SCORERS, "loadaware.scorers", Scorer, file, path)


def make_filter(name: str, args: Mapping[str, Any], file: str = "<args>", path: str = "") -> Filter:
    """A filter by name. Raises ConfigError for an unknown name or wrong args."""
    return _make(name, args, FILTERS, "loadaware.filters", Filter, file, path)


def _make(  # noqa: PLR0917 - private, each argument once
    name: str, args: Mapping[str, Any], table: Mapping[str, type[P]], group: str, base: type[P], file: str, path: str
) -> P:
    kind = table.get(name) or _from_entry_points(name, group, base, file, path)
    if kind is None:
        known = sorted([*table, *entry_points(group=group).names])
        what = group.removeprefix("loadaware.").removesuffix("s")
        raise ConfigError(file, _join(path, "name"), f"there is no {what} called {name!r}", nearest(name, known))
    made: P = convert(dict(args), kind, file, _join(path, "args"))
    return made


def _from_entry_points(name: str, group: str, base: type[P], file: str, path: str) -> type[P] | None:
    for entry in entry_points(group=group, name=name):
        try:
            kind = entry.load()
        except Exception as error:
            raise ConfigError(file, _join(path, "name"), f"{entry.value} cannot be loaded: {error}") from error
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise ConfigError(file, _join(path, "name"), f"{entry.value} is not a {base.__name__}")
        return kind
    return None


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)
