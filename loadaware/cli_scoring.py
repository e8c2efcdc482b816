"""The command that ranks nodes once: score. Added to the others by `cli.py`."""

import click

from loadaware.cli_options import DEFAULTS, check_source, cluster_options, config_option, load_config, output_option
from loadaware.cli_output import print_json, remark


def _scorer_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --scorer."""
    from loadaware.scoring import known_scorers

    return [name for name in known_scorers() if name.lower().startswith(begun.lower())]


@click.command()
@click.option("--state", "state_file", type=click.Path(dir_okay=False), help="Nodes and usage in a file: no cluster.")
@click.option("--pod", "pod_file", type=click.Path(dir_okay=False), required=True, help="The pod's manifest.")
@click.option("--profile", help="A profile of the configuration.  [default: by the pod's schedulerName]")
@click.option("--scorer", shell_complete=_scorer_names,
              help="One scorer alone, instead of a profile; docs/plugins.md lists them.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="An arg of --scorer; repeatable.")
@config_option
@cluster_options
@output_option
def score(  # noqa: PLR0917 - click passes options by name
    state_file: str | None,
    pod_file: str,
    profile: str | None,
    scorer: str | None,
    settings: tuple[str, ...],
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    output: str,
) -> None:
    """Rank nodes for a pod, from a file or the live cluster.

    \b
    loadaware score --state state.yaml --pod pod.yaml
    loadaware score --state state.yaml --pod pod.yaml --scorer TargetLoadPacking --set targetUtilization=50
    """
    from loadaware import scoring

    if settings and not scorer:
        raise click.UsageError("--set belongs to --scorer")
    if scorer and profile:
        raise click.UsageError("--scorer and --profile exclude each other")
    config = load_config(config_file)
    if scorer:
        config = scoring.only(config, scorer, settings)
    if state_file is None:
        check_source(config, config_file)
    pod = scoring.load_pod(pod_file, remark)
    snapshot = scoring.load_snapshot(state_file, config, kubeconfig, context)
    result = scoring.score(config, snapshot, pod, profile, config_file or DEFAULTS)
    print_json(result) if output == "json" else scoring.print_table(result)
