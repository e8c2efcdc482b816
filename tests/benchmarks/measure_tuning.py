"""What a search brings on recorded days, and how much faster more workers are: writes docs/benchmarks/tuning.md.

    python -m tests.benchmarks.measure_tuning --traces FOLDER [--trials 24]     some half an hour on two cores

Workers: the same search, of generated days, by 1 and by 2 workers of a local Dask cluster, and by 1 and 2 processes, in
turns and each from nothing; they are up, and have run one case, before the clock starts. Needs as many idle cores as
workers. Recorded days: the first of each data set are searched on, the winner is judged on the others.
"""

import argparse
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from loadaware.config import Config
from loadaware.simulation.traces import load_traces
from loadaware.tuning import Crew, TuneResult, crew, simulated, tune
from loadaware.tuning.crews import Order
from loadaware.tuning.result import in_words
from loadaware.tuning.search import profile_section
from tests.benchmarks.pages import measured_here, say, table

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "tuning.md"
ROUNDS = 3
KINDS = ("processes", "Dask workers")
DAYS = {"nodes": 50, "hours": 12.0, "load": 0.6}
"""Of a recorded search."""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", default="", help="folder of recorded days; without it only workers are measured")
    parser.add_argument("--trials", type=int, default=24, help="of a search on recorded days")
    parser.add_argument("--runs", type=Path, help="keep judgements in this folder, and go on from there")
    parser.add_argument("--skip-workers", action="store_true", help="for a machine that is not idle")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    parts = ["# What tuning brings, measured", "Written by `make benchmark-tuning TRACES=folder`.", measured_here()]
    if not options.skip_workers:
        parts.append(_workers())
    if options.traces:
        parts.append(_on_recorded_days(options.traces, options.trials, options.runs))
    options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


# -- Recorded days ----------------------------------------------------------------------------------------------------


def _on_recorded_days(traces: str, trials: int, runs: Path | None) -> str:
    datasets = sorted({day.name.partition("-")[0] for day in load_traces(traces)}, reverse=True)
    words = (
        f"{trials} trials of the shipped space, {DAYS['nodes']} nodes, {100 * DAYS['load']:.0f} % load, "
        f"{DAYS['hours']:g} h judged, beginning with the default profile; hot80 is searched. The winner is judged on "
        "days that the search has not seen, pair by pair. What is shown there is what one may expect, and no more."
    )
    rows, winners = [], []
    for dataset in datasets:
        began = perf_counter()
        result = _searched(traces, dataset, trials, runs)
        say(f"{dataset}: {result.best.values} in {perf_counter() - began:.0f} s")
        rows.append([dataset, *_cells(result)])
        winners.append(_winner(dataset, result))
    heads = ["days", "hot80 searched: before", "after", "not seen: before", "after", "verdict"]
    return "\n\n".join(["## On recorded days", words, table(heads, rows), *winners])


def _searched(traces: str, dataset: str, trials: int, runs: Path | None) -> TuneResult:
    source = simulated(traces=traces, dataset=dataset, warm_up_hours=3.0, **DAYS)  # type: ignore[arg-type]
    kept = None if runs is None else runs / f"{dataset}.jsonl"
    return tune(source, trials=trials, crew=crew(os.cpu_count() or 1), runs=kept)


def _cells(result: TuneResult) -> list[str]:
    (was,), (now,) = result.base.values, result.best.values
    test = result.of("hot80")
    searched = [f"{was:.2f} %", f"{now:.2f} %"]
    if test is None:
        return [*searched, "", "", "nothing better was found"]
    return [*searched, f"{test.before.mean():.2f} %", f"{test.after.mean():.2f} %", in_words(test)]


def _winner(dataset: str, result: TuneResult) -> str:
    section = profile_section(result.config, result.profile)
    scorers = ", ".join(f"{one.name} {json.dumps(one.args)} at weight {one.weight:g}" for one in section.scorers)
    said = [f"The winner on {dataset}: {scorers}; maxScore {section.max_score}."]
    return "\n".join([*said, "", *(f"- {warning}" for warning in result.warnings)])


# -- Workers ----------------------------------------------------------------------------------------------------------


def _workers(trials: int = 16) -> str:
    source = simulated(nodes=12, hours=1.0, warm_up_hours=0.5, load=0.6, seeds=2, test_seeds=2)
    seconds: dict[tuple[str, int], list[float]] = {(kind, count): [] for kind in KINDS for count in (1, 2)}
    found = set()
    for _ in range(ROUNDS):
        for (kind, count), took in seconds.items():
            each, result = _measured(kind, count, source, trials)
            took.append(each)
            found.add((result.best.number, result.best.values))
            say(f"{count} {kind}: {each:.1f} s")
    rows = [
        [kind, *(_times(seconds[kind, count]) for count in (1, 2)), f"{_ratio(seconds, kind):.2f}"] for kind in KINDS
    ]
    same = "All found the same best trial." if len(found) == 1 else f"**They differ**: {sorted(found)}."
    words = (
        f"{trials} trials, {source.title}; {ROUNDS} rounds in turns, the median and the range. {same} "
        "Times of seconds vary by a fifth from run to run."
    )
    return "\n\n".join(["## Two workers", words, table(["crew", "one", "two", "times as fast"], rows)])


def _ratio(seconds: dict[tuple[str, int], list[float]], kind: str) -> float:
    return median(one / two for one, two in zip(seconds[kind, 1], seconds[kind, 2], strict=True))


def _times(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f} s ({min(seconds):.1f} .. {max(seconds):.1f})"


def _measured(kind: str, count: int, source: Any, trials: int) -> tuple[float, TuneResult]:
    if kind == "processes":
        return _timed(crew(count), source, trials)
    import distributed

    with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=count, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.ERROR
    ) as cluster:
        return _timed(crew(dask=cluster.scheduler_address), source, trials)


class Warm:
    """A crew that is ready when the search begins."""

    def __init__(self, inner: Crew, source: Any, count: int = 4) -> None:
        inner.start(source)
        list(inner.run([Order(Config(), "default-scheduler", source.train[0])] * count))
        self._inner = inner
        self.run, self.close = inner.run, inner.close

    def start(self, source: Any) -> None:
        """It is."""


def _timed(inner: Crew, source: Any, trials: int) -> tuple[float, TuneResult]:
    warm = Warm(inner, source)
    started = perf_counter()
    result = tune(source, trials=trials, crew=warm)
    return perf_counter() - started, result


if __name__ == "__main__":
    main()
