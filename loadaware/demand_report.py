"""What workloads request against what they were learned to use, and what they should request.

Per workload and resource, from its own sums W at the time of the state (faded by the time since its last sample), with
`base` what they are relative to: what one of its pods requests (for pods without a controller the mean over those that
run; a core or a GiB where nothing is requested):

    samples     = W0, less those that are guesses because no pod was measured (apportioning.py)
    confidence  = samples / (samples + a)                        a = 10 samples, as shrinkage has it (demand.py)
    mean        = W1/W0 * base                                   of one pod
    deviation   = sqrt(W2/W0 - (W1/W0)^2) * base                 over its pods and over time; below 0.001 base none
    recommended = mean + 1 deviation    (cpu: too little throttles, and neighbours lend)
                  mean + 3 deviations   (memory: too little kills)
    rounded up to two digits of millicores, or an eighth of the power of two below it for bytes; never below 10m, 16Mi

Nothing is recommended below a confidence of 0.95 (190 samples: an hour and a half of one pod read twice a minute), nor
for other resources than CPU and memory. What the cluster could give back is the sum of (requested - recommended) over
the pods of workloads that request more than that; what it lacks is the sum over those that request less; what is
undeclared is recommended for pods that request nothing.

Honest limits: half of what is learned is forgotten in six hours, so look at a workload with a daily peak when it has
one; and usage that a limit has throttled is learned as it was.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.reading import CPU, MEMORY, Floats
from loadaware.demand import UNIT_REQUESTS, DemandSettings
from loadaware.demand_state import DemandState
from loadaware.ratios import LEAST_VARIANCE
from loadaware.window import Bools, Ints
from loadaware.workload import is_of_many_sizes

LEAST_CONFIDENCE = 0.95
DEVIATIONS = {CPU: 1.0, MEMORY: 3.0}
FLOORS = {CPU: 0.01, MEMORY: 16 * 2.0**20}
MOST_SHOWN = 10_000
BY_NAME, BY_PODS = "name", "pods"


@dataclass(frozen=True, eq=False)
class Columns:
    """Of each workload. Axes (workload, resource)."""

    pods: Ints
    requested: Floats
    """Of one pod; zero for nothing, or not known."""
    samples: Floats
    confidence: Floats
    mean: Floats
    deviation: Floats
    recommended: Floats
    """NaN where nothing is."""

    @property
    def change(self) -> Floats:
        """How much more all its pods together should request; NaN where nothing is recommended."""
        return (self.recommended - self.requested) * self.pods[:, None]


def report(state: DemandState, sort: str, limit: int, namespace: str | None = None) -> dict[str, Any]:
    """The workloads (of a namespace), so many of them, and what they come to in all. Raises ValueError for `sort`."""
    if sort not in (BY_NAME, BY_PODS, *state.resources):
        raise ValueError(f"sort is {BY_NAME}, {BY_PODS} or one of: {', '.join(state.resources)}; not {sort:.100}")
    columns, names = columns_of(state), state.table("workloads").names
    chosen = _known(columns) & _within(names, namespace)
    order = _order(state, columns, np.flatnonzero(chosen), sort)
    shown = order[: max(min(limit, MOST_SHOWN), 0)]
    return {
        "time": state.time,
        "total": len(order),
        "shown": len(shown),
        "totals": {r: _totals(columns, chosen, position) for position, r in enumerate(state.resources)},
        "workloads": [_entry(state, columns, row, names[row]) for row in shown.tolist()],
    }


def columns_of(state: DemandState) -> Columns:
    """The numbers of every workload."""
    table, count = state.table("workloads"), len(state.resources)
    pods, requested = _requested(state)
    units = np.array([UNIT_REQUESTS.get(resource, 1.0) for resource in state.resources])
    of_many_sizes = np.array([is_of_many_sizes(name) for name in table.names], dtype=np.bool_)
    bases = table.floats("bases", count)
    base = np.where(of_many_sizes[:, None] | (bases <= 0), requested, bases)
    base = np.where(base > 0, base, units)
    sums = table.floats("sums", count, 3) * _faded(state)[:, None, None]
    weight = sums[:, :, 0]
    known = weight > 0
    mean = np.divide(sums[:, :, 1], weight, out=np.full(weight.shape, np.nan), where=known)
    square = np.divide(sums[:, :, 2], weight, out=np.full(weight.shape, np.nan), where=known)
    samples = np.maximum(weight - table.floats("inferred", count) * _faded(state)[:, None], 0.0)
    variance = square - mean**2
    deviation = np.sqrt(np.where(variance < LEAST_VARIANCE, 0.0, variance)) * base
    confidence = samples / (samples + _setting(state, "workload_prior_samples"))
    recommended = _recommended(state.resources, mean * base, deviation, confidence)
    return Columns(pods, requested, samples, confidence, mean * base, deviation, recommended)


def _requested(state: DemandState) -> tuple[Ints, Floats]:
    """How many pods each workload has, and what one of them requests."""
    workloads, pods, count = state.table("workloads"), state.table("pods"), len(state.resources)
    rows = len(workloads.names)
    numbers = pods.numbers("workloads")
    known = (numbers >= 0) & (numbers < rows)
    counts = np.bincount(numbers[known], minlength=rows).astype(np.intp)
    sums = np.zeros((rows, count))
    np.add.at(sums, numbers[known], pods.floats("requests", count)[known])
    last = workloads.floats("requests", count)
    return counts, np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], last)


def _faded(state: DemandState) -> Floats:
    age = np.maximum(state.time - state.table("workloads").times, 0.0)
    faded: Floats = 0.5 ** (age / _setting(state, "workload_half_life_seconds"))
    return faded


def _setting(state: DemandState, name: str) -> float:
    return state.settings.get(name) or float(getattr(DemandSettings(), name))


def _recommended(resources: tuple[str, ...], mean: Floats, deviation: Floats, confidence: Floats) -> Floats:
    recommended = np.full(mean.shape, np.nan)
    for position, resource in enumerate(resources):
        if resource in DEVIATIONS:
            enough = confidence[:, position] >= LEAST_CONFIDENCE
            wanted = mean[enough, position] + DEVIATIONS[resource] * deviation[enough, position]
            recommended[enough, position] = round_up(resource, np.maximum(wanted, FLOORS[resource]))
    return recommended


def round_up(resource: str, amounts: Floats) -> Floats:
    """To two digits of millicores, or to an eighth of the power of two below."""
    if resource == CPU:
        millicores = amounts * 1000
        step = 10.0 ** np.maximum(np.floor(np.log10(millicores)) - 1, 0)
        return np.ceil(millicores / step - 1e-6) * step / 1000
    step = 2.0 ** np.floor(np.log2(amounts)) / 8
    return np.ceil(amounts / step - 1e-6) * step


def _known(columns: Columns) -> Bools:
    """Workloads with pods, and those that were measured."""
    known: Bools = (columns.pods > 0) | (columns.samples > 0).any(axis=1)
    return known


def _within(names: tuple[str, ...], namespace: str | None) -> Bools:
    if namespace is None:
        return np.ones(len(names), dtype=np.bool_)
    return np.array([name.startswith(f"{namespace}/") for name in names], dtype=np.bool_)


def _order(state: DemandState, columns: Columns, rows: Ints, sort: str) -> Ints:
    """By name; by number of pods, or by how much should change, the most first, and by name among equals."""
    by_name = np.array(sorted(rows.tolist(), key=state.table("workloads").names.__getitem__), dtype=np.intp)
    if sort == BY_NAME:
        return by_name
    if sort == BY_PODS:
        return by_name[np.argsort(-columns.pods[by_name], kind="stable")]
    change = np.nan_to_num(np.abs(columns.change[by_name, state.resources.index(sort)]), nan=-1.0)
    return by_name[np.argsort(-change, kind="stable")]


def _totals(columns: Columns, chosen: Bools, position: int) -> dict[str, float | int]:
    """Over the pods that run now; those of workloads without a recommendation count only as requested."""
    change, declared = columns.change[chosen, position], columns.requested[chosen, position] > 0
    judged = np.isfinite(change)
    change = np.where(judged, change, 0.0)
    return {
        "requested": float((columns.requested[chosen, position] * columns.pods[chosen]).sum()),
        "giveBack": float(np.maximum(-change[declared], 0.0).sum()),
        "lacks": float(np.maximum(change[declared], 0.0).sum()),
        "undeclared": float(change[~declared].sum()),
        "judged": int(judged.sum()),
    }


def _entry(state: DemandState, columns: Columns, row: int, name: str) -> dict[str, Any]:
    return {
        "workload": name,
        "pods": int(columns.pods[row]),
        "resources": {r: _cell(columns, row, position) for position, r in enumerate(state.resources)},
    }


def _cell(columns: Columns, row: int, position: int) -> dict[str, float | None]:
    requested = float(columns.requested[row, position])
    return {
        "requested": requested if requested > 0 else None,
        "mean": _told(columns.mean[row, position]),
        "deviation": _told(columns.deviation[row, position]),
        "samples": round(float(columns.samples[row, position]), 3),
        "confidence": round(float(columns.confidence[row, position]), 4),
        "recommended": _told(columns.recommended[row, position]),
    }


def _told(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
