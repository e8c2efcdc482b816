"""Plugins in workers: what hangs, raises or dies there harms nobody here. The workers are real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from collectors.reading import CPU
from loadaware.adviser import Adviser
from loadaware.cli import cli
from loadaware.config import parse
from loadaware.filters.filter import Filter
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.isolation import Worker, WorkerError, isolate_filter, isolate_scorer, workers_of
from loadaware.profile import NamedFilter, Profile, WeightedScorer
from loadaware.profiles import adviser_settings
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.scorer import CountsInFlight, Scorer
from tests.loadaware.builders import Clock, cpu_mean, make_pod, make_settings, make_shape, nodes_of, snapshot_of
from tests.loadaware.moody_plugins import Forgotten, Moody, MoodyFilter
from tests.parts.processes import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
NODES = {"cold": cpu_mean(10), "mild": cpu_mean(40), "hot": cpu_mean(90)}
NAMES = tuple(NODES)
DEADLINE = PATIENCE_SECONDS
"""For a good answer; what hangs is given less."""


@pytest.fixture(autouse=True)
def _workers_find_this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@contextmanager
def started(*plugins: Scorer | Filter) -> Iterator[Adviser]:
    """One who answers with these plugins, their workers ready; the clock stands still."""
    scorers = tuple(WeightedScorer(f"scorer-{n}", p) for n, p in enumerate(plugins) if isinstance(p, Scorer))
    filters = tuple(NamedFilter(f"filter-{n}", p) for n, p in enumerate(plugins) if isinstance(p, Filter))
    profile = Profile("default-scheduler", scorers, filters)
    workers = workers_of([profile])
    adviser = Adviser(make_settings(profile), Clock())
    adviser.receive(snapshot_of(NODES))
    try:
        for worker in workers:
            worker.start()
        assert all(worker.wait_until_ready() for worker in workers)
        yield adviser
    finally:
        for worker in workers:
            worker.close()


def isolated(deadline_seconds: float = DEADLINE) -> Scorer:
    return isolate_scorer(Moody(), deadline_seconds)


def isolated_filter(deadline_seconds: float = DEADLINE) -> Filter:
    return isolate_filter(MoodyFilter(), deadline_seconds)


def children() -> set[int]:
    """Worker processes of ours that are there now."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"loadaware.isolated" in command:
            found.add(int(folder.name))
    return found


def eventually(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


# -- Scorers ---------------------------------------------------------------------------------------------------------


def test_a_scorer_scores_in_its_worker_as_it_does_here() -> None:
    with started(isolated()) as adviser:
        ranking = adviser.rank(make_pod(), NAMES, explain=True)
    np.testing.assert_allclose(ranking.scores, [90.0, 60.0, 10.0])
    assert ranking.parts[0].raw is not None
    np.testing.assert_allclose(ranking.parts[0].raw, [90.0, 60.0, 10.0])
    assert not ranking.skipped


def test_only_the_nodes_asked_about_are_scored_in_the_order_asked() -> None:
    with started(isolated()) as adviser:
        np.testing.assert_allclose(adviser.rank(make_pod(), ("hot", "cold")).scores, [10.0, 90.0])


def test_what_normalize_does_is_done_in_the_worker_too() -> None:
    with started(isolate_scorer(LowestUsage(), DEADLINE)) as adviser:
        ranking = adviser.rank(make_pod(), NAMES)
    np.testing.assert_allclose(ranking.scores, [100.0, 62.5, 0.0])  # (90 - 40) / (90 - 10)


def test_a_scorer_that_hangs_is_skipped_within_its_deadline_and_the_others_decide() -> None:
    with started(isolated(0.2), LowestUsage()) as adviser:
        ranking = adviser.rank(make_pod("hang"), NAMES)
    assert ranking.skipped == {"scorer-0": "WorkerError: no answer within 200 ms; its worker is started anew"}
    np.testing.assert_allclose(ranking.scores, [100.0, 62.5, 0.0])


def test_after_one_that_hung_its_worker_is_started_anew_and_answers_again() -> None:
    with started(isolated(1.0)) as adviser:
        (before,) = children()
        assert adviser.rank(make_pod("hang"), NAMES).skipped
        (worker,) = workers_of(adviser.settings.profiles.values())
        worker._deadline_seconds = DEADLINE
        assert worker.wait_until_ready()
        (after,) = children()
        assert after != before
        np.testing.assert_allclose(adviser.rank(make_pod(), NAMES).scores, [90.0, 60.0, 10.0])


def test_one_that_raises_tells_why_and_keeps_its_worker() -> None:
    with started(isolated()) as adviser:
        before = children()
        skipped = adviser.rank(make_pod("raise"), NAMES).skipped
        assert skipped == {"scorer-0": "WorkerError: ZeroDivisionError: the pod asked for it"}
        assert children() == before
        assert not adviser.rank(make_pod(), NAMES).skipped


def test_one_that_dies_is_skipped_and_its_worker_started_anew() -> None:
    with started(isolated()) as adviser:
        skipped = adviser.rank(make_pod("die"), NAMES).skipped
        assert skipped == {"scorer-0": "WorkerError: its worker ended; it is started anew"}
        assert workers_of(adviser.settings.profiles.values())[0].wait_until_ready()
        assert not adviser.rank(make_pod(), NAMES).skipped


def test_one_whose_worker_was_killed_between_two_calls_is_skipped_once() -> None:
    with started(isolated()) as adviser:
        (worker,) = children()
        os.kill(worker, 9)
        assert adviser.rank(make_pod(), NAMES).skipped
        assert workers_of(adviser.settings.profiles.values())[0].wait_until_ready()
        assert not adviser.rank(make_pod(), NAMES).skipped


def test_after_repeated_failures_it_is_switched_off_and_its_worker_not_asked() -> None:
    with started(isolated()) as adviser:
        for _ in range(3):
            assert adviser.rank(make_pod("raise"), NAMES).skipped
        skipped = adviser.rank(make_pod(), NAMES).skipped["scorer-0"]
    assert skipped.startswith("switched off after repeated failures: WorkerError: ZeroDivisionError")


def test_a_worker_that_was_never_started_is_skipped_and_none_is_started() -> None:
    adviser = Adviser(make_settings(Profile("p", (WeightedScorer("Moody", isolated()),))), Clock())
    adviser.receive(snapshot_of(NODES))
    assert adviser.rank(make_pod(), NAMES).skipped == {"Moody": "WorkerError: its worker is not ready"}
    assert not children()


def test_a_plugin_that_the_worker_cannot_receive_is_never_ready() -> None:
    worker = Worker(Forgotten(), DEADLINE)
    worker.start()
    assert not worker.wait_until_ready()
    with pytest.raises(WorkerError, match="not ready"):
        worker.call("score", nodes_of(NODES), make_pod())
    worker.close()
    assert not children()


def test_a_scorer_that_counts_pods_in_flight_still_does_when_it_is_isolated() -> None:
    scorer = isolate_scorer(LowestUsage(), DEADLINE)
    assert isinstance(scorer, CountsInFlight)
    assert scorer.demand(make_shape(cpu=2.0)) == {CPU: 2.0}
    assert not isinstance(isolated(), CountsInFlight)
    with started(scorer) as adviser:
        for number in range(4):  # each pod a quarter of a node: cold 35, cold 60, mild 65, cold 85 %
            adviser.rank(make_pod(f"burst-{number}", cpu=1.0), NAMES)
        scores = adviser.rank(make_pod("one more"), NAMES).scores
    np.testing.assert_allclose(scores, [20.0, 100.0, 0.0])  # (90 - 85) / (90 - 65)


def test_an_isolated_plugin_counts_pods_in_flight_by_its_own_rule() -> None:
    for plugin in (
        isolate_scorer(EstimatedLoad(), DEADLINE),
        isolate_filter(UsageThreshold(statistic="estimated"), DEADLINE),
    ):
        assert isinstance(plugin, CountsInFlight)
        assert getattr(plugin, "in_flight_rule", None) == "LessMeasured"


# -- Filters ---------------------------------------------------------------------------------------------------------


def test_a_filter_rejects_in_its_worker_with_its_reasons() -> None:
    with started(isolated_filter()) as adviser:
        answer = adviser.filter(make_pod(), NAMES)
    assert answer.passed == ("cold", "mild")
    assert answer.unresolvable == {"hot": "hot is busy"}


def test_a_filter_s_word_on_the_pod_alone_comes_from_its_worker() -> None:
    with started(isolated_filter()) as adviser:
        assert adviser.filter(make_pod("nowhere"), NAMES).unresolvable["cold"] == "the pod may go nowhere"


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("hang", "no answer within 300 ms; its worker is started anew"),
        ("raise", "ZeroDivisionError: the pod asked for it"),
        ("die", "its worker ended; it is started anew"),
    ],
)
def test_a_filter_that_fails_in_its_worker_rejects_nobody(mood: str, reason: str) -> None:
    with started(isolated_filter(0.3 if mood == "hang" else DEADLINE)) as adviser:
        answer = adviser.filter(make_pod(mood), NAMES)
    assert answer.passed == NAMES
    assert answer.skipped == {"filter-0": f"WorkerError: {reason}"}


def test_an_isolated_load_rule_still_never_empties_the_list() -> None:
    with started(isolate_filter(UsageThreshold(thresholds={CPU: 1.0}), DEADLINE)) as adviser:
        answer = adviser.filter(make_pod(), NAMES)
    assert answer.relaxed
    assert answer.passed == NAMES


# -- Workers come and go ---------------------------------------------------------------------------------------------


def test_workers_that_are_closed_leave_no_process() -> None:
    with started(isolated(), isolated_filter()):
        assert len(children()) == 2
    assert not children()


def test_a_worker_closed_while_it_hangs_leaves_no_process() -> None:
    with started(isolated(0.1)) as adviser:
        adviser.rank(make_pod("hang"), NAMES)
    assert eventually(lambda: not children())


def test_a_worker_closed_before_it_was_ready_leaves_no_process() -> None:
    worker = Worker(Moody(), DEADLINE)
    worker.start()
    worker.close()
    worker.wait_until_ready()
    assert eventually(lambda: not children())
    with pytest.raises(WorkerError, match="not ready"):
        worker.call("score", nodes_of(NODES), make_pod())


def test_closing_twice_or_before_the_start_does_nothing() -> None:
    worker = Worker(Moody(), DEADLINE)
    worker.close()
    worker.close()


def test_a_worker_ends_when_the_one_who_started_it_is_gone() -> None:
    code = (
        "from loadaware.isolation import Worker\n"
        "from loadaware.scorers.lowest_usage import LowestUsage\n"
        "import os\n"
        "worker = Worker(LowestUsage(), 1.0)\n"
        "worker.start()\n"
        "worker.wait_until_ready()\n"
        "print(worker._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert eventually(lambda: not Path(f"/proc/{int(done.stdout)}").exists())


CONFIG = """
profiles:
- scorers: [{name: LowestUsage, isolated: true}, {name: TargetLoadPacking}]
  filters: [{name: UsageThreshold, isolated: true, deadline: 1s}]
"""


def test_each_isolated_plugin_of_a_profile_has_a_worker_and_the_others_have_none() -> None:
    settings = adviser_settings(parse(CONFIG))
    assert len(workers_of(settings.profiles.values())) == 2
    assert not children()


def test_checking_a_configuration_never_starts_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(worker: Worker) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr(Worker, "start", refuse)
    (tmp_path / "config.yaml").write_text(CONFIG)
    answer = CliRunner().invoke(cli, ["check-config", str(tmp_path / "config.yaml")])
    assert answer.exit_code == 0, answer.output
    assert "LowestUsage x 1" in answer.output
