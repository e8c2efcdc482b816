"""Who may see what is for people: those who bring the token, if one is configured.

The token is compared in constant time, read anew for each request where it is in a file, and never logged. It comes as
`Authorization: Bearer TOKEN`, or as `X-Loadaware-Token: TOKEN` where something between (the API server's proxy, say)
takes the former for itself.
"""

import hmac
import logging
import os
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from loadaware.config import PeopleSection
from loadaware.errors import ConfigError

logger = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]

HEADER = "x-loadaware-token"
_ASKED = "a token is needed: Authorization: Bearer TOKEN"
_WRONG = "the token is not the right one"
_UNREADABLE = "the token cannot be read here, so nobody is let in; the log tells more"


def token_of(section: PeopleSection) -> str | None:
    """The token as it is now; None if there is none, or if it cannot be read."""
    if section.token_variable:
        return os.environ.get(section.token_variable, "").strip() or None
    if not section.token_file:
        return None
    try:
        return Path(section.token_file).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("people.tokenFile cannot be read: %s", getattr(error, "strerror", None) or "not UTF-8")
        return None


class Gate:
    """Lets those in who bring the token; all, without one."""

    def __init__(self, section: PeopleSection, file: str = "<config>") -> None:
        """Raises ConfigError for a token that is not there."""
        self._section = section
        self.asks = bool(section.token_file or section.token_variable)
        if self.asks and token_of(section) is None:
            if section.token_variable:
                raise ConfigError(file, "people.tokenVariable", f"${section.token_variable} is not set, or empty")
            raise ConfigError(file, "people.tokenFile", f"{section.token_file} cannot be read, or is empty")

    def guarded(self, handler: Handler) -> Handler:
        """The same handler behind the gate."""
        if not self.asks:
            return handler

        async def asked(request: Request) -> Response:
            return self._refusal(request) or await handler(request)

        return asked

    def _refusal(self, request: Request) -> Response | None:
        token = token_of(self._section)
        if token is None:
            return _problem(_UNREADABLE, 503)
        brought = _brought(request)
        if brought is None:
            return _problem(_ASKED, 401)
        same = hmac.compare_digest(sha256(brought.encode()).digest(), sha256(token.encode()).digest())
        return None if same else _problem(_WRONG, 401)


def _brought(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return request.headers.get(HEADER, "").strip() or None


def _problem(problem: str, status: int) -> Response:
    headers = {"www-authenticate": 'Bearer realm="loadaware"'} if status == 401 else {}
    return Response(msgspec.json.encode({"error": problem}), status, headers, media_type="application/json")
