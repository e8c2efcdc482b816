"""The commands about tuning: tune, promote. Added to the others by `cli.py`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from loadaware.cli_options import Within
from loadaware.cli_output import EXIT_INTERRUPTED, remark

if TYPE_CHECKING:
    from loadaware.promotion import Promoted
    from loadaware.tuning import Source
    from loadaware.tuning.result import TuneResult


@click.command()
@click.argument("folder", metavar="[HISTORY]", required=False, type=click.Path(file_okay=False))
@click.option("--traces", metavar="FOLDER", help="Recorded days, a file each, instead of a history.")
@click.option("--dataset", metavar="NAME", help="Only the files of --traces whose names begin so.")
@click.option("--trials", type=int, default=60, show_default=True, help="Configurations to try.")
@click.option("--output", required=True, metavar="FILE",
              help="The best configuration goes here; runs and report beside it.")  # fmt: skip
@click.option("--space", "space_file", metavar="FILE", help="What is searched.  [default: the one that is shipped]")
@click.option("--config", "config_file", type=click.Path(dir_okay=False), envvar="LOADAWARE_CONFIG", show_envvar=True,
              help="To begin with, and to be beaten.  [default: the history's, else the default profile]")  # fmt: skip
@click.option("--profile", help="The schedulerName of the profile to tune.  [default: the first]")
@click.option("--objective", "objectives", multiple=True,
              help="A figure to make small; repeatable.  [default: hot80]")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the search.")
@click.option("--batch", type=int, default=8, show_default=True,
              help="Trials asked for at once: so many can run side by side. Another size, another search.")  # fmt: skip
@click.option("--prune/--no-prune", default=True, show_default=True, help="Give up what is clearly worse.")
@click.option("--seeds", type=click.IntRange(1, 10_000),
              help="Runs, or windows of a history, per trial.  [default: one per day; 3; 1 to 3 windows]")  # fmt: skip
@click.option("--test-seeds", type=click.IntRange(1, 10_000), help="Runs of the test.  [default: 6 or more]")
@click.option("--test-share", type=Within(0.05, 0.9), default=0.3, show_default=True,
              help="Share of the days, or of the time, that is kept for the test.")  # fmt: skip
@click.option("--load", type=Within(0.05, 0.95), default=0.5, show_default=True, help="CPU used, of all.")
@click.option("--nodes", type=click.IntRange(2, 5000), default=100, show_default=True, help="Simulated nodes.")
@click.option("--hours", type=Within(0.1, 168), default=24.0, show_default=True, help="Hours judged.")
@click.option("--warm-up", type=Within(0, 168), default=6.0, show_default=True, help="Hours before them.")
@click.option("--setting", "settings", multiple=True, help="Other circumstances, as in `loadaware simulate`.")
@click.option("--since", help="Of a history, from here on, such as 2026-11-02T00:00Z.  [default: the beginning]")
@click.option("--until", help="Of a history, up to here.  [default: the end]")
@click.option("--skip-damaged", is_flag=True, help="Leave a history's damaged segments out.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes.  [default: one per core]")
@click.option("--dask", metavar="ADDRESS", help="Let the workers of this Dask cluster run them, instead.")
def tune(  # noqa: PLR0917 - click passes options by name
    folder: str | None,
    traces: str | None,
    dataset: str | None,
    trials: int,
    output: str,
    space_file: str | None,
    config_file: str | None,
    profile: str | None,
    objectives: tuple[str, ...],
    seed: int,
    batch: int,
    prune: bool,
    seeds: int | None,
    test_seeds: int | None,
    test_share: float,
    load: float,
    nodes: int,
    hours: float,
    warm_up: float,
    settings: tuple[str, ...],
    since: str | None,
    until: str | None,
    skip_damaged: bool,
    jobs: int | None,
    dask: str | None,
) -> None:
    """Search for a configuration that suits your cluster.

    Tries weights, args and scorers on a recorded history, on recorded days, or on generated ones, and judges the winner
    on days it has not seen, paired with what you have now. Ctrl-C keeps what is done; the same command goes on.

    \b
    On your own cluster:  loadaware tune history/ --config live.yaml --trials 100 --output best.yaml
    A first look:         loadaware tune --nodes 10 --hours 1 --warm-up 0.5 --trials 20 --output best.yaml
    Two aims:             loadaware tune history/ --objective hot80 --objective moves --output best.yaml
    """
    from loadaware import tuning
    from loadaware.config import load as load_config
    from loadaware.progress import progress
    from loadaware.replaying import recorded_config, settings_of
    from loadaware.tuning import output as files
    from loadaware.tuning.run import check_numbers

    check_numbers(trials, batch)
    files.check_output(output)
    space = tuning.load_space(space_file) if space_file else tuning.default_space()
    _refuse_others(folder)
    config = load_config(config_file) if config_file else None
    source: Source
    if folder is not None:
        part = settings_of(since, until, None, seed=0, moves=1, skip_damaged=skip_damaged)
        source = tuning.recorded(
            folder, windows=seeds, since=part.since, until=part.until, test_share=test_share, skip_damaged=skip_damaged
        )  # fmt: skip
        config = config or recorded_config(folder, skip_damaged=skip_damaged)
    else:
        source = tuning.simulated(
            traces=traces, dataset=dataset, nodes=nodes, load=load, hours=hours, warm_up_hours=warm_up,
            settings=settings, seeds=seeds, test_seeds=test_seeds, test_share=test_share,
        )  # fmt: skip
    with progress("tuning") as hear:
        result = tuning.tune(
            source, trials=trials, space=space, config=config, profile=profile, objectives=objectives, seed=seed,
            batch=batch, pruning=prune, crew=tuning.crew(jobs or os.cpu_count() or 1, dask),
            runs=files.runs_file(output), hear=hear,
        )  # fmt: skip
    written = files.write_all(result, output, config_file)
    _print(result, written)
    if result.stopped:
        sys.exit(EXIT_INTERRUPTED)


OF_A_SIMULATION = ("traces", "dataset", "nodes", "load", "hours", "warm_up", "settings", "test_seeds")
OF_A_HISTORY = ("since", "until", "skip_damaged")


def _refuse_others(folder: str | None) -> None:
    """Raises UsageError for an option that was given and would do nothing."""
    context = click.get_current_context()
    others = OF_A_HISTORY if folder is None else OF_A_SIMULATION
    given = [p for p in context.command.params if p.name in others and _was_given(context, p.name)]
    if given:
        names = ", ".join(option.opts[0] for option in given)
        why = "only for a HISTORY, and none is named" if folder is None else "not for a HISTORY"
        raise click.UsageError(f"{names}: {why}")


def _was_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source in {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}


def _print(result: "TuneResult", written: list[Path]) -> None:
    from loadaware.tuning.report import headline

    click.echo(headline(result))
    for warning in result.warnings:
        click.echo(f"  beware: {warning}")
    if result.compared:
        click.echo(result.test.to_string(float_format=lambda value: f"{value:.3f}"))
    click.echo(f"written: {', '.join(map(str, written))}")


@click.command()
@click.argument("file", metavar="CONFIG", type=click.Path(dir_okay=False))
@click.option("--profile", help="The profile in shadow.  [default with --shadow: tuned]")
@click.option("--shadow", "shadow_file", metavar="BEST", help="Put a profile of this configuration into shadow.")
@click.option("--of", metavar="NAME", help="Which profile of BEST.  [default: the one that CONFIG does not have]")
@click.option("--live", metavar="NAME", help="The live profile that it takes the place of.  [default: the first]")
@click.option("--keep-old", is_flag=True, help="What was live goes into shadow, under the promoted one's name.")
@click.option("--chart-values", is_flag=True, help="Write the profiles as values of the helm chart.")
@click.option("--output", metavar="FILE", help="Write it here; CONFIG itself is fine.  [default: standard output]")
def promote(  # noqa: PLR0917 - click passes options by name
    file: str,
    profile: str | None,
    shadow_file: str | None,
    of: str | None,
    live: str | None,
    keep_old: bool,
    chart_values: bool,
    output: str | None,
) -> None:
    """Make a profile in shadow the live one.

    Writes the configuration anew; comments stay. With --shadow it is the step before: a tuned configuration goes into
    CONFIG as a profile that is only scored aside.

    \b
    loadaware promote config.yaml --shadow best.yaml --output config.yaml
    loadaware promote config.yaml --profile tuned --output config.yaml
    """
    from loadaware import promotion
    from loadaware.config import load
    from loadaware.tuning.output import write_whole

    if shadow_file is None and profile is None:
        raise click.UsageError("name a profile in shadow with --profile, or a configuration with --shadow")
    if shadow_file is not None and (live or keep_old):
        raise click.UsageError("--live and --keep-old belong to a promotion, not to --shadow")
    if of is not None and shadow_file is None:
        raise click.UsageError("--of belongs to --shadow")
    text = _text(file)
    done: Promoted
    if shadow_file is not None:
        done = promotion.into_shadow(text, file, load(shadow_file), profile or "tuned", of)
    else:
        done = promotion.promote(text, file, profile or "", live, keep_old=keep_old)
    made = promotion.chart_values(done.config) if chart_values else done.text
    if output is None:
        click.echo(made, nl=False)
    else:
        write_whole(Path(output), made, Path(file))
    for line in done.remarks:
        remark(line)


def _text(file: str) -> str:
    from loadaware.config import load

    load(file)
    return Path(file).read_text(encoding="utf-8")
