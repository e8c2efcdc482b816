from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.config import Config, ProfileSection
from loadaware.errors import ConfigError
from loadaware.profiles import make_profile
from loadaware.tuning.space import Range, Space, default_space, load_space, parameters, parse_space

NOTHING = "names nothing to search; give a range {from: 1, to: 3} or a choice {oneOf: [..]}"


class Dice:
    """Draws by a seed."""

    def __init__(self, seed: int, used: bool | None = None) -> None:
        self._random = np.random.default_rng(seed)
        self._used = used
        self.asked: list[str] = []

    def number(self, name: str, within: Range) -> float:
        self.asked.append(name)
        return float(self._random.uniform(within.least, within.most))

    def choice(self, name: str, values: Sequence[Any]) -> Any:
        self.asked.append(name)
        if self._used is not None and name.endswith(".used"):
            return self._used
        return values[int(self._random.integers(len(values)))]


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_space(text, "space.yaml")
    return str(caught.value)


@given(st.integers(0, 2**31))
def test_whatever_the_shipped_space_draws_is_a_profile_that_can_be_made(seed: int) -> None:
    drawn = default_space().draw(Dice(seed), Config().profiles[0])
    made = make_profile(drawn, "drawn", "profiles[0]")
    assert made.scorers
    assert 10 <= drawn.max_score <= 100
    assert all(0.1 <= scorer.weight <= 10 for scorer in drawn.scorers)


def test_the_first_scorer_is_taken_where_a_draw_leaves_all_of_them_out() -> None:
    drawn = default_space().draw(Dice(1, used=False), ProfileSection())
    assert [scorer.name for scorer in drawn.scorers] == ["EntropicRisk"]


def test_the_weight_of_a_scorer_alone_is_not_searched_because_it_means_nothing() -> None:
    dice = Dice(1, used=False)
    assert default_space().draw(dice, ProfileSection()).scorers[0].weight == 1.0
    assert "EntropicRisk.weight" not in dice.asked


def test_a_range_a_choice_and_a_fixed_value_may_stand_anywhere_in_the_args() -> None:
    space = parse_space("""
scorers:
- name: EntropicRisk
  weight: 2
  args: {k: {cpu: {from: 2, to: 3}, memory: {oneOf: [10, 20]}}, range: 0.5}
""")
    (scorer,) = space.draw(Dice(3), ProfileSection()).scorers
    assert 2 <= scorer.args["k"]["cpu"] <= 3
    assert scorer.args["k"]["memory"] in {10, 20}
    assert scorer.args["range"] == 0.5
    assert parameters(space) == ["EntropicRisk.k.cpu", "EntropicRisk.k.memory"]


def test_what_the_space_does_not_name_stays_as_the_profile_has_it() -> None:
    profile = Config().profiles[0]
    drawn = parse_space("maxScore: {from: 50, to: 60, whole: true}").draw(Dice(1), profile)
    assert drawn.scorers == profile.scorers
    assert 50 <= drawn.max_score <= 60


def test_drawn_numbers_are_short_and_stay_within_their_bounds() -> None:
    assert Range(least=0.0, most=10.0).rounded(7.31249) == 7.31
    assert Range(least=0.0, most=10.0 / 3.0).rounded(3.3333333) == 3.33
    assert Range(least=1.2345, most=9.0).rounded(1.2345) == 1.2345


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scorer: []", "space.yaml: scorer: there is no such setting; did you mean 'scorers'?"),
        ("scorers: [{name: EntropicRisk, wieght: 1}]", "space.yaml: scorers[0].wieght: there is no such setting; "
                                                       "did you mean 'weight'?"),
        ("scorers: [{name: EntropicRisk, weight: {from: 1, to: 2, lgo: true}}]",
         "space.yaml: scorers[0].weight.lgo: there is no such setting; did you mean 'log'?"),
        ("scorers: [{name: EntropicRisk, args: {rnage: {from: 1, to: 2}}}]",
         "space.yaml: scorers[0].args.rnage: there is no such setting; did you mean 'range'?"),
        ("scorers: [{name: EntropicRisks, weight: {from: 1, to: 2}}]",
         "space.yaml: scorers[0].name: there is no scorer called 'EntropicRisks'; did you mean 'EntropicRisk'?"),
        ("maxScore: {from: 10, to: 5}", "space.yaml: maxScore: from must be below to, not 10 and 5"),
        ("maxScore: {from: 0, to: 5}", "space.yaml: maxScore must be in 1..1000, not 0"),
        ("maxScore: {from: 0, to: 5, log: true}",
         "space.yaml: maxScore: from must be above zero where log is true, not 0"),
        ("combine: {oneOf: [Weighted, Worst]}", "space.yaml: combine: 'Worst' is not one of the choices; there are: "
                                                "Mean, Minimum, Weighted"),
        ("combine: {oneOf: []}", "space.yaml: combine: oneOf must name at least one value"),
        ("maxScore: {from: 1}", "space.yaml: maxScore: to is required and missing"),
        ("scorers: [{name: TargetLoadPacking, args: {targetUtilization: {from: 50, to: 120}}}]",
         "space.yaml: scorers[0].args.targetUtilization: Expected float < 100.0"),
        ("scorers: [{name: LowestUsage, weight: {from: 0, to: 5}}]",
         "space.yaml: scorers[0]: weight must be above zero, not 0"),
        ("scorers: [{name: LowestUsage, weight: {from: 1, to: 5}}, {name: LowestUsage}]",
         "space.yaml: scorers: LowestUsage stands twice"),
        ("maxScore: 20", f"space.yaml: {NOTHING}"),
        ("", f"space.yaml: {NOTHING}"),
        ("{", "space.yaml: is not YAML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_path_before_anything_runs(text: str, said: str) -> None:
    assert refused(text).startswith(said)


def test_a_space_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_space(tmp_path / "none.yaml")


def test_two_spaces_that_say_the_same_are_the_same_whatever_their_comments() -> None:
    first: Space = parse_space("maxScore: {from: 5, to: 50}  # wide")
    assert first == parse_space("maxScore: {to: 50, from: 5}")
