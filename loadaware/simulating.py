"""`loadaware simulate`: policies compared on the same simulated days. Checks everything, runs, shows."""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadaware.errors import ConfigError
from loadaware.progress import duration
from loadaware.simulation import sensitivity
from loadaware.simulation.comparison import Days, Listener, compare
from loadaware.simulation.generator import UnreachableLoadError
from loadaware.simulation.policy_names import parse
from loadaware.simulation.run_store import Keys, RunStore, split
from loadaware.simulation.stage import Setup, day_of, make_stage
from loadaware.simulation.summary import GUARDS, METRICS, PolicySummary, summarize
from loadaware.simulation.traces import load_traces
from loadaware.simulation.trial import Outcome, Trial

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

POLICIES = ("default", "TargetLoadPacking*3+default", "EntropicRisk*3+default", "clairvoyant")
"""What is compared if nothing is asked for: the baseline, a well-known peer, our default, a bound."""
MANY_SEEDS = 20
"""Making more scenarios than this, only to see whether the load can be met, takes long enough to say so."""
LINE_SECONDS = 15.0
"""Between two lines of progress where there is no terminal."""
WIDEST = 1000
"""Columns of a table in a pipe, where nothing is gained by folding lines."""
NARROW = ("hot80", "unserved", "p99")
"""Figures of a table that would not fit the terminal otherwise."""
LEGEND = (
    "Means over the runs, in percent: node-time above 80 / 90 % (hot80, hot90), CPU wanted and not had (unserved),\n"
    "spread of utilization across nodes (std), utilization exceeded 1 % of the time (p99), pods never placed\n"
    "(pending), replicas that share a node (together), node-time above 90 % of memory (memory90). Gap closed: 0 is\n"
    "the default, 100 the best reference; 95 % intervals over the runs."
)


@dataclass(frozen=True)
class Options:
    """As on the command line."""

    traces: str | None = None
    dataset: str | None = None
    load: float = 0.5
    seeds: int = 3
    first_seed: int = 0
    nodes: int = 100
    hours: float = 24.0
    warm_up_hours: float = 6.0
    policies: tuple[str, ...] = POLICIES
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """A comparison whose every part was checked."""

    options: Options
    setup: Setup
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    days: Days

    @property
    def trials(self) -> list[Trial]:
        """Every policy on every seed."""
        dataset = next(iter(self.days), "")
        return [Trial(self.setup, dataset, seed, policy) for seed in self.seeds for policy in self.policies]

    @property
    def days_used(self) -> list[str]:
        """The recorded days that the seeds take, in order of name."""
        days = next(iter(self.days.values()), ())
        return sorted({day.name for seed in self.seeds if (day := day_of(days, seed)) is not None})

    @property
    def title(self) -> str:
        """What is compared, in words."""
        machines, options = self.setup.scenario.machines, self.options
        runs = f"{len(self.seeds)} run{'s' if len(self.seeds) > 1 else ''} of {options.hours:g} h"
        usage = (
            f"usage from {options.dataset or Path(options.traces or '').resolve().name}"
            if self.days
            else "generated usage"
        )
        parts = [f"load {self.setup.scenario.load:.0%}", f"{machines.nodes} nodes", runs, usage, *options.settings]
        return ", ".join(parts).replace("%", " %")


def plan(options: Options) -> Plan:
    """Check all that can be checked before anything runs. Raises a LoadAwareError that says what is wrong."""
    policies = tuple(dict.fromkeys(parse(text).name for text in options.policies))
    setup = sensitivity.apply(setup_of(options), options.settings)
    if options.dataset is not None and options.traces is None:
        raise ConfigError("--dataset", "", "chooses among the files of a folder", "give --traces FOLDER, too")
    days = {} if options.traces is None else {options.dataset or "": load_traces(options.traces, options.dataset)}
    seeds = tuple(range(options.first_seed, options.first_seed + options.seeds))
    made = Plan(options, setup, policies, seeds, days)
    _remark_on_days(made)
    _check_load(made)
    return made


def _remark_on_days(made: Plan) -> None:
    """Which of several data sets are used is easily missed."""
    found = sorted({day.name.partition("-")[0] for days in made.days.values() for day in days})
    if len(found) > 1:
        _say(f"{made.options.traces} holds {', '.join(found)}; runs follow {', '.join(made.days_used)} (see --dataset)")


def setup_of(options: Options) -> Setup:
    """The usual setup, with what was asked for."""
    default, warm_up = Setup(), options.warm_up_hours * 3600.0
    return replace(
        default,
        engine=replace(default.engine, warm_up_seconds=warm_up),
        scenario=replace(
            default.scenario,
            load=options.load,
            duration_seconds=warm_up + options.hours * 3600.0,
            load_from_seconds=warm_up,
            machines=replace(default.scenario.machines, nodes=options.nodes),
        ),
    )


def _check_load(made: Plan) -> None:
    if len(made.seeds) > MANY_SEEDS:
        _say(f"first {len(made.seeds)} scenarios are made, to see whether the load can be met in all of them")
    for seed in made.seeds:
        try:
            make_stage(made.setup, day_of(next(iter(made.days.values()), ()), seed), seed)
        except UnreachableLoadError as error:
            raise ConfigError("--load", f"seed {seed}", str(error), "ask for another") from error


def check_picture(file: str) -> None:
    """Raises ConfigError if the picture could not be written there."""
    path = Path(file)
    if path.suffix.lower() != ".svg":
        raise ConfigError("--plot", "", f"a picture is written as SVG, not as {path.suffix or file!r}", "name it *.svg")
    if not path.parent.is_dir():
        raise ConfigError("--plot", "", f"there is no folder {path.parent}")
    if path.is_dir():
        raise ConfigError("--plot", "", f"{file} is a folder", "name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError("--plot", "", f"{file} cannot be written")


def open_store(file: str, days: Days) -> RunStore:
    """The file of `--resume`. Raises ConfigError."""
    if not Path(file).parent.is_dir():
        raise ConfigError("--resume", "", f"there is no folder {Path(file).parent}")
    return RunStore(file, Keys(days))


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """Ctrl-C, with how many runs were done by then."""

    def __init__(self, done: int, of: int) -> None:
        super().__init__(f"stopped after {done} of {of} runs")


def run(made: Plan, processes: int, store: RunStore | None = None) -> dict[str, list[Outcome]]:
    """Every trial's outcome, by policy in the order of seeds. Progress goes to standard error. Raises Stopped."""
    outcomes = run_all(made.trials, made.days, processes, store)
    dataset = next(iter(made.days), "")
    return {name: [outcomes[Trial(made.setup, dataset, seed, name)] for seed in made.seeds] for name in made.policies}


def run_all(
    trials: Sequence[Trial], days: Days, processes: int, store: RunStore | None = None
) -> Mapping[Trial, Outcome]:
    """Those that are stored, and those that are run now (and stored). Raises Stopped on Ctrl-C."""
    stored, missing = split(list(trials), store)
    outcomes = dict(stored)
    with _progress(len(trials), len(stored)) as (listener, finished):
        running = compare(missing, days, processes, listener)
        try:
            for trial, outcome in running:
                if store is not None:
                    store.add(trial, outcome)
                outcomes[trial] = outcome
                finished(trial)
        except KeyboardInterrupt:
            running.close()
            kept, _ = split(list(trials), store)
            raise Stopped(len({**outcomes, **kept}), len(trials)) from None
    return outcomes


Finished = Callable[[Trial], None]


@contextmanager
def _progress(total: int, done: int) -> Iterator[tuple[Listener, Finished]]:
    """A bar with the time left on a terminal, a line now and then elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        lines = Lines(total, done)
        yield lines.hear, lines.finish
        return
    with bar(console, total, done) as told:
        yield told


@contextmanager
def bar(console: "Console", total: int, done: int) -> Iterator[tuple[Listener, Finished]]:
    """A bar with the time left."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    shares: dict[Trial, float] = {}
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.fields[runs]} of {task.total:.0f} runs"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, speed_estimate_period=120.0) as shown:
        task = shown.add_task("", total=total, completed=done, runs=done)

        def show() -> None:
            shown.update(task, completed=done + sum(shares.values()), runs=done + sum(s >= 1 for s in shares.values()))

        def hear(trial: Trial, share: float) -> None:
            shares[trial] = share
            show()

        def finish(trial: Trial) -> None:
            hear(trial, 1.0)

        yield hear, finish


class Lines:
    """Progress where nobody watches: few lines on standard error."""

    def __init__(self, total: int, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._before, self._clock = total, done, clock
        self._done = done
        self._begun = self._said = clock()
        if done:
            _say(f"{done} of {total} runs are done already")

    def hear(self, trial: Trial, share: float) -> None:
        """Only finished runs are worth a line."""

    def finish(self, trial: Trial) -> None:
        """Say so, if the last word is some time ago."""
        self._done += 1
        now = self._clock()
        if now - self._said < LINE_SECONDS or self._done == self._total:
            return
        self._said = now
        left = (now - self._begun) / (self._done - self._before) * (self._total - self._done)
        _say(f"{self._done} of {self._total} runs, about {duration(left)} left")


def _say(text: str) -> None:
    """A line beside the output."""
    sys.stderr.write(f"loadaware: {text}\n")
    sys.stderr.flush()


def as_json(made: Plan, policies: Mapping[str, PolicySummary]) -> dict[str, Any]:
    """For programs. What is not a number comes out as null."""
    return {
        "load": made.setup.scenario.load,
        "runs": len(made.seeds),
        "seeds": list(made.seeds),
        "settings": list(made.options.settings),
        "nodes": made.setup.scenario.machines.nodes,
        "hours": made.options.hours,
        "traces": made.days_used,
        "policies": {name: _policy_json(policy) for name, policy in policies.items()},
    }


def _policy_json(policy: PolicySummary) -> dict[str, Any]:
    return {
        **{figure: policy.mean(figure) for figure in (*METRICS, *GUARDS, "utilization", "seconds")},
        "gapClosed": {metric: list(interval) for metric, interval in policy.gap_closed.items()},
        "each": {figure: policy.each[figure].tolist() for figure in (*METRICS, *GUARDS)},
    }


def summary(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, PolicySummary]:
    """What the runs say of each policy."""
    return summarize(outcomes)


def write_picture(made: Plan, policies: Mapping[str, PolicySummary], file: str) -> None:
    """As SVG. Raises ConfigError if it cannot be written."""
    from loadaware.simulation.picture import draw

    try:
        Path(file).write_text(draw(policies, made.title), encoding="utf-8")
    except OSError as error:
        raise ConfigError("--plot", "", f"{file} cannot be written: {error.strerror}") from error


def print_table(made: Plan, policies: Mapping[str, PolicySummary], console: "Console | None" = None) -> None:
    """For people; figures in percent, lower is better, but for the gap closed."""
    from rich.console import Console

    console = console or Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDEST
    table = _table(policies, (*METRICS, *GUARDS))
    if console.measure(table, options=console.options.update(width=WIDEST)).maximum > console.width:
        table = _table(policies, NARROW)
    console.print(made.title, soft_wrap=True)
    console.print(table)
    console.print(LEGEND, soft_wrap=True)


def _table(policies: Mapping[str, PolicySummary], figures: Sequence[str]) -> "Table":
    from rich.table import Table

    gaps = any(policy.gap_closed for policy in policies.values())
    table = Table()
    table.add_column("policy", overflow="fold")
    for heading in (*figures, *(("gap closed:\nhot80", "\nunserved") if gaps else ())):
        table.add_column(heading, justify="right")
    for name, policy in policies.items():
        closed = [_gap_text(policy, metric) for metric in ("hot80", "unserved")] if gaps else []
        table.add_row(name, *(_mean_text(policy.mean(figure), _digits(figure)) for figure in figures), *closed)
    return table


def _mean_text(mean: float, digits: int) -> str:
    return "-" if math.isnan(mean) else f"{mean:.{digits}f}"


def _digits(figure: str) -> int:
    return 1 if figure in {"std", "p99", "together"} else 3 if figure == "unserved" else 2


def _gap_text(policy: PolicySummary, metric: str) -> str:
    value, low, high = policy.gap_closed[metric]
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if math.isclose(low, high, abs_tol=1e-9) else f"{value:.0f} ({low:.0f}..{high:.0f})"
