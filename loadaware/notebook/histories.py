"""A recorded history as frames: what nodes and pods used, what was asked, what was there.

It comes from a folder, from a Prometheus, or, for a first look, from a generated cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from collectors.cluster import Event, NodeSeen, PodSeen
from collectors.history import Checkpoint, HistoryReader, Mark, Record
from loadaware.config import Config
from loadaware.notebook.configurations import Configuration, configuration
from loadaware.notebook.decided import decision_rows, placement_rows
from loadaware.notebook.frames import seconds_of, timed, usage_frame
from loadaware.notebook.sizes import scaled, size_changes
from loadaware.recorder import BEGAN, CheckpointState, remember

if TYPE_CHECKING:
    import pandas as pd

SCORED = ("cpu", "memory")


def open_history(folder: str | Path) -> "History":
    """A recorded history. Raises HistoryError."""
    return History(folder)


def from_prometheus(
    url: str, folder: str | Path, since: str = "2d", step: str = "60s", config: Configuration | None = None
) -> "History":
    """A history built from what a Prometheus knows, kept in a folder; the same call goes on where it was.

    `config` may say how that Prometheus is approached. Raises ConfigError, HistoryError, CollectorError.
    """
    from loadaware.recording import record_prometheus

    given = Config() if config is None else configuration(config)
    record_prometheus(given, url, str(folder), since=since, step=step, pause="1s")
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
        return usage_frame(self._readings(since, until, every), "nodes", "node")

    def pods(self, since: Any = None, until: Any = None, every: str | None = "5min") -> "pd.DataFrame":
        """Usage of pods: time, pod (namespace/name), and a column per resource. All of 14 days may not fit into memory:
        thin it by `every`, or take a part.
        """
        return usage_frame(self._readings(since, until, every), "pods", "pod")

    def decisions(self, since: Any = None, until: Any = None) -> "pd.DataFrame":
        """What was asked: time, verb, profile, pod, workload, how many nodes and how many of them were rejected (or, of
        `bind`, refused), the best priority and who had it. Only `prioritize` has priorities.
        """
        import pandas as pd

        rows = list(decision_rows(self._reader, seconds_of(since), seconds_of(until)))
        columns = ["time", "verb", "profile", "pod", "workload", "nodes", "rejected", "priority", "first", "aside"]
        return timed(pd.DataFrame(rows, columns=columns))

    def placements(self, since: Any = None, until: Any = None) -> "pd.DataFrame":
        """Where pods went: time, pod, workload, node, and what they request."""
        import pandas as pd

        rows = list(placement_rows(self._reader, seconds_of(since), seconds_of(until)))
        return timed(pd.DataFrame(rows, columns=["time", "pod", "workload", "node", "cpu", "memory"]))

    def sizes(self, at: Any = None) -> "pd.DataFrame":
        """What nodes have, by name: a column per resource (allocatable), at that time or at the end."""
        import pandas as pd

        rows = {n.node.name: dict(n.node.allocatable) for n in self._there(at) if isinstance(n, NodeSeen)}
        return pd.DataFrame.from_dict(rows, orient="index", dtype="float64").rename_axis("node").sort_index()

    def requested(self, at: Any = None) -> "pd.DataFrame":
        """What the pods of each node request, by the node's name: cpu, memory, and how many pods there are."""
        import pandas as pd

        pods = [event.pod for event in self._there(at) if isinstance(event, PodSeen)]
        placed = [pod for pod in pods if pod.node is not None and not pod.finished]
        rows = [(pod.node, *(pod.shape.request(resource) for resource in SCORED), 1) for pod in placed]
        sums = pd.DataFrame(rows, columns=["node", *SCORED, "pods"]).groupby("node").sum()
        return sums.reindex(self.sizes(at).index, fill_value=0)

    def utilization(self, since: Any = None, until: Any = None, every: str | None = None) -> "pd.DataFrame":
        """Usage of nodes as a fraction of what they had then: time, node, cpu, memory; without nodes of unknown size.

        Of weeks of a large cluster thin it by `every`: each reading is a row per node.
        """
        changes = size_changes(self._reader, seconds_of(until))
        return usage_frame(scaled(self._readings(since, until, every), changes), "nodes", "node")

    def state(self, at: Any = None, window: str = "15min") -> "pd.DataFrame":
        """Nodes as `score` takes them: capacity, and mean, deviation, latest and maximum of usage over the window
        before that time, or before the end.
        """
        import pandas as pd

        until = self._reader.span().latest + 1.0 if at is None else seconds_of(at) or 0.0
        frame, sizes = self.nodes(until - pd.Timedelta(window).total_seconds(), until), self.sizes(until)
        state = pd.DataFrame({f"{resource}_capacity": sizes[resource] for resource in SCORED})
        by_node = frame.groupby("node", observed=True)
        for resource in [column for column in SCORED if column in frame.columns]:
            grouped = by_node[resource]
            state[resource] = grouped.mean() * self._unit(sizes[resource])
            state[f"{resource}_deviation"] = grouped.std(ddof=0) * self._unit(sizes[resource])
            state[f"{resource}_latest"] = grouped.last() * self._unit(sizes[resource])
            state[f"{resource}_maximum"] = grouped.max() * self._unit(sizes[resource])
        return state.rename_axis("name")

    def _unit(self, sizes: "pd.Series[float]") -> "pd.Series[float] | float":
        return sizes if self._base() == "capacity" else 1.0

    def _base(self) -> str:
        """Whether nodes' usage is absolute or a share of their capacity."""
        first = next(iter(self._reader.records(kinds=["readings"])), None)
        return str(getattr(first.content, "base", "")) if first is not None else ""

    def _there(self, at: Any) -> list[Event]:
        """What a list of everything would have told at that time, or at the end."""
        there: dict[str, Event] = {}
        for record in self._reader.records(None, seconds_of(at), kinds=["events", "checkpoints", "marks"]):
            match record.content:
                case Mark(name=name):
                    there = {} if name == BEGAN else there
                case Checkpoint(state=state):
                    for event in () if there else msgspec.msgpack.decode(state, type=CheckpointState).events:
                        remember(there, event)
                case event:
                    remember(there, event)
        return list(there.values())

    def _readings(self, since: Any, until: Any, every: str | None) -> Iterator[Record]:
        import pandas as pd

        pause = 0.0 if every is None else pd.Timedelta(every).total_seconds()
        last = -np.inf
        for record in self._reader.records(seconds_of(since), seconds_of(until), kinds=["readings"]):
            if record.time - last >= pause or record.time < last:
                last = record.time
                yield record
