"""A question to a running loadaware: directly, or through the API server's proxy. One answer, decoded, or one error.

Where it asks for a token, `$LOADAWARE_TOKEN` is sent along. Without an address the one of this machine is asked: in its
pod, `$LOADAWARE_CONFIG` says where it serves people.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

import msgspec

from collectors.errors import MalformedAnswerError
from loadaware.errors import ConfigError
from loadaware.server_files import ServerFiles

TIMEOUT_SECONDS = 15.0
DEFAULT_SERVER = "http://127.0.0.1:8090"
CONFIG_VARIABLE = "LOADAWARE_CONFIG"
HERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}
"""Where one is reached that listens on every address."""
TOKEN_VARIABLE = "LOADAWARE_TOKEN"  # noqa: S105 - the name of it
TOKEN_HEADER = "X-Loadaware-Token"  # noqa: S105 - the name of it


def token_headers() -> dict[str, str]:
    """What is sent along, if the environment has a token. The header is one that no proxy takes for itself. Raises
    ConfigError for one that cannot be sent.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"${TOKEN_VARIABLE}", "", "a token is one line of ASCII")
    return {TOKEN_HEADER: token} if token else {}


def default_server() -> str:
    """The loadaware of this machine: where `$LOADAWARE_CONFIG` serves people, else where the demo does. Raises
    ConfigError for a file that is wrong.
    """
    from loadaware.config import load

    file = os.environ.get(CONFIG_VARIABLE)
    if not file:
        return DEFAULT_SERVER
    config = load(file)
    address = config.people.address or config.server.address
    host = HERE.get(address) or (f"[{address}]" if ":" in address else address)
    port = config.server.port if config.people.port is None else config.people.port
    return f"{'https' if config.server.tls else 'http'}://{host}:{port}"


def ask_server(url: str, path: str, fields: Mapping[str, str], files: ServerFiles | None = None) -> dict[str, Any]:
    """What a running loadaware tells. Raises ConfigError or CollectorError."""
    from collectors.http_access import base_url
    from collectors.http_session import HttpSession

    try:
        base = base_url(url)
    except ValueError as error:
        raise ConfigError("--server", "", str(error), f"give one such as {DEFAULT_SERVER}") from error
    access = (files or ServerFiles()).access(TIMEOUT_SECONDS, token_headers())
    with closing(HttpSession(base, access)) as session:
        answer = session.fetch("GET", f"{base}{path}", fields)
        if answer.status != 200:
            raise session.refusal(answer, _error_in(answer.body))
        told = _decoded(answer.body)
        if told is None:
            raise MalformedAnswerError(answer.url, "what loadaware tells", session.quoted(answer))
        return told


def ask_through_api_server(  # noqa: PLR0917 - whom, where, what
    kubeconfig: str | None, context: str | None, namespace: str, service: str, path: str, fields: Mapping[str, str]
) -> dict[str, Any]:
    """The same by way of the API server, with the user's own rights: get on services/proxy. Raises CollectorError.

    `service` is NAME:PORT, or https:NAME:PORT.
    """
    from collectors.kubernetes_api import Credentials, KubernetesApi

    place = f"/api/v1/namespaces/{quote(namespace, safe='')}/services/{quote(service, safe=':')}/proxy{path}"
    with KubernetesApi(Credentials(kubeconfig, context), timeout_seconds=TIMEOUT_SECONDS) as api:
        body = api.get(place, dict(fields), headers=token_headers())
        told = _decoded(body)
        if told is None:
            raise MalformedAnswerError(f"{api.url}{place}", "what loadaware tells", f"{body[:100]!r}")
        return told


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _error_in(body: bytes) -> str | None:
    """What loadaware says is wrong, if it is loadaware that says so."""
    error = (_decoded(body) or {}).get("error")
    return error if isinstance(error, str) else None
