"""One node for people: its samples, and its pods with what they request, use and are expected to use.

Pure: columns in, plain values for JSON out. What is not known is None.
"""

from typing import Any

import numpy as np

from collectors.reading import CPU, Floats
from loadaware.learning import Learning
from loadaware.pods import PodTable
from loadaware.window import Ints, Window

MOST_PODS = 500
"""Of a node; a kubelet's own limit is 110 by default."""


def node_report(
    row: int, resources: tuple[str, ...], window: Window, pods: PodTable, learning: Learning
) -> dict[str, Any]:
    """The node of this row. Pods come with the one first that is expected to use the most CPU."""
    times, values = window.samples(row)
    slots = pods.on(row)
    expected = learning.expected_of(slots)
    mean, deviation = expected.mean, expected.deviation
    requests, usage, bound_at = pods.requests(slots, resources), pods.usage(slots), pods.bound_at(slots)
    order = _heaviest_first(resources, slots, mean, usage, requests)
    told = [
        {
            "pod": pods.key(int(slots[n])),
            "boundAt": float(bound_at[n]) if np.isfinite(bound_at[n]) else None,
            "resources": {
                resource: {
                    "requested": _told(requests[n, column]),
                    "used": _told(usage[n, column]),
                    "expected": _told(mean[n, column]),
                    "deviation": _told(deviation[n, column]),
                }
                for column, resource in enumerate(resources)
            },
        }
        for n in order[:MOST_PODS].tolist()
    ]
    return {
        "windowSeconds": float(window.length_seconds),
        "times": times.tolist(),
        "samples": {r: [_told(value) for value in values[column]] for column, r in enumerate(resources)},
        "podCount": len(slots),
        "pods": told,
    }


def _heaviest_first(resources: tuple[str, ...], slots: Ints, mean: Floats, usage: Floats, requests: Floats) -> Ints:
    """By CPU expected, else used, else requested."""
    if CPU not in resources or not len(slots):
        return np.arange(len(slots))
    column = resources.index(CPU)
    weight = np.where(np.isnan(usage[:, column]), requests[:, column], usage[:, column])
    weight = np.where(np.isnan(mean[:, column]), weight, mean[:, column])
    return np.argsort(-weight, kind="stable")


def _told(value: "np.floating[Any]") -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
