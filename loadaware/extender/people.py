"""What is for people and for Prometheus: the routes that are switched on, behind the token where one is asked for."""

from collections.abc import Iterator

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from loadaware.config import PeopleSection
from loadaware.exposition import Exposition, nodes_asked
from loadaware.extender.access import Gate, Handler
from loadaware.extender.decision_answers import DecisionAnswers
from loadaware.extender.demand_answers import DemandAnswers
from loadaware.extender.live_stream import LiveStreams
from loadaware.extender.node_answers import NodeAnswers
from loadaware.extender.page_files import PageFiles
from loadaware.extender.what_if import WhatIf
from loadaware.live import LiveFrames
from loadaware.service import Service

FRONT_PAGE = """loadaware: real load for kube-scheduler

A browser shows the live page here.

POST /filter, /prioritize         kube-scheduler asks here; also /<profile>/filter, /<profile>/prioritize
POST /preempt, /bind              the same, when its configuration names these verbs
GET  /watcher, /watcher/health    load-watcher's API, for Trimaran's plugins
GET  /nodes                       what is believed about each node now; ?sort=cpu the most utilized first
GET  /node?name=...               the same of one node, with its samples and its pods
GET  /explain?pod=namespace/name  why did this pod land there? also &node=... (why not that one), &nodes=50
GET  /decisions                   the last answers, newest first; ?limit=50, &namespace=..., &node=...
POST /what-if                     where would this manifest go? YAML or JSON; nothing is booked, kept or counted
GET  /shadow                      how profiles in shadow would have decided
GET  /demand                      what workloads request, what they use, what they should request;
                                  ?sort=cpu (or memory, pods, name), &limit=50, &namespace=...
GET  /demand/state                all that was learned, for another replica
GET  /live                        what the page shows, a line of JSON each second
GET  /healthz, /readyz            alive; ready, and how the metric source is doing
GET  /metrics                     for Prometheus; ?nodes=all (or a number) for series of more nodes than usual

With `people.port` in the configuration (8091 unless told otherwise) verbs, /watcher and /demand/state are on the
extender's port alone, and the rest on the people's; health is on both.
"""
SETTINGS = {
    "/live": "page",
    "/nodes": "nodes",
    "/node": "nodes",
    "/explain": "explain",
    "/decisions": "explain",
    "/what-if": "whatIf",
    "/shadow": "shadow",
    "/demand": "demand",
    "/metrics": "metrics",
}
"""Path -> the setting that switches it off."""


def features(section: PeopleSection) -> dict[str, bool]:
    """What is switched on, by the names of the configuration."""
    settings: dict[str, bool] = msgspec.to_builtins(section)
    return {name: settings[name] for name in dict.fromkeys(SETTINGS.values())}


class People:
    """The handlers."""

    def __init__(self, service: Service, section: PeopleSection, gate: Gate) -> None:
        self._service = service
        self._gate = gate
        self._on = features(section)
        self._exposition = Exposition(service)
        self.streams = LiveStreams(LiveFrames(service, self._on), section.streams)

    def routes(self) -> Iterator[Route]:
        """Those that are on; the others say so."""
        page = PageFiles(FRONT_PAGE)
        yield Route("/", page.index if self._on["page"] else _front_page, methods=["GET"])
        if self._on["page"]:
            yield Route("/page/{file}", page.file, methods=["GET"])
        for path, handler in self._handlers().items():
            setting = SETTINGS[path]
            answer = handler if path == "/metrics" else self._gate.guarded(handler)
            methods = ["POST"] if path == "/what-if" else ["GET"]
            yield Route(path, answer if self._on[setting] else _off(path, setting), methods=methods)

    def _handlers(self) -> dict[str, Handler]:
        service = self._service
        decided = DecisionAnswers(service.hindsight, lambda: service.adviser.settings.shadows)
        nodes = NodeAnswers(service, explains=self._on["explain"])
        return {
            "/live": self.streams.stream,
            "/nodes": nodes.nodes,
            "/node": nodes.node,
            "/explain": decided.explain,
            "/decisions": decided.decisions,
            "/what-if": WhatIf(service).answer,
            "/shadow": decided.shadow,
            "/demand": DemandAnswers(service.demand_questions).demand,
            "/metrics": self._metrics,
        }

    async def _metrics(self, request: Request) -> Response:
        try:
            nodes = nodes_asked(request.query_params.get("nodes"), self._service.shown.nodes)
        except ValueError as error:
            return Response(msgspec.json.encode({"error": str(error)}), 400, media_type="application/json")
        return Response(await self._exposition.text(nodes), media_type=CONTENT_TYPE_LATEST)


def _off(path: str, setting: str) -> Handler:
    content = msgspec.json.encode({"error": f"{path} is switched off: people.{setting} in the configuration"})

    async def refused(_: Request) -> Response:
        return Response(content, 404, media_type="application/json")

    return refused


async def _front_page(_: Request) -> Response:
    return PlainTextResponse(FRONT_PAGE)
