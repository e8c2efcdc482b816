"""For notebooks: histories, what-if scores and replays as pandas data frames. These names are stable.

    history = open_history("history/")                    what is in it, as frames: nodes, pods, decisions
    score(frame_of_nodes, pod, config)                    which node suits this pod, and why
    replay("history/", {"a": "a.yaml", "b": "b.yaml"})    figures, paired changes, moves, as frames

A configuration is a file's path, the text of one, or a Config. pandas and pyarrow are imported when they are used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collectors.history import HistoryReader, Record
from collectors.reading import Measurements, Reading
from loadaware.config import Config, load, parse
from loadaware.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from loadaware.replay.outcome import ReplayOutcome, ReplaySettings

__all__ = ["History", "Replays", "configuration", "open_history", "replay", "score"]

Configuration = Config | str | Path
_STATISTICS = ("mean", "deviation", "latest", "maximum")


def configuration(config: Configuration) -> Config:
    """From a Config, a file's path or the text of one. Raises ConfigError."""
    if isinstance(config, Config):
        return config
    if isinstance(config, Path) or ("\n" not in config and ":" not in config):
        return load(config)
    return parse(config)


def open_history(folder: str | Path) -> "History":
    """A recorded history. Raises HistoryError."""
    return History(folder)


class History:
    """A recorded history as frames. Each call reads the folder anew, reading by reading."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._reader = HistoryReader(folder)
        self._reader.span()

    def summary(self) -> dict[str, Any]:
        """Span, counts, gaps, size, configurations: what `loadaware history` shows."""
        from loadaware.histories import describe

        return describe(str(self.folder))

    @property
    def config(self) -> Config:
        """What it was recorded with, at its beginning."""
        from loadaware.replaying import recorded_config

        return recorded_config(self.folder)

    def nodes(self, since: Any = None, until: Any = None, every: str | None = None) -> "pd.DataFrame":
        """Usage of nodes: time, node, and a column per resource (cores, bytes). `every` thins it: "10min"."""
        return _usage_frame(self._readings(since, until, every), "nodes", "node")

    def pods(self, since: Any = None, until: Any = None, every: str | None = "5min") -> "pd.DataFrame":
        """Usage of pods: time, pod (namespace/name), and a column per resource. All of 14 days may not fit into memory:
        thin it by `every`, or take a part.
        """
        return _usage_frame(self._readings(since, until, every), "pods", "pod")

    def decisions(self, since: Any = None, until: Any = None) -> "pd.DataFrame":
        """What was asked: time, verb, profile, pod, workload, how many nodes, the best priority and who had it."""
        import pandas as pd

        rows = list(_decision_rows(self._reader, _seconds(since), _seconds(until)))
        columns = ["time", "verb", "profile", "pod", "workload", "nodes", "rejected", "priority", "first", "aside"]
        return _timed(pd.DataFrame(rows, columns=columns))

    def placements(self, since: Any = None, until: Any = None) -> "pd.DataFrame":
        """Where pods went: time, pod, workload, node, and what they request."""
        import pandas as pd

        rows = list(_placement_rows(self._reader, _seconds(since), _seconds(until)))
        return _timed(pd.DataFrame(rows, columns=["time", "pod", "workload", "node", "cpu", "memory"]))

    def _readings(self, since: Any, until: Any, every: str | None) -> Iterator[Record]:
        import pandas as pd

        pause = 0.0 if every is None else pd.Timedelta(every).total_seconds()
        last = -np.inf
        for record in self._reader.records(_seconds(since), _seconds(until), kinds=["readings"]):
            if record.time - last >= pause or record.time < last:
                last = record.time
                yield record


def _seconds(moment: Any) -> float | None:
    import pandas as pd

    if moment is None or isinstance(moment, int | float):
        return moment
    time = pd.Timestamp(moment)
    return float((time if time.tzinfo else time.tz_localize("UTC")).timestamp())


def _usage_frame(records: Iterator[Record], which: str, label: str) -> "pd.DataFrame":
    import pandas as pd

    times: list[Any] = []
    names: list[str] = []
    usage: dict[str, list[Any]] = {}
    count = 0
    for record in records:
        reading = record.content
        rows: Measurements | None = getattr(reading, which)
        if not isinstance(reading, Reading) or rows is None or not rows.names:
            continue
        times.append(np.full(len(rows.names), record.time))
        names += rows.names
        for resource in {*usage, *reading.resources}:
            missing = usage.setdefault(resource, [np.full(count, np.nan)] if count else [])
            here = resource in reading.resources
            missing.append(
                rows.usage[:, reading.resources.index(resource)] if here else np.full(len(rows.names), np.nan)
            )
        count += len(rows.names)
    columns = {resource: np.concatenate(parts) for resource, parts in sorted(usage.items())}
    when = np.concatenate(times) if times else np.empty(0)
    return _timed(pd.DataFrame({"time": when, label: pd.Categorical(names), **columns}))


def _timed(frame: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    frame["time"] = pd.to_datetime(frame["time"].astype("float64"), unit="s", utc=True)
    return frame


def _decision_rows(reader: HistoryReader, since: float | None, until: float | None) -> Iterator[tuple[Any, ...]]:
    from loadaware.replay.ordering import ASKED, pairs
    from loadaware.workload import workload_of

    for record, asked in pairs(reader.records(since, until, kinds=ASKED)):
        request, answer = asked.request, asked.answer
        priorities = () if answer is None else answer.priorities
        best = max(priorities, default=None)
        first = tuple(n for n, p in zip(request.node_names, priorities, strict=False) if p == best)
        rejected = 0 if answer is None else sum(verdict is not None for verdict in answer.verdicts)
        pod = request.pod
        yield (
            record.time, request.verb, request.profile, pod.key, workload_of(pod), len(request.node_names), rejected,
            best, first, asked.detail.aside,
        )  # fmt: skip


def _placement_rows(reader: HistoryReader, since: float | None, until: float | None) -> Iterator[tuple[Any, ...]]:
    from collectors.cluster import PodSeen
    from loadaware.workload import workload_of

    seen: set[str] = set()
    for record in reader.records(since, until, kinds=["events"]):
        if isinstance(record.content, PodSeen) and (pod := record.content.pod).node and pod.identity not in seen:
            seen.add(pod.identity)
            shape = pod.shape
            yield record.time, pod.key, workload_of(pod), pod.node, shape.request("cpu"), shape.request("memory")


# -- What if --------------------------------------------------------------------------------------------------------


def score(
    nodes: "pd.DataFrame", pod: Mapping[str, Any], config: Configuration | None = None, profile: str | None = None
) -> "pd.DataFrame":
    """Every node for a pod, best first: score, priority, each scorer's own score and raw number, why it is rejected.

    `nodes` has a row per node, named by its index or a column `name`. Columns: `cpu_capacity`, `memory_capacity`; `cpu`
    and `memory` (mean usage, cores and bytes); and, where known, `cpu_deviation`, `cpu_latest`, `cpu_maximum`, the same
    for memory. `pod` is an ordinary manifest. Raises ConfigError.
    """
    import pandas as pd

    from loadaware.scoring import score as score_snapshot
    from loadaware.state import parse_pod, parse_state

    snapshot = parse_state({"nodes": [_node_state(name, row) for name, row in _named(nodes)]}, "nodes", strict=True)
    chosen = Config() if config is None else configuration(config)
    result = score_snapshot(chosen, snapshot, parse_pod(dict(pod), "pod"), profile)
    rows = []
    for node in result["nodes"]:
        scorers = {
            key: value
            for name, part in node["scorers"].items()
            for key, value in ((name, part["score"]), (f"{name} raw", part["raw"]))
        }
        rows.append({**{k: node[k] for k in ("name", "score", "priority", "rejected")}, **scorers})
    return pd.DataFrame(rows).set_index("name")


def _named(nodes: "pd.DataFrame") -> Iterator[tuple[str, Mapping[str, Any]]]:
    frame = nodes.set_index("name") if "name" in nodes.columns else nodes
    missing = [column for column in ("cpu_capacity", "memory_capacity") if column not in frame.columns]
    if missing:
        raise ConfigError("nodes", "", f"has no column {', '.join(missing)}")
    for name, row in frame.iterrows():
        yield str(name), {str(column): value for column, value in row.items()}


def _node_state(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    usage: dict[str, dict[str, float]] = {}
    for resource in ("cpu", "memory"):
        columns = {"mean": resource, **{s: f"{resource}_{s}" for s in _STATISTICS[1:]}}
        told = {s: float(row[c]) for s, c in columns.items() if c in row and np.isfinite(row[c])}
        if told:
            usage[resource] = {"latest": told["mean"], **told} if "mean" in told else told
    capacity = {resource: float(row[f"{resource}_capacity"]) for resource in ("cpu", "memory")}
    return {"name": name, "capacity": capacity, "usage": usage}


# -- Replay ---------------------------------------------------------------------------------------------------------


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
    found = dict(replay_all(folder, made, settings or ReplaySettings(), jobs))
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
        blocks=_timed(pd.concat(blocks, ignore_index=True)),
        moves=_timed(pd.DataFrame(moves, columns=columns)),
        cannot_know=tuple(cannot_know(outcomes)),
        notes=tuple(notes(outcomes)),
        outcomes=outcomes,
    )
