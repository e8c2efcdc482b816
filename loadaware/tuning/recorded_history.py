"""A recorded history as a source: windows of its earlier part to search on, its last part to be tested on.

    |  window 1  |  window 2  |  window 3  |   test   |
    earliest                            split       latest        split = latest - share * (latest - earliest)

A search that goes on is cut where it was when it began, however much was recorded since (`cut`).

A window is replayed from a checkpoint at least an hour before it, and its own beginning is not judged: see
docs/history.md. Pods that were placed before that are where they were.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import msgspec

from collectors.errors import HistoryError
from collectors.history import HistoryReader
from loadaware.config import Config
from loadaware.progress import duration, moment
from loadaware.replay.outcome import ReplayOutcome, ReplaySettings
from loadaware.replay.report import CANNOT_KNOW, figure
from loadaware.replay.run import replay
from loadaware.simulation.accounting import Report
from loadaware.simulation.code_digest import code_digest
from loadaware.simulation.summary import METRICS
from loadaware.tuning.source import Judged, Plan, known

WINDOW_SECONDS = 4 * 3600.0
"""A window to search on is at least so long, if nobody says how many there are."""
MOST_WINDOWS = 3


@dataclass(frozen=True)
class Recorded:
    """Judges by replaying."""

    folder: str
    windows: Mapping[str, tuple[float, float]]
    train: tuple[str, ...]
    test: tuple[str, ...]
    title: str
    skip_damaged: bool = False
    asked: str = ""
    """How it was to be split: what one asked for, not what came of it."""

    @property
    def figures(self) -> tuple[str, ...]:
        """What a replay tells."""
        return (*METRICS, "memory90", "moves")

    @property
    def identity(self) -> str:
        """The folder's name, how it was to be split, and the code. Windows are kept with the runs: a history grows."""
        code = code_digest("loadaware.tuning.recorded_history")
        name = Path(self.folder).resolve().name
        return msgspec.json.encode(["recorded", name, self.asked, code]).decode()

    @property
    def plan(self) -> Plan:
        """For another search to go on with."""
        return Plan(
            train={name: self.windows[name] for name in self.train},
            test={name: self.windows[name] for name in self.test},
        )

    def cut(self, plan: Plan) -> "Recorded":
        """The same history, cut as it was. Raises HistoryError if that is there no more."""
        windows = {**plan.train, **plan.test}
        span = HistoryReader(self.folder, skip_damaged=self.skip_damaged).span()
        begin, end = min(since for since, _ in windows.values()), max(until for _, until in windows.values())
        if begin < span.earliest or end > span.latest:
            problem = f"the runs kept are of {moment(begin)} to {moment(end)}, and all of that is there no more"
            raise HistoryError(self.folder, f"{problem}: name another --output to begin anew")
        title = title_of(self.folder, end - begin)
        return replace(self, windows=windows, train=tuple(plan.train), test=tuple(plan.test), title=title)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What no replay can know."""
        return CANNOT_KNOW

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        """One replay. The configuration decides by itself which profile serves which pod."""
        since, until = self.windows[case]
        settings = ReplaySettings(since=since, until=until, kept_moves=1, skip_damaged=self.skip_damaged)
        return judged(replay(self.folder, config, settings))


def title_of(folder: str, seconds: float) -> str:
    """In words."""
    return f"history {folder}, {duration(seconds)}"


def judged(outcome: ReplayOutcome) -> Judged:
    """The figures of a replay, and those of its blocks."""
    counts, whole = outcome.counts, outcome.replayed
    figures = {**_figures(whole), "moves": 100.0 * counts.elsewhere / max(counts.placed, 1)}
    each = {number: _figures(block) for number, block in outcome.replayed_blocks.items()}
    blocks = {name: {n: of[name] for n, of in each.items() if math.isfinite(of[name])} for name in _figures(whole)}
    blocks["moves"] = {number: 100.0 * moved / placed for number, (placed, moved) in outcome.placed_blocks.items()}
    return Judged(figures=known(figures), blocks=blocks, seconds=outcome.seconds)


def _figures(report: Report) -> dict[str, float]:
    return {**{name: figure(report, name) for name in METRICS}, "memory90": report.memory90}


def windows_of(
    folder: str,
    test_share: float,
    windows: int | None,
    *,
    since: float | None = None,
    until: float | None = None,
    skip_damaged: bool = False,
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    """Windows to search on and the window of the test, by name. Raises HistoryError if there is nothing in them."""
    span = HistoryReader(folder, skip_damaged=skip_damaged).span()
    if not span.readings:
        raise HistoryError(folder, "holds no reading: there is no usage to replay")
    begin, end = span.bounds(since, until)
    if begin >= end:
        raise HistoryError(folder, "has nothing in that time: `loadaware history` shows its span")
    split = end - test_share * (end - begin)
    count = windows or max(1, min(MOST_WINDOWS, int((split - begin) // WINDOW_SECONDS)))
    bounds = [begin + (split - begin) * n / count for n in range(count + 1)]
    train = {f"from {moment(a)}": (a, b) for a, b in pairwise(bounds)}
    if len(train) < count:
        raise HistoryError(folder, "is too short to be split into so many windows: record for longer")
    return train, {f"test from {moment(split)}": (split, end)}
