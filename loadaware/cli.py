"""The command line: parse, call, print. Commands are by theme in `cli_*.py`, and import what is heavy when called."""

import sys
from typing import Any

import click

from loadaware.cli_asking import demand, explain, shadow
from loadaware.cli_configuration import check_config, schedule_config
from loadaware.cli_doctor import doctor
from loadaware.cli_histories import history, record, replay
from loadaware.cli_output import EXIT_BAD_INPUT, remark
from loadaware.cli_scoring import score
from loadaware.cli_serving import serve
from loadaware.cli_simulation import demo, simulate
from loadaware.cli_tuning import promote, tune


def main() -> None:
    """The console script."""
    cli(prog_name="loadaware")


class _Group(click.Group):
    """Turns our errors into one clear line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        from collectors.errors import CollectorError
        from loadaware.errors import LoadAwareError

        try:
            return super().invoke(ctx)
        except (LoadAwareError, CollectorError) as error:
            remark(str(error))
            sys.exit(EXIT_BAD_INPUT)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(None, "--version", package_name="loadaware", message="%(prog)s %(version)s")
def cli() -> None:
    """Real load for a stock kube-scheduler.

    Kubernetes places pods by what they request; nodes burn by what they use. loadaware reads usage from
    metrics-server or Prometheus and serves scores to kube-scheduler as a scheduler extender.

    \b
    Try it with no cluster:     loadaware demo
    Rank nodes from a file:     loadaware score --state state.yaml --pod pod.yaml
    Run it beside a cluster:    loadaware serve
    What kube-scheduler needs:  loadaware schedule-config --url http://loadaware.kube-system:8090
    Which scorer, how good:     loadaware simulate --nodes 20 --hours 2
    What is wrong here?         loadaware doctor
    Who requests too much?      loadaware demand
    Why did it land there?      loadaware explain shop/web-1
    What would have been?       loadaware replay history/ --config other.yaml
    What would be better?       loadaware tune history/ --output best.yaml
    """


for _command in (
    check_config, demand, demo, doctor, explain, history, promote, record, replay, schedule_config, score, serve,
    shadow, simulate, tune,
):  # fmt: skip
    cli.add_command(_command)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print shell completion.

    \b
    source <(loadaware completion bash)
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.ClickException(f"no completion for {shell}")
    click.echo(made(cli, {}, "loadaware", "_LOADAWARE_COMPLETE").source())


@cli.command()
def version() -> None:
    """Print the version."""
    from loadaware import __version__

    click.echo(__version__)
