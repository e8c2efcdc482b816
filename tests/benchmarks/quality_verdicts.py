"""What must hold of placements, what was measured, and whether it does: the first table of the page.

The best peer of a load is chosen for each metric among all configurations of others' scorers that have every run of
it: the one with the lowest mean.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from collectors.reading import Floats
from loadaware.simulation.sensitivity import SENSITIVITY
from loadaware.simulation.statistics import Interval, duel, gap_closed, mean_interval
from loadaware.simulation.summary import PolicySummary, Runs
from tests.benchmarks.quality_plan import CONSTANT, METRICS, ORACLE, OURS, REFERENCES, Section, peers_of

DECIDING = ("hot80", "unserved")
"""By what the best peer must be beaten."""
WANTED = {0.5: (86.0, 88.0), 0.65: (76.0, 78.0)}
"""By load: the share of the hot80 gap to be closed at least, and a share that the interval must reach."""
UNSERVED, WON, WORST = 94.0, 0.9, 70.0
Verdict = tuple[str, str, bool]


@dataclass(frozen=True, eq=False)
class Compared:
    """A section with its complete runs."""

    section: Section
    runs: Runs
    policies: dict[str, PolicySummary]

    @property
    def count(self) -> int:
        """Paired runs."""
        return len(next(iter(self.runs.values()), ()))

    def against(self, policy: str, reference: str, metric: str) -> Interval:
        """The share of the gap between the default and a reference that a policy closes."""
        default, ours, best = (self.policies[name].each[metric] for name in ("default", policy, reference))
        return gap_closed(default, ours, best)


@dataclass(frozen=True, eq=False)
class Rival:
    """The best peer by a metric, run by run beside ours."""

    policy: str
    theirs: Floats
    ours: Floats

    @property
    def behind_by(self) -> Interval:
        """The mean difference over the runs."""
        return mean_interval(self.ours - self.theirs)


def rival(sections: Sequence[Compared], metric: str) -> Rival | None:
    """Among all sections of one data set and load; the first is of the contenders."""
    found = [
        Rival(policy, c.policies[policy].each[metric], c.policies[OURS].each[metric])
        for c in sections
        if c.policies and c.count >= sections[0].count
        for policy in peers_of(c.runs)
    ]
    return min(found, key=lambda rival: float(rival.theirs.mean()), default=None)


def verdicts(headline: Sequence[Sequence[Compared]], settings: Sequence[Compared]) -> Iterator[Verdict]:
    """`headline`: per load of the main data set every section; the first has all references. Only what was measured is
    judged.
    """
    for sections in headline:
        if sections[0].policies:
            yield from _at_load(sections)
    yield from _at_all_loads(headline)
    yield from _worst(settings)


def further_verdicts(loads: Sequence[Sequence[Compared]]) -> Iterator[Verdict]:
    """On another data set: whether ours is behind the best peer, the lower end of the difference above zero."""
    for sections in loads:
        rivals = {metric: best for metric in METRICS if (best := rival(sections, metric)) is not None}
        behind = [metric for metric, best in rivals.items() if best.behind_by.low > 0]
        what = f"{100 * sections[0].section.load:.0f} % load: behind the best peer on no metric beyond the interval"
        if rivals:
            yield what, f"behind on {', '.join(behind)}" if behind else "on none", not behind


def _at_load(sections: Sequence[Compared]) -> Iterator[Verdict]:
    main, load = sections[0], f"{100 * sections[0].section.load:.0f} % load"
    least, within = WANTED.get(main.section.load, (None, None))
    if least is not None and within is not None:
        for reference in REFERENCES:
            value, _, high = closed = main.against(OURS, reference, "hot80")
            what = f"{load}: hot80 gap to `{reference}` closed by {least:.0f} % at least, interval up to {within:.0f} %"
            yield what, told(closed), value >= least and high >= within
        unserved = main.policies[OURS].gap_closed["unserved"]
        yield f"{load}: unserved gap closed by {UNSERVED:.0f} % at least", told(unserved), unserved[0] >= UNSERVED
    for metric in DECIDING:
        best = rival(sections, metric)
        if best is not None:
            result = duel(best.ours, best.theirs)
            drawn = f", {result.drawn} drawn," if result.drawn else ""
            measured = f"{result.won} of {len(best.ours)}{drawn} against `{best.policy}`"
            yield f"{load}: {_better(metric)}", measured, _mostly(result.won, result.lost)
    oracle, ours = (main.policies[name].mean("hot80") for name in (ORACLE, OURS))
    yield f"{load}: who is told true means is no worse than who learns", f"{oracle:.2f}, {ours:.2f}", oracle <= ours
    for gained in [c.policies[CONSTANT].gap_closed["hot80"] for c in sections if CONSTANT in c.policies]:
        yield f"{load}: a scorer without an opinion closes nothing", told(gained), not gained[0] > 0


def _at_all_loads(headline: Sequence[Sequence[Compared]]) -> Iterator[Verdict]:
    """Against each load's own best peer."""
    for metric in DECIDING:
        rivals = [best for sections in headline if (best := rival(sections, metric)) is not None]
        if len(rivals) == len(headline):
            results = [duel(best.ours, best.theirs) for best in rivals]
            won, lost, drawn = (sum(getattr(r, name) for r in results) for name in ("won", "lost", "drawn"))
            measured = f"{won} of {won + lost + drawn}" + (f", {drawn} drawn" if drawn else "")
            yield f"all loads: {_better(metric)}", measured, _mostly(won, lost)


def _mostly(won: int, lost: int) -> bool:
    """If nothing was decided nobody is better."""
    return 0 < won >= WON * (won + lost)


def _better(metric: str) -> str:
    return f"better than the best peer on {metric} in 9 of 10 runs that differ"


def _worst(settings: Sequence[Compared]) -> Iterator[Verdict]:
    closed = {
        c.section.setting: c.policies[OURS].gap_closed["hot80"]
        for c in settings
        if c.policies and c.section.setting in SENSITIVITY
    }
    if closed:
        worst = min(closed, key=lambda name: closed[name][0])
        what = f"worst of {len(closed)} of {len(SENSITIVITY)} settings: hot80 gap closed by {WORST:.0f} % at least"
        yield what, f"{told(closed[worst])} with `{worst}`", closed[worst][0] >= WORST


def told(interval: Interval) -> str:
    """A share and its interval, in percent."""
    value, low, high = interval
    if isnan(value):
        return "no gap"
    return f"{value:.0f}" if abs(high - low) < 1e-9 else f"{value:.0f} ({low:.0f}..{high:.0f})"
