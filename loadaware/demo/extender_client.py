"""The wire from kube-scheduler's end: how it asks an extender, and what it makes of the answers.

POST over one kept-alive connection, `Nodes` null and `NodeNames` filled (nodeCacheCapable). The extender is
configured as ignorable: whatever goes wrong, scheduling goes on without it, and it is counted here, because
kube-scheduler itself would tell nobody.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
import urllib3

from loadaware.simulation.noise import Ints

MAX_EXTENDER_PRIORITY = 10
"""The range of the contract; kube-scheduler multiplies by 100 / 10 to reach that of its plugins."""

T = TypeVar("T")


class Advice(Protocol):
    """A second opinion on nodes, in kube-scheduler's terms."""

    def filter(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Sequence[str]:
        """The nodes that may take the pod."""
        ...

    def prioritize(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Ints:
        """What to add to each node's total."""
        ...


class NoAdvice:
    """kube-scheduler without an extender."""

    def filter(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Sequence[str]:
        """All of them."""
        return nodes

    def prioritize(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Ints:
        """Nothing."""
        return np.zeros(len(nodes), dtype=np.int64)


class _FilterAnswer(msgspec.Struct, rename="pascal"):
    node_names: list[str] | None = None
    error: str = ""


class _HostPriority(msgspec.Struct, rename="pascal"):
    host: str
    score: int


class ExtenderError(Exception):
    """The extender did not give an answer that kube-scheduler would accept."""


class HttpExtender:
    """An extender at a URL. Used by one thread; the counters may be read by others."""

    def __init__(self, url: str, weight: int = 1, timeout_seconds: float = 5.0) -> None:
        self._pool = urllib3.connectionpool.connection_from_url(
            url, maxsize=1, timeout=timeout_seconds, retries=False, headers={"Content-Type": "application/json"}
        )
        self._weight = weight
        self._seconds: deque[float] = deque(maxlen=500)
        self.failures = 0
        self.last_failure = ""

    def filter(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Sequence[str]:
        """The nodes that pass; all of them if the extender fails."""
        return self._ignorably(lambda: self._filtered(manifest, nodes), nodes)

    def prioritize(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Ints:
        """Score * weight * 10 for each node; a node left out gets 0, and all do if the extender fails."""
        nothing: dict[str, int] = {}
        scores = self._ignorably(lambda: self._scores(manifest, nodes), nothing)
        given = np.array([scores.get(node, 0) for node in nodes], dtype=np.int64)
        return given * (self._weight * 100 // MAX_EXTENDER_PRIORITY)

    def median_milliseconds(self) -> float:
        """Of the last answers; NaN before the first."""
        seconds = list(self._seconds)
        return 1000.0 * float(np.median(seconds)) if seconds else float("nan")

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()

    def _filtered(self, manifest: dict[str, Any], nodes: Sequence[str]) -> Sequence[str]:
        answer = self._ask("/filter", manifest, nodes, _FilterAnswer)
        if answer.error:
            raise ExtenderError(f"/filter said: {answer.error}")
        passed = answer.node_names or []
        if not set(passed) <= set(nodes):
            raise ExtenderError("/filter named a node that was not asked for")
        return passed

    def _scores(self, manifest: dict[str, Any], nodes: Sequence[str]) -> dict[str, int]:
        answer = self._ask("/prioritize", manifest, nodes, list[_HostPriority])
        return {priority.host: priority.score for priority in answer}

    def _ask(self, verb: str, manifest: dict[str, Any], nodes: Sequence[str], answer: type[T]) -> T:
        body = msgspec.json.encode({"Pod": manifest, "Nodes": None, "NodeNames": list(nodes)})
        started = time.perf_counter()
        response = self._pool.urlopen("POST", verb, body=body)
        self._seconds.append(time.perf_counter() - started)
        if response.status != 200:
            raise ExtenderError(f"{verb} answered {response.status}")
        return msgspec.json.decode(response.data, type=answer)

    def _ignorably(self, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except (ExtenderError, msgspec.MsgspecError, urllib3.exceptions.HTTPError) as error:
            self.failures += 1
            self.last_failure = str(error)
            return otherwise
