"""What workloads request against what they use, as a frame: learned from a history, or told by a running loadaware."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from collectors.errors import HistoryError
from collectors.history import Checkpoint, HistoryReader, Mark
from collectors.reading import Reading
from loadaware.config import Config
from loadaware.demand_format import decode
from loadaware.demand_report import BY_NAME, MOST_SHOWN, report
from loadaware.demand_state import DemandState
from loadaware.notebook.histories import History
from loadaware.observer import Observer
from loadaware.profiles import observer_settings
from loadaware.recorder import BEGAN, PAST, CheckpointState

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("requested", "mean", "deviation", "samples", "confidence", "recommended")


@dataclass(frozen=True, eq=False)
class Demands:
    """Of every workload that is known."""

    workloads: "pd.DataFrame"
    """A row per workload and resource (the index): namespace, pods, requested, mean, deviation, samples, confidence,
    recommended (of one pod; cores, bytes), and change: how much more all its pods together should request. NaN:
    nothing requested, or not sure yet.
    """
    totals: "pd.DataFrame"
    """By resource: requested, giveBack, lacks, undeclared, judged (workloads); see demand_report.py."""

    def of(self, resource: str) -> "pd.DataFrame":
        """The workloads by one resource, those that ask for too much first."""
        chosen = self.workloads.index.get_level_values("resource") == resource
        return self.workloads[chosen].droplevel("resource").sort_values("change")


def demand(source: str | Path | History) -> Demands:
    """From a History, the address of a running loadaware, or the file in which one keeps what it learned.

    Raises ConfigError, CollectorError or HistoryError.
    """
    from loadaware.demand_listing import ask_server, read_file

    if isinstance(source, History):
        told = report(learned_from(source.folder), BY_NAME, MOST_SHOWN)
    elif str(source).startswith(("http://", "https://")):
        told = ask_server(str(source), BY_NAME, MOST_SHOWN, None)
    else:
        told = read_file(str(source), BY_NAME, MOST_SHOWN, None)
    return _demands(told)


def learned_from(folder: str | Path) -> DemandState:
    """What a live observer would have learned by the end of a history. Raises HistoryError."""
    observer, now, past, told = _observer(), None, False, False
    for record in HistoryReader(folder).records(kinds=["events", "readings", "checkpoints", "marks"]):
        now = record.time
        match record.content:
            case Mark(name=name):
                observer = _observer() if name == BEGAN else observer
                past, told = name == PAST, told and name != BEGAN
            case Reading() as reading:
                observer.feed_past(reading) if past else observer.feed(reading, now)
                past = False
            case Checkpoint(state=state):
                if not told:
                    _restore(observer, msgspec.msgpack.decode(state, type=CheckpointState), now)
                told = True
            case event:
                observer.tell(event, now)  # type: ignore[arg-type]
                told = True
    if now is None:
        raise HistoryError(str(folder), "holds nothing")
    return observer.export(now)


def _observer() -> Observer:
    return Observer(observer_settings(Config()))


def _restore(observer: Observer, state: CheckpointState, now: float) -> None:
    for event in state.events:
        observer.tell(event, now)
    if state.demand:
        observer.restore(decode(state.demand))


def _demands(told: Mapping[str, Any]) -> Demands:
    import pandas as pd

    rows = [
        (one["workload"], resource, one["workload"].partition("/")[0], one["pods"], *(cell[name] for name in FIELDS))
        for one in told["workloads"]
        for resource, cell in one["resources"].items()
    ]
    frame = pd.DataFrame(rows, columns=["workload", "resource", "namespace", "pods", *FIELDS])
    frame = frame.astype(dict.fromkeys(FIELDS, "float64")).set_index(["workload", "resource"])
    frame["change"] = (frame["recommended"] - frame["requested"].fillna(0.0)) * frame["pods"]
    return Demands(frame, pd.DataFrame(told["totals"]).T)
