"""One HTTP conversation with one source: the transport under collectors that read from the web.

The bargain: `fetch` gives a whole answer of bounded size in bounded time, or raises a CollectorError; no secret is
in what it raises. Redirects are not followed: they mean a login page or a wrong address, and would carry
credentials elsewhere. Nothing is tried twice: the next refresh is the next try.

Importing this module imports `requests` (0.2 s): import it where a conversation begins.
"""

import base64
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.utils import get_environ_proxies

from collectors.errors import SourceRefusedError, SourceUnreachableError
from collectors.http_access import HttpAccess, read_secret

LARGEST_ANSWER_BYTES = 512 * 2**20
LONGEST_QUOTE = 300
LOOPBACK = "localhost,127.0.0.0/8,::1"
NO_RETRY = urllib3.Retry(0, read=False)
_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """A whole answer, whatever its status."""

    url: str
    status: int
    content_type: str
    body: bytes
    location: str = ""


class HttpSession(requests.Session):
    """A session that brings its own credentials to every request and bounds every answer."""

    largest_answer_bytes: int | None = None
    """Less than LARGEST_ANSWER_BYTES, for who expects less."""

    def __init__(self, url: str, access: HttpAccess) -> None:
        super().__init__()
        self.access = access
        self.auth = self._credentials = _Credentials(url, access)
        self.headers.update({"User-Agent": "loadaware", **access.headers})
        self._set_trust(url)
        self.mount(url, HTTPAdapter(max_retries=NO_RETRY))

    def _set_trust(self, url: str) -> None:
        """What counts of the environment (proxies, a CA if none is given) is taken here, once. Left to itself,
        `requests` would ask it every time, and let its CA win over ours.
        """
        access, environment = self.access, os.environ
        self.trust_env = False
        self.proxies = dict(get_environ_proxies(url, no_proxy=_unproxied()))
        authorities = access.ca_file or environment.get("REQUESTS_CA_BUNDLE") or environment.get("CURL_CA_BUNDLE")
        self.verify = str(authorities) if authorities else True
        if access.insecure_skip_verify:
            self.verify = False
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        if access.client_certificate_file:
            certificate, key = str(access.client_certificate_file), access.client_key_file
            self.cert = (certificate, str(key)) if key else certificate

    def fetch(self, method: str, url: str, fields: Mapping[str, Any] | None = None) -> Answer:
        """The answer, whatever its status. Fields go into the body of a POST, else behind the '?'."""
        sent: dict[str, Any] = {"data" if method == "POST" else "params": fields}
        seconds = self.access.timeout_seconds
        deadline = time.monotonic() + seconds
        try:
            with super().request(method, url, timeout=seconds, stream=True, allow_redirects=False, **sent) as response:
                return _whole(response, url, deadline, self.largest_answer_bytes or LARGEST_ANSWER_BYTES)
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise SourceUnreachableError(url=url, cause=f"no whole answer within {seconds:g} s") from error
        except (OSError, urllib3.exceptions.HTTPError) as error:
            # Every error of requests is an OSError, and so is an unreadable certificate file.
            raise SourceUnreachableError(url=url, cause=self.line(_innermost(error))) from error

    def refusal(self, answer: Answer, message: str | None = None) -> SourceRefusedError:
        """The error for an answer that is a refusal."""
        said = self.quoted(answer) if message is None else self.line(message)
        if 300 <= answer.status < 400 and answer.location:
            place = urlsplit(answer.location)
            said = self.line(f"a redirect to {place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}")
        return SourceRefusedError(url=answer.url, status=answer.status, message=said)

    def quoted(self, answer: Answer) -> str:
        """What a body says that is not what we expect, in a line at most."""
        text = answer.body[:20_000].decode(errors="replace")
        if "html" in answer.content_type or text.lstrip().startswith("<"):
            title = _TITLE.search(text)
            return f"an HTML page titled {self.line(title[1])!r}" if title else "an HTML page"
        return self.line(text) or "an empty answer"

    def line(self, text: str) -> str:
        """The text as one bounded line, without any secret that it was given."""
        line = " ".join(self._credentials.redacted(text).split())
        return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 3] + "..."


class _Credentials(AuthBase):
    """Signs every request with what the files hold now. Being there at all, it keeps .netrc out of it."""

    def __init__(self, url: str, access: HttpAccess) -> None:
        self._url = url
        self._access = access
        self._secrets: set[str] = set(access.secret_headers)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        try:
            header = self._authorization()
        except ValueError as error:
            raise SourceUnreachableError(url=self._url, cause=f"credentials: {error}") from None
        if header:
            request.headers["Authorization"] = header
        return request

    def _authorization(self) -> str | None:
        access = self._access
        if access.bearer_token_file:
            token = read_secret(access.bearer_token_file)
            if not token.isascii() or " " in token:
                raise ValueError(f"{access.bearer_token_file} holds no bearer token")
            self._secrets.add(token)
            return f"Bearer {token}"
        if access.password_file:
            password = read_secret(access.password_file)
            pair = base64.b64encode(f"{access.username}:{password}".encode()).decode()
            self._secrets.update({password, pair})
            return f"Basic {pair}"
        return None

    def redacted(self, text: str) -> str:
        """Longest first: one secret may be a part of another."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def _unproxied() -> str:
    """Hosts that no proxy is asked for: the environment's, and ourselves (a port-forward, say), as Go does it."""
    named = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
    return f"{named},{LOOPBACK}" if named else LOOPBACK


def _whole(response: requests.Response, url: str, deadline: float, largest: int) -> Answer:
    """Read to the end. `requests` bounds only the wait for each piece, so the sum is bounded here."""
    pieces, size = [], 0
    for piece in _pieces(response):
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > deadline:
            raise requests.Timeout
        if size > largest:
            raise SourceUnreachableError(url=url, cause=f"the answer is longer than {largest} bytes")
    return Answer(
        url=url,
        status=response.status_code,
        content_type=response.headers.get("Content-Type", "").lower(),
        body=b"".join(pieces),
        location=response.headers.get("Location", ""),
    )


def _pieces(response: requests.Response) -> Iterator[bytes]:
    """What the socket has, as it comes: a full-sized read would wait on a trickling source without end."""
    while piece := response.raw.read1(256 * 1024, decode_content=True):
        yield piece


def _innermost(error: BaseException) -> str:
    """What went wrong at the bottom, without the libraries' wrapping."""
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return str(error) or type(error).__name__
