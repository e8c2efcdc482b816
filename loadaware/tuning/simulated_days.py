"""Simulated days as a source: generated usage by seed, or recorded days of which the last are kept for the test."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import msgspec

from loadaware.config import Config
from loadaware.errors import ConfigError
from loadaware.isolation import working
from loadaware.simulation.code_digest import code_digest
from loadaware.simulation.generator import UnreachableLoadError
from loadaware.simulation.stage import Setup, Stage, make_stage
from loadaware.simulation.traces import Traces
from loadaware.simulation.trial import run_policy
from loadaware.tuning.configured_policy import Configured, profile_of
from loadaware.tuning.source import Judged, known

TEST_SEEDS_FROM = 100_000
"""Seeds of the test begin so much later than those of the search: never the same arrivals."""
STAGES_KEPT = 4
"""In a process: making one takes a fraction of a run, but its memory is not free."""


@dataclass(frozen=True)
class SimulatedCase:
    """A run but for its configuration."""

    day: int | None
    """Of the recorded days; None: generated usage."""
    seed: int


@dataclass(frozen=True, eq=False)
class Simulated:
    """Judges by the live code under a virtual clock."""

    setup: Setup
    days: tuple[Traces, ...]
    cases: Mapping[str, SimulatedCase]
    train: tuple[str, ...]
    test: tuple[str, ...]
    title: str
    remarks: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """All of an outcome's that are better when lower."""
        return ("hot80", "hot90", "unserved", "std", "p99", "memory90", "pending", "together")

    @property
    def identity(self) -> str:
        """Setup, cases, the days' content, and the code."""
        days = [hashlib.sha256(day.levels.tobytes()).hexdigest()[:16] for day in self.days]
        cases = {name: (case.day, case.seed) for name, case in self.cases.items()}
        code = code_digest("loadaware.tuning.simulated_days")
        return msgspec.json.encode(["simulated", asdict(self.setup), days, cases, self.train, self.test, code]).decode()

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        """One run."""
        started = perf_counter()
        stage = STAGES.of(self, self.cases[case])
        with working((profile_of(config, profile),)):
            outcome = run_policy(stage, lambda clock: Configured(config, profile, clock, stage.setup.engine))
        figures = {name: getattr(outcome, name) for name in self.figures}
        return Judged(figures=known(figures), seconds=perf_counter() - started)


class Stages:
    """The stages that this process made last."""

    def __init__(self, most: int = STAGES_KEPT) -> None:
        self._most = most
        self._made: OrderedDict[object, Stage] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, source: Simulated, case: SimulatedCase) -> Stage:
        """Made once, however many threads ask."""
        day = None if case.day is None else source.days[case.day]
        key = (source.setup, None if day is None else (day.name, day.levels.shape, float(day.levels.sum())), case.seed)
        with self._lock:
            stage = self._made.pop(key, None) or make_stage(source.setup, day, case.seed)
            self._made[key] = stage
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return stage


STAGES = Stages()


def split_days(days: Sequence[Traces], test_share: float) -> tuple[list[int], list[int]]:
    """Days to search on and days of the test: of each data set (the name before the dash) the last ones.

    test days of a set of n = max(1, round(share * n)), none of a set with a single day
    """
    sets: dict[str, list[int]] = {}
    for number, day in enumerate(days):
        sets.setdefault(day.name.partition("-")[0], []).append(number)
    train: list[int] = []
    test: list[int] = []
    for numbers in sets.values():
        kept = min(max(1, round(test_share * len(numbers))), len(numbers) - 1)
        train += numbers[: len(numbers) - kept]
        test += numbers[len(numbers) - kept :]
    if not test:
        problem = "a single recorded day cannot be split into days to search on and days to test on"
        raise ConfigError("--traces", "", problem, "give at least two days of a data set")
    return train, test


def make_cases(
    days: Sequence[Traces], test_share: float, seeds: int | None, test_seeds: int | None, first_seed: int
) -> tuple[dict[str, SimulatedCase], dict[str, SimulatedCase]]:
    """Named cases of the search and of the test. Days are taken in turn."""
    if not days:
        none: list[int | None] = [None]
        return _named(days, none, seeds or 3, first_seed), _named(
            days, none, test_seeds or 6, first_seed + TEST_SEEDS_FROM
        )
    train, test = split_days(days, test_share)
    return (
        _named(days, train, seeds or max(3, len(train)), first_seed),
        _named(days, test, test_seeds or max(6, len(test)), first_seed + TEST_SEEDS_FROM),
    )


def _named(
    days: Sequence[Traces], numbers: Sequence[int | None], count: int, first_seed: int
) -> dict[str, SimulatedCase]:
    cases = {}
    for place in range(count):
        day, seed = numbers[place % len(numbers)], first_seed + place
        name = f"seed {seed}" if day is None else f"{days[day].name}, seed {seed}"
        cases[name] = SimulatedCase(day, seed)
    return cases


def check_load(source: Simulated) -> None:
    """Raises ConfigError if a case cannot have the load that is asked for."""
    for name in (*source.train, *source.test)[:20]:
        case = source.cases[name]
        try:
            make_stage(source.setup, None if case.day is None else source.days[case.day], case.seed)
        except UnreachableLoadError as error:
            raise ConfigError("--load", name, str(error), "ask for another") from error
