"""Blocks of time that are like their neighbours: intervals that do not find differences where there are none."""

import math

import numpy as np
import pytest

from collectors.reading import Floats
from loadaware.simulation.blocks import block_interval, likeness, width
from loadaware.simulation.statistics import mean_interval
from loadaware.tuning.verdict import Compared

SERIES = 200


def lasting(random: np.random.Generator, blocks: int, alike: float) -> Floats:
    """Noise around 0 with a spread of 1, of which a block passes a part on to the next."""
    each = np.empty(blocks)
    each[0] = random.normal()
    for block in range(1, blocks):
        each[block] = alike * each[block - 1] + math.sqrt(1.0 - alike**2) * random.normal()
    return each


@pytest.mark.parametrize(
    ("blocks", "alike", "at_most"),
    [(24, 0.0, 0.08), (24, 0.3, 0.1), (24, 0.6, 0.12), (48, 0.6, 0.1), (96, 0.8, 0.1), (24, 0.8, 0.2)],
)
def test_two_runs_of_the_same_configuration_rarely_differ_in_the_verdict(
    blocks: int, alike: float, at_most: float
) -> None:
    """95 % intervals err in 5 of 100 series; where blocks last and are few, somewhat more."""
    random = np.random.default_rng(17)
    found = 0
    for _ in range(SERIES):
        before, after = (20.0 + lasting(random, blocks, alike) for _ in range(2))
        found += Compared("hot80", before, after, in_time=True).verdict in {"better", "worse"}
    assert found <= at_most * SERIES


def test_taken_for_independent_four_in_ten_would() -> None:
    random = np.random.default_rng(17)
    intervals = [mean_interval(lasting(random, 24, 0.6)) for _ in range(SERIES)]
    assert sum(one.low > 0 or one.high < 0 for one in intervals) > 0.3 * SERIES


def test_a_clear_difference_is_still_found() -> None:
    random = np.random.default_rng(17)
    shifted = [block_interval(lasting(random, 24, 0.3) - 1.5) for _ in range(50)]
    assert sum(one.high < 0 for one in shifted) >= 48


def test_how_much_wider_is_what_the_formula_says() -> None:
    """r = (-1 + 1 - 1) / 4 is below 0, so 0; four blocks are four: 1 + 1.2 / 3."""
    assert likeness(np.array([1.0, -1.0, 1.0, -1.0])) == 0.0
    assert width(np.array([1.0, -1.0, 1.0, -1.0])) == pytest.approx(1.4)
    waves = np.repeat([1.0, -1.0], 6)
    """Eleven neighbours, ten of them alike: r = 9 / 12, plus (1 + 2.25) / 12, at most 0.9."""
    assert likeness(waves) == 0.9
    assert width(waves) == pytest.approx(math.sqrt(19.0) * 2.2)


def test_the_same_everywhere_is_no_reason_for_doubt_and_nothing_is_not_a_number() -> None:
    assert block_interval(np.full(9, 2.0)) == (2.0, 2.0, 2.0)
    assert all(math.isnan(value) for value in block_interval(np.empty(0)))


def test_one_block_tells_no_interval() -> None:
    value, low, high = block_interval(np.array([5.0]))
    assert value == 5.0
    assert np.isnan([low, high]).all()
