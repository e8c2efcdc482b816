"""`loadaware replay`: configurations compared on a recorded history. Checks everything, runs, shows."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.errors import HistoryError
from collectors.history import Checkpoint, HistoryReader, Mark
from collectors.manifests import parse_time
from loadaware.config import Config, load, parse
from loadaware.errors import ConfigError
from loadaware.profiles import adviser_settings
from loadaware.progress import duration, moment, progress
from loadaware.quantities import parse_duration
from loadaware.recorder import BEGAN, Beginning, CheckpointState
from loadaware.replay.comparison import replay_all
from loadaware.replay.outcome import ReplayOutcome, ReplaySettings
from loadaware.replay.report import RECORDED, cannot_know, change, figure, notes, summaries
from loadaware.simulation.statistics import Interval
from loadaware.simulation.summary import METRICS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

AS_RECORDED = "as recorded"
"""The name of the configuration that the history was recorded with."""
WIDEST = 1000
LEGEND = (
    "Percent of node-time above 80 / 90 % of allocatable CPU (hot80, hot90), CPU wanted and not had (unserved),\n"
    "spread of utilization across nodes (std), utilization exceeded 1 % of the time (p99), pods placed elsewhere.\n"
    "In brackets: the 95 % interval of the mean difference from `recorded` per block of time, over blocks: what\n"
    "happens within one hangs together, and so do nodes; it is wider where a block is like the next. An interval that\n"
    "holds 0 is no difference."
)


def settings_of(
    since: str | None, until: str | None, warm_up: str | None, *, seed: int, moves: int, skip_damaged: bool
) -> ReplaySettings:
    """From the command line. Raises ConfigError."""
    try:
        warm_up_seconds = None if warm_up is None else parse_duration(warm_up)
    except ValueError as error:
        raise ConfigError("--warm-up", "", str(error)) from error
    return ReplaySettings(
        since=_time("--since", since),
        until=_time("--until", until),
        warm_up_seconds=warm_up_seconds,
        seed=seed,
        kept_moves=max(moves, 1),
        skip_damaged=skip_damaged,
    )


def _time(option: str, text: str | None) -> float | None:
    moment = parse_time(text)
    if text is not None and moment is None:
        raise ConfigError(option, "", f"expected a time such as 2026-11-02T06:00Z, not {text!r}")
    return moment


def configurations(history: str, files: Sequence[str], *, skip_damaged: bool = False) -> dict[str, Config]:
    """What is to be compared, by name; without files, what the history was recorded with. Raises ConfigError."""
    if not files:
        return {AS_RECORDED: recorded_config(history, skip_damaged=skip_damaged)}
    stems = [Path(file).stem for file in files]
    names = [stem if stems.count(stem) == 1 else file for stem, file in zip(stems, files, strict=True)]
    if RECORDED in names:
        names = [file if name == RECORDED else name for name, file in zip(names, files, strict=True)]
    if len(set(names)) != len(names):
        raise ConfigError("--config", "", "names a file twice")
    configs = {name: load(file) for name, file in zip(names, files, strict=True)}
    for config, file in zip(configs.values(), files, strict=True):
        adviser_settings(config, file)
    return configs


def recorded_config(history: str | Path, *, skip_damaged: bool = False) -> Config:
    """The configuration that a history was recorded with, at its beginning. Raises HistoryError."""
    for record in HistoryReader(history, skip_damaged=skip_damaged).records(kinds=["marks", "checkpoints"]):
        beginning = _beginning(record.content)
        if beginning is not None:
            return parse(beginning.config, f"{history} (recorded)")
    raise HistoryError(str(history), "does not tell the configuration it was recorded with: name one with --config")


def _beginning(content: object) -> Beginning | None:
    import msgspec

    match content:
        case Mark(name=name, detail=detail) if name == BEGAN:
            return msgspec.msgpack.decode(detail, type=Beginning)
        case Checkpoint(state=state):
            return msgspec.msgpack.decode(state, type=CheckpointState).beginning
    return None


def run(history: str, configs: Mapping[str, Config], settings: ReplaySettings, jobs: int) -> dict[str, ReplayOutcome]:
    """Every outcome, in the order of the configurations. Progress goes to standard error. Raises HistoryError."""
    with progress("replaying") as hear:
        outcomes = dict(replay_all(history, configs, settings, jobs, hear))
    return {name: outcomes[name] for name in configs}


def write_picture(outcomes: Mapping[str, ReplayOutcome], title: str, file: str) -> None:
    """As SVG. Raises ConfigError if it cannot be written."""
    from loadaware.simulation.picture import draw

    try:
        Path(file).write_text(draw(summaries(outcomes), title, "blocks of time"), encoding="utf-8")
    except OSError as error:
        raise ConfigError("--plot", "", f"{file} cannot be written: {error.strerror}") from error


def title_of(history: str, outcomes: Mapping[str, ReplayOutcome]) -> str:
    """What is compared, in words."""
    first = next(iter(outcomes.values()))
    blocks = len(first.recorded_blocks)
    judged = duration(first.until - first.since)
    name = Path(history).resolve().name
    return f"{name}: {judged} from {moment(first.since)}, {blocks} blocks of {duration(first.block_seconds)}"


def print_report(
    history: str, outcomes: Mapping[str, ReplayOutcome], moves: int = 10, console: "Console | None" = None
) -> None:
    """For people."""
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDEST
    console.print(title_of(history, outcomes), soft_wrap=True)
    console.print(_table(outcomes))
    console.print(LEGEND, soft_wrap=True)
    if len(outcomes) > 1:
        console.print(_between(outcomes))
    for name, outcome in outcomes.items():
        console.print(f"\n{name}: {decisions_in_words(outcome)}", soft_wrap=True)
        if outcome.moves and moves:
            console.print(_moves(outcome, moves))
    for heading, lines in (("What a replay cannot know", cannot_know(outcomes)), ("Notes", notes(outcomes))):
        if lines:
            console.print(f"\n{heading}:", soft_wrap=True)
            for line in lines:
                console.print(f"- {line}", soft_wrap=True)


def decisions_in_words(outcome: ReplayOutcome) -> str:
    """How many decisions differ."""
    counts = outcome.counts
    parts = [f"{counts.elsewhere} of {counts.placed} pods placed elsewhere"]
    if counts.answers_recorded:
        parts.append(f"{counts.answers_differing} of {counts.answers_recorded} answers differ")
        if not (counts.answers_differing or counts.filters_differing or counts.elsewhere):
            parts.append("every recorded decision is reproduced")
    if counts.filters_differing:
        parts.append(f"{counts.filters_differing} filterings differ")
    if counts.without_room:
        parts.append(f"{counts.without_room} fitted nowhere and stayed")
    if counts.returned:
        parts.append(f"{counts.returned} put back when their node went away")
    return "; ".join(parts)


def _table(outcomes: Mapping[str, ReplayOutcome]) -> "Table":
    from rich.table import Table

    first, each = next(iter(outcomes.values())), summaries(outcomes)
    table = Table()
    table.add_column("", overflow="fold")
    for heading in (*METRICS, "elsewhere"):
        table.add_column(heading, justify="right")
    table.add_row(RECORDED, *(_number(figure(first.recorded, metric), metric) for metric in METRICS), "")
    for name, outcome in outcomes.items():
        cells = [
            f"{_number(figure(outcome.replayed, metric), metric)}\n"
            f"{_interval(change(each[name], each[RECORDED], metric), metric)}"
            for metric in METRICS
        ]
        table.add_row(name, *cells, f"{100.0 * outcome.counts.elsewhere / max(outcome.counts.placed, 1):.0f}")
    return table


def _between(outcomes: Mapping[str, ReplayOutcome]) -> "Table":
    """Every further configuration against the first: how much higher, and the interval of that."""
    from rich.table import Table

    (first, *others), each = outcomes, summaries(outcomes)
    table = Table(title=f"difference from {first}", title_justify="left")
    table.add_column("", overflow="fold")
    for heading in METRICS:
        table.add_column(heading, justify="right")
    for name in others:
        changes = [(change(each[name], each[first], metric), metric) for metric in METRICS]
        cells = (f"{_signed(one.value, metric)}\n{_interval(one, metric)}" for one, metric in changes)
        table.add_row(name, *cells)
    return table


def _moves(outcome: ReplayOutcome, most: int) -> "Table":
    from rich.table import Table

    table = Table(title="decisions that mattered most", title_justify="left")
    for heading, justify in (("pod", "left"), ("when", "left"), ("recorded", "left"), ("replayed", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("core-hours off hot nodes", justify="right")
    for move in outcome.moves[:most]:
        relief = f"{move.relief_core_hours:+.2f}"
        table.add_row(move.pod, moment(move.time), move.recorded_node, move.replayed_node, relief)
    return table


def _number(value: float, metric: str) -> str:
    return "-" if math.isnan(value) else f"{value:.{_digits(metric)}f}"


def _signed(value: float, metric: str) -> str:
    return "-" if math.isnan(value) else f"{value:+.{_digits(metric)}f}"


def _interval(interval: Interval, metric: str) -> str:
    digits = _digits(metric)
    return f"({interval.low:+.{digits}f}..{interval.high:+.{digits}f})" if not math.isnan(interval.low) else ""


def _digits(metric: str) -> int:
    return 1 if metric in {"std", "p99"} else 2
