"""The ASGI app: kube-scheduler's verbs, health, and what is for people (people.py). A handler reads, asks, answers.

It is the plain way. What kube-scheduler asks at every pod does not come by here but takes the short one (hot_path.py),
unless there is something unusual about it; `Answers` is behind both.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from loadaware.config import PeopleSection
from loadaware.errors import LoadAwareError, RequestError
from loadaware.extender.access import Gate
from loadaware.extender.answers import Answer, Answers
from loadaware.extender.cluster_verbs import bind, preempt
from loadaware.extender.demand_answers import DemandAnswers
from loadaware.extender.large_answers import LargeAnswers
from loadaware.extender.large_bodies import MOST_AT_ONCE_BYTES, LargeBodies, MemoryFile, read_at_once
from loadaware.extender.people import SETTINGS, People
from loadaware.extender.trace_context import trace_of
from loadaware.extender.watcher import watcher_metrics
from loadaware.service import Service

EXTENDER_PAGE = """loadaware: real load for kube-scheduler

POST /filter, /prioritize         kube-scheduler asks here; also /<profile>/filter, /<profile>/prioritize
POST /preempt, /bind              the same, when its configuration names these verbs
GET  /watcher, /watcher/health    load-watcher's API, for Trimaran's plugins
GET  /demand/state                all that was learned, for another replica
GET  /healthz, /readyz            alive; ready, and how the metric source is doing

Everything for people, and /metrics, {where}.
"""


def make_app(service: Service, body_limit_bytes: int, section: PeopleSection | None = None) -> Starlette:
    """The app over a service, with everything."""
    section = section or PeopleSection(port=None)
    gate = Gate(section)
    return app_over(Answers(service, body_limit_bytes), LargeBodies(), gate, people=People(service, section, gate))


def app_over(
    answers: Answers,
    bodies: LargeBodies,
    gate: Gate,
    *,
    verbs: bool = True,
    people: People | None = None,
    elsewhere: str = "is switched off",
) -> Starlette:
    """The app over answers that others give, too. Without people, `elsewhere` says where they are served."""
    handlers = _Handlers(answers, bodies, gate, elsewhere)
    routes = [*(handlers.verbs() if verbs else ()), *handlers.routes(), *(people.routes() if people else ())]
    if people is None:
        routes.append(Route("/", handlers.front_page, methods=["GET"]))
    return Starlette(routes=routes, exception_handlers={HTTPException: handlers.no_such_thing})


def people_app(answers: Answers, bodies: LargeBodies, gate: Gate, people: People) -> Starlette:
    """What the people's own port serves: health, and what is theirs."""
    handlers = _Handlers(answers, bodies, gate, "is here")
    routes = [*handlers.health(), *people.routes()]
    return Starlette(routes=routes, exception_handlers={HTTPException: handlers.no_such_thing})


VERBS = ("filter", "prioritize", "preempt", "bind")


class _Handlers:
    def __init__(self, answers: Answers, bodies: LargeBodies, gate: Gate, elsewhere: str) -> None:
        self._service = answers.service
        self._answers = answers
        self._bodies = bodies
        self._large = LargeAnswers(answers, bodies)
        self._gate = gate
        self._elsewhere = elsewhere

    def verbs(self) -> list[Route]:
        """kube-scheduler's."""
        return [
            Route(f"{prefix}/{verb}", self._answering(verb), methods=["POST"])
            for verb in VERBS
            for prefix in ("", "/{profile}")
        ]

    def health(self) -> list[Route]:
        """For probes: never behind a token."""
        return [Route("/healthz", _healthz, methods=["GET"]), Route("/readyz", self._readyz, methods=["GET"])]

    def routes(self) -> list[Route]:
        """For other machines."""
        learned = DemandAnswers(self._service.demand_questions)
        machines = {
            "/demand/state": self._gate.guarded(learned.state),
            "/watcher": self._watcher,
            "/watcher/health": self._watcher_health,
        }
        return self.health() + [Route(path, handler, methods=["GET"]) for path, handler in machines.items()]

    async def front_page(self, _: Request) -> Response:
        """Where people are not served."""
        return PlainTextResponse(EXTENDER_PAGE.format(where=self._elsewhere))

    def _answering(self, verb: str) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a verb: read the body within the limit, answer it, and turn trouble into a clear answer."""

        async def answer(request: Request) -> Response:
            profile = request.path_params.get("profile")
            try:
                async with self._body(request) as body:
                    return await self._to(verb, body, profile, request)
            except ClientDisconnect:
                return _response(self._answers.disconnected(verb))
            except LoadAwareError as error:
                return _response(self._answers.failed(verb, error))

        return answer

    async def _to(self, verb: str, body: bytes | MemoryFile, profile: str | None, request: Request) -> Response:
        started = time.perf_counter()
        content: bytes | MemoryFile | Answer
        if isinstance(body, MemoryFile):
            content = await self._large.answer(verb, body, profile)
        elif verb in ("filter", "prioritize"):
            trace = trace_of(request.headers.get("traceparent", "").encode())
            content = self._answers.answer(verb, body, profile, trace)
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
        theirs = f"; what is for people {self._elsewhere}" if request.url.path in SETTINGS else ""
        problem = f"{request.method} {request.url.path:.100}: {error.detail}{theirs}; GET / lists what there is"
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


async def _healthz(_: Request) -> Response:
    return PlainTextResponse("ok\n")


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
