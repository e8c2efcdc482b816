"""GET /demand and /demand/state: what was learned, for people and for another replica.

The observer works it out, in its own process. Here nothing waits but the request itself, and a long answer is sent
piece by piece, with room for others between two pieces.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from collectors.reading import CPU
from loadaware.demand_questions import DemandQuestions

WORKLOADS_SHOWN = 50
NOBODY_TELLS = "nothing is learned yet, or the observer does not answer; see /readyz"


class DemandAnswers:
    """The two handlers."""

    def __init__(self, questions: DemandQuestions) -> None:
        self._questions = questions

    async def demand(self, request: Request) -> Response:
        """Workloads, as demand_report tells them: ?sort=cpu&limit=50&namespace=shop."""
        asked = request.query_params
        limit = asked.get("limit", str(WORKLOADS_SHOWN))
        if not (limit.isascii() and limit.isdecimal() and len(limit) <= 9):
            return _problem(f"limit is a whole number, not {limit:.100}", 400)
        try:
            told = await self._questions.demand(asked.get("sort", CPU), int(limit), asked.get("namespace"))
        except ValueError as error:
            return _problem(str(error), 400)
        content = b"".join(told or ())
        return Response(content, media_type="application/json") if content else _problem(NOBODY_TELLS, 503)

    async def state(self, request: Request) -> Response:
        """All of it, as demand_format writes it."""
        told = await self._questions.state() or []
        size = sum(map(len, told))
        if not size:
            return _problem(NOBODY_TELLS, 503)
        length = {"content-length": str(size)}
        return StreamingResponse(_each(told), media_type="application/octet-stream", headers=length)


async def _each(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def _problem(problem: str, status: int) -> Response:
    return Response(msgspec.json.encode({"error": problem}), status, media_type="application/json")
