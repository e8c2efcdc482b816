"""The command that examines an install: doctor. Added to the others by `cli.py`."""

import sys

import click

from loadaware.cli_options import cluster_options, config_option, output_option
from loadaware.cli_output import print_json


@click.command()
@config_option
@cluster_options
@click.option("--server", help="A running loadaware to ask as well, such as http://127.0.0.1:8090.")
@click.option("--ca-file", default="", help="For an https --server: the CA that signed its certificate.")
@click.option("--cert-file", default="", help="The certificate that we show it, if it asks for one.")
@click.option("--key-file", default="", help="Its key.  [default: it is in the same file]")
@output_option
def doctor(  # noqa: PLR0917 - click passes options by name
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    server: str | None,
    ca_file: str,
    cert_file: str,
    key_file: str,
    output: str,
) -> None:
    """Check each thing that a new install gets wrong.

    Each line is ok, warn or fail, with the fix. Exit code 0 if nothing fails, 1 otherwise.
    """
    from loadaware.doctor import ServerFiles, examine, print_findings

    if (ca_file or cert_file or key_file) and not (server or "").startswith("https:"):
        raise click.UsageError("--ca-file, --cert-file and --key-file are for an https --server")
    if key_file and not cert_file:
        raise click.UsageError("--key-file needs --cert-file beside it")
    files = ServerFiles(ca_file, cert_file, key_file)
    findings = examine(config_file, kubeconfig, context, server, files=files)
    if output == "json":
        print_json([finding.as_dict() for finding in findings])
    else:
        print_findings(findings)
    sys.exit(1 if any(finding.verdict == "fail" for finding in findings) else 0)
