"""docs/benchmarks/quality.md, a page of each further data set, and the picture, from outcomes: first what it comes to,
then the tables.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadaware.simulation.picture import draw
from loadaware.simulation.sensitivity import CIRCUMSTANCES, ROBUSTNESS, SENSITIVITY
from loadaware.simulation.statistics import duel, signed_rank
from loadaware.simulation.summary import PolicySummary, best_reference, summarize
from tests.benchmarks.pages import table
from tests.benchmarks.quality_plan import (
    LOADS,
    METRICS,
    MIDDLE,
    ORACLE,
    OURS,
    REFERENCES,
    Outcomes,
    Quality,
    Section,
    best_peer,
)
from tests.benchmarks.quality_verdicts import Compared, Rival, Verdict, further_verdicts, rival, told, verdicts

FIGURES = ("hot80", "hot90", "unserved", "std", "p99", "pending", "together", "memory90")
MAIN = ""
"""How the title of a load's main table begins."""
Loads = Mapping[float, Mapping[str, Compared]]
"""All tables of a data set, by load and the beginning of their titles; the main one is the first."""
LEGEND = """\
All figures are percent, means over the runs; lower is better. **hot80, hot90**: node-time above 80 and 90 % of
capacity. **unserved**: CPU wanted and not had. **std**: spread of utilization across nodes, averaged over time.
**p99**: utilization that is exceeded 1 % of the time. **pending**: pods that never got a node. **together**: pairs of
replicas that share a node. **memory90**: node-time above 90 % of memory. hot80 alone can be bought by saturating a few
nodes: look at unserved and p99 beside it.

**Gap closed** = (default - policy) / (default - best reference), of the means: 0 is kube-scheduler's default, 100 is
the better of two references that know the future (`clairvoyant`: of the pods that run and of the one to be placed;
`offline`: of all pods, with a search). In brackets the 95 % bootstrap interval over runs.

`X*3+default` is scorer X beside the default scores, counting like a plugin of weight 3; `X` is the scorer alone.
`Trimaran/...`, `Koordinator/...` and `Crane/...` are the peers' plugins as they are shipped: their own whole numbers,
windows and rules for pods in flight, and every binding known at once, as inside kube-scheduler. The same formulas as
scorers of ours (TargetLoadPacking, EstimatedLoad for Koordinator's) have our booking and our rule for pods in flight,
which makes them better than they are at home; they have tables of their own. `oracle` has EntropicRisk's formula and is
told every pod's true mean, deviation and skew; `constant` has no opinion. Both are there to check the ruler: nothing
learned should beat the one, and the other should gain nothing."""


@dataclass(frozen=True)
class Origin:
    """Where the figures come from."""

    command: str
    commit: str
    date: str
    machine: str
    usage: str


def report(quality: Quality, outcomes: Outcomes, origin: Origin) -> str:
    """The page of the headline data set."""
    return "\n\n".join(_parts(quality, outcomes, origin)) + "\n"


def further_report(quality: Quality, outcomes: Outcomes, origin: Origin, dataset: str) -> str:
    """The page of another data set: the same comparison without circumstances."""
    return "\n\n".join(_further_parts(quality, outcomes, origin, dataset)) + "\n"


def page_name(quality: Quality, dataset: str) -> str:
    """Of a data set's page, without the ending."""
    return "quality-generated" if not dataset else "quality" if dataset == quality.headline else f"quality-{dataset}"


def _parts(quality: Quality, outcomes: Outcomes, origin: Origin) -> Iterator[str]:
    loads = _loads(quality, outcomes, quality.headline)
    others = [compared(section, outcomes, quality.seeds) for section in quality.circumstances(outcomes)]
    yield "# Placement quality"
    yield _origin_in_words(quality, outcomes, origin, quality.headline)
    yield _headline(list(loads[MIDDLE].values()), others)
    yield _verdicts(verdicts(_sections(loads), others))
    for dataset in quality.further:
        yield f"Another data set has [a page of its own]({page_name(quality, dataset)}.md): {_named(dataset)}."
    yield f"## How to read it\n\n{LEGEND}"
    yield from _tables(quality, quality.headline, loads)
    yield _references([sections[MAIN] for sections in loads.values()])
    yield _settings("Other circumstances", [c for c in others if c.section.setting in SENSITIVITY])
    yield _settings("Things that go wrong", [c for c in others if c.section.setting in {*ROBUSTNESS, "stale"}])
    yield _missing(quality, loads, others)


def _further_parts(quality: Quality, outcomes: Outcomes, origin: Origin, dataset: str) -> Iterator[str]:
    loads = _loads(quality, outcomes, dataset)
    yield f"# Placement quality: {_named(dataset)}"
    yield _origin_in_words(quality, outcomes, origin, dataset)
    yield _verdicts(further_verdicts(_sections(loads)))
    headline = page_name(quality, quality.headline)
    yield f"What the words mean, and the other comparisons: [placement quality]({headline}.md#how-to-read-it)."
    yield from _tables(quality, dataset, loads)
    yield _missing(quality, loads)


def _loads(quality: Quality, outcomes: Outcomes, dataset: str) -> Loads:
    return {
        load: {MAIN: at_load(quality, outcomes, dataset, load), **_further(quality, outcomes, dataset, load)}
        for load in sorted(LOADS)
    }


def _sections(loads: Loads) -> list[list[Compared]]:
    return [list(sections.values()) for sections in loads.values()]


def _tables(quality: Quality, dataset: str, loads: Loads) -> Iterator[str]:
    for title in loads[MIDDLE]:
        for load, sections in loads.items():
            name = f"{_named(dataset)}: {title}load {100 * load:.0f} %"
            yield _table_section(sections[title], name, quality)
    yield _peers(dataset, _sections(loads))


def picture(quality: Quality, outcomes: Outcomes) -> str:
    """The contenders and finalists at the middle load as SVG; empty if none of their runs is complete. Who only checks
    the ruler is left out: beside chance everybody looks the same.
    """
    middle = at_load(quality, outcomes, quality.headline, MIDDLE)
    if not middle.policies:
        return ""
    nodes, runs = quality.setup.scenario.machines.nodes, f"{middle.count} runs of {_hours_judged(quality):g} h"
    finalists = compared(quality.finalists(quality.headline, MIDDLE, outcomes), outcomes, quality.seeds)
    shown = {name: policy for name, policy in middle.policies.items() if name != "random"}
    if finalists.count == middle.count:
        shown |= finalists.policies
    return draw(shown, f"{_named(quality.headline)}: load {100 * MIDDLE:.0f} %, {nodes} nodes, {runs}")


def compared(section: Section, outcomes: Outcomes, seeds: Sequence[int]) -> Compared:
    """A section's complete runs."""
    runs = section.complete(outcomes, seeds)
    return Compared(section, runs, summarize(runs) if all(runs.values()) else {})


def at_load(quality: Quality, outcomes: Outcomes, dataset: str, load: float) -> Compared:
    """The contenders at a load."""
    return compared(quality.at_load(dataset, load), outcomes, quality.seeds)


def _further(quality: Quality, outcomes: Outcomes, dataset: str, load: float) -> dict[str, Compared]:
    """What else was compared at a load, by the beginning of its title."""
    sections = {
        "the other plugins at ": quality.others(dataset, load),
        "other weights at ": quality.weights(dataset, load),
    }
    if dataset == quality.headline:
        sections["their formulas in our pipeline at "] = quality.adopted(dataset, load)
    finalists = quality.finalists(dataset, load, outcomes)
    sections["who was ahead among these, as often as the contenders, at "] = finalists
    return {title: compared(section, outcomes, quality.seeds) for title, section in sections.items()}


def _verdicts(judged: Iterator[Verdict]) -> str:
    rows = [[what, found, "yes" if holds else "**no**"] for what, found, holds in judged]
    words = (
        "A run is drawn if both figures are the same, which they are where nobody leaves any CPU unserved; drawn runs "
        "are counted and decide nothing."
    )
    return f"{table(['must hold', 'measured', 'holds'], rows)}\n\n{words}" if rows else "Nothing can be judged yet."


def _origin_in_words(quality: Quality, outcomes: Outcomes, origin: Origin, dataset: str) -> str:
    return (
        f"Written by `{origin.command}` on {origin.date}, commit {origin.commit}, on {origin.machine}. {origin.usage} "
        f"{_circumstances_in_words(quality, dataset)}{_seconds_in_words(outcomes, dataset)}"
    )


def _circumstances_in_words(quality: Quality, dataset: str) -> str:
    nodes, warm_up = quality.setup.scenario.machines.nodes, quality.setup.engine.warm_up_seconds / 3600.0
    runs = _wanted(quality.at_load(dataset, MIDDLE), quality)
    return (
        f"{runs} paired runs a load, {nodes} nodes, {_hours_judged(quality):g} h judged after "
        f"{warm_up:g} h of warm-up. Those far behind, other weights and other circumstances have fewer; every table "
        "says how many."
    )


def _hours_judged(quality: Quality) -> float:
    return (quality.setup.scenario.duration_seconds - quality.setup.engine.warm_up_seconds) / 3600.0


def _seconds_in_words(outcomes: Outcomes, dataset: str) -> str:
    seconds = [outcome.seconds for trial, outcome in outcomes.items() if trial.dataset == dataset]
    if not seconds:
        return ""
    middle, slow = np.quantile(seconds, 0.5), np.quantile(seconds, 0.9)
    took = f"A run took {middle:.0f} s by the clock, one of ten more than {slow:.0f} s ({len(seconds):,} runs)"
    return f" {took}; 10 s are aimed at."


def _headline(sections: Sequence[Compared], others: Sequence[Compared]) -> str:
    middle, best = sections[0], rival(sections, "hot80")
    if not middle.policies or best is None:
        return "**No comparison is complete yet.**"
    ours = middle.policies[OURS]
    reference = best_reference({name: p.each for name, p in middle.policies.items()}, "hot80") or "default"
    won = duel(best.ours, best.theirs)
    hot = {name: f"{middle.policies[name].mean('hot80'):.2f} %" for name in (OURS, "default", reference)}
    text = (
        f"**At {100 * MIDDLE:.0f} % load, EntropicRisk beside the default scores leaves {hot[OURS]} of node-time "
        f"above 80 % of capacity; kube-scheduler's default alone leaves {hot['default']}, the best peer "
        f"(`{best.policy}`) {best.theirs.mean():.2f} %, and the best reference, which knows the future, "
        f"{hot[reference]}.** Gap closed, in percent: "
        f"hot80 {told(ours.gap_closed['hot80'])}, CPU wanted and not had {told(ours.gap_closed['unserved'])}. It is "
        f"better than the best peer in {won.won} of {middle.count} paired runs."
    )
    gaps = {
        c.section.setting: c.policies[OURS].gap_closed["hot80"].value
        for c in others
        if c.policies and c.section.setting in SENSITIVITY
    }
    gaps = {name: value for name, value in gaps.items() if not math.isnan(value)}
    if gaps:
        worst = min(gaps, key=lambda name: gaps[name])
        text += (
            f" In the worst of {len(gaps)} other circumstances (`{worst}`: {CIRCUMSTANCES[worst].meaning}) it closes "
            f"{gaps[worst]:.0f} % of the hot80 gap; on average over them {np.mean(list(gaps.values())):.0f} %."
        )
    return text


def _table_section(compared: Compared, name: str, quality: Quality) -> str:
    title, wanted = f"## {name}", _wanted(compared.section, quality)
    if not compared.policies:
        return f"{title}\n\nNot run yet."
    if set(compared.policies) == {"default", OURS, *REFERENCES}:
        return f"{title}\n\nNobody: the best peer is a contender."
    done = compared.count
    note = (
        f"{done} paired run{'s' if done > 1 else ''}." if done == wanted else f"Only {done} of {wanted} runs are done."
    )
    order = sorted(compared.policies, key=lambda name: [compared.policies[name].mean(f) for f in ("hot80", "std")])
    rows = [_policy_row(name, compared.policies[name]) for name in order]
    headings = ["policy", *FIGURES, "gap closed: hot80", "unserved"]
    return f"{title}\n\n{note}\n\n{table(headings, rows)}"


def _policy_row(name: str, policy: PolicySummary) -> list[str]:
    shown = f"**{name}**" if name == OURS else name
    gaps = [told(policy.gap_closed[metric]) for metric in ("hot80", "unserved")]
    return [shown, *(f"{policy.mean(figure):.{_digits(figure)}f}" for figure in FIGURES), *gaps]


def _peers(dataset: str, loads: Sequence[Sequence[Compared]]) -> str:
    rows = [
        [f"{100 * sections[0].section.load:.0f} %", metric, *_duel_cells(metric, best)]
        for sections in loads
        for metric in METRICS
        if (best := rival(sections, metric)) is not None
    ]
    title = f"## {_named(dataset)}: {OURS} against the best peer"
    words = (
        "The best peer is chosen for each metric, among the configurations of others' scorers that have every run of a "
        "load: the one with the lowest mean. Whoever was ahead of the contenders in fewer runs was given all of them. "
        "Runs are paired: the difference has its 95 % bootstrap interval (below 0: ours is better), p is of the "
        "two-sided Wilcoxon signed-rank test."
    )
    headings = ["load", "metric", "best peer", "its mean", "ours", "difference", "won", "drawn", "lost", "p"]
    return f"{title}\n\n{words}\n\n{table(headings, rows) if rows else 'Not run yet.'}"


def _references(loads: Sequence[Compared]) -> str:
    """How far the gap is closed against either reference, by ours and by the same formula with the truth."""
    words = (
        "What share of the gap is closed depends on what is taken for perfect. `clairvoyant` decides pod by pod, as a "
        "scheduler must; `offline` moves all pods of the day until nothing more is gained, which no scheduler can. The "
        "oracle's share is the most that better learning could reach with this formula: where it does not close so "
        "much, no learning will. The prototype that the formula was found with had weaker references: "
        "[beside it](prototype.md)."
    )
    return f"## Against either reference\n\n{words}\n\n{reference_table(loads)}"


def reference_table(loads: Sequence[Compared]) -> str:
    """The shares, as far as they were measured."""
    headings = [
        "load",
        "metric",
        *(f"{who} against {reference}" for who in ("ours", "oracle") for reference in REFERENCES),
    ]
    rows = [
        [
            f"{100 * c.section.load:.0f} %",
            metric,
            *(told(c.against(policy, reference, metric)) for policy in (OURS, ORACLE) for reference in REFERENCES),
        ]
        for c in loads
        if c.policies and ORACLE in c.policies
        for metric in ("hot80", "unserved")
    ]
    return table(headings, rows) if rows else "Not run yet."


def _duel_cells(metric: str, best: Rival) -> list[str]:
    result, test = duel(best.ours, best.theirs), signed_rank(best.ours - best.theirs)
    digits = _digits(metric)
    means = [f"{best.theirs.mean():.{digits}f}", f"{best.ours.mean():.{digits}f}"]
    value, low, high = (f"{end:.{digits}f}" for end in best.behind_by)
    counts = [str(count) for count in (result.won, result.drawn, result.lost)]
    return [best.policy, *means, f"{value} ({low}..{high})", *counts, f"{test.p_value:.2g}"]


def _settings(title: str, sections: Sequence[Compared]) -> str:
    done = [c for c in sections if c.policies]
    words = (
        f"At {100 * MIDDLE:.0f} % load. The peer is the best contender of the usual circumstances at this load; the "
        "reference is the one that leaves the least hot80 here. Usually a burst is cut to 5 % of the cluster's cores, "
        "which 100 nodes hardly ever need; with `20-nodes` it is not."
    )
    headings = ["setting", "what is different", "runs", "default", "peer", "ours", "memory90: default, ours",
                "reference", "gap closed: hot80", "to `clairvoyant`", "of the peer", "unserved"]  # fmt: skip
    rows = [_setting_row(c) for c in done]
    return f"## {title}\n\n{words} The first figures are hot80.\n\n{table(headings, rows) if rows else 'Not run yet.'}"


def _setting_row(c: Compared) -> list[str]:
    reference = best_reference({name: p.each for name, p in c.policies.items()}, "hot80") or "default"
    peer = best_peer(c.runs, "hot80")
    ours = c.policies[OURS]
    return [
        c.section.setting,
        CIRCUMSTANCES[c.section.setting].meaning,
        str(c.count),
        f"{c.policies['default'].mean('hot80'):.2f}",
        "-" if peer is None else f"{c.policies[peer].mean('hot80'):.2f}",
        f"{ours.mean('hot80'):.2f}",
        f"{c.policies['default'].mean('memory90'):.1f}, {ours.mean('memory90'):.1f}",
        f"{c.policies[reference].mean('hot80'):.2f} ({reference})",
        told(ours.gap_closed["hot80"]),
        told(c.against(OURS, "clairvoyant", "hot80")),
        "-" if peer is None else told(c.policies[peer].gap_closed["hot80"]),
        told(ours.gap_closed["unserved"]),
    ]


def _missing(quality: Quality, loads: Loads, others: Sequence[Compared] = ()) -> str:
    """What is planned and not there."""
    planned = [(title, c) for sections in loads.values() for title, c in sections.items()]
    planned += [(f"{c.section.setting} at ", c) for c in others]
    lines = [
        f"- {_named(c.section.dataset)}, {title}load {100 * c.section.load:.0f} %: {c.count} of {wanted} runs"
        for title, c in planned
        if c.count < (wanted := _wanted(c.section, quality))
    ]
    return "## Not measured yet\n\n" + ("\n".join(lines) if lines else "Nothing: every run of the plan is in.")


def _wanted(section: Section, quality: Quality) -> int:
    return min(section.most_runs, len(quality.seeds))


def _named(dataset: str) -> str:
    return {"planetlab": "PlanetLab", "bitbrains": "Bitbrains", "": "Generated usage"}.get(dataset, dataset)


def _digits(figure: str) -> int:
    return {"unserved": 3, "hot80": 2, "hot90": 2, "pending": 2}.get(figure, 1)
