"""Preempting for nothing: which candidate nodes would still be too busy after their victims have left.

    dropped if 100 * (usage - usage of the victims) / allocatable > threshold, by the profile's UsageThreshold filters

What a victim uses is what was measured of it, else what it requests; a victim nobody knows frees nothing that could be
counted on, so its node is judged by what is known. If every candidate would be dropped, none is: kube-scheduler has
its reasons to preempt. A profile without load rules drops nothing.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from collectors.reading import Floats
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.profile import Profile
from loadaware.question import Question

Freed = Mapping[str, Mapping[str, float]]
"""Per node, what its victims use of each resource."""


def worth_preempting(profile: Profile, question: Question, freed: Freed) -> Sequence[str]:
    """The candidates (the question's names) that would not be too busy afterwards; all if none would."""
    rules = [named.filter for named in profile.filters if isinstance(named.filter, UsageThreshold)]
    keep = np.ones(len(question.names), dtype=np.bool_)
    for rule in rules:
        keep &= ~_too_busy(rule, question, freed)
    if not keep.any():
        return list(question.names)
    return [name for name, kept in zip(question.names, keep.tolist(), strict=True) if kept]


def _too_busy(rule: UsageThreshold, question: Question, freed: Freed) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    rows = question.rows[question.known]
    nodes = question.nodes(rows, rule)
    busy = np.zeros(len(rows), dtype=np.bool_)
    for resource, threshold in rule.thresholds.items():
        remaining = nodes.mean_or_latest(resource) - _freed(nodes.names, freed, resource)
        with np.errstate(divide="ignore", invalid="ignore"):
            busy |= 100.0 * remaining / nodes.allocatable(resource) > threshold
    everywhere = np.zeros(len(question.names), dtype=np.bool_)
    everywhere[question.known] = busy
    return everywhere


def _freed(names: Sequence[str], freed: Freed, resource: str) -> Floats:
    return np.array([freed.get(name, {}).get(resource, 0.0) for name in names])
