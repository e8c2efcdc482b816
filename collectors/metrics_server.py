"""What nodes and pods use, as metrics-server (or whatever else serves metrics.k8s.io) tells it.

Two GETs bring everything: NodeMetricsList and PodMetricsList. In a large cluster the second is some 75 MB (150,000
pods), so only the members we need are decoded, each distinct timestamp and window is read once, and the common
forms of a quantity ("156340345n", "123456Ki") go past the general parser.

The bargain:
- Nodes are required: without them the reading fails, with a hint on what to install or to allow. Pods are not:
  where they are denied or not served, the reading has none and says so.
- A node or pod without a resource has NaN there; so has one whose amount is no quantity, which is noted. A pod's
  usage is the sum over its containers, NaN if one of them was not measured.
- A node with zero usage is left out by metrics-server itself: a missing node is not idle.
"""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from collectors.errors import EmptyReadingError, MalformedAnswerError, QuantityError, SourceRefusedError
from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import parse_time
from collectors.quantity import parse_quantity
from collectors.reading import CPU, MEMORY, Floats, Measurements, Reading

SOURCE = "metrics-server"
RESOURCES = (CPU, MEMORY)
NODES_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
PODS_PATH = "/apis/metrics.k8s.io/v1beta1/pods"

_HINTS = {
    403: "allow get and list on nodes and pods of metrics.k8s.io",
    404: "metrics.k8s.io is not served here: install metrics-server",
    503: "metrics-server is registered but does not answer: see kubectl get apiservice v1beta1.metrics.k8s.io",
}


@dataclass(frozen=True)
class MetricsServer:
    """Reads metrics.k8s.io. `pods=False` leaves out the (large) pod metrics."""

    api: KubernetesApi
    pods: bool = True
    timeout_seconds: float = 30.0
    now: Callable[[], float] = time.time

    def read(self) -> Reading:
        """All nodes, and all pods where they may be read."""
        notes: list[str] = []
        nodes = self._nodes(notes)
        pods = self._pods(notes) if self.pods else None
        return Reading(SOURCE, self.now(), RESOURCES, nodes, pods, notes=tuple(notes))

    def _nodes(self, notes: list[str]) -> Measurements:
        try:
            body = self.api.get(NODES_PATH, timeout_seconds=self.timeout_seconds)
        except SourceRefusedError as error:
            raise _hinted(error) from error
        nodes = self._decoded(NODES_PATH, "NodeMetricsList", lambda: node_measurements(body, notes))
        if not np.isfinite(nodes.usage).any():
            raise EmptyReadingError(SOURCE, "it may still be starting: it needs two rounds, up to two minutes")
        return nodes

    def _pods(self, notes: list[str]) -> Measurements | None:
        try:
            body = self.api.get(PODS_PATH, timeout_seconds=self.timeout_seconds)
        except SourceRefusedError as error:
            if error.status not in (403, 404):
                raise _hinted(error) from error
            notes.append(f"no pod metrics: {_hinted(error).message}")
            return None
        return self._decoded(PODS_PATH, "PodMetricsList", lambda: pod_measurements(body, notes))

    def _decoded(self, path: str, expected: str, decode: Callable[[], Measurements]) -> Measurements:
        try:
            return decode()
        except msgspec.DecodeError as error:
            raise MalformedAnswerError(self.api.url + path, f"a {expected}", str(error)) from error


def node_measurements(body: bytes, notes: list[str]) -> Measurements:
    """A NodeMetricsList as rows. Raises msgspec.DecodeError if it is none."""
    items = _NODES.decode(body).items or []
    names = tuple([item.metadata.name for item in items])
    usage = _usage([item.usage or _UNTOLD for item in items], names.__getitem__, notes)
    return _rows(names, usage, items, notes)


def pod_measurements(body: bytes, notes: list[str]) -> Measurements:
    """A PodMetricsList as rows, containers summed. Raises msgspec.DecodeError if it is none."""
    items = _PODS.decode(body).items or []
    names = tuple([f"{item.metadata.namespace}/{item.metadata.name}" for item in items])
    counts = np.array([len(item.containers or ()) for item in items], dtype=np.intp)
    owners = np.repeat(np.arange(len(items)), counts)
    usages = [each.usage or _UNTOLD for item in items for each in item.containers or ()]
    usage = _summed(_usage(usages, lambda row: names[owners[row]], notes), owners, counts)
    return _rows(names, usage, items, notes)


def _summed(each: Floats, owners: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]) -> Floats:
    columns = [np.bincount(owners, weights=column, minlength=len(counts)) for column in each.T]
    total = np.stack(columns, axis=1).astype(np.float64, copy=False)
    total[counts == 0] = np.nan
    return total


def _usage(usages: "Sequence[_Usage]", name: Callable[[int], str], notes: list[str]) -> Floats:
    return np.stack(
        [
            _amounts([usage.cpu for usage in usages], CPU, name, notes),
            _amounts([usage.memory for usage in usages], MEMORY, name, notes),
        ],
        axis=1,
    )


def _amounts(texts: list[Any], resource: str, name: Callable[[int], str], notes: list[str]) -> Floats:
    try:
        return np.array([_amount(text) for text in texts], dtype=np.float64)
    except (QuantityError, OverflowError):
        bad = [row for row, text in enumerate(texts) if not _readable(text)]
    first = f"{name(bad[0])} with {texts[bad[0]]!r:.40}"
    notes.append(f"{resource} of {len(bad)} cannot be read, such as {first}")
    for row in bad:
        texts[row] = None
    return np.array([_amount(text) for text in texts], dtype=np.float64)


def _readable(text: Any) -> bool:
    try:
        _amount(text)
    except (QuantityError, OverflowError):
        return False
    return True


def _amount(text: Any) -> float:
    """parse_quantity, with a short way for what metrics-server writes and NaN for what it leaves out."""
    if text is None:
        return math.nan
    if type(text) is str and text.isascii():
        if text[-1:] == "n" and text[:-1].isdecimal():
            return float(text[:-1]) / 1e9
        if text[-2:] == "Ki" and text[:-2].isdecimal():
            return float(text[:-2]) * 1024.0
    return parse_quantity(text)


# -- Times ---------------------------------------------------------------------------------------------------------

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+)\Z", re.ASCII)


def parse_duration(text: str) -> float:
    """A duration as Go writes it ("10.062s", "1m0s") in seconds; NaN for what is none."""
    if text == "0":
        return 0.0
    match = _DURATION.match(text)
    if match is None:
        return math.nan
    seconds = math.fsum(float(number) * _UNITS[unit] for number, unit in _PART.findall(match[2]))
    return -seconds if match[1] == "-" else seconds


def _rows(names: tuple[str, ...], usage: Floats, items: "Sequence[_Timed]", notes: list[str]) -> Measurements:
    times = _each_once([item.timestamp or "" for item in items], parse_time, "timestamps", notes)
    windows = _each_once([item.window or "" for item in items], parse_duration, "windows", notes)
    return Measurements(names, usage, times, windows)


def _each_once(texts: Sequence[str], parse: Callable[[str], float | None], what: str, notes: list[str]) -> Floats:
    """Thousands of rows share a few texts. What is left out is NaN, and so is what cannot be read."""
    known = {text: parse(text) for text in set(texts)}
    values = {text: math.nan if value is None else value for text, value in known.items()}
    bad = sorted(text for text, value in values.items() if text and math.isnan(value))
    if bad:
        notes.append(f"{len(bad)} {what} cannot be read, such as {bad[0]!r:.40}")
    return np.array([values[text] for text in texts], dtype=np.float64)


# -- What metrics.k8s.io writes: only the members we read ----------------------------------------------------------


class _Usage(msgspec.Struct, gc=False):
    """Amounts of any type: a wrong one spoils itself, not the whole list."""

    cpu: Any = None
    memory: Any = None


_UNTOLD = _Usage()


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""


class _Timed(msgspec.Struct, gc=False):
    metadata: _Metadata
    timestamp: str | None = None
    window: str | None = None


class _NodeMetrics(_Timed, gc=False):
    usage: _Usage | None = None


class _Container(msgspec.Struct, gc=False):
    usage: _Usage | None = None


class _PodMetrics(_Timed, gc=False):
    containers: list[_Container] | None = None


class _NodeMetricsList(msgspec.Struct, tag_field="kind", tag="NodeMetricsList"):
    items: list[_NodeMetrics] | None


class _PodMetricsList(msgspec.Struct, tag_field="kind", tag="PodMetricsList"):
    items: list[_PodMetrics] | None


_NODES = msgspec.json.Decoder(_NodeMetricsList)
_PODS = msgspec.json.Decoder(_PodMetricsList)


def _hinted(error: SourceRefusedError) -> SourceRefusedError:
    hint = _HINTS.get(error.status)
    return error if hint is None else SourceRefusedError(error.url, error.status, f"{error.message}; {hint}")
