"""A cluster's state in a file, no cluster needed: nodes with their usage, pods bound, pods in flight -> Snapshot.

For `loadaware score --state`, `loadaware serve --state`, tests and examples. Such a snapshot never ages. Usage is a
percentage of capacity ("40%") or a quantity ("1600m"); a resource left out was not measured. docs/commands.md names
every key.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from collectors.errors import QuantityError
from collectors.manifests import Pod, Resources, pod_from_object, resources_from
from collectors.quantity import parse_quantity
from collectors.reading import CPU, MEMORY, Floats
from loadaware.config import convert, parse_yaml
from loadaware.config_problems import nearest
from loadaware.errors import ConfigError
from loadaware.pods import application_of
from loadaware.quantities import parse_duration
from loadaware.snapshot import Applications, PlacedPods, Snapshot
from loadaware.window import Statistics

_Quantities = Mapping[str, str | int | float]


class _Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    pass


class Usage(_Strict, frozen=True):
    """Statistics of one resource on one node, each a percentage of capacity or a quantity."""

    mean: str | int | float | None = None
    deviation: str | int | float | None = None
    latest: str | int | float | None = None
    maximum: str | int | float | None = None


class NodeState(_Strict, frozen=True, kw_only=True):
    """One node of the file."""

    name: str
    capacity: _Quantities = {}
    allocatable: _Quantities | None = None
    labels: Mapping[str, str] = {}
    usage: Mapping[str, Usage] = {}
    windows: Mapping[str, Mapping[str, Usage]] = {}
    metrics: Mapping[str, float] = {}
    pods: Sequence[Mapping[str, Any]] = ()
    in_flight: Sequence[Mapping[str, Any]] = ()


class State(_Strict, frozen=True):
    """The whole file."""

    nodes: Sequence[NodeState]


def load_state(path: str | Path) -> Snapshot:
    """A snapshot from a file. Raises ConfigError."""
    return parse_state(parse_yaml(_read(path), str(path)), str(path), strict=True)


def load_pod(path: str | Path, tell: Callable[[str], None] | None = None) -> Pod:
    """A pod from an ordinary manifest. Of several documents the first counts, which `tell` is told. Raises
    ConfigError.
    """
    text = _read(path)
    pod = parse_pod(parse_yaml(text, str(path), first=True), str(path))
    if tell is not None and (documents := _documents(text)) > 1:
        tell(f"{path}: holds {documents} documents; only the first is used")
    return pod


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "", f"cannot be read: {error}") from error


def _documents(text: str) -> int:
    """How many documents that are not empty a file has, up to the first that is no YAML."""
    import yaml

    count = 0
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            count += node is not None and node.value != ""
    except yaml.YAMLError:
        count += 1
    return count


def parse_pod(manifest: Any, file: str, path: str = "") -> Pod:
    """A pod from a parsed manifest; one without `kind` must have metadata or a spec. Raises ConfigError."""
    if not isinstance(manifest, dict) or manifest.get("kind", "Pod") != "Pod":
        raise ConfigError(file, path, "expected a manifest of kind Pod")
    if not {"kind", "metadata", "spec"} & manifest.keys():
        found = f", not {', '.join(map(str, manifest))}" if manifest else ""
        raise ConfigError(file, path, f"expected a manifest of kind Pod, with metadata and spec{found}")
    try:
        return pod_from_object({k: v for k, v in manifest.items() if k in ("metadata", "spec", "status")})
    except (msgspec.ValidationError, QuantityError) as error:
        raise ConfigError(file, path, str(error).replace("`", "").replace("$.", "")) from error


def parse_state(value: Any, file: str = "<state>", *, strict: bool = False) -> Snapshot:
    """A snapshot from a parsed file. `strict` refuses what can be computed with but not be: no nodes, negative usage.
    Raises ConfigError.
    """
    nodes = convert(value, State, file).nodes
    if strict and not nodes:
        raise ConfigError(file, "nodes", "no nodes: at least one is needed")
    names = tuple(node.name for node in nodes)
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ConfigError(file, "nodes", f"named twice: {', '.join(twice)}")
    return _Builder(nodes, file, strict).snapshot()


class _Builder:
    """Turns the file's nodes into arrays, remembering where it is for error messages."""

    def __init__(self, nodes: Sequence[NodeState], file: str, strict: bool) -> None:
        self._nodes = nodes
        self._strict = strict
        self._file = file
        named = {r for n in nodes for r in (*n.usage, *n.windows, *n.metrics)} - {CPU, MEMORY}
        self._resources = (CPU, MEMORY, *sorted(named))
        self._check_resources()
        self._capacity = self._table([self._amounts(n, "capacity", n.capacity) for n in nodes])

    def snapshot(self) -> Snapshot:
        nodes = self._nodes
        allocatable = [
            self._amounts(n, "allocatable", n.capacity if n.allocatable is None else n.allocatable) for n in nodes
        ]
        bound = [(row, pod, long_ago) for row in range(len(nodes)) for pod, long_ago in self._pods(row)]
        shapes = [pod.shape for _, pod, _ in bound]
        requests = self._declared([s.requests for s in shapes])
        limits = np.maximum(self._declared([s.limits for s in shapes]), requests)
        rows = np.array([row for row, _, _ in bound], dtype=np.intp)
        return Snapshot(
            time=0.0,
            names=tuple(n.name for n in nodes),
            resources=self._resources,
            capacity=self._capacity,
            allocatable=self._table(allocatable),
            statistics=self._statistics([n.usage for n in nodes], "usage"),
            sampled_at=np.full(len(nodes), np.inf),
            requested=self._sums(rows, requests),
            limits=self._sums(rows, limits),
            pod_counts=np.bincount(rows, minlength=len(nodes)).astype(np.float64),
            terminating_pods=self._terminating(bound),
            labels=tuple(n.labels for n in nodes),
            windows={parse_duration(w): self._window(w) for w in self._window_names()},
            placed=PlacedPods(
                rows, np.arange(len(bound)), np.array([-np.inf if long_ago else np.inf for _, _, long_ago in bound])
            ),
            shapes=shapes,
            applications=_applications([(application_of(pod), row) for row, pod, _ in bound]),
            generation=1,
        )

    def _terminating(self, bound: Sequence[tuple[int, Pod, bool]]) -> Floats:
        rows = np.array([row for row, pod, _ in bound if pod.deleted_at is not None], dtype=np.intp)
        return np.bincount(rows, minlength=len(self._nodes)).astype(np.float64)

    def _check_resources(self) -> None:
        """Usage of what no node has, that is no metric either but is spelled like one that is known, is a slip."""
        known = {CPU, MEMORY, *(r for n in self._nodes for r in (*n.capacity, *(n.allocatable or ()), *n.metrics))}
        for row, node in enumerate(self._nodes):
            for what, named in (("usage", node.usage), ("windows", node.windows)):
                for resource in (r for r in named if r not in known):
                    problem = "no node has capacity for it, nor is it named under metrics"
                    hint = nearest(resource, sorted(known))
                    if hint.startswith("did you mean"):
                        raise ConfigError(self._file, f"nodes[{row}].{what}.{resource}", problem, hint)

    def _amounts(self, node: NodeState, what: str, declared: _Quantities) -> Resources:
        try:
            return resources_from(declared)
        except QuantityError as error:
            raise ConfigError(self._file, f"nodes[{self._nodes.index(node)}].{what}", str(error)) from error

    def _table(self, rows: Sequence[Resources]) -> Floats:
        return self._declared(rows, np.nan)

    def _declared(self, rows: Sequence[Resources], missing: float = 0.0) -> Floats:
        table = np.full((len(rows), len(self._resources)), missing)
        for row, declared in enumerate(rows):
            for name, amount in declared:
                if name in self._resources:
                    table[row, self._resources.index(name)] = amount
        return table

    def _sums(self, rows: np.ndarray[Any, Any], amounts: Floats) -> Floats:
        sums = np.zeros((len(self._nodes), len(self._resources)))
        np.add.at(sums, rows, amounts)
        return sums

    def _pods(self, row: int) -> list[tuple[Pod, bool]]:
        node = self._nodes[row]
        path = f"nodes[{row}]"
        measured = [(parse_pod(p, self._file, f"{path}.pods[{n}]"), True) for n, p in enumerate(node.pods)]
        new = [(parse_pod(p, self._file, f"{path}.inFlight[{n}]"), False) for n, p in enumerate(node.in_flight)]
        return measured + new

    def _window_names(self) -> list[str]:
        names = {w for n in self._nodes for lengths in n.windows.values() for w in lengths}
        for name in sorted(names):
            try:
                parse_duration(name)
            except ValueError as error:
                raise ConfigError(self._file, "nodes.windows", str(error)) from error
        return sorted(names)

    def _window(self, name: str) -> Statistics:
        usages = [{r: w[name] for r, w in n.windows.items() if name in w} for n in self._nodes]
        return self._statistics(usages, f"windows.{name}")

    def _statistics(self, usages: Sequence[Mapping[str, Usage]], what: str) -> Statistics:
        shape = (len(usages), len(self._resources))
        tables = {s: np.full(shape, np.nan) for s in ("mean", "deviation", "latest", "maximum")}
        for row, usage in enumerate(usages):
            for resource, values in usage.items():
                column = self._resources.index(resource)
                for statistic, table in tables.items():
                    path = f"nodes[{row}].{what}.{resource}.{statistic}"
                    table[row, column] = self._value(getattr(values, statistic), row, column, path)
            if what == "usage":
                for name, value in self._nodes[row].metrics.items():
                    tables["latest"][row, self._resources.index(name)] = value
                    tables["mean"][row, self._resources.index(name)] = value
        return Statistics(**tables, percentiles={})

    def _value(self, text: str | int | float | None, row: int, column: int, path: str) -> float:
        if text is None:
            return np.nan
        share = isinstance(text, str) and text.endswith("%")
        try:
            number = float(str(text)[:-1]) if share else parse_quantity(text)
        except (QuantityError, ValueError) as error:
            raise ConfigError(self._file, path, f"expected a percentage or a quantity, not {text!r}") from error
        if self._strict and not math.isfinite(number):
            raise ConfigError(self._file, path, f"expected a percentage or a quantity, not {text!r}")
        return number / 100.0 * float(self._capacity[row, column]) if share else number


def _applications(pods: Sequence[tuple[str, int]]) -> Applications:
    """Which rows the pods of each application are on, from (application, row) of each pod."""
    ordered = sorted((name, row) for name, row in pods if name)
    names = sorted({name for name, _ in ordered})
    counts = [sum(name == other for other, _ in ordered) for name in names]
    rows = np.array([row for _, row in ordered], dtype=np.intp)
    return Applications(tuple(names), np.cumsum([0, *counts], dtype=np.intp), rows)
