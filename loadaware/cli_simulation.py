"""The commands about simulated clusters: demo, simulate. Added to the others by `cli.py`."""

import sys

import click

from loadaware.cli_options import Within, output_option
from loadaware.cli_output import EXIT_INTERRUPTED, print_json, remark


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="Where to serve.")
@click.option("--nodes", type=click.IntRange(2, 500), default=24, show_default=True, help="Simulated nodes.")
@click.option("--load", type=Within(0.05, 0.95), default=0.65, show_default=True, help="CPU used, of all.")
@click.option("--speed", type=Within(1, 3600), default=60, show_default=True, help="Simulated s per second.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another cluster.")
@click.option("--duration", type=Within(1), help="Stop by itself after so many seconds.")
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


def _check_folder(option: str, file: str | None) -> None:
    from pathlib import Path

    from loadaware.errors import ConfigError

    if file is not None and not Path(file).parent.is_dir():
        raise ConfigError(option, "", f"there is no folder {Path(file).parent}")


def _policy_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --policy."""
    from loadaware.simulation.policy_names import known

    return [name for name in known() if name.lower().startswith(begun.lower())]


def _setting_names(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Shell completion of --setting."""
    from loadaware.simulation.sensitivity import CIRCUMSTANCES

    return [name for name in CIRCUMSTANCES if name.startswith(begun.lower())]


@click.command()
@click.option(
    "--traces", metavar="FOLDER", help="Recorded days, a file each: NAME-DAY.npz.  [default: generated usage]"
)
@click.option("--dataset", metavar="NAME", help="Only the files of --traces whose names begin so.")
@click.option("--load", type=Within(0.05, 0.95), default=0.5, show_default=True, help="CPU used, of all.")
@click.option("--seeds", type=click.IntRange(1, 10_000), default=3, show_default=True, help="Paired runs per policy.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="Seed n uses recorded day n.")
@click.option("--nodes", type=click.IntRange(2, 5000), default=100, show_default=True, help="Simulated nodes.")
@click.option("--hours", type=Within(0.1, 168), default=24.0, show_default=True, help="Hours judged.")
@click.option("--warm-up", type=Within(0, 168), default=6.0, show_default=True, help="Hours before them.")
@click.option("--policy", "policies", multiple=True, shell_complete=_policy_names,
              help="Repeatable.  [default: default, TargetLoadPacking*3+default, EntropicRisk*3+default, clairvoyant]",
              )  # fmt: skip
@click.option("--setting", "settings", multiple=True, shell_complete=_setting_names,
              help="Other circumstances, such as 20-nodes, all-new, stale; repeatable, they add up.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes.  [default: one per core]")
@click.option("--resume", metavar="FILE", help="Keep finished runs here, and do not run them again.")
@click.option("--plot", metavar="FILE", help="Draw the comparison here, as SVG.")
@output_option
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
      Trimaran/TargetLoadPacking*3+default a peer's plugin as it is shipped, with its own rules for pods in flight
      constant, oracle                     in a scorer's place: no opinion; true demand known beforehand
      clairvoyant, offline                 references: know the future of running pods, of all pods

    \b
    Settings:
      all-new none-new low-churn high-churn uncorrelated smoothed 20-nodes tight small-pods stale fresh
      restart amnesia blind-third no-pod-metrics nameless hungry-memory late-watch failing-nodes prototype

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
        remark(f"{stopped}{kept}")
        sys.exit(EXIT_INTERRUPTED)
    result = simulating.summary(outcomes)
    print_json(simulating.as_json(plan, result)) if output == "json" else simulating.print_table(plan, result)
    if plot:
        simulating.write_picture(plan, result, plot)
