"""POST /what-if: where would this manifest go? Asked of people, answered as kube-scheduler would be, without a trace:
nothing is booked, kept or counted.

All nodes with room for what the pod requests are asked about. What else kube-scheduler looks at (taints, affinity,
volumes) is not known here. Bounded in size and in number: scoring is as much work as a request of kube-scheduler, and
comes one at a time.
"""

import asyncio
from typing import Any

import msgspec
import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from collectors.manifests import Pod
from loadaware.aside import Aside
from loadaware.decisions import Decisions
from loadaware.errors import ConfigError, LoadAwareError
from loadaware.explanation import explain
from loadaware.pasted_manifest import WHERE, read_pod
from loadaware.service import Service

LARGEST_BYTES = 64 * 2**10
"""A pod's manifest has some kilobytes; YAML is read slowly."""
MOST_WAITING = 8
_NEVER = Aside(3600.0, 0)


class WhatIf:
    """The handler."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def answer(self, request: Request) -> Response:
        """?profile=... names another profile than the pod's own."""
        unknown = set(request.query_params) - {"profile"}
        if unknown:
            return _problem(f"there is no parameter called {min(unknown):.100}; there is profile", 400)
        if self._waiting >= MOST_WAITING:
            return _problem("too many ask at once; try again", 503)
        self._waiting += 1
        try:
            body = await _body(request)
            if body is None:
                return _problem(f"the manifest is larger than {LARGEST_BYTES // 2**10} KiB", 413)
            async with self._turn:
                pod = await asyncio.to_thread(read_pod, body)
                told = self._told(pod, request.query_params.get("profile"))
            return Response(msgspec.json.encode(told), media_type="application/json")
        except ClientDisconnect:
            return _problem("the client went away", 400)
        except LoadAwareError as error:
            return _problem(str(error), 400)
        finally:
            self._waiting -= 1

    def _told(self, pod: Pod, profile: str | None) -> dict[str, Any]:
        service = self._service
        snapshot, now = service.adviser.snapshot, service.clock()
        if not snapshot.names:
            raise ConfigError(WHERE, "", "no node is known yet")
        names = self._with_room(pod)
        noroom = len(snapshot.names) - len(names)
        decisions = Decisions(kept=2, memory_bytes=np.inf, aside=_NEVER)
        decisions.staleness = service.adviser.settings.staleness
        with service.adviser_unnoticed() as adviser:
            filtering = adviser.filter(pod, names, profile, book=False)
            decisions.note(pod, filtering, len(names), snapshot, now)
            if filtering.passed:
                ranking = adviser.rank(pod, filtering.passed, profile, book=False)
                decisions.note(pod, ranking, len(filtering.passed), snapshot, now)
        told = explain(*decisions.of_pod(pod.key))
        told["sentence"] = _would(told["sentence"]) if names else "no node has room for what it requests"
        if told["toWin"] is not None:
            told["toWin"]["words"] = _would(told["toWin"]["words"])
        return told | {"withoutRoom": noroom, "requests": {name: float(amount) for name, amount in pod.shape.requests}}

    def _with_room(self, pod: Pod) -> list[str]:
        """Nodes on which the requests fit beside those of the pods that are there."""
        adviser = self._service.adviser
        snapshot, ledger = adviser.snapshot, adviser.in_flight
        wanted = np.array([pod.shape.request(resource) for resource in snapshot.resources])
        lacking = (ledger.requested + wanted > snapshot.allocatable + 1e-9) & (wanted > 0)
        return [snapshot.names[row] for row in np.flatnonzero(~lacking.any(axis=1)).tolist()]


_WOULD = {
    " won with ": " would win with ",
    " was rejected": " would be rejected",
    " would have gone ": " would go ",
    " would have needed ": " would need ",
    " had ": " would have ",
    " was the only node asked about": " is the only node with room",
    "; it is not bound yet, as far as we know": "",
}


def _would(words: str) -> str:
    """What is said of a decision, for one that was not made."""
    for made, not_made in _WOULD.items():
        words = words.replace(made, not_made)
    return words


async def _body(request: Request) -> bytes | None:
    """The whole body; None if it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BYTES:
            return None
    return body


def _problem(problem: str, status: int) -> Response:
    return Response(msgspec.json.encode({"error": problem}), status, media_type="application/json")
