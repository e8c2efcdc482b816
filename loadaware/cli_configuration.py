"""The commands about configurations, ours and kube-scheduler's: check-config, schedule-config. Added by `cli.py`."""

from typing import Any

import click

from loadaware.cli_options import check_source, config_option, load_config, output_option
from loadaware.cli_output import print_json, remark


@click.command("check-config")
@click.argument("file", type=click.Path(dir_okay=False))
@output_option
def check_config(file: str, output: str) -> None:
    """Check a configuration file.

    Exit code 0 and a summary with warnings of what does nothing or will fail, or 2 and what is wrong where.
    """
    from loadaware.config import load
    from loadaware.config_warnings import warnings
    from loadaware.profiles import adviser_settings

    config = load(file)
    settings = adviser_settings(config, file)
    check_source(config, file)
    summary: dict[str, Any] = {
        "file": file,
        "source": type(config.source).__name__.removesuffix("Source"),
        "profiles": {
            name: {"scorers": {w.name: w.weight for w in p.scorers}, "filters": [f.name for f in p.filters]}
            for name, p in {**settings.profiles, **settings.shadows}.items()
        },
        "mode": config.mode,
        "shadows": list(settings.shadows),
        "warnings": warnings(config),
    }
    if output == "json":
        print_json(summary)
        return
    click.echo(f"{file}: good\n  source: {summary['source']}")
    if config.mode == "shadow":
        click.echo("  mode: shadow: answers change nothing, what we would have said is kept")
    for name, profile in {**settings.profiles, **settings.shadows}.items():
        scorers = ", ".join(f"{w.name} x {w.weight:g}" for w in profile.scorers) or "no scorer: every node is equal"
        filters = f"; filters: {', '.join(f.name for f in profile.filters)}" if profile.filters else ""
        where = "in shadow" if name in settings.shadows else f"0..{profile.max_score} on the wire"
        click.echo(f"  profile {name}: {scorers}{filters}; {where}")
    for warning in summary["warnings"]:
        click.echo(f"  warning: {warning}")


@click.command("schedule-config")
@config_option
@click.option("--url", help="Where kube-scheduler reaches us.  [default: 127.0.0.1 and the configuration's port]")
@click.option("--kubeconfig-path", default="/etc/kubernetes/scheduler.conf", show_default=True,
              help="The kubeconfig of kube-scheduler itself; empty: as in-cluster.")  # fmt: skip
@click.option("--ca-file", default="", help="For an https URL: the CA that kube-scheduler checks us by.")
@click.option("--server-name", default="", help="The name that our certificate has, where the URL is an IP.")
@click.option("--cert-file", default="", help="The certificate that kube-scheduler shows us, if we ask for one.")
@click.option("--key-file", default="", help="Its key.")
@click.option("--node-cache-capable/--whole-nodes", default=True, show_default=True, help="Send names or whole nodes.")
@click.option("--leader-elect/--no-leader-elect", default=True, show_default=True, help="Of kube-scheduler.")
@click.option("--preempt", is_flag=True, help="Let us have a say in preemption, too.")
@click.option("--bind", is_flag=True, help="Let us bind pods; needs the right to create pods/binding.")
def schedule_config(  # noqa: PLR0917 - click passes options by name
    config_file: str | None,
    url: str | None,
    kubeconfig_path: str,
    ca_file: str,
    server_name: str,
    cert_file: str,
    key_file: str,
    node_cache_capable: bool,
    leader_elect: bool,
    preempt: bool,
    bind: bool,
) -> None:
    """Print the KubeSchedulerConfiguration that fits.

    Its profiles are ours: right for a second scheduler. The cluster's own kube-scheduler needs default-scheduler among
    them.
    """
    from loadaware.schedule_config import ONLY_OURS, schedule_configuration, serves_plain_pods

    config = load_config(config_file)
    if not serves_plain_pods(config):
        remark(ONLY_OURS)
    click.echo(
        schedule_configuration(
            config,
            url=url,
            kubeconfig=kubeconfig_path,
            ca_file=ca_file,
            server_name=server_name,
            cert_file=cert_file,
            key_file=key_file,
            node_cache_capable=node_cache_capable,
            leader_elect=leader_elect,
            preempt=preempt,
            bind=bind,
        ),
        nl=False,
    )
