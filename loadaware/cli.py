"""The command line: parse, call, print. Heavy modules are imported by the commands that need them."""

import contextlib
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
DEFAULTS = "<defaults>"


class _Group(click.Group):
    """Turns our errors into one clear line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        from collectors.errors import CollectorError
        from loadaware.errors import LoadAwareError

        try:
            return super().invoke(ctx)
        except (LoadAwareError, CollectorError) as error:
            click.echo(f"loadaware: {error}", err=True)
            sys.exit(EXIT_BAD_INPUT)


def main() -> None:
    """The console script."""
    cli(prog_name="loadaware")


def _config_option(function: F) -> F:
    return click.option(
        "--config", "config_file", type=click.Path(dir_okay=False), envvar="LOADAWARE_CONFIG", show_envvar=True,
        help="The configuration. Without it the defaults: metrics-server, one profile.",
    )(function)  # fmt: skip


def _cluster_options(function: F) -> F:
    function = click.option("--context", help="The kubeconfig's context.  [default: its current one]")(function)
    return click.option(
        "--kubeconfig", type=click.Path(dir_okay=False),
        help="Credentials.  [default: as kubectl: KUBECONFIG, ~/.kube/config, or the pod's own]",
    )(function)  # fmt: skip


def _output_option(function: F) -> F:
    return click.option(
        "--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True,
        help="A table for people, JSON for programs.",
    )(function)  # fmt: skip


def _scorer_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --scorer."""
    from loadaware.scoring import known_scorers

    return [name for name in known_scorers() if name.lower().startswith(begun.lower())]


def _policy_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --policy."""
    from loadaware.simulation.policy_names import known

    return [name for name in known() if name.lower().startswith(begun.lower())]


def _setting_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --setting."""
    from loadaware.simulation.sensitivity import CIRCUMSTANCES

    return [name for name in CIRCUMSTANCES if name.startswith(begun.lower())]


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


@cli.command()
@_config_option
@_cluster_options
@click.option("--port", type=click.IntRange(0, 65535),
              help="Overrides the configuration's; people are served there, too, without --people-port.")  # fmt: skip
@click.option("--people-port", type=click.IntRange(0, 65535), help="Overrides the configuration's.")
@click.option("--address", help="Overrides the configuration's.")
@click.option("--state", "state_file", type=click.Path(dir_okay=False), help="Serve this state, frozen: no cluster.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Overrides the config's.")
@click.option("--log-format", type=click.Choice(["text", "json"]), help="Overrides the configuration's.")
def serve(  # noqa: PLR0917 - click passes options by name
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    port: int | None,
    people_port: int | None,
    address: str | None,
    state_file: str | None,
    log_level: str | None,
    log_format: str | None,
) -> None:
    """Answer kube-scheduler: the extender.

    Reads the cluster's nodes, pods and usage, and answers POST /filter and /prioritize on the configured port
    (8090). The live page, explanations and metrics are on another (8091), or with --port alone on that one. Stops
    cleanly on SIGTERM and Ctrl-C.
    """
    from loadaware.observer_process import Order
    from loadaware.serving import run_server

    config = _load(config_file)
    config = _override(config, "server", port=port, address=address)
    config = _people_port(config, port, people_port)
    config = _override(config, "log", level=log_level, format=log_format)
    if state_file is None:
        _check_source(config, config_file)
    order = None if state_file else Order(config, kubeconfig, context)
    _check_address(config.server.address, config.server.port)
    if config.people.port not in (None, config.server.port):
        _check_address(config.people.address or config.server.address, config.people.port)
    signal.signal(signal.SIGTERM, _stopped)
    with contextlib.suppress(KeyboardInterrupt):
        run_server(config, order, config_file, state_file)


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="Where to serve.")
@click.option("--nodes", type=click.IntRange(2, 500), default=24, show_default=True, help="Simulated nodes.")
@click.option("--load", type=click.FloatRange(0.05, 0.95), default=0.65, show_default=True, help="CPU used, of all.")
@click.option("--speed", type=click.FloatRange(1, 3600), default=60, show_default=True, help="Simulated s per second.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another cluster.")
@click.option("--duration", type=click.FloatRange(1), help="Stop by itself after so many seconds.")
@click.option("--picture", type=click.Path(dir_okay=False), help="Write the last frame here, as SVG.")
@click.option("--record", default="", metavar="FOLDER", help="Record a history here, for `loadaware replay`.")
def demo(  # noqa: PLR0917 - click passes options by name
    port: int,
    nodes: int,
    load: float,
    speed: float,
    seed: int,
    duration: float | None,
    picture: str | None,
    record: str,
) -> None:
    """See it work, with no cluster at hand.

    A simulated cluster (unequal nodes, workloads that use more or less than they request, daily rhythm, bursts,
    node failures) feeds the real pipeline; a scheduling loop asks over HTTP as kube-scheduler does; the same
    arrivals are placed by kube-scheduler's default scores beside it. Ctrl-C stops it.
    """
    from loadaware.demonstration import run

    _check_folder("--picture", picture)
    sys.exit(
        run(
            port=port,
            nodes=nodes,
            load=load,
            speed=speed,
            seed=seed,
            duration_seconds=duration,
            picture=picture,
            record=record,
        )
    )


@cli.command()
@click.option(
    "--traces", metavar="FOLDER", help="Recorded days, a file each: NAME-DAY.npz.  [default: generated usage]"
)
@click.option("--dataset", metavar="NAME", help="Only the files of --traces whose names begin so.")
@click.option("--load", type=click.FloatRange(0.05, 0.95), default=0.5, show_default=True, help="CPU used, of all.")
@click.option("--seeds", type=click.IntRange(1, 10_000), default=3, show_default=True, help="Paired runs per policy.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="Seed n uses recorded day n.")
@click.option("--nodes", type=click.IntRange(2, 5000), default=100, show_default=True, help="Simulated nodes.")
@click.option("--hours", type=click.FloatRange(0.1, 168), default=24.0, show_default=True, help="Hours judged.")
@click.option("--warm-up", type=click.FloatRange(0, 168), default=6.0, show_default=True, help="Hours before them.")
@click.option("--policy", "policies", multiple=True, shell_complete=_policy_names,
              help="Repeatable.  [default: default, TargetLoadPacking*3+default, EntropicRisk*3+default, clairvoyant]",
              )  # fmt: skip
@click.option("--setting", "settings", multiple=True, shell_complete=_setting_names,
              help="Other circumstances, such as 20-nodes, all-new, stale; repeatable, they add up.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes.  [default: one per core]")
@click.option("--resume", metavar="FILE", help="Keep finished runs here, and do not run them again.")
@click.option("--plot", metavar="FILE", help="Draw the comparison here, as SVG.")
@_output_option
def simulate(  # noqa: PLR0917 - click passes options by name
    traces: str | None,
    dataset: str | None,
    load: float,
    seeds: int,
    first_seed: int,
    nodes: int,
    hours: float,
    warm_up: float,
    policies: tuple[str, ...],
    settings: tuple[str, ...],
    jobs: int | None,
    resume: str | None,
    plot: str | None,
    output: str,
) -> None:
    """Compare placement policies on the same simulated days.

    The live code under a virtual clock, in a cluster that is settled by a seed: nodes, arrivals and usage are the
    same for every policy, so runs are paired. A policy sees only what a cluster would show it.

    \b
    Policies:
      random, default                      any node that fits; kube-scheduler's default scores
      EntropicRisk                         a scorer alone (docs/plugins.md lists them)
      EntropicRisk*3+default               beside the default scores, like a plugin of weight 3
      'EntropicRisk{range: 2}*3+default'   the same with args
      constant, oracle                     in a scorer's place: no opinion; true demand known beforehand
      clairvoyant, offline                 references: know the future of running pods, of all pods

    \b
    Settings:
      all-new none-new low-churn high-churn uncorrelated smoothed 20-nodes tight small-pods stale fresh
      restart amnesia blind-third no-pod-metrics nameless hungry-memory late-watch failing-nodes

    \b
    A first look, in seconds:   loadaware simulate --nodes 20 --hours 2 --warm-up 1
    A figure to rely on:        loadaware simulate --traces traces/ --seeds 10 --resume runs.jsonl --plot quality.svg
    A scorer against another:   loadaware simulate --policy default --policy 'LowestUsage*3+default' --policy offline
    """
    import os

    from loadaware import simulating

    options = simulating.Options(
        traces=traces, dataset=dataset, load=load, seeds=seeds, first_seed=first_seed, nodes=nodes, hours=hours,
        warm_up_hours=warm_up, policies=policies or simulating.POLICIES, settings=settings,
    )  # fmt: skip
    if plot:
        simulating.check_picture(plot)
    plan = simulating.plan(options)
    store = simulating.open_store(resume, plan.days) if resume else None
    try:
        outcomes = simulating.run(plan, jobs or os.cpu_count() or 1, store)
    except simulating.Stopped as stopped:
        kept = f"; they are kept in {resume}, the same command goes on from there" if resume else ""
        _remark(f"{stopped}{kept}")
        sys.exit(EXIT_INTERRUPTED)
    result = simulating.summary(outcomes)
    if plot:
        simulating.write_picture(plan, result, plot)
    print_json(simulating.as_json(plan, result)) if output == "json" else simulating.print_table(plan, result)


@cli.command()
@click.option("--state", "state_file", type=click.Path(dir_okay=False), help="Nodes and usage in a file: no cluster.")
@click.option("--pod", "pod_file", type=click.Path(dir_okay=False), required=True, help="The pod's manifest.")
@click.option("--profile", help="A profile of the configuration.  [default: by the pod's schedulerName]")
@click.option("--scorer", shell_complete=_scorer_names,
              help="One scorer alone, instead of a profile; docs/plugins.md lists them.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="An arg of --scorer; repeatable.")
@_config_option
@_cluster_options
@_output_option
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
    config = _load(config_file)
    if scorer:
        config = scoring.only(config, scorer, settings)
    if state_file is None:
        _check_source(config, config_file)
    pod = scoring.load_pod(pod_file, _remark)
    snapshot = scoring.load_snapshot(state_file, config, kubeconfig, context)
    result = scoring.score(config, snapshot, pod, profile, config_file or DEFAULTS)
    print_json(result) if output == "json" else scoring.print_table(result)


@cli.command("check-config")
@click.argument("file", type=click.Path(dir_okay=False))
@_output_option
def check_config(file: str, output: str) -> None:
    """Check a configuration file.

    Exit code 0 and a summary with warnings of what does nothing or will fail, or 2 and what is wrong where.
    """
    from loadaware.config import load
    from loadaware.config_warnings import warnings
    from loadaware.profiles import adviser_settings

    config = load(file)
    settings = adviser_settings(config, file)
    _check_source(config, file)
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


@cli.command("schedule-config")
@_config_option
@click.option("--url", help="Where kube-scheduler reaches us.  [default: 127.0.0.1 and the configuration's port]")
@click.option("--kubeconfig-path", default="/etc/kubernetes/scheduler.conf", show_default=True,
              help="The kubeconfig of kube-scheduler itself; empty: as in-cluster.")  # fmt: skip
@click.option("--ca-file", default="", help="For an https URL: the CA that kube-scheduler checks us by.")
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
    cert_file: str,
    key_file: str,
    node_cache_capable: bool,
    leader_elect: bool,
    preempt: bool,
    bind: bool,
) -> None:
    """Print the KubeSchedulerConfiguration that fits."""
    from loadaware.schedule_config import schedule_configuration

    config = _load(config_file)
    click.echo(
        schedule_configuration(
            config,
            url=url,
            kubeconfig=kubeconfig_path,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            node_cache_capable=node_cache_capable,
            leader_elect=leader_elect,
            preempt=preempt,
            bind=bind,
        ),
        nl=False,
    )


@cli.command()
@_config_option
@_cluster_options
@click.option("--server", help="A running loadaware to ask as well, such as http://127.0.0.1:8090.")
@click.option("--ca-file", default="", help="For an https --server: the CA that signed its certificate.")
@click.option("--cert-file", default="", help="The certificate that we show it, if it asks for one.")
@click.option("--key-file", default="", help="Its key.  [default: it is in the same file]")
@_output_option
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


@cli.command()
@click.option("--server", help="A running loadaware to ask.  [default: http://127.0.0.1:8090]")
@click.option("--state-file", type=click.Path(dir_okay=False), help="The file of demand.stateFile, instead.")
@click.option("--sort", default="cpu", show_default=True,
              help="cpu, memory: by how much the requests should change; pods; name.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="So many workloads.")
@click.option("--namespace", help="Of this namespace alone.")
@_output_option
def demand(  # noqa: PLR0917 - click passes options by name
    server: str | None, state_file: str | None, sort: str, limit: int, namespace: str | None, output: str
) -> None:
    """Show what workloads use of what they request.

    What each requests, what its pods were learned to use, what they should request instead, and what that comes to
    in the whole cluster.

    \b
    loadaware demand --server http://127.0.0.1:8090 --sort memory
    loadaware demand --state-file /var/lib/loadaware/demand --namespace shop
    """
    from loadaware import demand_listing

    if server and state_file:
        raise click.UsageError("--server and --state-file exclude each other")
    if state_file:
        told = demand_listing.read_file(state_file, sort, limit, namespace)
    else:
        told = demand_listing.ask_server(server or "http://127.0.0.1:8090", sort, limit, namespace)
    print_json(told) if output == "json" else demand_listing.print_report(told)


@cli.command()
@click.argument("pod", metavar="NAMESPACE/NAME")
@click.option("--server", help="The running loadaware to ask.  [default: http://127.0.0.1:8090]")
@click.option("--node", help="Why not this node?")
@click.option("--nodes", type=click.IntRange(1, 20_000), help="How many rows of the table.  [default: 50]")
@_output_option
def explain(pod: str, server: str | None, node: str | None, nodes: int | None, output: str) -> None:
    """Why did this pod land there?

    One sentence, what would have to change for another node to win, and the table behind it, from the numbers of the
    moment of the answer. `kubectl loadaware explain` asks the same through the API server.

    \b
    loadaware explain shop/web-1 --server http://127.0.0.1:8090
    loadaware explain shop/web-1 --node node-3
    """
    from loadaware.asking import DEFAULT_SERVER, ask_server
    from loadaware.explaining import explain_fields, print_explanation

    told = ask_server(server or DEFAULT_SERVER, "/explain", explain_fields(pod, node, nodes))
    print_json(told) if output == "json" else print_explanation(told)


@cli.command()
@click.option("--server", help="The running loadaware to ask.  [default: http://127.0.0.1:8090]")
@_output_option
def shadow(server: str | None, output: str) -> None:
    """Compare profiles in shadow with what was decided.

    Of each profile with `shadow: true`, beside the profile that answered and beside kube-scheduler's real choice; with
    `mode: shadow`, of each profile beside kube-scheduler's choice.
    """
    from loadaware.asking import DEFAULT_SERVER, ask_server
    from loadaware.explaining import print_shadow

    told = ask_server(server or DEFAULT_SERVER, "/shadow", {})
    print_json(told) if output == "json" else print_shadow(told)


def _add_commands_of_histories() -> None:
    from loadaware.cli_histories import history, record, replay

    for command in (record, history, replay):
        cli.add_command(command)


_add_commands_of_histories()


def _add_commands_of_tuning() -> None:
    from loadaware.cli_tuning import promote, tune

    for command in (tune, promote):
        cli.add_command(command)


_add_commands_of_tuning()


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


def _stopped(*_: object) -> None:
    """uvicorn drains on SIGTERM, then raises it again: having stopped when asked is success."""
    sys.exit(0)


def _load(file: str | None) -> Any:
    from loadaware.config import Config, load

    return load(file) if file else Config()


def _check_source(config: Any, file: str | None) -> None:
    from loadaware.sources import check_source

    check_source(config, file or DEFAULTS)


def _check_address(address: str, port: int) -> None:
    """End with one line if nobody could listen there; it is bound and let go again."""
    import socket

    try:
        places = socket.getaddrinfo(address or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(place)
    except (OSError, UnicodeError) as error:
        _remark(f"cannot serve on {address}:{port}: {getattr(error, 'strerror', None) or error}")
        sys.exit(EXIT_FAILED)


def _check_folder(option: str, file: str | None) -> None:
    from pathlib import Path

    from loadaware.errors import ConfigError

    if file is not None and not Path(file).parent.is_dir():
        raise ConfigError(option, "", f"there is no folder {Path(file).parent}")


def _remark(text: str) -> None:
    click.echo(f"loadaware: {text}", err=True)


def _people_port(config: Any, port: int | None, people_port: int | None) -> Any:
    """--port alone is one port for everything."""
    import msgspec

    if port is None and people_port is None:
        return config
    return msgspec.structs.replace(config, people=msgspec.structs.replace(config.people, port=people_port))


def _override(config: Any, section: str, **values: Any) -> Any:
    import msgspec

    given = {name: value for name, value in values.items() if value is not None}
    return msgspec.structs.replace(config, **{section: msgspec.structs.replace(getattr(config, section), **given)})


def print_json(value: object) -> None:
    """For programs."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
