"""Handshakes that fail: who is refused is told in the log, who only knocks is not."""

import contextlib
import logging
import ssl
from pathlib import Path

import pytest

from loadaware.certificates import Certificates
from loadaware.config import TLSSection
from loadaware.handshakes import PAUSE_SECONDS, Told
from tests.loadaware.running_server import RunningServer, answer_on, frozen_service
from tests.parts.certificates import Authority
from tests.parts.processes import wait_for


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority", "authority")


@pytest.fixture
def section(authority: Authority) -> TLSSection:
    pair = authority.issue("server")
    return TLSSection(
        cert_file=str(pair.certificate), key_file=str(pair.key), client_ca_file=str(authority.certificate)
    )


def serving(section: TLSSection) -> RunningServer:
    running = RunningServer(frozen_service(), tls=section)
    context = running.server.config.ssl
    assert context is not None
    Certificates(context, section)
    return running


def knock(running: RunningServer, context: ssl.SSLContext | None) -> None:
    """Connect, shake hands if there is something to do it with, and ask; whatever comes of it."""
    with running.connect() as plain, contextlib.suppress(ssl.SSLError, ConnectionError):
        if context is None:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.recv(100)
            return
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.recv(100)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "loadaware.handshakes"]


@pytest.mark.parametrize("kind", ["no certificate", "another authority", "does not trust us", "plain HTTP"])
def test_a_client_that_is_refused_is_told_of(
    tmp_path: Path, authority: Authority, section: TLSSection, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    stranger = Authority(tmp_path / "stranger", "stranger")
    shown = (stranger if kind == "another authority" else authority).issue("client")
    trusted = stranger if kind == "does not trust us" else authority
    context = ssl.create_default_context(cafile=str(trusted.certificate))
    if kind != "no certificate":
        context.load_cert_chain(shown.certificate, shown.key)
    with caplog.at_level(logging.WARNING), serving(section) as running:
        knock(running, None if kind == "plain HTTP" else context)
        (line,) = wait_for(lambda: lines(caplog), "a line in the log")
    assert line.startswith("a client was refused in the TLS handshake: ")
    words = {
        "no certificate": "PEER_DID_NOT_RETURN_A_CERTIFICATE",
        "another authority": "CERTIFICATE_VERIFY_FAILED",
        "does not trust us": "UNKNOWN_CA",
        "plain HTTP": "HTTP_REQUEST",
    }
    assert words[kind] in line


def test_who_opens_the_port_and_goes_and_who_is_welcome_are_not(
    authority: Authority, section: TLSSection, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(cafile=str(authority.certificate))
    pair = authority.issue("client")
    context.load_cert_chain(pair.certificate, pair.key)
    with caplog.at_level(logging.WARNING), serving(section) as running:
        running.connect().close()
        with running.connect() as plain, context.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_on(connection)[0] == 200
    assert lines(caplog) == []


def test_many_who_knock_get_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    for second in (0.0, 1.0, 2.0, PAUSE_SECONDS, PAUSE_SECONDS + 1.0):
        told.failed(ssl.SSLError(1, "no"), second)
    assert len(lines(caplog)) == 2
    assert lines(caplog)[1].endswith("(2 more since the last such line)")
