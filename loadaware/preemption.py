"""Preempting for nothing: which candidate nodes would still be too busy after their victims have left.

    dropped if 100 * (usage - usage of the victims) / allocatable > threshold, by the profile's UsageThreshold filters

The filters themselves are asked, about the nodes as they would be: so their statistic, their thresholds for pods of
high priority and the pods that they let pass count here as they do for filter. What a victim uses is what was measured
of it, else what it requests. A node is not dropped if one of its victims is not known, or if its own measurements
expired: nobody can tell. If every candidate would be dropped, none is: kube-scheduler has its reasons to preempt. A
profile without load rules drops nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from collectors.reading import Floats
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.ladder import Rung
from loadaware.nodes import Nodes
from loadaware.profile import Profile
from loadaware.question import Question
from loadaware.snapshot import Snapshot
from loadaware.window import Bools, Statistics

Freed = Mapping[str, Mapping[str, float] | None]
"""Per node, what its victims use of each resource; None if that is not known of all of them."""


def worth_preempting(profile: Profile, question: Question, freed: Freed) -> Sequence[str]:
    """The candidates (the question's names) that would not be too busy afterwards; all if none would."""
    rules = [named.filter for named in profile.filters if isinstance(named.filter, UsageThreshold)]
    keep = np.ones(len(question.names), dtype=np.bool_)
    for rule in rules:
        keep &= ~_too_busy(rule, question, freed)
    if not keep.any():
        return list(question.names)
    return [name for name, kept in zip(question.names, keep.tolist(), strict=True) if kept]


def _too_busy(rule: UsageThreshold, question: Question, freed: Freed) -> Bools:
    told = np.array([freed.get(name) is not None for name in question.names], dtype=np.bool_)
    judged = told & (question.rungs <= Rung.AGEING)
    nodes = question.nodes(question.rows[judged], rule)
    everywhere = np.zeros(len(question.names), dtype=np.bool_)
    everywhere[judged] = rule.rejects(_afterwards(nodes, freed), question.pod)
    return everywhere


def _afterwards(nodes: Nodes, freed: Freed) -> Nodes:
    """The nodes as they would be without the victims."""
    alone = nodes.detached()
    return structs.replace(alone, snapshot=_without(alone.snapshot, freed))


def _without(snapshot: Snapshot, freed: Freed) -> Snapshot:
    left = np.array([[(freed.get(n) or {}).get(r, 0.0) for r in snapshot.resources] for n in snapshot.names])
    left = left.reshape(snapshot.capacity.shape)
    high = snapshot.high_priority_usage
    return replace(
        snapshot,
        statistics=_less(snapshot.statistics, left),
        windows={length: _less(statistics, left) for length, statistics in snapshot.windows.items()},
        high_priority_usage=None if high is None else np.maximum(high - left, 0.0),
    )


def _less(statistics: Statistics, left: Floats) -> Statistics:
    """NaN, not measured, stays NaN."""
    return Statistics(
        mean=np.maximum(statistics.mean - left, 0.0),
        deviation=statistics.deviation,
        latest=np.maximum(statistics.latest - left, 0.0),
        maximum=np.maximum(statistics.maximum - left, 0.0),
        percentiles={p: np.maximum(values - left, 0.0) for p, values in statistics.percentiles.items()},
    )
