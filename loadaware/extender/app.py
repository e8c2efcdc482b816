"""The ASGI app: filter, prioritize, health, metrics, nodes. A handler reads, asks, answers."""

import logging
import time
from collections.abc import Awaitable, Callable

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from loadaware.errors import RequestError, UnknownProfileError
from loadaware.extender import protocol
from loadaware.service import Service

logger = logging.getLogger(__name__)

FRONT_PAGE = """loadaware: real load for kube-scheduler

POST /filter, /prioritize         kube-scheduler asks here; also /<profile>/filter, /<profile>/prioritize
GET  /nodes                       what is believed about each node now
GET  /healthz, /readyz            alive; ready, and how the metric source is doing
GET  /metrics                     for Prometheus
"""


def make_app(service: Service, body_limit_bytes: int) -> Starlette:
    """The app over a service."""
    return Starlette(routes=_Handlers(service, body_limit_bytes).routes())


class _Handlers:
    def __init__(self, service: Service, body_limit_bytes: int) -> None:
        self._service = service
        self._body_limit = body_limit_bytes

    def routes(self) -> list[Route]:
        verbs = {"filter": self._filter, "prioritize": self._prioritize}
        extender = [
            Route(f"{prefix}/{verb}", self._answer(verb, handler), methods=["POST"])
            for verb, handler in verbs.items()
            for prefix in ("", "/{profile}")
        ]
        people = {
            "/": _front_page,
            "/healthz": _healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
            "/nodes": self._nodes,
        }
        return extender + [Route(path, handler, methods=["GET"]) for path, handler in people.items()]

    def _answer(
        self, verb: str, handler: Callable[[bytes, str | None], bytes]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a verb: read the body within the limit, time it, and turn trouble into a clear answer."""
        telemetry = self._service.telemetry

        async def answer(request: Request) -> Response:
            try:
                body = await self._body(request)
                started = time.perf_counter()
                content = handler(body, request.path_params.get("profile"))
            except RequestError as error:
                return self._refused(verb, error.reason, str(error), error.status)
            except UnknownProfileError as error:
                return self._refused(verb, "unknown_profile", str(error), 404)
            except ClientDisconnect:
                return self._refused(verb, "disconnected", "the client went away", 400)
            except Exception:
                logger.exception("%s failed", verb)
                return self._refused(verb, "internal", "internal error; the log has the details", 500)
            telemetry.duration.labels(verb).observe(time.perf_counter() - started)
            return Response(content, media_type="application/json")

        return answer

    def _refused(self, verb: str, reason: str, problem: str, status: int) -> Response:
        self._service.telemetry.errors.labels(verb, reason).inc()
        return _json({"error": problem}, status)

    async def _body(self, request: Request) -> bytes:
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self._body_limit:
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

    def _filter(self, body: bytes, profile: str | None) -> bytes:
        arguments = protocol.decode_arguments(body, keep_nodes=True)
        filtering = self._service.adviser.filter(arguments.pod, arguments.names, profile)
        telemetry = self._service.telemetry
        telemetry.rejected.labels(filtering.profile).inc(len(filtering.failed) + len(filtering.unresolvable))
        if filtering.relaxed:
            telemetry.relaxed.labels(filtering.profile).inc()
        self._count("filter", filtering.profile, arguments)
        return protocol.encode_filtering(filtering, arguments.whole_nodes)

    def _prioritize(self, body: bytes, profile: str | None) -> bytes:
        arguments = protocol.decode_arguments(body)
        ranking = self._service.adviser.rank(arguments.pod, arguments.names, profile)
        self._count("prioritize", ranking.profile, arguments)
        return protocol.encode_priorities(ranking)

    def _count(self, verb: str, profile: str, arguments: protocol.Arguments) -> None:
        telemetry = self._service.telemetry
        telemetry.requests.labels(verb, profile).inc()
        telemetry.nodes_asked.labels(verb).observe(len(arguments.names))
        for doubt in arguments.doubts:
            telemetry.errors.labels(verb, doubt.partition(":")[0]).inc()

    async def _readyz(self, request: Request) -> Response:
        ready, facts = self._service.readiness()
        return _json(facts, 200 if ready else 503)

    async def _metrics(self, request: Request) -> Response:
        self._service.update_gauges()
        return Response(generate_latest(self._service.telemetry.registry), media_type=CONTENT_TYPE_LATEST)

    async def _nodes(self, request: Request) -> Response:
        return _json({"nodes": self._service.nodes()})


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _front_page(_: Request) -> Response:
    return PlainTextResponse(FRONT_PAGE)


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
