"""`kubectl loadaware ...`: kubectl finds this program by its name, kubectl-loadaware.

It reaches loadaware's Service through the API server's proxy, with the user's own kubeconfig and rights (get on
services/proxy), so nothing need be opened or forwarded.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from loadaware.cli_output import EXIT_BAD_INPUT, print_json

F = TypeVar("F", bound=Callable[..., Any])


def main() -> None:
    """The console script."""
    from collectors.errors import CollectorError
    from loadaware.errors import LoadAwareError

    try:
        plugin(prog_name="kubectl loadaware")
    except (LoadAwareError, CollectorError) as error:
        click.echo(f"kubectl-loadaware: {error}", err=True)
        sys.exit(EXIT_BAD_INPUT)


def _options(function: F) -> F:
    for option in (
        click.option("--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True,
                     help="A table for people, JSON for programs."),
        click.option("--service", default="loadaware:people", show_default=True,
                     help="NAME:PORT of loadaware's Service; https:NAME:PORT where it speaks TLS."),
        click.option("--service-namespace", default="kube-system", show_default=True, help="Where that Service is."),
        click.option("--context", help="The kubeconfig's context.  [default: its current one]"),
        click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Credentials.  [default: as kubectl]"),
    ):  # fmt: skip
        function = option(function)
    return function


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(None, "--version", package_name="loadaware", message="%(prog)s %(version)s")
def plugin() -> None:
    """Ask the loadaware that runs in the cluster."""


@plugin.command()
@click.argument("pod")
@click.option("--namespace", "-n", default="default", show_default=True, help="Of a pod named without one.")
@click.option("--node", help="Why not this node?")
@click.option("--nodes", type=click.IntRange(1, 20_000), help="How many rows of the table.  [default: 50]")
@_options
def explain(  # noqa: PLR0917 - click passes options by name
    pod: str,
    namespace: str,
    node: str | None,
    nodes: int | None,
    kubeconfig: str | None,
    context: str | None,
    service_namespace: str,
    service: str,
    output: str,
) -> None:
    """Why did this pod land there? POD is NAME or NAMESPACE/NAME."""
    from loadaware.asking import ask_through_api_server
    from loadaware.explaining import explain_fields, print_explanation

    fields = explain_fields(pod if "/" in pod else f"{namespace}/{pod}", node, nodes)
    told = ask_through_api_server(kubeconfig, context, service_namespace, service, "/explain", fields)
    print_json(told) if output == "json" else print_explanation(told)


@plugin.command()
@_options
def shadow(kubeconfig: str | None, context: str | None, service_namespace: str, service: str, output: str) -> None:
    """How would the profiles in shadow have decided?"""
    from loadaware.asking import ask_through_api_server
    from loadaware.explaining import print_shadow

    told = ask_through_api_server(kubeconfig, context, service_namespace, service, "/shadow", {})
    print_json(told) if output == "json" else print_shadow(told)
