"""Many runs, in several processes, paired: every policy on the same stages.

A process keeps the stage that it made last, so trials of one stage go to the same process where possible: the
scenario and its futures are worked out once for all policies. Outcomes come as they are finished. Whoever stops
listening (Ctrl-C, an error) ends the processes; what came before is not lost.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from loadaware.errors import LoadAwareError
from loadaware.simulation.stage import Stage, day_of, make_stage
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import Outcome, Trial, run_trial

Days = Mapping[str, tuple[Traces, ...]]
"""Recorded days by data set."""
Listener = Callable[[Trial, float], None]
"""Hears of a trial that is under way, and the share of it that is done."""
Finished = Generator[tuple[Trial, Outcome], None, None]

TOLD_EVERY = 0.02
"""Share of a run between two words of its progress."""


@dataclass
class TrialError(LoadAwareError):
    """A run could not be finished: which one, and why."""

    trial: Trial
    problem: str

    def __str__(self) -> str:
        return f"the run of {self.trial.policy} with seed {self.trial.seed} failed: {self.problem}"


def compare(trials: Iterable[Trial], days: Days, processes: int = 1, listener: Listener | None = None) -> Finished:
    """Run them all, in as many processes (1: in this one). Raises TrialError; close it to stop."""
    waiting = Waiting(trials)
    processes = min(processes, len(waiting))
    return _here(waiting, days, listener) if processes <= 1 else _in_processes(waiting, days, processes, listener)


class Waiting:
    """Trials that wait for somebody to run them, by stage."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._stages: dict[object, list[Trial]] = {}
        for trial in trials:
            self._stages.setdefault(trial.stage_key, []).append(trial)
        self._taken: set[object] = set()

    def __len__(self) -> int:
        return sum(map(len, self._stages.values()))

    def next(self, last: Trial | None = None) -> Trial | None:
        """One of the stage of the `last`; else of a stage that nobody has; else of the one with most left."""
        if not self._stages:
            return None
        key: object = None if last is None else last.stage_key
        if key not in self._stages:
            fresh = (key for key in self._stages if key not in self._taken)
            key = next(fresh, None) or max(self._stages, key=lambda key: len(self._stages[key]))
        self._taken.add(key)
        trial = self._stages[key].pop(0)
        if not self._stages[key]:
            del self._stages[key]
        return trial


class Stages:
    """Makes stages and keeps the last."""

    def __init__(self, days: Days) -> None:
        self._days = days
        self._key: object = None
        self._stage: Stage | None = None

    def of(self, trial: Trial) -> Stage:
        """The trial's stage."""
        if self._stage is None or self._key != trial.stage_key:
            self._stage = None  # the old one's memory is needed
            self._stage = make_stage(trial.setup, day_of(self._days.get(trial.dataset, ()), trial.seed), trial.seed)
            self._key = trial.stage_key
        return self._stage


def _here(waiting: Waiting, days: Days, listener: Listener | None) -> Finished:
    stages, last = Stages(days), None
    while (trial := waiting.next(last)) is not None:
        try:
            outcome = run_trial(stages.of(trial), trial.policy, partial(listener, trial) if listener else None)
        except LoadAwareError as error:
            raise TrialError(trial, str(error)) from error
        yield trial, outcome
        last = trial


def _in_processes(waiting: Waiting, days: Days, processes: int, listener: Listener | None) -> Finished:
    workers = [Worker(days) for _ in range(processes)]
    try:
        for worker in workers:
            worker.give(waiting.next())
        while busy := {worker.connection: worker for worker in workers if worker.trial is not None}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                trial, told = worker.hear()
                if isinstance(told, Outcome):
                    worker.give(waiting.next(trial))
                    yield trial, told
                elif listener is not None:
                    listener(trial, told)
    finally:
        for worker in workers:
            worker.stop()


class Worker:
    """A process that runs one trial after the other."""

    def __init__(self, days: Days) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.trial: Trial | None = None
        self._process = context.Process(target=work, args=(theirs, days), daemon=True)
        with _interrupts_held():
            self._process.start()
        theirs.close()

    def give(self, trial: Trial | None) -> None:
        """Let it run this one; None: nothing more."""
        self.trial = trial
        if trial is not None:
            self.connection.send(trial)

    def hear(self) -> tuple[Trial, Outcome | float]:
        """What it tells of the trial it has: the share that is done, or the outcome. Raises TrialError."""
        if self.trial is None:
            raise ValueError("the worker has nothing to tell")
        try:
            told: Any = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(5.0)
            code = self._process.exitcode
            hint = "; fewer processes need less memory" if code == -signal.SIGKILL else ""
            raise TrialError(self.trial, f"its process ended with exit code {code}{hint}") from None
        if isinstance(told, str):
            raise TrialError(self.trial, told)
        return self.trial, told

    def stop(self) -> None:
        """End the process, in the middle of a run if need be; one without a run ends as nobody listens any more."""
        self.connection.close()
        if self.trial is not None:
            self._process.kill()  # it has nothing to lose, and one that handles SIGTERM could hang in doing so
        self._process.join()


def work(connection: Connection, days: Days) -> None:
    """The life of a worker: trials in; shares, outcomes and errors out. Ends when nobody listens any more."""
    stages = Stages(days)
    try:
        while True:
            trial: Trial = connection.recv()
            try:
                connection.send(run_trial(stages.of(trial), trial.policy, _sparsely(connection.send)))
            except LoadAwareError as error:
                connection.send(str(error))
            except (BrokenPipeError, ConnectionError):
                return
            except Exception:  # noqa: BLE001 - told to the parent, which raises it
                connection.send(traceback.format_exc())
    except (EOFError, OSError):
        return


def _sparsely(tell: Callable[[float], None]) -> Callable[[float], None]:
    told = 0.0

    def hear(share: float) -> None:
        nonlocal told
        if share >= told + TOLD_EVERY:
            told = share
            tell(share)

    return hear


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Whoever is started in here never hears of Ctrl-C: that is the parent's business."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
