"""Certificates that are renewed while we serve."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadaware.certificates import Certificates
from loadaware.config import TLSSection
from tests.loadaware.running_server import RunningServer, answer_on, frozen_service
from tests.parts.certificates import Authority, KeyPair
from tests.parts.processes import PATIENCE_SECONDS


class Renewed:
    """A server whose files can be rewritten; `look` looks at them once."""

    def __init__(self, folder: Path, authority: Authority, client_authority: Authority | None = None) -> None:
        self.files = KeyPair(folder / "tls.crt", folder / "tls.key")
        self.client_ca = folder / "ca.crt"
        self.put(authority.issue("first"))
        if client_authority is not None:
            self.client_ca.write_bytes(client_authority.certificate.read_bytes())
        self.section = TLSSection(
            cert_file=str(self.files.certificate),
            key_file=str(self.files.key),
            client_ca_file=str(self.client_ca) if client_authority else "",
        )
        self.running = RunningServer(frozen_service(), tls=self.section)
        context = self.running.server.config.ssl
        assert context is not None
        self._certificates = Certificates(context, self.section)

    def put(self, pair: KeyPair) -> None:
        self.files.certificate.write_bytes(pair.certificate.read_bytes())
        self.files.key.write_bytes(pair.key.read_bytes())

    def look(self) -> None:
        asyncio.run(self._certificates.look())

    def name(self, context: ssl.SSLContext, wanted: str | None = "localhost") -> str:
        """The name in the certificate that the server shows, once it has answered."""
        context.check_hostname = wanted is not None
        with (
            socket.create_connection(self.running.address, timeout=PATIENCE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=wanted) as connection,
        ):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_on(connection)[0] == 200
            certificate = connection.getpeercert()
            assert certificate is not None
            subject: Any = certificate["subject"]
            return str(dict(field[0] for field in subject)["commonName"])


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority", "authority")


def trusting(authority: Authority, shown: KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    return context


@pytest.mark.parametrize("wanted", ["localhost", None], ids=["by name", "by address alone"])
def test_the_next_handshake_gets_the_new_certificate(tmp_path: Path, authority: Authority, wanted: str | None) -> None:
    renewed = Renewed(tmp_path, authority)
    with renewed.running:
        assert renewed.name(trusting(authority), wanted) == "first"
        renewed.put(authority.issue("second"))
        renewed.look()
        assert renewed.name(trusting(authority), wanted) == "second"


def test_a_connection_that_is_there_stays(tmp_path: Path, authority: Authority) -> None:
    renewed = Renewed(tmp_path, authority)
    with (
        renewed.running,
        renewed.running.connect() as plain,
        trusting(authority).wrap_socket(plain, server_hostname="localhost") as kept,
    ):
        for name in ("second", "third"):
            renewed.put(authority.issue(name))
            renewed.look()
            kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer_on(kept)[0] == 200


def half(renewed: Renewed, pair: KeyPair) -> None:
    renewed.files.certificate.write_bytes(pair.certificate.read_bytes())


def nonsense(renewed: Renewed, pair: KeyPair) -> None:
    renewed.files.key.write_text("no key at all")


@pytest.mark.parametrize("write", [half, nonsense])
def test_files_that_cannot_be_used_leave_the_old_ones_in_force_until_they_can(
    tmp_path: Path,
    authority: Authority,
    write: Callable[[Renewed, KeyPair], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    renewed = Renewed(tmp_path, authority)
    second = authority.issue("second")
    with renewed.running, caplog.at_level(logging.INFO):
        write(renewed, second)
        renewed.look()
        assert renewed.name(trusting(authority)) == "first"
        assert "the new certificates cannot be used, the old ones stay" in caplog.text
        renewed.put(second)
        renewed.look()
        assert renewed.name(trusting(authority)) == "second"
    assert "the new certificates are in force" in caplog.text


def test_files_that_vanish_for_a_moment_are_no_change(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    renewed = Renewed(tmp_path, authority)
    with renewed.running, caplog.at_level(logging.INFO):
        renewed.files.certificate.unlink()
        renewed.look()
        assert renewed.name(trusting(authority)) == "first"
    assert "certificates" not in caplog.text


def test_clients_are_judged_by_the_new_authority_alone(tmp_path: Path, authority: Authority) -> None:
    old, new = (Authority(tmp_path / name, name) for name in ("old", "new"))
    before, after = trusting(authority, old.issue("scheduler")), trusting(authority, new.issue("scheduler"))
    renewed = Renewed(tmp_path, authority, client_authority=old)
    with renewed.running:
        assert renewed.name(before) == "first"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            renewed.name(after)
        renewed.client_ca.write_bytes(new.certificate.read_bytes())
        renewed.look()
        assert renewed.name(after) == "first"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            renewed.name(trusting(authority, old.issue("another")))
