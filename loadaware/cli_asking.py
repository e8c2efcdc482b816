"""The commands that ask a running loadaware: demand, explain, shadow. Added to the others by `cli.py`."""

import click

from loadaware.cli_options import check_files, output_option, server_options
from loadaware.cli_output import print_json
from loadaware.server_files import ServerFiles

SERVER = (
    "The running loadaware to ask.  [default: that of $LOADAWARE_CONFIG on this machine, else http://127.0.0.1:8090]"
)


@click.command()
@server_options(SERVER)
@click.option("--state-file", type=click.Path(dir_okay=False), help="The file of demand.stateFile, instead.")
@click.option("--sort", default="cpu", show_default=True,
              help="cpu, memory: by how much the requests should change; pods; name.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="So many workloads.")
@click.option("--namespace", help="Of this namespace alone.")
@output_option
def demand(  # noqa: PLR0917 - click passes options by name
    server: str | None,
    files: ServerFiles,
    state_file: str | None,
    sort: str,
    limit: int,
    namespace: str | None,
    output: str,
) -> None:
    """Show what workloads use of what they request.

    What each requests, what its pods were learned to use, what they should request instead, and what that comes to
    in the whole cluster.

    \b
    loadaware demand --server http://127.0.0.1:8091 --sort memory
    loadaware demand --state-file /var/lib/loadaware/demand --namespace shop
    """
    from loadaware import demand_listing

    if server and state_file:
        raise click.UsageError("--server and --state-file exclude each other")
    if state_file:
        check_files(server, files)
        told = demand_listing.read_file(state_file, sort, limit, namespace)
    else:
        told = demand_listing.ask_server(_asked(server, files), sort, limit, namespace, files)
    print_json(told) if output == "json" else demand_listing.print_report(told)


@click.command()
@click.argument("pod", metavar="NAMESPACE/NAME")
@server_options(SERVER)
@click.option("--node", help="Why not this node?")
@click.option("--nodes", type=click.IntRange(1, 20_000), help="How many rows of the table.  [default: 50]")
@output_option
def explain(  # noqa: PLR0917 - click passes options by name
    pod: str, server: str | None, files: ServerFiles, node: str | None, nodes: int | None, output: str
) -> None:
    """Why did this pod land there?

    One sentence, what would have to change for another node to win, and the table behind it, from the numbers of the
    moment of the answer. `kubectl loadaware explain` asks the same through the API server.

    \b
    loadaware explain shop/web-1 --server http://127.0.0.1:8091
    loadaware explain shop/web-1 --node node-3
    """
    from loadaware.asking import ask_server
    from loadaware.explaining import explain_fields, print_explanation

    told = ask_server(_asked(server, files), "/explain", explain_fields(pod, node, nodes), files)
    print_json(told) if output == "json" else print_explanation(told)


@click.command()
@server_options(SERVER)
@output_option
def shadow(server: str | None, files: ServerFiles, output: str) -> None:
    """Compare profiles in shadow with what was decided.

    Of each profile with `shadow: true`, beside the profile that answered and beside kube-scheduler's real choice; with
    `mode: shadow`, of each profile beside kube-scheduler's choice.
    """
    from loadaware.asking import ask_server
    from loadaware.explaining import print_shadow

    told = ask_server(_asked(server, files), "/shadow", {}, files)
    print_json(told) if output == "json" else print_shadow(told)


def _asked(server: str | None, files: ServerFiles) -> str:
    """The address that is asked, which must have a use for the files."""
    from loadaware.asking import default_server

    server = server or default_server()
    check_files(server, files)
    return server
