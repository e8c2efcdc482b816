"""What is believed about each node now, as plain values for JSON and tables. What is not known is None."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from collectors.reading import Floats
from loadaware.ladder import Rung, Staleness
from loadaware.snapshot import Snapshot

Cells = list[Any]
"""An array as nested lists, None where it is not finite."""


def beliefs(
    snapshot: Snapshot, requested: Floats, pods: Floats, staleness: Staleness, now: float
) -> list[dict[str, Any]]:
    """One entry per node: capacity, usage, requests, age of data, rung, quarantine. `requested`, `pods` as of now."""
    amounts = _cells({"capacity": snapshot.capacity, "allocatable": snapshot.allocatable, "requested": requested})
    usage = _cells(_usage(snapshot))
    ages = _plain(now - snapshot.sampled_at)
    rungs = staleness.rungs(now - snapshot.sampled_at, pods_known=snapshot.pods_known).tolist()
    resources = snapshot.resources
    return [
        {
            "name": name,
            **{what: dict(zip(resources, cells[row], strict=True)) for what, cells in amounts.items()},
            "usage": {
                resource: {statistic: cells[row][column] for statistic, cells in usage.items()}
                for column, resource in enumerate(resources)
            },
            "pods": round(float(pods[row]), 3),
            "ageSeconds": ages[row],
            "rung": Rung(rungs[row]).name.lower(),
            "quarantined": snapshot.quarantined.get(name),
            "labels": dict(snapshot.labels[row]) if snapshot.labels else {},
        }
        for row, name in enumerate(snapshot.names)
    ]


def _usage(snapshot: Snapshot) -> dict[str, Floats]:
    statistics = snapshot.statistics
    with np.errstate(divide="ignore", invalid="ignore"):
        utilization = statistics.mean / snapshot.allocatable
    return {
        "mean": statistics.mean,
        "deviation": statistics.deviation,
        "latest": statistics.latest,
        "maximum": statistics.maximum,
        "utilization": utilization,
    }


def _cells(tables: Mapping[str, Floats]) -> dict[str, Cells]:
    return {what: _plain(values) for what, values in tables.items()}


def _plain(values: Floats) -> Cells:
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    cells: Cells = plain.tolist()
    return cells
