"""What a comparison of replays says: figures, paired differences with intervals, and what nobody can know."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from collectors.reading import Floats
from loadaware.replay.outcome import ReplayOutcome
from loadaware.simulation.accounting import Report
from loadaware.simulation.blocks import block_interval
from loadaware.simulation.statistics import Interval
from loadaware.simulation.summary import METRICS, PolicySummary

RECORDED = "recorded"
Outcomes = Mapping[str, ReplayOutcome]

CANNOT_KNOW = (
    "A pod uses elsewhere what it used where it was; in reality usage depends on its neighbours, and on traffic.",
    "Usage that was throttled was measured as throttled: unserved is 0 as recorded, and too low wherever a node was "
    "full.",
    "Room is judged by the CPU, memory and number of pods requested. Taints, affinity, volumes and other plugins are "
    "known only through the nodes that kube-scheduler offered.",
    "Pods live as long as they did, on nodes that fail when they did; nobody is evicted, rescheduled or scaled "
    "otherwise.",
)
WITHOUT_REQUESTS = (
    "No requests are recorded: each pod is asked about when it was bound, with every node that has room for it. "
    "Selectors and affinity are not known, and the pods of one burst are asked about in the order they were seen in."
)
WITHOUT_PODS = "Pods were not measured all the time: a pod that is moved counts as what it requests."
FIGURES = {"hot80": "hot80", "hot90": "hot90", "unserved": "unserved", "std": "spread", "p99": "p99"}
"""Figures by the names that `simulate` gives them."""


def figure(report: Report, name: str) -> float:
    """A figure by its name in tables."""
    return float(getattr(report, FIGURES[name]))


def summaries(outcomes: Outcomes) -> dict[str, PolicySummary]:
    """Each way to place pods, block by block: as recorded first, then each configuration."""
    first = next(iter(outcomes.values()))
    blocks = {RECORDED: first.recorded_blocks} | {name: o.replayed_blocks for name, o in outcomes.items()}
    common = sorted(set.intersection(*(set(of) for of in blocks.values())))
    return {name: PolicySummary(_columns([of[number] for number in common]), {}) for name, of in blocks.items()}


def _columns(reports: list[Report]) -> dict[str, Floats]:
    return {name: np.array([figure(report, name) for report in reports]) for name in METRICS}


def change(ours: PolicySummary, theirs: PolicySummary, metric: str) -> Interval:
    """How much higher ours is: the mean over blocks of paired differences, with its interval over blocks."""
    return block_interval(ours.each[metric] - theirs.each[metric])


def as_json(history: str, outcomes: Outcomes) -> dict[str, Any]:
    """For programs. What is not a number comes out as null."""
    first, each = next(iter(outcomes.values())), summaries(outcomes)
    configs = {}
    for name, outcome in outcomes.items():
        configs[name] = {
            **_figures(outcome.replayed),
            "change": {metric: list(change(each[name], each[RECORDED], metric)) for metric in METRICS},
            "decisions": asdict(outcome.counts),
            "moves": [asdict(move) for move in outcome.moves],
            "seconds": outcome.seconds,
        }
    return {
        "history": history,
        "since": first.since,
        "until": first.until,
        "blockSeconds": first.block_seconds,
        "blocks": len(each[RECORDED].each["hot80"]),
        "requestsRecorded": first.requests_recorded,
        RECORDED: _figures(first.recorded),
        "configs": configs,
        "between": _between(list(outcomes), each),
        "cannotKnow": cannot_know(outcomes),
        "notes": notes(outcomes),
    }


def _figures(report: Report) -> dict[str, float]:
    names = {name: figure(report, name) for name in METRICS}
    return {**names, "utilization": report.utilization, "memory90": report.memory90}


def _between(names: list[str], each: Mapping[str, PolicySummary]) -> list[dict[str, Any]]:
    """Every further configuration against the first."""
    return [
        {
            "config": name,
            "against": names[0],
            "change": {metric: list(change(each[name], each[names[0]], metric)) for metric in METRICS},
        }
        for name in names[1:]
    ]


def cannot_know(outcomes: Outcomes) -> list[str]:
    """What must be said with the figures."""
    first = next(iter(outcomes.values()))
    said = list(CANNOT_KNOW)
    if not first.requests_recorded:
        said.append(WITHOUT_REQUESTS)
    if not first.counts.pods_measured:
        said.append(WITHOUT_PODS)
    return said


def notes(outcomes: Outcomes) -> list[str]:
    """What was odd about this history."""
    first = next(iter(outcomes.values()))
    counts, said = first.counts, list(first.notes)
    if counts.gaps:
        said.append(f"{counts.gaps} gaps without readings are not judged")
    if counts.clock_jumps:
        said.append(f"the clock went back {counts.clock_jumps} times; readings told then are not judged")
    if counts.unknown_nodes:
        said.append(f"up to {counts.unknown_nodes} measured nodes at a time are unknown to the cluster, and left out")
    if counts.late:
        said.append(f"{counts.late} answers were written too late to be put in their place")
    if counts.answers_lost:
        said.append(
            f"{counts.answers_lost} answers are not in the history, as they came faster than they could be recorded: "
            "their pods are taken to be where they were"
        )
    if counts.explainable:
        share = 100.0 * counts.explained / counts.explainable
        said.append(
            f"our model of kube-scheduler explains {share:.0f} % of {counts.explainable} recorded placements; "
            "where it does not, other plugins or ties decided"
        )
    return said
