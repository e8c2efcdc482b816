"""A real local Dask cluster: whoever judges, and however many, the same seed gives the same best trial."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadaware.config import Config
from loadaware.errors import ConfigError
from loadaware.tuning import TuneResult, crew, tune
from loadaware.tuning.crews import DaskCrew, Order, judge
from loadaware.tuning.simulated_days import Simulated
from loadaware.tuning.source import Judged
from loadaware.tuning.sources import recorded, simulated
from loadaware.tuning.space import parse_space
from tests.loadaware.recorded_runs import packed_history
from tests.loadaware.tuning.known_best import CASES, Valley, valley_space
from tests.loadaware.tuning.test_search import told
from tests.parts.processes import PATIENCE_SECONDS, wait_for

distributed: Any = pytest.importorskip("distributed")


def local_cluster(workers: int) -> Any:
    """Worker processes on the loopback."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.ERROR,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Shared; the number of workers is changed by the tests."""
    with local_cluster(1) as made:
        yield made


def scaled(cluster: Any, workers: int) -> str:
    """The address, once there are at least so many workers."""
    cluster.scale(workers)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=PATIENCE_SECONDS)
    return str(cluster.scheduler_address)


def search(address: str | None, jobs: int = 1, trials: int = 24) -> TuneResult:
    return tune(Valley(), trials=trials, space=valley_space(), seed=7, crew=crew(jobs, address))


def test_one_two_and_four_workers_give_the_trials_that_one_and_two_processes_give(cluster: Any, tmp_path: Path) -> None:
    alone, history = search(None), history_search(tmp_path / "history")
    assert told(search(None, jobs=2)) == told(alone)
    here = history(None)
    for workers in (1, 2, 4):
        address = scaled(cluster, workers)
        spread = search(address)
        assert told(spread) == told(alone)
        assert spread.best == alone.best
        there = history(address)
        assert told(there) == told(here)
        assert (there.best.number, there.best.values) == (here.best.number, here.best.values)


def history_search(folder: Path) -> Callable[[str | None], TuneResult]:
    """A search on a small recorded history, in two windows."""
    packed_history(folder, minutes=30)
    source = recorded(str(folder), windows=2)
    space = parse_space(
        "scorers:\n- name: EntropicRisk\n- name: LowestUsage\n  weight: {from: 0.1, to: 10, log: true}\n"
    )

    def run(address: str | None) -> TuneResult:
        return tune(source, trials=4, space=space, batch=4, objectives=["std"], seed=3, crew=crew(1, address))

    return run


def test_a_real_simulation_is_the_same_on_a_worker(cluster: Any) -> None:
    def run(address: str | None) -> TuneResult:
        days: Simulated = simulated(nodes=4, hours=0.2, warm_up_hours=0.1, seeds=1, test_seeds=1)
        space = parse_space("maxScore: {oneOf: [1, 30, 100]}")
        return tune(days, trials=2, space=space, batch=2, crew=crew(1, address))

    here, there = run(None), run(cluster.scheduler_address)
    assert [one.values for one in here.finished] == [one.values for one in there.finished]


@dataclass(frozen=True)
class Deadly(Valley):
    """The first worker that judges tuesday dies of it."""

    marker: str = ""

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        if case == "tuesday" and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().judge(config, profile, case)


def test_a_worker_that_dies_costs_nothing_but_time(tmp_path: Path) -> None:
    source = Deadly(marker=str(tmp_path / "died"))
    with local_cluster(2) as own:
        found = tune(source, trials=8, space=valley_space(), seed=7, crew=crew(1, own.scheduler_address))
    assert (tmp_path / "died").exists()
    assert told(found) == told(search(None, trials=8))


def test_what_is_judged_outlives_the_one_worker_that_has_it() -> None:
    orders = [Order(Config(), "default-scheduler", case) for case in CASES]
    with local_cluster(2) as own, distributed.Client(own, set_as_default=False) as client:
        judges = DaskCrew(own.scheduler_address)
        judges.start(Valley())

        def the_one() -> str | None:
            holders = {worker for workers in client.who_has().values() for worker in workers}
            return holders.pop() if len(holders) == 1 else None

        holder = wait_for(the_one, "one copy alone: Dask drops the others in a while")
        os.kill(client.run(os.getpid)[holder], signal.SIGKILL)
        assert dict(judges.run(orders)) == {place: judge(Valley(), order) for place, order in enumerate(orders)}
        judges.close()


def test_nobody_at_the_address_is_said_before_any_work() -> None:
    with pytest.raises(ConfigError, match=r"--dask: nobody answers at tcp://127\.0\.0\.1:9: .*refused"):
        search("tcp://127.0.0.1:9")
    with pytest.raises(ConfigError, match="--dask: nobody answers at here: missing port"):
        search("here")


def test_a_cluster_without_workers_is_said_so() -> None:
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=logging.ERROR) as empty,
        pytest.raises(ConfigError, match="has no workers"),
    ):
        search(empty.scheduler_address)


def test_a_history_that_workers_do_not_see_is_said_so(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed_history(tmp_path / "history", minutes=30)
    source = recorded(str(tmp_path / "history"))
    monkeypatch.chdir(tmp_path)
    hidden = type(source)("history", source.windows, source.train, source.test, source.title)
    with pytest.raises(ConfigError, match="does not see the folder history"):
        tune(hidden, trials=1, crew=crew(1, cluster.scheduler_address))
