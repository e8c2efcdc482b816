"""The ASGI app: filter, prioritize, health, metrics, nodes. A handler reads, asks, answers.

It is the plain way. What kube-scheduler asks at every pod does not come by here but takes the short one (hot_path.py),
unless there is something unusual about it; `Answers` is behind both.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from loadaware.errors import LoadAwareError, RequestError
from loadaware.exposition import Exposition, nodes_asked
from loadaware.extender.answers import Answer, Answers
from loadaware.extender.cluster_verbs import bind, preempt
from loadaware.extender.decision_answers import DecisionAnswers
from loadaware.extender.demand_answers import DemandAnswers
from loadaware.extender.large_answers import LargeAnswers
from loadaware.extender.large_bodies import MOST_AT_ONCE_BYTES, LargeBodies, MemoryFile, read_at_once
from loadaware.extender.watcher import watcher_metrics
from loadaware.service import Service

FRONT_PAGE = """loadaware: real load for kube-scheduler

POST /filter, /prioritize         kube-scheduler asks here; also /<profile>/filter, /<profile>/prioritize
POST /preempt, /bind              the same, when its configuration names these verbs
GET  /watcher, /watcher/health    load-watcher's API, for Trimaran's plugins
GET  /nodes                       what is believed about each node now; ?sort=cpu the most utilized first
GET  /explain?pod=namespace/name  why did this pod land there? also &node=... (why not that one), &nodes=50
GET  /decisions                   the last answers, newest first; ?limit=50, &namespace=..., &node=...
GET  /shadow                      how profiles in shadow would have decided
GET  /demand                      what workloads request, what they use, what they should request;
                                  ?sort=cpu (or memory, pods, name), &limit=50, &namespace=...
GET  /demand/state                all that was learned, for another replica
GET  /healthz, /readyz            alive; ready, and how the metric source is doing
GET  /metrics                     for Prometheus; ?nodes=all (or a number) for series of more nodes than usual
"""


def make_app(service: Service, body_limit_bytes: int) -> Starlette:
    """The app over a service."""
    return app_over(Answers(service, body_limit_bytes), LargeBodies())


def app_over(answers: Answers, bodies: LargeBodies) -> Starlette:
    """The app over answers that others give, too."""
    handlers = _Handlers(answers, bodies)
    return Starlette(routes=handlers.routes(), exception_handlers={HTTPException: handlers.no_such_thing})


VERBS = ("filter", "prioritize", "preempt", "bind")


class _Handlers:
    def __init__(self, answers: Answers, bodies: LargeBodies) -> None:
        self._service = answers.service
        self._answers = answers
        self._bodies = bodies
        self._large = LargeAnswers(answers, bodies)
        self._exposition = Exposition(answers.service)

    def routes(self) -> list[Route]:
        extender = [
            Route(f"{prefix}/{verb}", self._answering(verb), methods=["POST"])
            for verb in VERBS
            for prefix in ("", "/{profile}")
        ]
        learned = DemandAnswers(self._service.demand_questions)
        decided = DecisionAnswers(self._service.hindsight, lambda: self._service.adviser.settings.shadows)
        people = {
            "/": _front_page,
            "/healthz": _healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
            "/nodes": self._nodes,
            "/decisions": decided.decisions,
            "/explain": decided.explain,
            "/shadow": decided.shadow,
            "/demand": learned.demand,
            "/demand/state": learned.state,
            "/watcher": self._watcher,
            "/watcher/health": self._watcher_health,
        }
        return extender + [Route(path, handler, methods=["GET"]) for path, handler in people.items()]

    def _answering(self, verb: str) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a verb: read the body within the limit, answer it, and turn trouble into a clear answer."""

        async def answer(request: Request) -> Response:
            profile = request.path_params.get("profile")
            try:
                async with self._body(request) as body:
                    return await self._to(verb, body, profile)
            except ClientDisconnect:
                return _response(self._answers.disconnected(verb))
            except LoadAwareError as error:
                return _response(self._answers.failed(verb, error))

        return answer

    async def _to(self, verb: str, body: bytes | MemoryFile, profile: str | None) -> Response:
        started = time.perf_counter()
        content: bytes | MemoryFile | Answer
        if isinstance(body, MemoryFile):
            content = await self._large.answer(verb, body, profile)
        elif verb in ("filter", "prioritize"):
            content = self._answers.answer(verb, body, profile)
        else:
            content = await (preempt if verb == "preempt" else bind)(self._service, body, profile)
        if isinstance(content, Answer):
            return _response(content)
        self._service.telemetry.duration.labels(verb, profile or "").observe(time.perf_counter() - started)
        return FileResponse(content) if isinstance(content, MemoryFile) else _response(Answer(200, content))

    async def _watcher(self, request: Request) -> Response:
        """In another thread, as /nodes is."""
        adviser, now, host = self._service.adviser, self._service.clock(), request.query_params.get("host")
        snapshot, staleness = adviser.snapshot, adviser.settings.staleness

        def made() -> Response:
            metrics = watcher_metrics(snapshot, now, "loadaware", staleness, host)
            return _json({"error": "nothing is measured"}, 404) if metrics is None else _json(metrics)

        return await asyncio.to_thread(made)

    async def _watcher_health(self, request: Request) -> Response:
        measured = self._service.readiness()[1]["measured"]
        return PlainTextResponse("ok\n" if measured else "nothing is measured yet\n", 200 if measured else 503)

    async def no_such_thing(self, request: Request, error: Exception) -> Response:
        """A path or method that there is not."""
        if not isinstance(error, HTTPException):
            raise error
        verb = request.url.path.rpartition("/")[2]
        reason = "wrong_method" if error.status_code == 405 else "unknown_path"
        problem = f"{request.method} {request.url.path:.100}: {error.detail}; GET / lists what there is"
        answer = _response(
            self._answers.refused(verb if verb in VERBS else "other", reason, problem, error.status_code)
        )
        answer.headers.update(error.headers or {})
        return answer

    @contextlib.asynccontextmanager
    async def _body(self, request: Request) -> AsyncIterator[bytes | MemoryFile]:
        """The whole body; a large one in a file, which is gone afterwards."""
        declared, limit = _declared_length(request), self._answers.body_limit_bytes
        if declared > limit:
            raise _too_large(limit)
        pieces: list[bytes] = []
        size = 0
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(self._bodies.room()) if declared > MOST_AT_ONCE_BYTES else None
            async for piece in request.stream():
                size += len(piece)
                if size > limit:
                    raise _too_large(limit)
                if file is None and size > MOST_AT_ONCE_BYTES:
                    file = stack.enter_context(self._bodies.room())
                    file.append(b"".join(pieces))
                (pieces if file is None else file).append(piece)
            body = b"".join(pieces) if file is None else b""
            if file is None and not read_at_once(body):
                file = stack.enter_context(self._bodies.room())
                file.append(body)
            yield body if file is None else file

    async def _readyz(self, request: Request) -> Response:
        ready, facts = self._service.readiness()
        return _json(facts, 200 if ready else 503)

    async def _metrics(self, request: Request) -> Response:
        try:
            nodes = nodes_asked(request.query_params.get("nodes"), self._service.shown.nodes)
        except ValueError as error:
            return _json({"error": str(error)}, 400)
        return Response(await self._exposition.text(nodes), media_type=CONTENT_TYPE_LATEST)

    async def _nodes(self, request: Request) -> Response:
        """In another thread: thousands of nodes are a fifth of a second, and kube-scheduler must not wait for it."""
        sort = request.query_params.get("sort", "name")
        believed, resources = self._service.believed(), self._service.adviser.snapshot.resources
        if sort != "name" and sort not in resources:
            return _json({"error": f"sort is name or one of: {', '.join(resources)}; not {sort:.100}"}, 400)
        return await asyncio.to_thread(lambda: _json({"nodes": _sorted(believed(), sort)}))


def _sorted(nodes: list[dict[str, Any]], resource: str) -> list[dict[str, Any]]:
    """By name as they are; by a resource the most utilized first, those not measured last."""
    if resource == "name":
        return nodes
    return sorted(nodes, key=lambda node: -(node["usage"][resource]["utilization"] or 0.0))


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _front_page(_: Request) -> Response:
    return PlainTextResponse(FRONT_PAGE)


def _declared_length(request: Request) -> float:
    declared = request.headers.get("content-length", "")
    return float(declared) if declared.isdecimal() else 0.0


def _too_large(limit: int) -> RequestError:
    return RequestError("too_large", f"the body is larger than {limit} bytes", 413)


def _response(answer: Answer) -> Response:
    return Response(answer.content, answer.status, media_type="application/json")


class FileResponse(Response):
    """JSON from a file in memory, bit by bit, with room for others between two bits."""

    media_type = "application/json"

    def __init__(self, file: MemoryFile) -> None:
        self._file = file
        super().__init__(headers={"content-length": str(file.size)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and let go of it."""
        with self._file as file:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for piece in file.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
