"""A history under other configurations, as frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loadaware.errors import ConfigError
from loadaware.notebook.configurations import Configuration, configuration
from loadaware.notebook.frames import timed
from loadaware.notebook.histories import History
from loadaware.notebook.telling import telling

if TYPE_CHECKING:
    import pandas as pd

    from loadaware.replay.outcome import ReplayOutcome, ReplaySettings


@dataclass(frozen=True, eq=False)
class Replays:
    """Several configurations on one history."""

    figures: "pd.DataFrame"
    """A row per way to place pods, `recorded` first: hot80, hot90, unserved, std, p99, placed, elsewhere ..."""
    changes: "pd.DataFrame"
    """By configuration and figure: the paired difference from `recorded`, with its interval (low, high)."""
    blocks: "pd.DataFrame"
    """Figures of each block of time, for each way."""
    moves: "pd.DataFrame"
    """The decisions that mattered most."""
    cannot_know: tuple[str, ...]
    """What must be said with the figures."""
    notes: tuple[str, ...]
    outcomes: Mapping[str, "ReplayOutcome"]

    def between(self, one: str, other: str) -> "pd.DataFrame":
        """By figure: how much higher `one` is than `other`, paired block by block, with its interval (low, high)."""
        import pandas as pd

        from loadaware.replay.report import change, summaries
        from loadaware.simulation.summary import METRICS

        each = summaries(self.outcomes)
        missing = [name for name in (one, other) if name not in each]
        if missing:
            raise ConfigError("configs", "", f"there is no {missing[0]!r}", f"there are: {', '.join(each)}")
        rows = [(metric, *change(each[one], each[other], metric)) for metric in METRICS]
        return pd.DataFrame(rows, columns=["figure", "change", "low", "high"]).set_index("figure")

    def picture(self, title: str = "replay") -> str:
        """As SVG."""
        from loadaware.replay.report import summaries
        from loadaware.simulation.picture import draw

        return draw(summaries(self.outcomes), title, "blocks of time")


def replay(
    history: str | Path | History,
    configs: Mapping[str, Configuration],
    *,
    jobs: int = 1,
    settings: "ReplaySettings | None" = None,
) -> Replays:
    """Replay a history under each of the configurations. Raises HistoryError or ConfigError."""
    from loadaware.replay.comparison import replay_all
    from loadaware.replay.outcome import ReplaySettings

    folder = str(history.folder if isinstance(history, History) else history)
    if not configs:
        raise ConfigError("configs", "", "names no configuration")
    made = {name: configuration(config) for name, config in configs.items()}
    with telling("replaying") as hear:
        found = dict(replay_all(folder, made, settings or ReplaySettings(), jobs, hear))
    return _replays({name: found[name] for name in made})


def _replays(outcomes: Mapping[str, "ReplayOutcome"]) -> Replays:
    from dataclasses import asdict

    import pandas as pd

    from loadaware.replay.report import RECORDED, cannot_know, change, figure, notes, summaries
    from loadaware.simulation.summary import METRICS

    first, each = next(iter(outcomes.values())), summaries(outcomes)
    reports = {RECORDED: first.recorded} | {name: outcome.replayed for name, outcome in outcomes.items()}
    figures = pd.DataFrame({name: {m: figure(report, m) for m in METRICS} for name, report in reports.items()}).T
    for count in ("placed", "elsewhere", "answers_differing"):
        figures[count] = pd.Series({name: getattr(outcome.counts, count) for name, outcome in outcomes.items()})
    changes = [(name, metric, *change(each[name], each[RECORDED], metric)) for name in outcomes for metric in METRICS]
    starts = [first.since + number * first.block_seconds for number in sorted(first.recorded_blocks)]
    blocks = [
        pd.DataFrame({"config": name, "time": starts, **{m: summary.each[m] for m in METRICS}})
        for name, summary in each.items()
    ]
    moves = [{"config": name, **asdict(move)} for name, outcome in outcomes.items() for move in outcome.moves]
    columns = ["config", "pod", "workload", "time", "recorded_node", "replayed_node", "cores", "relief_core_hours"]
    return Replays(
        figures=figures,
        changes=pd.DataFrame(changes, columns=["config", "figure", "change", "low", "high"]),
        blocks=timed(pd.concat(blocks, ignore_index=True)),
        moves=timed(pd.DataFrame(moves, columns=columns)),
        cannot_know=tuple(cannot_know(outcomes)),
        notes=tuple(notes(outcomes)),
        outcomes=outcomes,
    )
