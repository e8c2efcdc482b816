"""How a source on the web is approached: credentials, certificates, patience. Values only, no transport.

The bargain: secrets are never kept here. A token or a password is named by its file and read at every use, so that
it can rotate under us; and whatever a value says of itself (repr, error) holds no secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

_TELLING_HEADERS = ("auth", "cookie", "key", "password", "secret", "token")


@dataclass(frozen=True)
class HttpAccess:
    """Everything between us and an HTTP source but its address. Raises ValueError for settings that contradict."""

    timeout_seconds: float = 10.0
    """For one whole request, answer read to its end. Below the refresh interval, or readings pile up."""
    bearer_token_file: str | Path | None = None
    username: str | None = None
    password_file: str | Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request: a tenant (X-Scope-OrgID), an API key."""
    ca_file: str | Path | None = None
    """Trust these authorities and no others. Unset: the environment's (REQUESTS_CA_BUNDLE) or certifi's."""
    insecure_skip_verify: bool = False
    client_certificate_file: str | Path | None = None
    client_key_file: str | Path | None = None
    """Unset: the key is in the certificate's file."""

    def __post_init__(self) -> None:
        if not self.timeout_seconds > 0:
            raise ValueError(f"the timeout must be positive, not {self.timeout_seconds}")
        if self.bearer_token_file and self.username:
            raise ValueError("a bearer token and a user name exclude each other")
        if (self.username is None) != (self.password_file is None):
            raise ValueError("a user name and a password file go together")
        if self.client_key_file and not self.client_certificate_file:
            raise ValueError("a client key needs its client certificate")
        for name, value in self.headers.items():
            _check_header(name, value)

    @property
    def secret_headers(self) -> tuple[str, ...]:
        """Values of extra headers whose name says that they are nobody's business."""
        telling = (value for name, value in self.headers.items() if _is_telling(name))
        return tuple(value for value in telling if value)


def _check_header(name: str, value: str) -> None:
    if not name or not name.isascii() or not name.isprintable() or " " in name or ":" in name:
        raise ValueError(f"{name!r} is no name of an HTTP header")
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise ValueError(f"the value of header {name} must be one line of ASCII without spaces around it")


def _is_telling(header: str) -> bool:
    return any(word in header.lower() for word in _TELLING_HEADERS)


def base_url(url: str) -> str:
    """The address without its trailing slash. Raises ValueError for one that cannot serve, or that holds a secret."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address holds a user name or password: name them by username and password file")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is no address such as http://prometheus.monitoring:9090")
    if parts.query or parts.fragment:
        raise ValueError("the address must end before '?' and '#'")
    return url.rstrip("/")


def read_secret(path: str | Path) -> str:
    """The one line in a secret's file. Raises ValueError, without quoting the content."""
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"{path} cannot be read: {reason}") from None
    if not secret:
        raise ValueError(f"{path} is empty")
    if not secret.isprintable():
        raise ValueError(f"{path} holds more than one line")
    return secret
