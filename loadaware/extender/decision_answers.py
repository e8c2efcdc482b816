"""GET /decisions, /explain and /shadow: for people. What takes long is made in another thread, from what is settled."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from loadaware.decision_report import decision_report, instant
from loadaware.decisions import Decision, Decisions
from loadaware.explanation import NODES_SHOWN, explain
from loadaware.hindsight import Hindsight
from loadaware.records import Ranked
from loadaware.shadow import report

DECISIONS_SHOWN = 50
MOST_SHOWN = 1000
MOST_NODES_SHOWN = 20_000
KNOWN_SHOWN = 10
NOT_KEPT = "decisions are not kept: decisions.kept is 0 in the configuration"
LONGEST_NAME = 253 + 1 + 253
_NAME = re.compile(r"[^/\s]+")


class QueryError(ValueError):
    """A query that cannot be answered."""


class DecisionAnswers:
    """The three handlers."""

    def __init__(self, hindsight: Hindsight, adviser_shadows: Callable[[], Mapping[str, object]]) -> None:
        self._hindsight = hindsight
        self._shadows = adviser_shadows

    async def decisions(self, request: Request) -> Response:
        """The last ones, newest first: ?limit=50&namespace=shop&node=node-7."""
        decisions = self._hindsight.decisions
        try:
            asked = _checked(request.query_params, ("limit", "namespace", "node"))
            limit = _number(asked, "limit", DECISIONS_SHOWN, MOST_SHOWN)
        except QueryError as error:
            return _problem(str(error), 400)
        facts = _facts(decisions)
        found = await self._found(asked.get("namespace"), asked.get("node"), limit)

        def made() -> Response:
            return _json(facts | {"shown": len(found), "decisions": [decision_report(each) for each in found]})

        return await asyncio.to_thread(made)

    async def _found(self, namespace: str | None, node: str | None, limit: int) -> list[Decision]:
        """The newest that match, settled; requests are answered between two of them."""
        decisions, found = self._hindsight.decisions, []
        for decision in list(decisions):
            if namespace in (None, decision.pod.namespace):
                decisions.settle(decision)
                if node is None or about(decision, node):
                    found.append(decision)
                    if len(found) == limit:
                        break
                await asyncio.sleep(0)
        return found

    async def explain(self, request: Request) -> Response:
        """Why a pod landed where it did: ?pod=shop/web-1&node=node-7&nodes=50."""
        decisions, mode = self._hindsight.decisions, self._hindsight.mode
        try:
            asked = _checked(request.query_params, ("pod", "node", "nodes"))
            pod, nodes = _pod(asked), _number(asked, "nodes", NODES_SHOWN, MOST_NODES_SHOWN)
        except QueryError as error:
            return _problem(str(error), 400)
        if not decisions.kept:
            return _problem(NOT_KEPT, 404)
        filtering, ranking = decisions.of_pod(pod)
        if filtering is None and ranking is None:
            return _unknown(decisions, pod)

        def made() -> Response:
            try:
                return _json({"mode": mode} | explain(filtering, ranking, asked.get("node"), nodes))
            except LookupError as error:
                return _problem(str(error), 404)

        return await asyncio.to_thread(made)

    async def shadow(self, request: Request) -> Response:
        """How profiles in shadow, or all of them in shadow mode, would have decided."""
        try:
            _checked(request.query_params, ())
        except QueryError as error:
            return _problem(str(error), 400)
        return _json(report(self._hindsight.shadow, self._hindsight.mode, self._shadows()))


def _checked(asked: QueryParams, known: Sequence[str]) -> dict[str, str]:
    """The parameters by name. Raises QueryError for one that there is not, or that stands twice."""
    for name in asked:
        if name not in known:
            there_are = f"there are {', '.join(known)}" if known else "there are none"
            raise QueryError(f"there is no parameter called {name:.100}; {there_are}")
        if len(asked.getlist(name)) > 1:
            raise QueryError(f"{name} stands twice")
        if not asked[name] or len(asked[name]) > LONGEST_NAME:
            raise QueryError(f"{name} must have 1 to {LONGEST_NAME} characters")
    return dict(asked)


def _number(asked: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = asked.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= most):
        raise QueryError(f"{name} is a whole number in 1..{most}, not {text:.100}")
    return int(text)


def _pod(asked: Mapping[str, str]) -> str:
    pod = asked.get("pod", "")
    namespace, slash, name = pod.partition("/")
    if not (slash and _NAME.fullmatch(namespace) and _NAME.fullmatch(name)):
        given = f", not {pod:.100}" if pod else ""
        raise QueryError(f"pod is namespace/name, such as ?pod=shop/web-1{given}")
    return pod


def about(decision: Decision, node: str) -> bool:
    """Whether a node was asked about (of a filter: rejected), or was chosen."""
    record = decision.record
    if decision.chosen == node:
        return True
    if isinstance(record, Ranked):
        return record.position(node) is not None
    return record is not None and node in record.rejected


def _facts(decisions: Decisions) -> dict[str, Any]:
    """How many there are, and how far back they go."""
    oldest = min((decision.time for decision in decisions), default=None)
    return {
        "kept": len(decisions),
        "mostKept": decisions.kept,
        "everKept": decisions.counted,
        "sizeBytes": decisions.size_bytes,
        "oldest": None if oldest is None else instant(oldest),
    }


def _unknown(decisions: Decisions, pod: str) -> Response:
    known = list(dict.fromkeys(decision.pod.key for decision in decisions))
    facts = _facts(decisions)
    since = f", now back to {facts['oldest']}" if facts["oldest"] else ""
    some = f"; known are {', '.join(known[:KNOWN_SHOWN])}" if known else ""
    more = f" and {len(known) - KNOWN_SHOWN} more" if len(known) > KNOWN_SHOWN else ""
    problem = (
        f"no decision about {pod} is kept; this replica keeps its last {decisions.kept} answers{since}{some}{more}"
    )
    return _json({"error": problem, "known": known[:KNOWN_SHOWN], **facts}, 404)


def _problem(problem: str, status: int) -> Response:
    return _json({"error": problem}, status)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
