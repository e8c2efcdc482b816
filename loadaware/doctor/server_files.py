"""Files for asking a loadaware that serves https: whom we trust, and what we show it."""

from typing import NamedTuple


class ServerFiles(NamedTuple):
    """Paths of PEM files; empty: none."""

    ca_file: str = ""
    """The authority that signed its certificate. Empty: the system's."""
    cert_file: str = ""
    """The certificate that we show it."""
    key_file: str = ""
    """Its key. Empty: it is in the same file."""
