"""Who does the judging: this process, several on this machine, or the workers of a Dask cluster.

A crew is given orders and hands back judgements as they come, in any order; nothing else may depend on who it is.
Ctrl-C is the parent's business: workers never hear of it.
"""

import multiprocessing
import signal
import socket
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from collectors.errors import CollectorError
from loadaware.config import Config
from loadaware.errors import ConfigError, LoadAwareError
from loadaware.simulation.code_digest import code_digest
from loadaware.tuning.source import Judged, Source

CONNECT_SECONDS = 10.0
"""How long a Dask scheduler may take to answer."""
CODE = "loadaware.tuning.sources"
"""The module that reaches everything a judgement goes through."""


@dataclass
class JudgingError(LoadAwareError):
    """A configuration could not be judged: on which case, and why."""

    case: str
    problem: str

    def __str__(self) -> str:
        return f"the run on {self.case} failed: {self.problem}"


@dataclass(frozen=True)
class Order:
    """A configuration to be judged on a case."""

    config: Config
    profile: str
    case: str


class Crew(Protocol):
    """Judges."""

    def start(self, source: Source) -> None:
        """Be ready for this source. Raises ConfigError if that cannot be."""
        ...

    def run(self, orders: Sequence[Order]) -> Iterator[tuple[int, Judged]]:
        """The place of each order with what came of it. Raises JudgingError."""
        ...

    def close(self) -> None:
        """End whatever still runs."""
        ...


def crew(jobs: int = 1, dask: str | None = None) -> Crew:
    """A Dask cluster's if there is an address, else so many processes."""
    if dask is not None:
        return DaskCrew(dask)
    return ProcessCrew(jobs) if jobs > 1 else Alone()


def judge(source: Source, order: Order) -> Judged | str:
    """A judgement, or what is wrong: errors of ours travel as text."""
    try:
        return source.judge(order.config, order.profile, order.case)
    except (LoadAwareError, CollectorError) as error:
        return str(error)


def _checked(told: Judged | str, order: Order) -> Judged:
    if isinstance(told, str):
        raise JudgingError(order.case, told)
    return told


class Alone:
    """No crew but oneself: the same process."""

    def start(self, source: Source) -> None:
        """Nothing to be done."""
        self._source = source

    def run(self, orders: Sequence[Order]) -> Iterator[tuple[int, Judged]]:
        """One after the other."""
        for place, order in enumerate(orders):
            yield place, _checked(judge(self._source, order), order)

    def close(self) -> None:
        """Nothing runs."""


_source: Any = None


def _prepare(source: Source) -> None:
    global _source  # noqa: PLW0603 - a worker has one, handed over when it starts
    _source = source


def _work(order: Order) -> Judged | str:
    return judge(_source, order)


class ProcessCrew:
    """Processes on this machine."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def start(self, source: Source) -> None:
        """The processes begin with their first order."""
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._processes, context, _prepare, (source,))

    def run(self, orders: Sequence[Order]) -> Iterator[tuple[int, Judged]]:
        """As they come."""
        if self._pool is None:
            raise ValueError("the crew was not started")
        with _interrupts_held():
            running: dict[Future[Judged | str], int] = {
                self._pool.submit(_work, order): place for place, order in enumerate(orders)
            }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                place = running.pop(future)
                try:
                    told = future.result()
                except BrokenProcessPool:
                    problem = "its process ended; fewer --jobs need less memory"
                    raise JudgingError(orders[place].case, problem) from None
                yield place, _checked(told, orders[place])

    def close(self) -> None:
        """At once, in the middle of a run if need be."""
        if self._pool is None:
            return
        for worker in list((self._pool._processes or {}).values()):  # noqa: SLF001 - Ctrl-C must not wait for a whole run
            worker.kill()  # it has nothing to lose, and whoever handles SIGTERM could be waiting for one that is gone
        self._pool.shutdown(cancel_futures=True)
        self._pool = None


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Whoever is started in here never hears of Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class DaskCrew:
    """Workers of a running Dask cluster. They need loadaware with the same code, and a history's folder in reach."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Any = None
        self._source: Any = None

    def start(self, source: Source) -> None:
        """Connect, look whether the workers can do it, and send them the source once. Raises ConfigError."""
        distributed = _distributed()
        try:
            _knock(self._address)
            self._client = distributed.Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            problem = f"nobody answers at {self._address}: {str(error) or type(error).__name__}"
            raise ConfigError("--dask", "", problem, "it is the scheduler's, such as tcp://127.0.0.1:8786") from error
        try:
            self._check(source)
            with warnings.catch_warnings(action="ignore"):  # that recorded days are large: they are sent but once
                self._source = self._client.submit(_given, source, pure=False)
        except OSError as error:
            self.close()
            raise ConfigError("--dask", "", f"the cluster at {self._address} went away: {error}") from error
        except BaseException:
            self.close()
            raise

    def _check(self, source: Source) -> None:
        """Raises ConfigError if there are no workers, or if theirs is other code."""
        try:
            codes: dict[str, str] = self._client.run(_code)
        except ImportError as error:
            raise ConfigError("--dask", "", f"its workers lack loadaware: {error}") from error
        if not codes:
            raise ConfigError("--dask", "", f"the cluster at {self._address} has no workers")
        other = [worker for worker, code in codes.items() if code != _code()]
        if other:
            hint = "install the same version everywhere: the same seed must give the same trial"
            raise ConfigError("--dask", "", f"{other[0]} has another version of loadaware", hint)
        folder = getattr(source, "folder", None)
        if folder is not None:
            lacking = [worker for worker, there in self._client.run(_has_folder, folder).items() if not there]
            if lacking:
                raise ConfigError("--dask", "", f"{lacking[0]} does not see the folder {folder}", "share it with all")

    def run(self, orders: Sequence[Order]) -> Iterator[tuple[int, Judged]]:
        """As they come. A worker that dies has its orders done by another."""
        futures = [self._client.submit(judge, self._source, order, pure=False) for order in orders]
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in _distributed().as_completed(futures, loop=self._client.loop):
                place = places[future.key]
                yield place, _checked(self._result(future, orders[place]), orders[place])
        finally:
            self._client.cancel(futures)

    def _result(self, future: Any, order: Order) -> Judged | str:
        distributed = _distributed()
        lost = (distributed.CancelledError, distributed.comm.CommClosedError, distributed.KilledWorker, TimeoutError)
        try:
            told: Judged | str = future.result()
        except lost as error:
            why = str(error) or type(error).__name__
            problem = f"the cluster at {self._address} lost it, what came before is kept: {why}"
            raise JudgingError(order.case, problem) from error
        return told

    def close(self) -> None:
        """Let the cluster go; it runs on."""
        if self._client is not None:
            self._client.close()
            self._client = self._source = None


def _given(source: Source) -> Source:
    """The source as the result of a task, not as scattered data: of that, Dask soon drops all copies but one, and it is
    lost with the worker that has it, while a result is made again.
    """
    return source


def _distributed() -> Any:
    """Dask's distributed. Raises ConfigError where it is not installed."""
    try:
        import distributed
    except ImportError:
        hint = "pip install 'loadaware[tuning]'"
        raise ConfigError("--dask", "", "needs the package distributed", hint) from None
    return distributed


def _knock(address: str) -> None:
    """See whether somebody listens, where that can be seen: a client that cannot connect leaves threads behind."""
    addressing = _distributed().comm.addressing
    scheme, place = addressing.parse_address(address)
    if scheme in {"tcp", "tls"}:
        host, port = addressing.parse_host_port(place)
        socket.create_connection((host, port), CONNECT_SECONDS).close()


@cache
def _code() -> str:
    return code_digest(CODE)


def _has_folder(folder: str) -> bool:
    from pathlib import Path

    return Path(folder).is_dir()
