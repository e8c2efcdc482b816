"""Reads a load-watcher service, for clusters that already run one beside Trimaran.

    GET /watcher  ->  {"timestamp", "window": {"duration", "start", "end"}, "source",
                       "data": {"NodeMetricsMap": {node: {"metrics": [{"type", "operator", "value"}, ...]}}}}

The bargain: its percent of capacity become fractions (base "capacity"); AVG counts, else Latest; STD is the
deviation. A node of which only a deviation is known was not measured: its usage is NaN, not zero. load-watcher on a
Prometheus names nodes as their series do (often ip:port): give `nodes` and they are matched as series are.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np

from collectors.errors import EmptyReadingError, MalformedAnswerError
from collectors.http_access import HttpAccess, base_url
from collectors.reading import CPU, MEMORY, Floats, Measurements, NodeIdentity, Reading
from collectors.series_matching import NodeMatcher

if TYPE_CHECKING:
    from collectors.http_session import Answer, HttpSession

SOURCE = "load-watcher"
RESOURCES = (CPU, MEMORY)
EXPECTED = "load-watcher's metrics"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smh])+\Z")
EXAMPLES = 3


class _Window(msgspec.Struct):
    duration: str = ""
    start: float = 0.0
    end: float = 0.0

    @property
    def seconds(self) -> float:
        """From its ends, else from its name ("15m"); NaN if neither tells."""
        if self.end > self.start > 0:
            return self.end - self.start
        if not _DURATION.match(self.duration):
            return math.nan
        return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([\d.]+)([smh])", self.duration))


class _Metric(msgspec.Struct):
    type: str = ""
    operator: str = ""
    value: float | None = None


class _NodeMetrics(msgspec.Struct):
    metrics: list[_Metric] | None = None


class _Data(msgspec.Struct):
    NodeMetricsMap: dict[str, _NodeMetrics]


class _Answer(msgspec.Struct):
    timestamp: float
    data: _Data
    window: _Window = msgspec.field(default_factory=_Window)


_decode = msgspec.json.Decoder(_Answer).decode


class LoadWatcher:
    """A collector. Without `nodes`, load-watcher's own names are taken at their word."""

    def __init__(
        self,
        url: str,
        access: HttpAccess | None = None,
        nodes: Callable[[], Sequence[NodeIdentity]] | None = None,
    ) -> None:
        self.url = base_url(url)
        self.access = access or HttpAccess()
        self._nodes = nodes

    def read(self) -> Reading:
        """What the service knows now, or raise CollectorError."""
        answer = self._fetch("/watcher")
        try:
            decoded = _decode(answer.body)
        except msgspec.DecodeError as error:
            problem = f"{self._session.quoted(answer)}: {self._session.line(str(error))}"
            raise MalformedAnswerError(url=answer.url, expected=EXPECTED, problem=problem) from error
        if not decoded.timestamp > 0:
            problem = f"its timestamp is {decoded.timestamp:g}"
            raise MalformedAnswerError(url=answer.url, expected=EXPECTED, problem=problem)
        return self._reading(decoded)

    def check_health(self) -> None:
        """Raise CollectorError unless the service says that it is well."""
        self._fetch("/watcher/health")

    def close(self) -> None:
        """Let the connection go; the next reading opens a new one."""
        session = self.__dict__.pop("_session", None)
        if session is not None:
            session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def _session(self) -> "HttpSession":
        from collectors.http_session import HttpSession

        return HttpSession(self.url, self.access)

    def _fetch(self, path: str) -> "Answer":
        answer = self._session.fetch("GET", self.url + path)
        if not 200 <= answer.status < 300:
            raise self._session.refusal(answer)
        return answer

    def _reading(self, answer: _Answer) -> Reading:
        hosts = answer.data.NodeMetricsMap
        owners = self._owners(hosts)
        names = tuple(sorted({owner for owner in owners.values() if owner is not None}))
        usage = _table(names, owners, {host: _usage(told.metrics or ()) for host, told in hosts.items()})
        if not np.isfinite(usage).any():
            raise EmptyReadingError(source=self.url, hint=_why_empty(hosts, names))
        deviation = _table(names, owners, {host: _deviation(told.metrics or ()) for host, told in hosts.items()})
        return Reading(
            source=SOURCE,
            time=answer.timestamp,
            resources=RESOURCES,
            nodes=_measurements(names, usage, answer),
            base="capacity",
            node_deviation=deviation if np.isfinite(deviation).any() else None,
            notes=_notes(owners),
        )

    def _owners(self, hosts: Iterable[str]) -> dict[str, str | None]:
        """The node that each host is."""
        if self._nodes is None:
            return {host: host for host in hosts}
        matcher = NodeMatcher(self._nodes())
        return {host: matcher.node_of(host) for host in hosts}


_Pair = tuple[float, float]


def _usage(metrics: Sequence[_Metric]) -> _Pair:
    latest, average = _by_type(metrics, {"latest", ""}), _by_type(metrics, {"avg"})
    return average.get(CPU, latest.get(CPU, math.nan)), average.get(MEMORY, latest.get(MEMORY, math.nan))


def _deviation(metrics: Sequence[_Metric]) -> _Pair:
    told = _by_type(metrics, {"std"})
    return told.get(CPU, math.nan), told.get(MEMORY, math.nan)


def _by_type(metrics: Sequence[_Metric], operators: set[str]) -> dict[str, float]:
    """Fractions by resource, as the last metric of these operators tells."""
    return {
        metric.type.lower(): metric.value / 100
        for metric in metrics
        if metric.operator.lower() in operators and metric.value is not None
    }


def _table(names: Sequence[str], owners: Mapping[str, str | None], pairs: Mapping[str, _Pair]) -> Floats:
    """A row per name; where two hosts are one node, the higher value counts, as for series."""
    row_of = {name: row for row, name in enumerate(names)}
    table = np.full((len(names), len(RESOURCES)), np.nan)
    for host, owner in owners.items():
        if owner is not None:
            row = table[row_of[owner]]
            np.fmax(row, pairs[host], out=row)
    return table


def _measurements(names: tuple[str, ...], usage: Floats, answer: _Answer) -> Measurements:
    """The window's end is the time of every row."""
    end = answer.window.end if answer.window.end > 0 else answer.timestamp
    return Measurements(names, usage, np.full(len(names), end), np.full(len(names), answer.window.seconds))


def _notes(owners: Mapping[str, str | None]) -> tuple[str, ...]:
    strangers = sorted(host for host, owner in owners.items() if owner is None)
    if not strangers:
        return ()
    examples = ", ".join(strangers[:EXAMPLES])
    return (f"{len(strangers)} of {len(owners)} hosts match no node: {examples}",)


def _why_empty(hosts: Iterable[str], names: Sequence[str]) -> str:
    if names:
        return "it tells no usage of any node"
    examples = ", ".join(sorted(hosts)[:EXAMPLES])
    return f"none of its hosts, such as {examples}, is a node" if examples else "it names no host at all"
