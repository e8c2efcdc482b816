"""`tune`: the whole search as one function. Checks everything, searches, tests the winner on what it has not seen."""

from collections.abc import Sequence
from pathlib import Path

from loadaware.config import Config, ProfileSection
from loadaware.config_text import config_text
from loadaware.errors import ConfigError, LoadAwareError
from loadaware.profiles import adviser_settings
from loadaware.tuning.crews import Alone, Crew
from loadaware.tuning.objective import DEFAULT, check_objectives
from loadaware.tuning.pruning import Pruning
from loadaware.tuning.recorded_history import Recorded
from loadaware.tuning.result import TuneResult
from loadaware.tuning.search import BATCH, Hear, Search, profile_section, with_profile
from loadaware.tuning.source import Judged, Source
from loadaware.tuning.space import Space, default_space, parameters
from loadaware.tuning.store import Memory, Store, digest, kept_plan
from loadaware.tuning.verdict import compare


class StoppedError(LoadAwareError):
    """Ctrl-C before there was anything to tell."""

    def __str__(self) -> str:
        return "stopped before the configuration it begins with was judged; what is done is kept"


def tune(
    source: Source,
    *,
    trials: int,
    space: Space | None = None,
    config: Config | None = None,
    profile: str | None = None,
    objectives: Sequence[str] = DEFAULT,
    seed: int = 0,
    batch: int = BATCH,
    pruning: bool = True,
    crew: Crew | None = None,
    runs: str | Path | None = None,
    hear: Hear = lambda _: None,
) -> TuneResult:
    """Search for a better profile than the configuration's own, and judge the winner on cases it has not seen.

    source       a history, recorded days or a generator: `recorded(folder)`, `simulated(...)`
    config       to begin with, and to be compared with; None: the defaults
    profile      the schedulerName whose profile is tuned; None: the first
    objectives   figures to be made small; several give a Pareto front, of which one is chosen
    crew         who judges: `crew(jobs=2)`, `crew(dask="tcp://...")`; None: this process
    runs         a file that keeps what was judged; the same call goes on from there

    The same source, space, config, objectives, batch and seed give the same trials, whoever judges. Ctrl-C ends the
    search and gives what there is. Raises a LoadAwareError for what is wrong, before anything is judged.
    """
    space, config = space or default_space(), config or Config()
    section = profile_section(config, profile or config.profiles[0].scheduler_name)
    objectives = check_objectives(objectives, source)
    check_numbers(trials, batch)
    _check(source, config, section)
    source = source if runs is None else _going_on(source, runs)
    rule = Pruning(on=pruning)
    about = {
        "source": digest(source.identity),
        "space": digest(space.text),
        "config": digest(config_text(config) + section.scheduler_name),
        "seed": str(seed),
        "search": f"{', '.join(objectives)}; batches of {batch}; {'with' if pruning else 'without'} giving up",
    }
    kept = Memory() if runs is None else Store(runs, about, source.plan if isinstance(source, Recorded) else None)
    workers = crew or Alone()
    planned = (trials + 1) * len(source.train) + 2 * len(source.test)
    search = Search(
        source, space, config, section.scheduler_name, objectives, seed, workers, kept, batch, rule, hear, planned
    )  # fmt: skip
    try:
        workers.start(source)
        return _searched(search, trials)
    finally:
        workers.close()


def check_numbers(trials: int, batch: int) -> None:
    """Raises ConfigError for less than one."""
    for name, number in (("--trials", trials), ("--batch", batch)):
        if number < 1:
            raise ConfigError(name, "", f"must be at least 1, not {number}")


def _going_on(source: Source, runs: str | Path) -> Source:
    """With the windows that the search began with: meanwhile more may have been recorded."""
    plan = kept_plan(runs) if isinstance(source, Recorded) else None
    return source.cut(plan) if plan is not None and isinstance(source, Recorded) else source


def _check(source: Source, config: Config, section: ProfileSection) -> None:
    if section.shadow and isinstance(source, Recorded):
        problem = f"{section.scheduler_name!r} is in shadow: a replay places no pod by it, so nothing would change"
        raise ConfigError("--profile", "", problem, "name a live one, and put the winner into shadow")
    if not source.train or not source.test:
        raise ConfigError("<source>", "", "has no cases to search on, or none to test on")
    adviser_settings(config)


def _searched(search: Search, trials: int) -> TuneResult:
    stopped = False
    try:
        search.begin()
    except KeyboardInterrupt:
        raise StoppedError from None
    after = None
    try:
        search.go(trials)
        after = search.test(search.best().profile)
    except KeyboardInterrupt:
        stopped = True
    return _result(search, after, stopped=stopped)


def _result(search: Search, after: list[Judged] | None, *, stopped: bool) -> TuneResult:
    best, base, source = search.best(), search.base, search.source
    if base is None:
        raise StoppedError
    before = search.judged(base.profile, source.test)
    return TuneResult(
        title=source.title,
        profile=search.profile,
        objectives=search.objectives,
        base_config=search.config,
        config=with_profile(search.config, best.profile),
        base=base,
        best=best,
        finished=tuple(search.finished),
        parameters=tuple(parameters(search.space)),
        compared=tuple(compare(before, after, source.figures)) if after and best is not base else (),
        train_cases=source.train,
        test_cases=source.test,
        remarks=tuple(source.remarks),
        seed=search.seed,
        stopped=stopped,
        study=search.sampling.study,
    )
