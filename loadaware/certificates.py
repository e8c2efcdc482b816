"""Certificates that are renewed while we serve: taken when their files change, without closing a connection.

The bargain: each new handshake gets the newest chain and is judged by the newest client authority; connections that
are there stay. Files that do not belong together (a new certificate beside the old key, as for a moment while they are
written) or cannot be read leave the old ones in force, and the log says so.
"""

import asyncio
import logging
import ssl
from pathlib import Path

from uvicorn.config import create_ssl_context

from loadaware.config import TLSSection
from loadaware.handshakes import tell_of_failures

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""How often the files are looked at: a Secret arrives as a swapped link, which no file event tells reliably."""


def server_context(section: TLSSection) -> ssl.SSLContext:
    """What a handshake needs. Raises OSError for files that cannot be used."""
    return create_ssl_context(
        certfile=section.cert_file,
        keyfile=section.key_file,
        password=None,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
        cert_reqs=ssl.CERT_REQUIRED if section.client_ca_file else ssl.CERT_NONE,
        ca_certs=section.client_ca_file or None,
        ciphers=None,
    )


class Certificates:
    """Follows the files of one section, for the context that the server was started with."""

    def __init__(self, context: ssl.SSLContext, section: TLSSection) -> None:
        self._section = section
        self._newest = context
        self._content = _content(section)
        context.sni_callback = self._meet
        tell_of_failures(context)

    async def run(self) -> None:
        """Look, and look again."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Take the files if they are not those that were looked at last."""
        content = await asyncio.to_thread(_content, self._section)
        if content is None or content == self._content:
            return
        self._content = content
        try:
            self._newest = await asyncio.to_thread(server_context, self._section)
        except OSError as error:
            logger.warning("the new certificates cannot be used, the old ones stay: %s", error)
        else:
            logger.info("the new certificates are in force: %s", self._section.cert_file)

    def _meet(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> None:
        """A client says hello, with or without the name that it wants."""
        connection.context = self._newest


def _content(section: TLSSection) -> tuple[bytes, ...] | None:
    files = (section.cert_file, section.key_file, section.client_ca_file)
    try:
        return tuple(Path(file).read_bytes() for file in files if file)
    except OSError:
        return None
