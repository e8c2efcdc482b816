"""What many paired runs say of each policy: means, and the gap between the default and the best reference closed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.policy_names import DEFAULT, REFERENCES
from loadaware.simulation.statistics import Interval, gap_closed, mean_interval
from loadaware.simulation.trial import Outcome

METRICS = ("hot80", "hot90", "unserved", "std", "p99")
"""Figures with a gap that can be closed."""
GUARDS = ("pending", "together", "memory90")
"""Figures that must not grow."""

Runs = Mapping[str, Sequence[Outcome]]
"""Outcomes by policy; the same number is the same seed."""


@dataclass(frozen=True, eq=False)
class PolicySummary:
    """One policy's runs."""

    each: Mapping[str, Floats]
    """Every figure, run by run."""
    gap_closed: Mapping[str, Interval]
    """By metric; empty where there is no default or no reference to compare with."""

    def mean(self, figure: str) -> float:
        """Over the runs."""
        return float(self.each[figure].mean())

    def interval(self, figure: str) -> Interval:
        """The mean with its interval."""
        return mean_interval(self.each[figure])


def columns(outcomes: Sequence[Outcome]) -> dict[str, Floats]:
    """Outcomes turned on their side: every figure over the runs."""
    return {name: np.array([getattr(o, name) for o in outcomes]) for name in Outcome.__struct_fields__}


def best_reference(each: Mapping[str, Mapping[str, Floats]], metric: str) -> str | None:
    """The reference with the lowest mean, of those that were run."""
    run = [name for name in REFERENCES if name in each]
    return min(run, key=lambda name: each[name][metric].mean()) if run else None


def summarize(runs: Runs) -> dict[str, PolicySummary]:
    """Every policy, in the order given. All have the same number of runs, at least one."""
    each = {name: columns(outcomes) for name, outcomes in runs.items()}
    return {name: PolicySummary(figures, _gaps(each, name)) for name, figures in each.items()}


def _gaps(each: Mapping[str, Mapping[str, Floats]], name: str) -> dict[str, Interval]:
    gaps: dict[str, Interval] = {}
    for metric in METRICS:
        reference = best_reference(each, metric)
        if DEFAULT in each and reference is not None:
            gaps[metric] = gap_closed(each[DEFAULT][metric], each[name][metric], each[reference][metric])
    return gaps
