"""Files for asking a loadaware that serves https: whom we trust, and what we show it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collectors.http_access import HttpAccess


class ServerFiles(NamedTuple):
    """Paths of PEM files; empty: none."""

    ca_file: str = ""
    """The authority that signed its certificate. Empty: the system's."""
    cert_file: str = ""
    """The certificate that we show it."""
    key_file: str = ""
    """Its key. Empty: it is in the same file."""

    def access(self, timeout_seconds: float, headers: Mapping[str, str]) -> "HttpAccess":
        """How a session asks with them."""
        from collectors.http_access import HttpAccess

        return HttpAccess(
            timeout_seconds=timeout_seconds,
            ca_file=self.ca_file or None,
            client_certificate_file=self.cert_file or None,
            client_key_file=self.key_file or None,
            headers=headers,
        )
