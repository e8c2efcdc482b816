"""What is believed about each node now, as plain values for JSON and tables. What is not known is None."""

from typing import Any

import numpy as np

from collectors.reading import Floats
from loadaware.in_flight import InFlight
from loadaware.snapshot import Snapshot


def beliefs(snapshot: Snapshot, in_flight: InFlight, now: float) -> list[dict[str, Any]]:
    """One entry per node: capacity, usage, requests, age of data, quarantine."""
    columns = {
        "capacity": snapshot.capacity,
        "allocatable": snapshot.allocatable,
        "requested": in_flight.requested,
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        utilization = snapshot.statistics.mean / snapshot.allocatable
    return [
        {
            "name": name,
            **{what: _amounts(snapshot, values, row) for what, values in columns.items()},
            "usage": _usage(snapshot, utilization, row),
            "pods": round(float(in_flight.pods[row]), 3),
            "ageSeconds": _number(now - snapshot.sampled_at[row]),
            "quarantined": snapshot.quarantined.get(name),
            "labels": dict(snapshot.labels[row]) if snapshot.labels else {},
        }
        for row, name in enumerate(snapshot.names)
    ]


def _amounts(snapshot: Snapshot, values: Floats, row: int) -> dict[str, float | None]:
    return {resource: _number(values[row, column]) for column, resource in enumerate(snapshot.resources)}


def _usage(snapshot: Snapshot, utilization: Floats, row: int) -> dict[str, dict[str, float | None]]:
    statistics = snapshot.statistics
    return {
        resource: {
            "mean": _number(statistics.mean[row, column]),
            "deviation": _number(statistics.deviation[row, column]),
            "latest": _number(statistics.latest[row, column]),
            "maximum": _number(statistics.maximum[row, column]),
            "utilization": _number(utilization[row, column]),
        }
        for column, resource in enumerate(snapshot.resources)
    }


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
