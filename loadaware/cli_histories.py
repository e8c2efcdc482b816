"""The commands about histories: record, history, replay. Added to the others by `cli.py`."""

import os
import sys

import click

from loadaware.cli_options import check_source, load_config, output_option
from loadaware.cli_output import EXIT_INTERRUPTED, print_json, remark


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--from-prometheus", "url", metavar="URL", help="Build it from what this Prometheus knows of the past.")
@click.option("--since", default="14d", show_default=True, help="How much of the past.")
@click.option("--step", default="60s", show_default=True, help="Between two readings of the past.")
@click.option("--pause", default="1s", show_default=True, help="Between two chunks of the past, to be gentle.")
@click.option("--max-size", help="Of a live history, such as 5Gi.  [default: the configuration's, 10Gi]")
@click.option("--max-age", help="Of a live history, such as 7d.  [default: the configuration's, 14d]")
@click.option("--duration", type=click.FloatRange(1), help="Stop by itself after so many seconds.")
@click.option("--config", "config_file", type=click.Path(dir_okay=False), envvar="LOADAWARE_CONFIG", show_envvar=True,
              help="The configuration: where usage is read from, and how a Prometheus is approached.")  # fmt: skip
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Credentials.  [default: as kubectl]")
@click.option("--context", help="The kubeconfig's context.  [default: its current one]")
def record(  # noqa: PLR0917 - click passes options by name
    folder: str,
    url: str | None,
    since: str,
    step: str,
    pause: str,
    max_size: str | None,
    max_age: str | None,
    duration: float | None,
    config_file: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Write down what the core sees, to be replayed later.

    Readings, pod and node events of the live cluster, until Ctrl-C; or, from a Prometheus alone, the past. To record
    requests and answers too, set `history.folder` in the configuration of `loadaware serve`.

    \b
    loadaware record history/
    loadaware record past/ --from-prometheus http://prometheus:9090 --since 14d
    """
    import msgspec

    from loadaware.recording import history_section, record_live, record_prometheus

    config = load_config(config_file)
    if url is not None:
        try:
            done = record_prometheus(config, url, folder, since=since, step=step, pause=pause)
        except KeyboardInterrupt:
            remark(f"stopped: whole chunks are kept in {folder}, the same command goes on from there")
            sys.exit(EXIT_INTERRUPTED)
        empty = f", {done.empty_chunks} chunks were empty" if done.empty_chunks else ""
        click.echo(f"{done.readings} readings written to {folder}{empty}", err=True)
        return
    check_source(config, config_file)
    section = history_section(config.history, folder, max_size, max_age)
    config = msgspec.structs.replace(config, history=section)
    record_live(config, kubeconfig, context, duration, remark)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--pseudonyms", "target", metavar="OUT", help="Copy it to this folder, names replaced by pseudonyms.")
@click.option("--key-file", type=click.Path(dir_okay=False),
              help="The key of the pseudonyms, made if it is not there: the same key, the same names.  "
                   "[default: one that nobody keeps]")  # fmt: skip
@click.option("--output", "-o", type=click.Choice(["table", "json"]), default="table", show_default=True,
              help="Lines for people, JSON for programs.")  # fmt: skip
@click.option("--skip-damaged", is_flag=True, help="Leave damaged segments out instead of ending with an error.")
def history(folder: str, target: str | None, key_file: str | None, output: str, skip_damaged: bool) -> None:
    """Show what is in a recorded history.

    \b
    loadaware history history/
    loadaware history history/ --pseudonyms to-share/
    """
    from loadaware import histories

    if key_file and not target:
        raise click.UsageError("--key-file belongs to --pseudonyms")
    if target:
        count = histories.share(folder, target, key_file, skip_damaged=skip_damaged)
        click.echo(f"{count} records copied to {target}", err=True)
        folder = target
    told = histories.describe(folder, skip_damaged=skip_damaged)
    print_json(told) if output == "json" else histories.print_description(told)


@click.command()
@click.argument("folder", metavar="HISTORY", type=click.Path(file_okay=False))
@click.option("--config", "config_files", multiple=True, type=click.Path(dir_okay=False),
              help="Repeatable.  [default: the one that it was recorded with]")  # fmt: skip
@click.option("--since", help="Judge from here, such as 2026-11-02T00:00Z.  [default: the beginning]")
@click.option("--until", help="Judge to here.  [default: the end]")
@click.option("--warm-up", help="Not judged at the beginning, such as 30m.  [default: 1h, or a quarter of all]")
@click.option("--moves", type=click.IntRange(0, 1000), default=10, show_default=True,
              help="How many of the decisions that mattered most are shown.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For ties.")
@click.option("--skip-damaged", is_flag=True, help="Leave damaged segments out instead of ending with an error.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes.  [default: one per core]")
@click.option("--plot", metavar="FILE", help="Draw the comparison here, as SVG.")
@output_option
def replay(  # noqa: PLR0917 - click passes options by name
    folder: str,
    config_files: tuple[str, ...],
    since: str | None,
    until: str | None,
    warm_up: str | None,
    moves: int,
    seed: int,
    skip_damaged: bool,
    jobs: int | None,
    plot: str | None,
    output: str,
) -> None:
    """Compare configurations on a recorded history.

    The recorded arrivals and usage through the live core, once per configuration and once as it really was: how hot
    nodes were, which decisions differ, and which of them mattered.

    \b
    loadaware replay history/ --config a.yaml --config b.yaml --plot replay.svg
    Does it reproduce what was decided?   loadaware replay history/
    """
    from loadaware import replaying
    from loadaware.replay.report import as_json
    from loadaware.simulating import check_picture

    if plot:
        check_picture(plot)
    settings = replaying.settings_of(since, until, warm_up, seed=seed, moves=moves, skip_damaged=skip_damaged)
    configs = replaying.configurations(folder, config_files, skip_damaged=skip_damaged)
    try:
        outcomes = replaying.run(folder, configs, settings, jobs or os.cpu_count() or 1)
    except KeyboardInterrupt:
        remark("stopped")
        sys.exit(EXIT_INTERRUPTED)
    if plot:
        replaying.write_picture(outcomes, replaying.title_of(folder, outcomes), plot)
    print_json(as_json(folder, outcomes)) if output == "json" else replaying.print_report(folder, outcomes, moves)
