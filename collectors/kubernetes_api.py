"""The one module that speaks to the Kubernetes API server: raw GET and POST, and watch streams.

Credentials and transport are those of the `kubernetes` client; its model classes are not used, because they
are slow: bodies come back as raw bytes, and whoever asked decodes them. The client is imported on first use.

The bargain:
- Every failure is one of collectors.errors. Nothing is retried here: whoever asks knows what waiting costs.
- No token, password or key appears in an error or a log line, not even where the client's own messages have
  one.
- Credentials are those of collectors.kubernetes_credentials; after a 401 they are loaded anew for the next
  request.
- A KubernetesApi may be used from many threads. A `Stream` is read by one thread and may be closed by any.
"""

import contextlib
import logging
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3
from urllib3.exceptions import HTTPError, InsecureRequestWarning, LocationParseError

from collectors.errors import SourceRefusedError, SourceUnreachableError
from collectors.kubernetes_credentials import Credentials, one_line, redacted

__all__ = ["Credentials", "KubernetesApi", "Query", "Stream"]

Query = Mapping[str, str | int]

_CONNECT_SECONDS = 5.0
_ERROR_BYTES = 65_536
_PIECE_BYTES = 65_536
_LOG = logging.getLogger(__name__)


class Stream:
    """The lines of a watch, each one JSON event, as they arrive.

    Iterate inside `with`: leaving it frees the connection. `close()` may be called from any thread, also
    while another waits for the next line: the iteration then ends as if the server had ended it. A server that
    ends the stream properly ends the iteration; a lost connection raises SourceUnreachableError. A line cut
    short is never given out.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse, url: str) -> None:
        self._response = response
        self._url = url
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        while piece := self._piece():
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line for line in lines if line.strip())

    def close(self) -> None:
        """End the iteration, wherever it is."""
        self._closed.set()
        with contextlib.suppress(ValueError, RuntimeError, OSError):  # it had ended by itself
            self._response.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        self._response.close()

    def _piece(self) -> bytes:
        if self._closed.is_set():
            return b""
        try:
            return self._response.read1(_PIECE_BYTES) or b""
        except (HTTPError, OSError, ValueError) as error:
            if self._closed.is_set():
                return b""
            raise SourceUnreachableError(self._url, _cause(error)) from error


@dataclass(frozen=True)
class _Connection:
    """Loaded credentials and the connections made with them."""

    url: str
    configuration: Any
    pool: urllib3.PoolManager

    def headers(self) -> dict[str, str]:
        """Who we are; asking the configuration makes it read rotated tokens."""
        headers = {"Accept": "application/json", "User-Agent": "loadaware"}
        for setting in self.configuration.auth_settings().values():
            headers[setting["key"]] = (setting["value"] or "").strip()
        return headers

    def without_secrets(self, text: str) -> str:
        """A text in which a server repeats our credentials, without them."""
        for setting in self.configuration.auth_settings().values():
            secret = (setting["value"] or "").strip().removeprefix("Bearer ").removeprefix("Basic ")
            text = text.replace(secret, "***") if secret else text
        return text


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    query: Query | None
    body: bytes | None
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)


class KubernetesApi:
    """Raw requests to one API server. Paths start with a slash; errors name address and path, no query."""

    def __init__(self, credentials: Credentials | None = None, *, timeout_seconds: float = 10.0) -> None:
        self._credentials = credentials or Credentials()
        self._timeout_seconds = timeout_seconds
        self._connection: _Connection | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address of the API server, for messages. Loads the credentials, so may raise as they do."""
        return self._connected().url

    def get(
        self,
        path: str,
        query: Query | None = None,
        timeout_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of a GET. The timeout bounds each wait for bytes, not the whole answer. Headers are for whoever
        stands behind the API server's proxy.
        """
        return self._body(_Request("GET", path, query, None, timeout_seconds or self._timeout_seconds, headers or {}))

    def post(self, path: str, body: bytes, query: Query | None = None, timeout_seconds: float | None = None) -> bytes:
        """The body of the answer to a POST of JSON (a binding, an event, an access review)."""
        return self._body(_Request("POST", path, query, body, timeout_seconds or self._timeout_seconds))

    def stream(self, path: str, query: Query | None = None, timeout_seconds: float | None = None) -> Stream:
        """Open a watch. The timeout bounds the silence between two pieces: more than the watch's own."""
        request = _Request("GET", path, query, None, timeout_seconds or self._timeout_seconds)
        return Stream(*self._answer(request))

    def close(self) -> None:
        """Close idle connections. Streams are closed by those who read them."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.pool.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _body(self, request: _Request) -> bytes:
        response, url = self._answer(request)
        try:
            return response.read()
        except (HTTPError, OSError) as error:
            response.close()
            raise SourceUnreachableError(url, _cause(error)) from error

    def _answer(self, request: _Request) -> tuple[urllib3.BaseHTTPResponse, str]:
        connection = self._connected()
        url = connection.url + request.path
        response = _send(connection, request, url)
        if 200 <= response.status < 300:
            return response, url
        if response.status == 401:
            self.close()
        raise _refusal(response, url, connection)

    def _connected(self) -> _Connection:
        with self._lock:
            if self._connection is None:
                self._connection = _connect(self._credentials)
            return self._connection


def _connect(credentials: Credentials) -> _Connection:
    from kubernetes.client import ApiClient

    configuration = credentials.load()
    url = _without_userinfo(configuration.host)
    if not configuration.verify_ssl:
        urllib3.disable_warnings(InsecureRequestWarning)
        _LOG.warning("the certificate of %s is not verified, as the kubeconfig asks", url)
    try:
        pool = ApiClient(configuration).rest_client.pool_manager
    except (HTTPError, OSError, ValueError) as error:
        raise SourceUnreachableError(url, f"the client cannot be set up ({type(error).__name__})") from None
    return _Connection(url, configuration, pool)


def _send(connection: _Connection, request: _Request, url: str) -> urllib3.BaseHTTPResponse:
    headers = {**_headers(connection, url), **request.headers}
    try:
        return connection.pool.request(
            request.method,
            f"{url}?{urlencode(request.query)}" if request.query else url,
            body=request.body,
            headers=headers if request.body is None else headers | {"Content-Type": "application/json"},
            timeout=urllib3.Timeout(connect=min(request.seconds, _CONNECT_SECONDS), read=request.seconds),
            retries=False,
            redirect=False,
            preload_content=False,
        )
    except (HTTPError, OSError) as error:
        raise SourceUnreachableError(url, _cause(error)) from error
    except ValueError:  # a header that cannot be sent; the message would quote the token
        raise SourceUnreachableError(url, "the credentials are not fit for an HTTP header") from None


def _headers(connection: _Connection, url: str) -> dict[str, str]:
    from kubernetes.config import ConfigException

    try:
        return connection.headers()
    except OSError as error:
        raise SourceUnreachableError(url, f"the token cannot be read: {error.strerror}") from error
    except ConfigException as error:
        raise SourceUnreachableError(url, f"no credentials: {redacted(str(error))}") from None


class _Status(msgspec.Struct):
    """The API server's own words on why it refused."""

    message: str = ""
    error: Any = ""
    """Of loadaware's own, behind the API server's proxy."""


def _refusal(response: urllib3.BaseHTTPResponse, url: str, connection: _Connection) -> SourceRefusedError:
    try:
        body = response.read(_ERROR_BYTES)
        status = msgspec.json.decode(body, type=_Status)
        message = status.message or (status.error if isinstance(status.error, str) else "")
    except (HTTPError, OSError, msgspec.DecodeError):
        message = ""
    finally:
        response.close()
    words = connection.without_secrets(message or response.reason or "no reason given")
    return SourceRefusedError(url, response.status, one_line(words))


def _cause(error: BaseException) -> str:
    """The plainest words in a chain of exceptions."""
    if isinstance(error, LocationParseError):
        return "its address cannot be parsed"
    for link in _chain(error):
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate cannot be verified: {link.verify_message or link.reason}"
        if isinstance(link, ssl.SSLError):
            return f"TLS failed: {link.reason or 'the connection broke'}"
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return "no answer in time"
    return one_line(str(error)) or type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        yield from (argument for argument in link.args if isinstance(argument, BaseException))
        link = link.__cause__ or link.__context__


def _without_userinfo(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
