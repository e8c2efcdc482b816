"""load-watcher's API from our window: Trimaran's Go plugins can read it, deviation from metrics-server included.

    GET /watcher            {"timestamp", "window": {"duration", "start", "end"}, "source",
                             "data": {"NodeMetricsMap": {node: {"metrics": [...], "tags", "metadata"}}}}
    GET /watcher/health     200 once anything was measured

Values are percent of the node's capacity. Windows of 15, 10 and 5 minutes are tried in this order, as load-watcher
does: the longest that the samples reach back for.
"""

import math
from typing import Any

from collectors.reading import CPU, MEMORY
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics

WINDOWS = {900.0: "15m", 600.0: "10m", 300.0: "5m"}
TYPES = {CPU: "CPU", MEMORY: "Memory"}


def watcher_metrics(snapshot: Snapshot, now: float, source: str) -> dict[str, Any] | None:
    """What load-watcher would answer; None while nothing is measured."""
    newest = max((t for t in snapshot.sampled_at.tolist() if math.isfinite(t)), default=None)
    if newest is None:
        return None
    length, statistics = _longest(snapshot)
    nodes = {
        name: {"metrics": metrics, "tags": {}, "metadata": {}}
        for row, name in enumerate(snapshot.names)
        if (metrics := _metrics(snapshot, statistics, row, WINDOWS[length]))
    }
    return {
        "timestamp": int(now),
        "window": {"duration": WINDOWS[length], "start": int(newest - length), "end": int(newest)},
        "source": source,
        "data": {"NodeMetricsMap": nodes},
    }


def _longest(snapshot: Snapshot) -> tuple[float, Statistics]:
    """The longest window that is kept."""
    for length in WINDOWS:
        statistics = snapshot.statistics if length == snapshot.window_seconds else snapshot.windows.get(length)
        if statistics is not None:
            return length, statistics
    return 300.0, snapshot.statistics


def _metrics(snapshot: Snapshot, statistics: Statistics, row: int, rollup: str) -> list[dict[str, Any]]:
    metrics = []
    for resource, kind in TYPES.items():
        column = snapshot.resource_index[resource]
        capacity = float(snapshot.capacity[row, column])
        values = {"AVG": statistics.mean, "STD": statistics.deviation, "Latest": statistics.latest}
        for operator, table in values.items():
            value = float(table[row, column])
            if capacity > 0 and math.isfinite(value):
                metrics.append(
                    {
                        "name": "",
                        "type": kind,
                        "operator": operator,
                        "rollup": rollup,
                        "value": 100.0 * value / capacity,
                    }
                )
    return metrics
