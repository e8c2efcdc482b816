"""The ASGI app: filter, prioritize, health, metrics, nodes. A handler reads, asks, answers.

It fails open. A plugin that fails is skipped by the core, which is logged and counted here. Whatever else goes wrong
after a pod and its nodes were read is logged and counted, too, and the answer is the one that changes nothing: every
node passes, all nodes are equal. Anything but 200 from filter would keep the pod from being scheduled at all.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from loadaware.errors import LoadAwareError, RequestError, UnknownProfileError
from loadaware.extender import protocol
from loadaware.extender.cluster_verbs import bind, preempt
from loadaware.extender.watcher import watcher_metrics
from loadaware.filtering import Filtering
from loadaware.service import Service

logger = logging.getLogger(__name__)

FRONT_PAGE = """loadaware: real load for kube-scheduler

POST /filter, /prioritize         kube-scheduler asks here; also /<profile>/filter, /<profile>/prioritize
POST /preempt, /bind              the same, when its configuration names these verbs
GET  /watcher, /watcher/health    load-watcher's API, for Trimaran's plugins
GET  /nodes                       what is believed about each node now; ?sort=cpu the most utilized first
GET  /healthz, /readyz            alive; ready, and how the metric source is doing
GET  /metrics                     for Prometheus
"""


def make_app(service: Service, body_limit_bytes: int) -> Starlette:
    """The app over a service."""
    handlers = _Handlers(service, body_limit_bytes)
    return Starlette(routes=handlers.routes(), exception_handlers={HTTPException: handlers.no_such_thing})


VERBS = ("filter", "prioritize", "preempt", "bind")

_Handler = Callable[[protocol.Arguments, str | None], bytes]
_Neutral = Callable[[protocol.Arguments], bytes]


class _Handlers:
    def __init__(self, service: Service, body_limit_bytes: int) -> None:
        self._service = service
        self._body_limit = body_limit_bytes
        self._skipped: dict[tuple[str, str], dict[str, str]] = {}
        self._verbs: dict[str, tuple[_Handler, _Neutral]] = {
            "filter": (self._filter, protocol.encode_all_passing),
            "prioritize": (self._prioritize, protocol.encode_all_equal),
        }

    def routes(self) -> list[Route]:
        extender = [
            Route(f"{prefix}/{verb}", self._answering(verb), methods=["POST"])
            for verb in self._verbs
            for prefix in ("", "/{profile}")
        ]
        extender += [
            Route(f"{prefix}/{verb}", self._awaiting(verb), methods=["POST"])
            for verb in ("preempt", "bind")
            for prefix in ("", "/{profile}")
        ]
        people = {
            "/": _front_page,
            "/healthz": _healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
            "/nodes": self._nodes,
            "/watcher": self._watcher,
            "/watcher/health": self._watcher_health,
        }
        return extender + [Route(path, handler, methods=["GET"]) for path, handler in people.items()]

    def _answering(self, verb: str) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a verb: read the body within the limit, time it, and turn trouble into a clear answer."""

        async def answer(request: Request) -> Response:
            try:
                body = await self._body(request)
                started = time.perf_counter()
                content = self._answer(verb, body, request.path_params.get("profile"))
            except RequestError as error:
                return self._refused(verb, error.reason, str(error), error.status)
            except UnknownProfileError as error:
                return self._refused(verb, "unknown_profile", str(error), 404)
            except ClientDisconnect:
                return self._refused(verb, "disconnected", "the client went away", 400)
            self._service.telemetry.duration.labels(verb).observe(time.perf_counter() - started)
            return Response(content, media_type="application/json")

        return answer

    def _awaiting(self, verb: str) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a verb that must wait for others: the observer, the API server."""
        service = self._service

        async def answer(request: Request) -> Response:
            try:
                body = await self._body(request)
                started = time.perf_counter()
                profile = request.path_params.get("profile")
                content = await (preempt if verb == "preempt" else bind)(service, body, profile)
            except RequestError as error:
                return self._refused(verb, error.reason, str(error), error.status)
            except UnknownProfileError as error:
                return self._refused(verb, "unknown_profile", str(error), 404)
            except ClientDisconnect:
                return self._refused(verb, "disconnected", "the client went away", 400)
            service.telemetry.duration.labels(verb).observe(time.perf_counter() - started)
            return Response(content, media_type="application/json")

        return answer

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

    def _answer(self, verb: str, body: bytes, profile: str | None) -> bytes:
        """The answer, or the neutral one if working it out fails."""
        arguments = protocol.decode_arguments(body, keep_nodes=verb == "filter")
        handler, neutral = self._verbs[verb]
        try:
            return handler(arguments, profile)
        except LoadAwareError:
            raise
        except Exception:
            logger.exception("%s failed for pod %s: answered neutrally", verb, arguments.pod.key)
            self._service.telemetry.errors.labels(verb, "internal").inc()
            return neutral(arguments)

    async def no_such_thing(self, request: Request, error: Exception) -> Response:
        """A path or method that there is not."""
        if not isinstance(error, HTTPException):
            raise error
        verb = request.url.path.rpartition("/")[2]
        reason = "wrong_method" if error.status_code == 405 else "unknown_path"
        problem = f"{request.method} {request.url.path:.100}: {error.detail}; GET / lists what there is"
        answer = self._refused(verb if verb in VERBS else "other", reason, problem, error.status_code)
        answer.headers.update(error.headers or {})
        return answer

    def _refused(self, verb: str, reason: str, problem: str, status: int) -> Response:
        self._service.telemetry.errors.labels(verb, reason).inc()
        return _json({"error": problem}, status)

    async def _body(self, request: Request) -> bytes:
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and float(declared) > self._body_limit:
            raise self._too_large()
        chunks, size = [], 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > self._body_limit:
                raise self._too_large()
            chunks.append(chunk)
        return b"".join(chunks)

    def _too_large(self) -> RequestError:
        return RequestError("too_large", f"the body is larger than {self._body_limit} bytes", 413)

    def _filter(self, arguments: protocol.Arguments, profile: str | None) -> bytes:
        filtering = self._service.adviser.filter(arguments.pod, arguments.names, profile)
        telemetry = self._service.telemetry
        telemetry.rejected.labels(filtering.profile).inc(len(filtering.failed) + len(filtering.unresolvable))
        if filtering.relaxed:
            telemetry.relaxed.labels(filtering.profile).inc()
            self._service.announcements.announce(arguments.pod, "LoadRulesRelaxed", _relaxed(filtering))
        self._count("filter", filtering.profile, arguments)
        self._note_skipped("filter", filtering.profile, filtering.skipped)
        return protocol.encode_filtering(filtering, arguments.whole_nodes)

    def _prioritize(self, arguments: protocol.Arguments, profile: str | None) -> bytes:
        ranking = self._service.adviser.rank(arguments.pod, arguments.names, profile)
        self._count("prioritize", ranking.profile, arguments)
        self._note_skipped("prioritize", ranking.profile, ranking.skipped)
        return protocol.encode_priorities(ranking)

    def _count(self, verb: str, profile: str, arguments: protocol.Arguments) -> None:
        telemetry = self._service.telemetry
        telemetry.requests.labels(verb, profile).inc()
        telemetry.nodes_asked.labels(verb).observe(len(arguments.names))
        for doubt in arguments.doubts:
            telemetry.errors.labels(verb, doubt.partition(":")[0]).inc()

    def _note_skipped(self, verb: str, profile: str, skipped: dict[str, str]) -> None:
        """Count answers without some plugin; log when it begins and what becomes of it, not each one."""
        if skipped:
            self._service.telemetry.errors.labels(verb, "skipped_plugin").inc()
        if skipped != self._skipped.get((verb, profile), {}):
            self._skipped[verb, profile] = skipped
            without = "; ".join(f"without {plugin} ({why})" for plugin, why in skipped.items())
            logger.warning("%s of profile %s goes on %s", verb, profile, without or "with all its plugins again")

    async def _readyz(self, request: Request) -> Response:
        ready, facts = self._service.readiness()
        return _json(facts, 200 if ready else 503)

    async def _metrics(self, request: Request) -> Response:
        self._service.update_gauges()
        return Response(generate_latest(self._service.telemetry.registry), media_type=CONTENT_TYPE_LATEST)

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


def _relaxed(filtering: Filtering) -> str:
    return f"load rules would reject every node; the {len(filtering.passed)} least loaded pass all the same"


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _front_page(_: Request) -> Response:
    return PlainTextResponse(FRONT_PAGE)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
