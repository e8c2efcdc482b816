"""A decision as plain values, for JSON: /decisions, the file of decisions, and the table behind an explanation."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from loadaware.decisions import Decision
from loadaware.ladder import Rung
from loadaware.records import Filtered, Ranked
from loadaware.window import Ints

NODES_SHOWN = 10
"""Of the nodes asked about; the one that was chosen is always among them."""


def decision_report(decision: Decision, nodes: int = NODES_SHOWN) -> dict[str, Any]:
    """All of it but the nodes beyond so many. The decision must be settled."""
    record, pod = decision.record, decision.pod
    return {
        "number": decision.number,
        "time": instant(decision.time),
        "verb": decision.verb,
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "profile": decision.profile,
        "answered": not decision.aside,
        "dataAgeSeconds": decision.age_seconds,
        "generation": decision.generation,
        "nodesAsked": decision.asked,
        "tookSeconds": decision.took_seconds,
        "traceparent": decision.trace,
        "chosen": decision.chosen,
        "boundAt": None if decision.bound_at is None else instant(decision.bound_at),
        "firstChoice": decision.chosen_first,
        "chosenRank": decision.chosen_rank,
        "leftUnbound": decision.gone,
        **(_ranked(decision, record, nodes) if isinstance(record, Ranked) else {}),
        **(_filtered(record, nodes) if isinstance(record, Filtered) else {}),
    }


def placement_report(decision: Decision) -> dict[str, Any]:
    """Where a pod really went."""
    return {
        "number": decision.number,
        "pod": {"namespace": decision.pod.namespace, "name": decision.pod.name, "uid": decision.pod.uid},
        "chosen": decision.chosen,
        "boundAt": None if decision.bound_at is None else instant(decision.bound_at),
        "firstChoice": decision.chosen_first,
        "chosenRank": decision.chosen_rank,
    }


def _ranked(decision: Decision, ranking: Ranked, nodes: int) -> dict[str, Any]:
    order = ranking.order().tolist()
    shown = order[:nodes]
    if decision.chosen is not None:
        shown += [n for n in order[nodes:] if ranking.name(n) == decision.chosen]
    return {
        "weights": {part.name: part.weight for part in ranking.parts},
        "skipped": dict(ranking.skipped),
        "nodes": node_rows(ranking, shown),
    }


def _filtered(filtering: Filtered, nodes: int) -> dict[str, Any]:
    return {
        "passed": filtering.passed,
        "rejected": len(filtering.rejected),
        "reasons": dict(list(filtering.rejected.items())[:nodes]),
        "relaxed": filtering.relaxed,
        "skipped": dict(filtering.skipped),
    }


def node_rows(ranking: Ranked, positions: Iterable[int]) -> list[dict[str, Any]]:
    """The table: a row per node, in that order. What is not known is None."""
    places = wire_places(ranking)
    return [
        {
            "node": ranking.name(n),
            "place": int(places[n]),
            "score": _plain(ranking.scores[n]),
            "priority": int(ranking.priorities[n]),
            "scorers": {
                part.name: {
                    "score": _plain(part.score[n]),
                    "raw": None if part.raw is None else _plain(part.raw[n]),
                }
                for part in ranking.parts
            },
            "predicted": _predicted(ranking, n),
            "inFlightCores": _plain(ranking.in_flight[n]),
            "ageSeconds": _plain(ranking.ages[n]),
            "rung": Rung(int(ranking.rungs[n])).name.lower(),
        }
        for n in positions
    ]


def wire_places(ranking: Ranked) -> Ints:
    """Of each node, how many are better on the wire, plus one."""
    ascending = np.sort(ranking.priorities)
    return len(ranking) + 1 - np.searchsorted(ascending, ranking.priorities, side="right")


def _predicted(ranking: Ranked, position: int) -> dict[str, Mapping[str, float | None]]:
    """Utilization after the pod, and its deviation."""
    return {
        resource: {
            "utilization": _plain(ranking.load[position, column], 4),
            "deviation": _plain(ranking.deviation[position, column], 4),
        }
        for column, resource in enumerate(ranking.resources)
    }


def instant(time: float) -> str:
    """Seconds since 1970 as RFC 3339, to the millisecond."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: np.floating[Any], digits: int = 3) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None
