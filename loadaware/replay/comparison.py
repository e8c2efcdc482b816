"""Several configurations on one history, each in a process of its own if there are several."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any

from loadaware.config import Config
from loadaware.replay.outcome import ReplayOutcome, ReplaySettings
from loadaware.replay.run import replay

LOOK_SECONDS = 0.25

Hear = Callable[[float], None]


def replay_all(
    folder: str,
    configs: Mapping[str, Config],
    settings: ReplaySettings,
    processes: int = 1,
    hear: Hear = lambda _: None,
) -> Iterator[tuple[str, ReplayOutcome]]:
    """Each outcome as it comes. Raises HistoryError, ConfigError."""
    processes = min(processes, len(configs))
    if processes > 1:
        yield from _in_processes(folder, configs, settings, processes, hear)
        return
    for number, (name, config) in enumerate(configs.items()):
        yield name, replay(folder, config, settings, _part(hear, number, len(configs)))


def _part(hear: Hear, number: int, of: int) -> Hear:
    return lambda share: hear((number + share) / of)


_shares: Any = None


def _prepare(shares: Sequence[float]) -> None:
    global _shares  # noqa: PLW0603 - a worker has one, handed over when it starts
    _shares = shares


def _work(number: int, folder: str, config: Config, settings: ReplaySettings) -> ReplayOutcome:
    def hear(share: float) -> None:
        _shares[number] = share

    return replay(folder, config, settings, hear)


def _in_processes(
    folder: str, configs: Mapping[str, Config], settings: ReplaySettings, processes: int, hear: Hear
) -> Iterator[tuple[str, ReplayOutcome]]:
    context = multiprocessing.get_context("spawn")
    shares = context.Array("d", len(configs), lock=False)
    pool = ProcessPoolExecutor(processes, context, _prepare, (shares,))
    try:
        running = {
            pool.submit(_work, number, folder, config, settings): name
            for number, (name, config) in enumerate(configs.items())
        }
        while running:
            done, _ = wait(running, LOOK_SECONDS, FIRST_COMPLETED)
            hear(sum(shares) / len(configs))
            for future in done:
                yield running.pop(future), future.result()
    finally:
        for worker in list((pool._processes or {}).values()):  # noqa: SLF001 - Ctrl-C must not wait for a whole replay
            worker.kill()
        pool.shutdown(cancel_futures=True)
