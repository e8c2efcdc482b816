"""Which node suits this pod? Asked of a frame of nodes, answered by the live code."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from loadaware.config import Config
from loadaware.errors import ConfigError
from loadaware.notebook.configurations import Configuration, configuration

if TYPE_CHECKING:
    import pandas as pd

_STATISTICS = ("mean", "deviation", "latest", "maximum")


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
