"""Who we are to the API server, and where it is: found as kubectl finds it.

The `kubernetes` client does the reading; here it is only told which files and which context, and its few
differences from kubectl are mended. It is imported on first use.

The bargain:
- Nothing is ever written back to a kubeconfig.
- Tokens in files are read again, so they may rotate.
- No token, password or key appears in an error, not even where the client's own messages quote one.
"""

import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from collectors.errors import SourceUnreachableError

SOMEWHERE = "the Kubernetes API server"
"""What errors call it as long as its address is not known."""

_LINE_LENGTH = 300
_UNPROXIED = "localhost,127.0.0.0/8,::1"
"""Never asked through a proxy that the environment names: so do Go's clients."""


@dataclass(frozen=True)
class Credentials:
    """Where to look for an API server and the right to ask it, in the order of kubectl: the kubeconfig named
    here, else those of $KUBECONFIG, else ~/.kube/config, else the service account of the pod we run in.
    """

    kubeconfig: str | None = None
    context: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    service_account: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount")

    def load(self) -> Any:
        """A kubernetes.client.Configuration, or raise SourceUnreachableError."""
        from kubernetes.client import Configuration

        configuration = Configuration()
        files = self.files()
        if files:
            _load_kubeconfig(configuration, files, self.context)
        elif self.context is not None:
            raise _unusable(f"context {self.context!r} is asked for, but there is no kubeconfig")
        else:
            self._load_service_account(configuration)
        configuration.no_proxy = ",".join(filter(None, (_UNPROXIED, configuration.no_proxy)))
        configuration.socket_options = _keep_alive()
        return configuration

    def files(self) -> tuple[Path, ...]:
        """The kubeconfig files that will be merged; none if the pod's own account is to be used."""
        if self.kubeconfig:
            named = Path(self.kubeconfig).expanduser()
            if not named.is_file():
                raise _unusable(f"there is no kubeconfig {named}")
            return (named,)
        listed = self.environment.get("KUBECONFIG") or str(self._home() / ".kube" / "config")
        paths = (Path(part).expanduser() for part in listed.split(os.pathsep) if part)
        return tuple(path for path in paths if path.is_file())

    def _home(self) -> Path:
        return Path(self.environment.get("HOME") or "~").expanduser()

    def _load_service_account(self, configuration: Any) -> None:
        from kubernetes.config import ConfigException
        from kubernetes.config.incluster_config import InClusterConfigLoader

        account = self.service_account
        make: Any = InClusterConfigLoader
        loader = make(
            token_filename=str(account / "token"),
            cert_filename=str(account / "ca.crt"),
            environ=self.environment,
        )
        try:
            loader.load_and_set(configuration)
        except (ConfigException, OSError) as error:
            raise _unusable(
                f"no kubeconfig ($KUBECONFIG, ~/.kube/config) and no service account in {account}: {error}"
            ) from None


class _User(msgspec.Struct):
    token_file: str | None = msgspec.field(name="tokenFile", default=None)


class _NamedUser(msgspec.Struct):
    name: str
    user: _User | None = None


class _Context(msgspec.Struct):
    user: str | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context | None = None


class _Kubeconfig(msgspec.Struct, rename="kebab"):
    current_context: str | None = None
    contexts: list[_NamedContext] | None = None
    users: list[_NamedUser] | None = None


def _load_kubeconfig(configuration: Any, files: tuple[Path, ...], context: str | None) -> None:
    """Let the client merge the files, after settling two things as kubectl does: the first current-context
    wins, and a tokenFile is read again whenever it is needed.
    """
    from kubernetes.config import ConfigException, load_kube_config

    load: Any = load_kube_config
    names = os.pathsep.join(map(str, files))
    kubeconfigs = [(file, _read_kubeconfig(file)) for file in files]
    chosen = context or next((k.current_context for _, k in kubeconfigs if k.current_context), None)
    if chosen is None:
        raise _unusable(f"kubeconfig {names} has no current-context, and none is asked for")
    try:
        load(names, chosen, configuration, persist_config=False)
    except ConfigException as error:
        raise _unusable(f"kubeconfig {names}: {redacted(str(error))}") from None
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _unusable(f"kubeconfig {names} cannot be used ({type(error).__name__})") from None
    token_file = _token_file(kubeconfigs, chosen)
    if token_file is not None:
        configuration.refresh_api_key_hook = _reread(token_file)


def _read_kubeconfig(file: Path) -> _Kubeconfig:
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=_Kubeconfig)
    except msgspec.ValidationError as error:
        raise _unusable(f"kubeconfig {file}: {error}") from None
    except msgspec.DecodeError:  # its message would quote the file
        raise _unusable(f"kubeconfig {file} is not YAML") from None
    except OSError as error:
        raise _unusable(f"kubeconfig {file}: {error.strerror}") from error


def _token_file(kubeconfigs: list[tuple[Path, _Kubeconfig]], context: str) -> Path | None:
    contexts = [c for _, kubeconfig in kubeconfigs for c in kubeconfig.contexts or () if c.name == context]
    user = contexts[0].context.user if contexts and contexts[0].context else None
    users = [(file, u) for file, kubeconfig in kubeconfigs for u in kubeconfig.users or () if u.name == user]
    if not users or users[0][1].user is None or not users[0][1].user.token_file:
        return None
    return users[0][0].parent / users[0][1].user.token_file


def _reread(token_file: Path) -> Callable[[Any], None]:
    def refresh(configuration: Any) -> None:
        configuration.api_key["BearerToken"] = f"Bearer {token_file.read_text().strip()}"

    return refresh


def redacted(text: str) -> str:
    """The client's messages may quote a user's whole entry, token included: what is in braces is left out."""
    return one_line(re.sub(r"\{.*\}", "{...}", text, flags=re.DOTALL))


def _unusable(problem: str) -> SourceUnreachableError:
    return SourceUnreachableError(url=SOMEWHERE, cause=problem)


def _keep_alive() -> list[tuple[int, int, int]]:
    """A watch may be silent for minutes: let the kernel notice within one that the other side is gone."""
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    wanted = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    known = [(getattr(socket, name), value) for name, value in wanted if hasattr(socket, name)]
    return options + [(socket.IPPROTO_TCP, option, value) for option, value in known]


def one_line(text: str) -> str:
    """Short enough for an error or a log line."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE_LENGTH else f"{line[:_LINE_LENGTH]}..."
