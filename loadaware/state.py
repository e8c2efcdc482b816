"""A cluster's state in a file, no cluster needed: nodes with their usage, pods bound, pods in flight -> Snapshot.

For `loadaware score --state`, `loadaware serve --state`, tests and examples. Such a snapshot never ages. Usage is a
percentage of capacity ("40%") or a quantity ("1600m"); a resource left out was not measured.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from collectors.errors import QuantityError
from collectors.manifests import Pod, Resources, pod_from_object, resources_from
from collectors.quantity import parse_quantity
from collectors.reading import CPU, MEMORY, Floats
from loadaware.config import convert, parse_yaml
from loadaware.errors import ConfigError
from loadaware.quantities import parse_duration
from loadaware.snapshot import PlacedPods, Snapshot
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
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "", f"cannot be read: {error}") from error
    return parse_state(parse_yaml(text, str(path)), str(path))


def load_pod(path: str | Path) -> Pod:
    """A pod from an ordinary manifest (the first document of the file). Raises ConfigError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "", f"cannot be read: {error}") from error
    return parse_pod(parse_yaml(text, str(path), first=True), str(path))


def parse_pod(manifest: Any, file: str, path: str = "") -> Pod:
    """A pod from a parsed manifest. Raises ConfigError."""
    if not isinstance(manifest, dict) or manifest.get("kind", "Pod") != "Pod":
        raise ConfigError(file, path, "expected a manifest of kind Pod")
    try:
        return pod_from_object({k: v for k, v in manifest.items() if k in ("metadata", "spec", "status")})
    except (msgspec.ValidationError, QuantityError) as error:
        raise ConfigError(file, path, str(error).replace("`", "").replace("$.", "")) from error


def parse_state(value: Any, file: str = "<state>") -> Snapshot:
    """A snapshot from a parsed file. Raises ConfigError."""
    nodes = convert(value, State, file).nodes
    names = tuple(node.name for node in nodes)
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ConfigError(file, "nodes", f"named twice: {', '.join(twice)}")
    return _Builder(nodes, file).snapshot()


class _Builder:
    """Turns the file's nodes into arrays, remembering where it is for error messages."""

    def __init__(self, nodes: Sequence[NodeState], file: str) -> None:
        self._nodes = nodes
        self._file = file
        named = {r for n in nodes for r in (*n.usage, *n.windows, *n.metrics)} - {CPU, MEMORY}
        self._resources = (CPU, MEMORY, *sorted(named))
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
            labels=tuple(n.labels for n in nodes),
            windows={parse_duration(w): self._window(w) for w in self._window_names()},
            placed=PlacedPods(
                rows, np.arange(len(bound)), np.array([-np.inf if long_ago else np.inf for _, _, long_ago in bound])
            ),
            shapes=shapes,
            generation=1,
        )

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
        try:
            if isinstance(text, str) and text.endswith("%"):
                return float(text[:-1]) / 100.0 * float(self._capacity[row, column])
            return parse_quantity(text)
        except (QuantityError, ValueError) as error:
            raise ConfigError(self._file, path, f"expected a percentage or a quantity, not {text!r}") from error
