"""Sources by what a person has at hand: a history's folder, a folder of recorded days, or nothing."""

from collections.abc import Sequence
from dataclasses import replace

from loadaware.simulation import sensitivity
from loadaware.simulation.stage import Setup
from loadaware.simulation.traces import load_traces
from loadaware.tuning.recorded_history import Recorded, title_of, windows_of
from loadaware.tuning.simulated_days import Simulated, check_load, make_cases

TEST_SHARE = 0.3
"""Of the days, or of the time, that is kept for the test."""


def simulated(
    *,
    traces: str | None = None,
    dataset: str | None = None,
    nodes: int = 100,
    load: float = 0.5,
    hours: float = 24.0,
    warm_up_hours: float = 6.0,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    test_seeds: int | None = None,
    first_seed: int = 0,
    test_share: float = TEST_SHARE,
) -> Simulated:
    """Days in the simulator. Without `traces` usage is generated. Raises a LoadAwareError for what cannot be run.

    `seeds` and `test_seeds` are how many runs each configuration is judged by; None: as many as there are days.
    """
    setup = sensitivity.apply(_setup(nodes, load, hours, warm_up_hours), settings)
    days = () if traces is None else load_traces(traces, dataset)
    train, test = make_cases(days, test_share, seeds, test_seeds, first_seed)
    usage = f"usage from {', '.join(day.name for day in days)}" if days else "generated usage"
    size = f"{setup.scenario.machines.nodes} nodes, {load:.0%} load, {hours:g} h judged".replace("%", " %")
    title = ", ".join([size, usage, *settings])
    source = Simulated(setup, days, {**train, **test}, tuple(train), tuple(test), title)
    check_load(source)
    return source


def recorded(
    folder: str,
    *,
    windows: int | None = None,
    since: float | None = None,
    until: float | None = None,
    test_share: float = TEST_SHARE,
    skip_damaged: bool = False,
) -> Recorded:
    """A history, or its part between two times (seconds since 1970). Raises HistoryError."""
    train, test = windows_of(folder, test_share, windows, since=since, until=until, skip_damaged=skip_damaged)
    span = sum(end - begin for begin, end in (*train.values(), *test.values()))
    asked = f"{windows} windows, {test_share} for the test, from {since} to {until}"
    title = title_of(folder, span)
    return Recorded(folder, {**train, **test}, tuple(train), tuple(test), title, skip_damaged, asked)


def _setup(nodes: int, load: float, hours: float, warm_up_hours: float) -> Setup:
    default, warm_up = Setup(), warm_up_hours * 3600.0
    machines = replace(default.scenario.machines, nodes=nodes)
    scenario = replace(
        default.scenario,
        load=load,
        duration_seconds=warm_up + hours * 3600.0,
        load_from_seconds=warm_up,
        machines=machines,
    )
    return replace(default, engine=replace(default.engine, warm_up_seconds=warm_up), scenario=scenario)
