import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.simulation.crowding import Crowding
from loadaware.simulation.futures import Stretch
from loadaware.simulation.machines import Machines

STEPS = 12
CORES = np.array([8.0, 16.0, 4.0])
OVERHEAD = np.array([0.4, 0.2, 0.1])
MACHINES = Machines(
    names=("a", "b", "c"),
    cores=CORES,
    bytes=CORES * 2**32,
    zones=np.zeros(3, dtype=np.int64),
    overhead_cores=OVERHEAD,
    overhead_bytes=np.zeros(3),
)


@st.composite
def stretches(draw: st.DrawFn) -> Stretch:
    first = draw(st.integers(0, STEPS))
    usage = draw(st.lists(st.floats(0.0, 5.0, width=32), max_size=STEPS - first))
    return Stretch(first, np.array(usage, dtype=np.float32))


placed = st.lists(st.tuples(st.integers(0, 2), stretches()), max_size=6)


def full(pods: list[tuple[int, Stretch]]) -> Crowding:
    crowding = Crowding(MACHINES, STEPS)
    for node, stretch in pods:
        crowding.add(node, stretch)
    return crowding


def written_out(pods: list[tuple[int, Stretch]]) -> float:
    load = np.repeat(OVERHEAD[:, None], STEPS, axis=1)
    for node, stretch in pods:
        load[node, stretch.first : stretch.end] += stretch.usage
    return float((CORES[:, None] * (load / CORES[:, None]) ** 8).sum())


def close(value: float, total: float) -> object:
    return pytest.approx(value, rel=1e-4, abs=1e-5 * total)


def test_the_arithmetic_of_one_step() -> None:
    crowding = full([(2, Stretch(5, np.array([1.9], dtype=np.float32)))])
    idle = 12 * (8 * 0.05**8 + 16 * 0.0125**8 + 4 * 0.025**8)
    assert crowding.total() == pytest.approx(idle + 4 * 0.5**8, rel=1e-5)
    more = Stretch(5, np.array([1.6], dtype=np.float32))
    assert crowding.increase(more) == pytest.approx([8 * 0.25**8, 16 * 0.1125**8, 4 * (0.9**8 - 0.5**8)], rel=1e-3)


@given(pods=placed)
def test_the_cost_is_the_formula(pods: list[tuple[int, Stretch]]) -> None:
    assert full(pods).total() == pytest.approx(written_out(pods), rel=1e-5)


@given(pods=placed, more=stretches())
def test_an_increase_is_the_difference_that_adding_makes(pods: list[tuple[int, Stretch]], more: Stretch) -> None:
    before, increase = written_out(pods), full(pods).increase(more)
    for node in range(3):
        after = written_out([*pods, (node, more)])
        assert increase[node] == close(after - before, after)


@given(pods=placed, node=st.integers(0, 2), less=stretches())
def test_a_decrease_is_the_difference_that_removing_makes(
    pods: list[tuple[int, Stretch]], node: int, less: Stretch
) -> None:
    before = written_out([*pods, (node, less)])
    crowding = full([*pods, (node, less)])
    assert crowding.decrease(node, less) == close(before - written_out(pods), before)
    crowding.remove(node, less)
    assert crowding.total() == close(written_out(pods), before)


@given(pods=placed, node=st.integers(0, 2), less=stretches(), more=stretches())
def test_an_exchange_is_the_difference_of_both(
    pods: list[tuple[int, Stretch]], node: int, less: Stretch, more: Stretch
) -> None:
    before, after = written_out([*pods, (node, less)]), written_out([*pods, (node, more)])
    grown = full([*pods, (node, less)]).exchange(node, less, more)
    assert grown == close(after - before, max(before, after))


@given(pods=placed, more=stretches())
def test_asking_changes_nothing(pods: list[tuple[int, Stretch]], more: Stretch) -> None:
    crowding = full(pods)
    before, usage = crowding.total(), more.usage.tolist()
    first = crowding.increase(more).tolist()
    crowding.decrease(0, more)
    crowding.exchange(1, more, more)
    assert crowding.total() == before
    assert crowding.increase(more).tolist() == first
    assert more.usage.tolist() == usage
