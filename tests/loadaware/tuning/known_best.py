"""A source whose best configuration is known by construction, and which judges in no time."""

import math
from dataclasses import dataclass

from loadaware.config import Config
from loadaware.tuning.search import profile_section
from loadaware.tuning.source import Judged
from loadaware.tuning.space import Space, parse_space

BEST_RATIO, BEST_K, BEST_SCORE = 3.0, 8.0, 40.0
BEST = 10.0
CASES = {"monday": 1.0, "tuesday": 1.3, "wednesday": 0.8, "thursday": 0.9}
TEST_CASES = {f"day {n}": 0.8 + 0.1 * n for n in range(6)}
SPACE = """
scorers:
- name: EntropicRisk
  weight: {from: 0.1, to: 10, log: true}
  args: {k: {cpu: {from: 1, to: 50, log: true}, memory: 20}}
- name: LowestUsage
  weight: 1
- name: TargetLoadPacking
  optional: true
  weight: 1
maxScore: {from: 10, to: 100, whole: true, log: true}
"""


def valley_space() -> Space:
    return parse_space(SPACE)


def valley(config: Config, profile: str) -> float:
    """hot80 = 10 * (1 + 0.3 ln(ratio / 3)^2 + 0.3 ln(k / 8)^2 + 0.3 ln(maxScore / 40)^2), a third more with packing."""
    section = profile_section(config, profile)
    scorers = {scorer.name: scorer for scorer in section.scorers}
    away = math.log(section.max_score / BEST_SCORE) ** 2
    if "EntropicRisk" in scorers:
        ours = scorers["EntropicRisk"]
        others = scorers["LowestUsage"].weight if "LowestUsage" in scorers else 1.0
        away += math.log(ours.weight / others / BEST_RATIO) ** 2
        away += math.log(ours.args.get("k", {"cpu": 10.0})["cpu"] / BEST_K) ** 2
    return BEST * (1.0 + 0.3 * away + 0.3 * ("TargetLoadPacking" in scorers))


@dataclass(frozen=True)
class Valley:
    """Every case is the valley at a height of its own; unserved has its bottom elsewhere."""

    judged: str = "valley"
    figures: tuple[str, ...] = ("hot80", "unserved", "std")
    title: str = "a valley"
    remarks: tuple[str, ...] = ("A valley is no cluster.",)
    upset: tuple[str, ...] = ()
    """Cases of the test in which the valley is a hill."""

    @property
    def identity(self) -> str:
        return self.judged

    @property
    def train(self) -> tuple[str, ...]:
        return tuple(CASES)

    @property
    def test(self) -> tuple[str, ...]:
        return tuple(TEST_CASES)

    def judge(self, config: Config, profile: str, case: str) -> Judged:
        height = (CASES | TEST_CASES)[case]
        hot80 = valley(config, profile)
        if case in self.upset:
            hot80 = 4.0 * BEST - hot80
        score = profile_section(config, profile).max_score
        figures = {"hot80": height * hot80, "unserved": abs(math.log(score / 15.0)), "std": None}
        return Judged(figures=figures, seconds=0.01)
