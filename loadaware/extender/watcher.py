"""load-watcher's API from our window: Trimaran's Go plugins can read it, deviation from metrics-server included.

    GET /watcher            {"timestamp", "window": {"duration", "start", "end"}, "source",
                             "data": {"NodeMetricsMap": {node: {"metrics": [...], "tags", "metadata"}}}}
    GET /watcher?host=NODE  the same of one node
    GET /watcher/health     200 once anything was measured

Values are percent of the node's capacity. The window is that of 15, 10 or 5 minutes which the samples fill: none is
said to be longer than there is a past. What was not measured is left out, and so are nodes whose data expired: whoever
reads this has no other way to tell old values from new ones.
"""

import math
from typing import Any

import numpy as np

from collectors.reading import CPU, MEMORY
from loadaware.ladder import Rung, Staleness
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics

WINDOWS = {900.0: "15m", 600.0: "10m", 300.0: "5m"}
TYPES = {CPU: "CPU", MEMORY: "Memory"}


def watcher_metrics(
    snapshot: Snapshot, now: float, source: str, staleness: Staleness, host: str | None = None
) -> dict[str, Any] | None:
    """What load-watcher would answer; None while nothing is measured, or nothing of the host that is asked for."""
    length, statistics = _filled(snapshot)
    rungs = staleness.rungs(now - snapshot.sampled_at, pods_known=snapshot.pods_known)
    rows = [r for r, name in enumerate(snapshot.names) if rungs[r] <= Rung.AGEING and host in (None, name)]
    nodes = {
        snapshot.names[row]: {"metrics": metrics, "tags": {}, "metadata": {}}
        for row in rows
        if (metrics := _metrics(snapshot, statistics, row, WINDOWS[length]))
    }
    if not nodes:
        return None
    newest = float(snapshot.sampled_at[rows].max())
    newest = newest if math.isfinite(newest) else now  # a state from a file never ages
    return {
        "timestamp": int(now),
        "window": {"duration": WINDOWS[length], "start": int(newest - length), "end": int(newest)},
        "source": source,
        "data": {"NodeMetricsMap": nodes},
    }


def _filled(snapshot: Snapshot) -> tuple[float, Statistics]:
    """The shortest of the windows that holds all samples, else the longest that is kept."""
    main = snapshot.window_seconds
    kept = [length for length in WINDOWS if length == main or length in snapshot.windows]
    if not kept:
        return min(WINDOWS), snapshot.statistics
    past = _past_seconds(snapshot) if main >= min(WINDOWS) else math.inf
    length = min((length for length in kept if length >= past), default=max(kept))
    holds_all = length == main or length >= past
    return length, snapshot.statistics if holds_all else snapshot.windows[length]


def _past_seconds(snapshot: Snapshot) -> float:
    """How far back the samples of any node reach, within the main window."""
    if snapshot.window_starts is None:
        return math.inf
    measured = np.isfinite(snapshot.sampled_at) & np.isfinite(snapshot.window_starts)
    return float((snapshot.sampled_at - snapshot.window_starts)[measured].max(initial=0.0))


def _metrics(snapshot: Snapshot, statistics: Statistics, row: int, rollup: str) -> list[dict[str, Any]]:
    operators = {"AVG": statistics.mean, "STD": statistics.deviation, "Latest": statistics.latest}
    metrics = []
    for resource, kind in TYPES.items():
        column = snapshot.resource_index[resource]
        capacity = float(snapshot.capacity[row, column])
        for operator, table in operators.items():
            percent = 100.0 * float(table[row, column]) / capacity if capacity > 0 else math.nan
            if math.isfinite(percent):
                metrics.append(
                    {"name": "", "type": kind, "operator": operator, "rollup": rollup, "value": percent},
                )
    return metrics
