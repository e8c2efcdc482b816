"""The search: batches of a fixed size are asked for, judged by whoever there is, and told in order.

    ask a batch -> judge the first cases of each -> give up what is clearly worse -> judge the rest -> tell in order

Nothing in it depends on who judged first: the same seed gives the same trials in one process and on a hundred machines.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from loadaware.config import Config, ProfileSection
from loadaware.errors import ConfigError
from loadaware.tuning.crews import Crew, Order
from loadaware.tuning.objective import Values, choose, values_of
from loadaware.tuning.pruning import Pruning, estimate
from loadaware.tuning.sampling import Sampling
from loadaware.tuning.source import Judged, Source
from loadaware.tuning.space import Space
from loadaware.tuning.store import Memory, profile_key

BASE = -1
"""The number of the configuration that one begins with."""
BATCH = 8
"""Trials that are asked for at once: so many can run side by side. More of them learn less from each other."""

Hear = Callable[[float], None]


@dataclass(frozen=True)
class Finished:
    """A trial that was judged."""

    number: int
    profile: ProfileSection
    drawn: dict[str, Any]
    values: Values
    """Means over the cases; of one that was given up, an estimate."""
    given_up: bool = False
    cases: int = 0
    seconds: float = 0.0


def profile_section(config: Config, name: str) -> ProfileSection:
    """A profile by its schedulerName. Raises ConfigError."""
    for profile in config.profiles:
        if profile.scheduler_name == name:
            return profile
    known = ", ".join(profile.scheduler_name for profile in config.profiles)
    raise ConfigError("--profile", "", f"there is no profile {name!r}", f"there are: {known}")


def with_profile(config: Config, profile: ProfileSection) -> Config:
    """The configuration with the profile of that name replaced."""
    name = profile.scheduler_name
    profiles = tuple(profile if other.scheduler_name == name else other for other in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles)


@dataclass
class Search:
    """One search. `go` may be called again for more trials."""

    source: Source
    space: Space
    config: Config
    profile: str
    objectives: tuple[str, ...]
    seed: int
    crew: Crew
    kept: Memory
    batch: int = BATCH
    pruning: Pruning = field(default_factory=Pruning)
    hear: Hear = lambda _: None
    planned: int = 0
    """Runs that there will be, for those who hear; runs that are saved count as done."""
    finished: list[Finished] = field(default_factory=list)
    base: Finished | None = None
    _done: int = 0

    def __post_init__(self) -> None:
        self.section = profile_section(self.config, self.profile)
        self.sampling = Sampling(self.objectives, self.seed)

    # -- Trials -----------------------------------------------------------------------------------------------------

    def begin(self, *, also_test: bool = True) -> None:
        """Judge what one begins with, on the test's cases too: whatever cannot be judged is known now, not later."""
        cases = (*self.source.train, *(self.source.test if also_test else ()))
        self._judge((self.section, case) for case in cases)
        judged = self.judged(self.section, self.source.train)
        values = values_of(judged, self.objectives)
        self.base = Finished(BASE, self.section, {}, values, cases=len(judged), seconds=_seconds(judged))

    def go(self, trials: int) -> None:
        """Search until there are so many trials."""
        while len(self.finished) < trials:
            self._batch(min(self.batch, trials - len(self.finished)))

    def _batch(self, count: int) -> None:
        best = self.best()
        asked, profiles = [], []
        for one in self.sampling.ask(count, None if best.number == BASE else best.number):
            asked.append(one)
            profiles.append(self.space.draw(one, self.section))
        alive, given_up, seen = list(range(count)), dict[int, tuple[str, ...]](), tuple[str, ...]()
        for step in self.pruning.steps(self.source.train):
            self._judge((profiles[place], case) for case in step for place in alive)
            seen += step
            if seen == self.source.train:
                break
            for place in tuple(alive):
                if self._clearly_worse(profiles[place], best.profile, seen):
                    alive.remove(place)
                    given_up[place] = seen
                    self._tick(len(self.source.train) - len(seen))
        for place, one in enumerate(asked):
            finished = self._finish(one.trial.number, profiles[place], one.drawn, best, given_up.get(place))
            self.sampling.tell(one, finished.values, given_up=finished.given_up)
            self.finished.append(finished)

    def _finish(
        self, number: int, profile: ProfileSection, drawn: dict[str, Any], best: Finished, seen: tuple[str, ...] | None
    ) -> Finished:
        ours = self.judged(profile, seen or self.source.train)
        if seen is None:
            values = values_of(ours, self.objectives)
        else:
            theirs = self.judged(best.profile, seen)
            values = estimate(ours, theirs, self.judged(best.profile, self.source.train), self.objectives)
        return Finished(number, profile, drawn, values, seen is not None, len(ours), _seconds(ours))

    def _clearly_worse(self, profile: ProfileSection, best: ProfileSection, seen: Sequence[str]) -> bool:
        return self.pruning.gives_up(self.judged(profile, seen), self.judged(best, seen), self.objectives)

    def best(self) -> Finished:
        """The best so far, of whole trials and what one began with; of equals the first."""
        if self.base is None:
            raise ValueError("the search has not begun")
        whole = {one.number: one for one in (self.base, *self.finished) if not one.given_up}
        return whole[choose({number: one.values for number, one in whole.items()})]

    # -- Judging ----------------------------------------------------------------------------------------------------

    def test(self, profile: ProfileSection) -> list[Judged]:
        """Judge a profile on the cases that nobody has looked at."""
        self._judge((profile, case) for case in self.source.test)
        return self.judged(profile, self.source.test)

    def judged(self, profile: ProfileSection, cases: Sequence[str]) -> list[Judged]:
        """What is known of a profile on these cases, all of which were judged."""
        key = profile_key(profile)
        return [one for case in cases if (one := self.kept.get(key, case)) is not None]

    def _judge(self, wanted: Iterable[tuple[ProfileSection, str]]) -> None:
        """Have everything judged that is not known yet. The same profile twice is judged once."""
        missing: dict[tuple[str, str], ProfileSection] = {}
        for profile, case in wanted:
            key = profile_key(profile)
            if (key, case) in missing or self.kept.get(key, case) is not None:
                self._tick()
            else:
                missing[key, case] = profile
        orders = [Order(with_profile(self.config, p), self.profile, case) for (_, case), p in missing.items()]
        keys = list(missing)
        for place, judged in self.crew.run(orders):
            self.kept.add(*keys[place], judged)
            self._tick()

    def _tick(self, runs: int = 1) -> None:
        self._done += runs
        self.hear(min(self._done / max(self.planned, 1), 1.0))


def _seconds(judged: Sequence[Judged]) -> float:
    return sum(one.seconds for one in judged)
