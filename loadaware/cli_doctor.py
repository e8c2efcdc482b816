"""The command that examines an install: doctor. Added to the others by `cli.py`."""

import sys

import click

from loadaware.cli_options import check_files, cluster_options, config_option, output_option, server_options
from loadaware.cli_output import print_json
from loadaware.server_files import ServerFiles


@click.command()
@config_option
@cluster_options
@server_options("A running loadaware to ask as well, such as http://127.0.0.1:8091.")
@output_option
def doctor(  # noqa: PLR0917 - click passes options by name
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    server: str | None,
    files: ServerFiles,
    output: str,
) -> None:
    """Check each thing that a new install gets wrong.

    Each line is ok, warn or fail, with the fix. Exit code 0 if nothing fails, 1 otherwise.
    """
    from loadaware.doctor import examine, print_findings

    check_files(server, files)
    findings = examine(config_file, kubeconfig, context, server, files=files)
    if output == "json":
        print_json([finding.as_dict() for finding in findings])
    else:
        print_findings(findings)
    sys.exit(1 if any(finding.verdict == "fail" for finding in findings) else 0)
