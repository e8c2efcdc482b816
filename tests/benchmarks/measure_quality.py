"""How good placements are, against every peer and two references. Run it, go away, come back, read docs/benchmarks:

    make benchmark-quality [TRACES=folder] [RUNS=10] [JOBS=2] [ONLY=data set]

Finished runs are kept outside the checkout, by the code that made them, so that it can be stopped at any time (Ctrl-C)
and goes on where it was. The page is written in any case, and says what is missing. Without TRACES usage is generated.
With ONLY one data set of the folder is measured, and no page but its own is written. It takes hours: run it in a clone
of its own that nobody edits meanwhile.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from loadaware.config_problems import nearest
from loadaware.errors import ConfigError, LoadAwareError
from loadaware.simulating import Options, Stopped, run_all, setup_of
from loadaware.simulation.code_digest import code_digest
from loadaware.simulation.comparison import Days
from loadaware.simulation.policy_names import parse
from loadaware.simulation.run_store import Keys, RunStore
from loadaware.simulation.traces import load_traces
from loadaware.simulation.trial import Outcome, Trial
from tests.benchmarks.pages import ROOT, commit, machine
from tests.benchmarks.quality_plan import LOADS, Outcomes, PartOf, Plan, Quality
from tests.benchmarks.quality_report import Origin, further_report, page_name, picture, report

PAGES = ROOT / "docs" / "benchmarks"


def main() -> None:
    arguments = arguments_of(sys.argv[1:])
    try:
        days = days_of(arguments.traces)
        quality = quality_of(arguments, days)
        check(quality)
        datasets = chosen(arguments.only, quality)
        store = store_of(arguments.store, days)
    except LoadAwareError as error:
        sys.exit(f"measure_quality: {error}")
    plan = PartOf(quality, arguments.only) if arguments.only else quality
    outcomes, problem = measure(plan, days, store, arguments.jobs, only_report=arguments.report)
    write(quality, outcomes, origin("benchmark-quality", arguments, days, arguments.only), datasets)
    sys.stderr.write(f"measure_quality: {len(outcomes)} runs in {PAGES.relative_to(ROOT)}\n")
    if problem:
        sys.exit(f"measure_quality: {problem}; the same command goes on from there")


def write(quality: Quality, outcomes: Outcomes, made: Origin, datasets: Sequence[str]) -> None:
    """The pages of these data sets, and the picture if the headline's is among them."""
    PAGES.mkdir(parents=True, exist_ok=True)
    for dataset in datasets:
        page = PAGES / f"{page_name(quality, dataset)}.md"
        if dataset != quality.headline:
            page.write_text(further_report(quality, outcomes, made, dataset), encoding="utf-8")
            continue
        page.write_text(report(quality, outcomes, made), encoding="utf-8")
        if drawn := picture(quality, outcomes):
            page.with_suffix(".svg").write_text(drawn, encoding="utf-8")


def chosen(only: str, quality: Quality) -> tuple[str, ...]:
    """The data sets to measure: all, or the one that was named. Raises ConfigError for one that is not there."""
    if only and only not in quality.datasets:
        problem = f"there is no data set called {only!r} in the traces"
        raise ConfigError("--only", "", problem, nearest(only, quality.datasets))
    return (only,) if only else quality.datasets


def arguments_of(given: list[str]) -> argparse.Namespace:
    parser = options_of(__doc__)
    parser.add_argument("--traces", default="", help="folder of recorded days; generated usage without it")
    parser.add_argument("--only", default="", metavar="NAME", help="measure this data set alone; write only its page")
    parser.add_argument("--nodes", type=at_least(2), default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--warm-up", type=float, default=6.0)
    return parser.parse_args(given)


def options_of(description: str | None) -> argparse.ArgumentParser:
    """What every comparison of placements can be told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=at_least(1), default=10, help="paired runs of each comparison")
    parser.add_argument("--jobs", type=at_least(1), default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--store", default="", help="file of finished runs; outside the checkout without it")
    parser.add_argument("--report", action="store_true", help="write the page from what there is, run nothing")
    return parser


def at_least(least: int) -> Callable[[str], int]:
    """A whole number that is not below; argparse tells what is wrong otherwise."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
        return int(text)

    return number


def days_of(folder: str) -> Days:
    """Every data set of a folder by its name, the part before the day."""
    if not folder:
        return {}
    names = sorted({day.name.partition("-")[0] for day in load_traces(folder)}, reverse=True)
    return {name: load_traces(folder, name) for name in names}


def quality_of(arguments: argparse.Namespace, days: Days) -> Quality:
    options = Options(nodes=arguments.nodes, hours=arguments.hours, warm_up_hours=arguments.warm_up)
    return Quality(setup_of(options), tuple(days) or ("",), tuple(range(arguments.runs)))


def check(quality: Quality) -> None:
    """Every policy is one. Raises ConfigError."""
    for policy in quality.at_load("", LOADS[0]).policies:
        parse(policy)


def store_of(file: str, days: Days) -> RunStore:
    """Of this code."""
    if file:
        return RunStore(file, Keys(days))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "loadaware" / "quality" / code_digest()
    folder.mkdir(parents=True, exist_ok=True)
    return RunStore(folder / "runs.jsonl", Keys(days))


def measure(plan: Plan, days: Days, store: RunStore, jobs: int, *, only_report: bool = False) -> tuple[Outcomes, str]:
    """Run what is missing, part by part; the outcomes there are, and why it ended early, if it did."""
    outcomes: dict[Trial, Outcome] = {}
    code = code_digest()
    for section in (section for sections in plan.stages(outcomes) for section in sections):
        trials = section.trials(plan.seeds)
        outcomes |= stored(trials, store)
        if only_report or all(trial in outcomes for trial in trials):
            continue
        if code_digest() != code:
            return outcomes, "the code was changed meanwhile, and figures of two codes are not comparable"
        where = f"{section.dataset or 'generated usage'}, load {100 * section.load:.0f} % {section.setting}".strip()
        sys.stderr.write(f"measure_quality: {where}: {len(trials)} runs of {len(section.policies)} policies\n")
        try:
            run_all(trials, days, jobs, store)
        except (Stopped, LoadAwareError) as problem:
            return outcomes | stored(trials, store), str(problem)
        outcomes |= stored(trials, store)
    return outcomes, ""


def stored(trials: list[Trial], store: RunStore) -> dict[Trial, Outcome]:
    """The outcomes that are there already."""
    return {trial: outcome for trial in trials if (outcome := store.get(trial)) is not None}


def origin(target: str, arguments: argparse.Namespace, days: Days, only: str = "") -> Origin:
    """What the page says of itself; `target` is that of make, `only` the one data set that was measured."""
    told = {"TRACES": "..." if days else "", "RUNS": arguments.runs, "ONLY": only}
    named = "; ".join(f"{name}, {len(of_set)} days" for name, of_set in days.items() if only in ("", name))
    return Origin(
        command=" ".join([f"make {target}", *(f"{name}={value}" for name, value in told.items() if value)]),
        commit=commit(),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=machine(),
        usage=f"Usage follows recorded days ({named})." if days else "Usage is generated.",
    )


if __name__ == "__main__":
    main()
