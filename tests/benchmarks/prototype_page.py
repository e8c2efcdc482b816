"""docs/benchmarks/prototype.md: the figures of the prototype that EntropicRisk was found with, measured again.

The prototype had a simulator of its own, of which the setting and the outcomes are known, the code is not. Where the
setting leaves something open this simulator has its own answer, for reasons; `--setting prototype` takes the plainest
reading instead. If the policies that both have come out alike there, the two rulers are alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadaware.simulation import sensitivity
from loadaware.simulation.stage import Setup
from tests.benchmarks.pages import table
from tests.benchmarks.quality_plan import (
    HEADLINE_SET,
    KOORDINATOR,
    LOADS,
    ORACLE,
    OURS,
    REFERENCES,
    Outcomes,
    Section,
)
from tests.benchmarks.quality_report import Origin, compared, reference_table
from tests.benchmarks.quality_verdicts import Compared

SETTING = "prototype"
FIGURES = {
    "random": {0.35: 2.5, 0.5: 13.7, 0.65: 33.1},
    "default": {0.35: 0.43, 0.5: 5.7, 0.65: 23.0},
    "Trimaran/LoadVariationRiskBalancing": {0.35: 3.0, 0.5: 10.4, 0.65: 22.4},
    KOORDINATOR: {0.35: 0.13, 0.5: 2.9, 0.65: 17.3},
    "Trimaran/TargetLoadPacking": {0.35: 0.24, 0.5: 2.7, 0.65: 16.6},
    OURS: {0.35: 0.02, 0.5: 1.0, 0.65: 12.0},
    "clairvoyant": {0.35: 0.003, 0.5: 0.36, 0.65: 9.0},
}
"""The prototype's hot80 at three loads; the last is the better of its references."""
WORDS = """\
EntropicRisk was found with a prototype, on the same recorded days in a simulator of its own. Its setting leaves three
things open. The usual setting here answers them so that the cluster is closer to a real one; read in the plainest way,
as `loadaware simulate --setting prototype` does, they are:

- Bursts have 1 to 30 replicas, all sizes as likely. Usually small ones are more frequent here.
- The load is what the pods would use if nothing limited them. Usually it is what is really wanted: no pod wants more
  than 5 cores, and what nodes use by themselves is a part of it.
- There are no Jobs. Usually a quarter of the workloads are; kube-scheduler does not spread their pods.

[Decision 15](../decisions/0015-two-references-and-two-settings.md) has what each of them does by itself. They do not
explain everything: TargetLoadPacking and LoadVariationRiskBalancing do better here than there, and the default leaves
somewhat more at 35 and 50 % load; the same decision has what was found of that."""


@dataclass(frozen=True)
class Prototype:
    """The plan: the policies that the prototype told of, the oracle, and both references."""

    setup: Setup
    seeds: tuple[int, ...]

    def at_load(self, load: float) -> Section:
        """In the prototype's setting."""
        loaded = replace(self.setup, scenario=replace(self.setup.scenario, load=load))
        policies = (*(name for name in FIGURES if name not in REFERENCES), ORACLE, *REFERENCES)
        return Section(HEADLINE_SET, sensitivity.apply(loaded, [SETTING]), SETTING, policies)

    def stages(self, outcomes: Outcomes) -> Iterator[list[Section]]:
        """One load after the other; none needs another's outcomes."""
        del outcomes
        yield [self.at_load(load) for load in LOADS]


def report(plan: Prototype, outcomes: Outcomes, origin: Origin) -> str:
    """The page."""
    loads = [compared(plan.at_load(load), outcomes, plan.seeds) for load in sorted(LOADS)]
    return "\n\n".join(_parts(plan, [c for c in loads if c.policies], origin)) + "\n"


def _parts(plan: Prototype, loads: Sequence[Compared], origin: Origin) -> Iterator[str]:
    runs = ", ".join(f"{c.count} at {_percent(c)}" for c in loads) or "none"
    yield "# Beside the prototype"
    yield (
        f"Written by `{origin.command}` on {origin.date}, commit {origin.commit}, on {origin.machine}. {origin.usage} "
        f"Paired runs: {runs} load; {len(plan.seeds)} are wanted."
    )
    yield WORDS
    if not loads:
        yield "Nothing was run yet."
        return
    yield f"## The same policies\n\n{_same_policies(loads)}"
    yield f"## What is left\n\n{_what_is_left(loads)}"
    yield f"## Against either reference\n\n{_references(loads)}"


def _same_policies(loads: Sequence[Compared]) -> str:
    words = "Node-time above 80 % of capacity, in percent, means over the runs; in brackets the prototype's."
    rows = [
        [policy, *(f"{c.policies[policy].mean('hot80'):.2f} ({was[c.section.load]:g})" for c in loads)]
        for policy, was in FIGURES.items()
    ]
    beside = "The prototype's last line is the better of its two references."
    return f"{words} {beside}\n\n{table(['hot80', *map(_percent, loads)], rows)}"


def _what_is_left(loads: Sequence[Compared]) -> str:
    """A share of the default's hot time compares whether or not references are equally strong."""
    words = (
        "Of the time that nodes are above 80 % with the default scores, this is left, in percent; in brackets the "
        "prototype's. It does not depend on any reference."
    )
    rows = [[policy, *(_left(c, policy) for c in loads)] for policy in FIGURES if policy not in {"default", "random"}]
    return f"{words}\n\n{table(['left of the default', *map(_percent, loads)], rows)}"


def _left(c: Compared, policy: str) -> str:
    here = 100.0 * c.policies[policy].mean("hot80") / c.policies["default"].mean("hot80")
    there = 100.0 * FIGURES[policy][c.section.load] / FIGURES["default"][c.section.load]
    return f"{here:.0f} ({there:.0f})"


def _references(loads: Sequence[Compared]) -> str:
    words = (
        "Share of the gap between the default scores and a reference that is closed, with the 95 % interval over runs. "
        "Of the gap to the better of its own references the prototype's EntropicRisk closed 88 and 78 % of hot80 at 50 "
        "and 65 % load, 96 and 95 % of unserved, and its oracle, which had the same formula and true means and "
        "deviations, 91 and 82 % of hot80. How the prototype searched offline is not known. Here `offline` begins "
        "where `clairvoyant` ends, moves pods and lets them change places, and leaves far less than the prototype's "
        "better reference did. By the oracle's shares `clairvoyant` is the reference that compares. Where the oracle "
        "does not close so much of a gap, no learning will."
    )
    return f"{words}\n\n{reference_table(loads)}"


def _percent(c: Compared) -> str:
    return f"{100 * c.section.load:.0f} %"
