"""How much faster a search is with more workers: `python -m tests.benchmarks.measure_tuning`.

The same search, of generated days, by 1 and by 2 workers of a local Dask cluster, and by 1 and 2 processes; each from
nothing. Workers are up, and have run one case, before the clock starts. Prints a row per crew, and whether all found
the same. Needs as many idle cores as workers: on a busy machine the figures say little.
"""

import argparse
import logging
import os
from time import perf_counter
from typing import Any

from loadaware.config import Config
from loadaware.tuning import Crew, TuneResult, crew, simulated, tune
from loadaware.tuning.crews import Order


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("--hours", type=float, default=1.0)
    options = parser.parse_args()
    source = simulated(nodes=options.nodes, hours=options.hours, warm_up_hours=0.5, load=0.6, seeds=2, test_seeds=2)
    print(f"{options.trials} trials, {source.title}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")  # noqa: T201
    found = []
    for kind in ("processes", "Dask workers"):
        alone = 0.0
        for count in (1, 2):
            seconds, result = _measured(kind, count, source, options.trials)
            alone = alone or seconds
            found.append((result.best.number, result.best.values))
            print(f"{count} {kind}: {seconds:.1f} s, {alone / seconds:.2f} times as fast as one")  # noqa: T201
    print("all found the same" if len(set(found)) == 1 else f"they DIFFER: {found}")  # noqa: T201


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
