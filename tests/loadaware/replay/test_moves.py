import numpy as np
import pytest

from loadaware.replay.moves import Move, Moves
from tests.loadaware.recorded_runs import GIBIBYTE, START, pod, reading

CAPACITY = np.array([[4.0, 16 * GIBIBYTE]] * 3)


def moved(**pods: tuple[str, str]) -> Moves:
    moves = Moves()
    for name, (home, where) in pods.items():
        moves.moved[name] = Move(pod(name, home), home, where, START)
    return moves


def test_a_reading_is_the_same_object_while_nothing_is_moved() -> None:
    told = reading(START, {"a": 3.0, "b": 1.0, "c": 1.0}, {"shop/x": 0.5})
    shifted = Moves().shift(told, CAPACITY)
    assert shifted.reading is told
    assert shifted.demand is told.nodes.usage


def test_usage_goes_with_the_pod_and_untouched_nodes_keep_every_bit() -> None:
    told = reading(START, {"a": 3.0, "b": 1.0, "c": 0.1 + 0.2}, {"shop/x": 0.5})
    shifted = moved(x=("a", "b")).shift(told, CAPACITY)
    assert shifted.reading.nodes.usage[:, 0].tolist() == [2.5, 1.5, 0.1 + 0.2]
    assert shifted.reading.nodes.usage[:, 1].tolist() == [0.0, 2 * GIBIBYTE, GIBIBYTE]


def test_what_is_measured_is_cut_at_capacity_and_what_is_wanted_is_not() -> None:
    told = reading(START, {"a": 3.0, "b": 3.5, "c": 0.0}, {"shop/x": 2.0})
    shifted = moved(x=("a", "b")).shift(told, CAPACITY)
    assert shifted.demand[:, 0].tolist() == [1.0, 5.5, 0.0]
    assert shifted.reading.nodes.usage[:, 0].tolist() == [1.0, 4.0, 0.0]


def test_usage_never_falls_below_zero() -> None:
    told = reading(START, {"a": 0.5, "b": 0.0, "c": 0.0}, {"shop/x": 0.6})
    assert moved(x=("a", "b")).shift(told, CAPACITY).demand[0, 0] == 0.0


def test_a_pod_that_is_not_measured_yet_moves_nothing() -> None:
    told = reading(START, {"a": 3.0, "b": 1.0, "c": 1.0}, {})
    assert moved(x=("a", "b")).shift(told, CAPACITY).demand[:, 0].tolist() == [3.0, 1.0, 1.0]


def test_without_pod_metrics_a_pod_moves_what_it_requests() -> None:
    told = reading(START, {"a": 3.0, "b": 1.0, "c": 1.0}, None)
    assert moved(x=("a", "b")).shift(told, CAPACITY).demand[:, 0].tolist() == [2.0, 2.0, 1.0]


def test_relief_is_cpu_taken_off_hot_nodes_less_cpu_put_on_hot_nodes() -> None:
    told = reading(START, {"a": 3.6, "b": 1.0, "c": 3.0}, {"shop/x": 0.5, "shop/y": 0.5})
    moves = moved(x=("a", "b"), y=("a", "c"))
    moves.credit(told, 3600.0, np.array([0.9, 0.25, 0.75]), np.array([0.65, 0.375, 0.875]))
    assert moves.moved["x"].relief == pytest.approx(0.5 * 3600.0)
    assert moves.moved["y"].relief == pytest.approx(0.0)
