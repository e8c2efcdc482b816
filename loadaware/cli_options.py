"""Options that several commands share, and the configuration that --config names."""

import functools
from collections.abc import Callable
from math import isnan
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from loadaware.server_files import ServerFiles

if TYPE_CHECKING:
    from loadaware.config import Config

F = TypeVar("F", bound=Callable[..., Any])

DEFAULTS = "<defaults>"
"""The name, in messages, of the configuration that no file gave."""


def config_option(function: F) -> F:
    """Which configuration."""
    return click.option(
        "--config", "config_file", type=click.Path(dir_okay=False), envvar="LOADAWARE_CONFIG", show_envvar=True,
        help="The configuration. Without it the defaults: metrics-server, one profile.",
    )(function)  # fmt: skip


def cluster_options(function: F) -> F:
    """Which cluster."""
    function = click.option("--context", help="The kubeconfig's context.  [default: its current one]")(function)
    return click.option(
        "--kubeconfig", type=click.Path(dir_okay=False),
        help="Credentials.  [default: as kubectl: KUBECONFIG, ~/.kube/config, or the pod's own]",
    )(function)  # fmt: skip


class Within(click.FloatRange):
    """A number between two bounds. What is not a number (nan) is none, though no comparison would tell."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As it is; fails otherwise."""
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def server_options(help_text: str) -> Callable[[F], F]:
    """Which running loadaware: the command gets `server`, and as `files` what an https one needs."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*, ca_file: str, cert_file: str, key_file: str, **given: Any) -> Any:
            if key_file and not cert_file:
                raise click.UsageError("--key-file needs --cert-file beside it")
            return function(files=ServerFiles(ca_file, cert_file, key_file), **given)

        wrapped: Any = called
        for option in (
            click.option("--key-file", default="", help="Its key.  [default: it is in the same file]"),
            click.option("--cert-file", default="", help="The certificate that we show it, if it asks for one."),
            click.option("--ca-file", default="", help="For an https --server: the CA that signed its certificate."),
            click.option("--server", help=help_text),
        ):
            wrapped = option(wrapped)
        return cast("F", wrapped)

    return decorate


def check_files(server: str | None, files: ServerFiles) -> None:
    """Whether the files have a use. Raises UsageError."""
    if any(files) and not (server or "").startswith("https:"):
        raise click.UsageError("--ca-file, --cert-file and --key-file are for an https --server")


def output_option(function: F) -> F:
    """For whom it is printed."""
    return click.option(
        "--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True,
        help="A table for people, JSON for programs.",
    )(function)  # fmt: skip


def load_config(file: str | None) -> "Config":
    """The configuration of that file, or the defaults."""
    from loadaware.config import Config, load

    return load(file) if file else Config()


def check_source(config: "Config", file: str | None) -> None:
    """Whether usage can be read as it says. Raises ConfigError."""
    from loadaware import sources

    sources.check_source(config, file or DEFAULTS)
