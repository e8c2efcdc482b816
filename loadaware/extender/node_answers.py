"""GET /nodes and /node: what is believed about nodes, and the samples and pods of one. Made in another thread."""

import asyncio
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from collectors.manifests import Pod
from loadaware.beliefs import beliefs
from loadaware.explanation import explain
from loadaware.extender.decision_answers import about
from loadaware.passed_over import passed_over
from loadaware.pods_in_flight import pods_in_flight
from loadaware.service import Service

LOOKED_THROUGH = 50
"""Decisions, for one that was about a node."""


class NodeAnswers:
    """The two handlers."""

    def __init__(self, service: Service, *, explains: bool = True) -> None:
        self._service = service
        self._explains = explains

    async def nodes(self, request: Request) -> Response:
        """In another thread: thousands of nodes are a fifth of a second, and kube-scheduler must not wait for it."""
        sort = request.query_params.get("sort", "name")
        believed, resources = self._service.believed(), self._service.adviser.snapshot.resources
        if sort != "name" and sort not in resources:
            return _json({"error": f"sort is name or one of: {', '.join(resources)}; not {sort:.100}"}, 400)
        return await asyncio.to_thread(lambda: _json({"nodes": _sorted(believed(), sort)}))

    async def node(self, request: Request) -> Response:
        """?name=...: the same of one node, what is in flight there, what the observer knows of it, if it tells, and the
        last decision that was about it.
        """
        name = request.query_params.get("name", "")
        adviser, now = self._service.adviser, self._service.clock()
        snapshot, ledger = adviser.snapshot, adviser.in_flight
        row = snapshot.index.get(name)
        if row is None:
            return _json({"error": f"no node is called {name:.253}" if name else "which node? ?name=..."}, 404)
        one, here = snapshot.only(np.array([row])), slice(row, row + 1)
        requested, pods = ledger.requested[here].copy(), ledger.pods[here].copy()
        flying = pods_in_flight(snapshot, ledger)
        why, unasked = await self._why(name) if self._explains else (None, [])
        spare = (one.allocatable - requested)[0].tolist()
        skipped = None if why else passed_over(name, unasked, dict(zip(one.resources, spare, strict=True)))
        told = await self._service.demand_questions.node(name)
        observed = msgspec.Raw(b"".join(told) or b"null") if told else None

        def made() -> Response:
            (belief,) = beliefs(one, requested, pods, adviser.settings.staleness, now)
            in_flight = {"pods": round(float(flying.pods[row]), 3), "cores": round(float(flying.cores[row]), 3)}
            return _json(
                {**belief, "inFlight": in_flight, "time": now, "why": why, "passedOver": skipped, "observed": observed}
            )

        return await asyncio.to_thread(made)

    async def _why(self, node: str) -> tuple[dict[str, Any] | None, list[Pod]]:
        """The explanation of the newest of the last decisions that was about the node; else the pods that were ranked
        without it. (Of a filter only the rejected are kept, so it says nothing of the others.)
        """
        decisions, unasked = self._service.hindsight.decisions, []
        for decision in list(islice(decisions, LOOKED_THROUGH)):
            decisions.settle(decision)
            if about(decision, node):
                with suppress(LookupError):
                    return explain(*decisions.of_pod(decision.pod.key), node, nodes=1), []
            elif decision.verb == "prioritize":
                unasked.append(decision.pod)
            await asyncio.sleep(0)
        return None, unasked


def _sorted(nodes: list[dict[str, Any]], resource: str) -> list[dict[str, Any]]:
    """By name as they are; by a resource the most utilized first, those not measured last."""
    if resource == "name":
        return nodes
    return sorted(nodes, key=lambda node: -(node["usage"][resource]["utilization"] or 0.0))


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
