from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.siblings import Siblings

STEPS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([1.0, -1.0]), st.floats(0.0, 4.0)), max_size=60)


def test_a_workload_without_pods_is_nowhere() -> None:
    nobody = Siblings.nobody(2)
    assert len(nobody) == 0
    assert nobody.spread(3).tolist() == [[0.0, 0.0]] * 3


def test_one_more_is_told_what_was_there_before() -> None:
    siblings = Siblings(np.array([4]), np.array([[1.0, 10.0, 2.0]]))
    assert siblings.count(4, np.array([0.5, 5.0, 1.0]), 1.0).tolist() == [1.0, 10.0]
    assert siblings.count(4, np.array([0.5, 5.0, 1.0]), -1.0).tolist() == [1.5, 15.0]
    assert (siblings.rows.tolist(), siblings.numbers.tolist()) == ([4], [2.0])


def test_several_rows_are_counted_at_once() -> None:
    siblings = Siblings(np.array([7]), np.array([[1.0, 2.0]]))
    before = siblings.count(np.array([2, 7]), np.array([0.5, 0.25]), 1.0)
    assert before.tolist() == [[0.0], [1.0]]
    assert siblings.spread(8)[:, 0].tolist() == [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.5]
    assert dict(zip(siblings.rows.tolist(), siblings.numbers.tolist(), strict=True)) == {7: 2.25, 2: 0.25}


@given(STEPS)
def test_it_is_the_same_as_a_plain_count(steps: list[tuple[int, float, float]]) -> None:
    deviations: dict[int, float] = defaultdict(float)
    numbers: dict[int, float] = defaultdict(float)
    siblings = Siblings.nobody(1)
    for row, sign, amount in steps:
        assert siblings.count(row, np.array([amount, 1.0]), sign)[0] == pytest.approx(deviations[row], abs=1e-9)
        deviations[row] += sign * amount
        numbers[row] += sign
    assert dict(zip(siblings.rows.tolist(), siblings.numbers.tolist(), strict=True)) == numbers
    assert siblings.spread(31)[:, 0].tolist() == pytest.approx([deviations[row] for row in range(31)])
