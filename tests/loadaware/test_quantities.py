import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import QuantityError
from loadaware.quantities import Duration, Quantity, decode_hook, format_duration, parse_duration

DURATIONS = [
    ("0", 0.0),
    ("0s", 0.0),
    ("15s", 15.0),
    ("250ms", 0.25),
    ("1.5s", 1.5),
    ("1m30s", 90.0),
    ("2m30s", 150.0),
    ("1h", 3600.0),
    ("1h30m", 5400.0),
    ("1h0.5m", 3630.0),
    ("1d", 86400.0),
    ("1d2h3m4s5ms", 93784.005),
]


@pytest.mark.parametrize(("text", "seconds"), DURATIONS)
def test_durations_are_written_as_go_writes_them_and_days_too(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "15", "1", "-5s", "+5s", "15 s", "15S", "1w", "1.s", ".5s", "1e3s", "s15", "15s ", "15sec", "5mm"]
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration such as 15s, 2m30s or 1h, not"):
        parse_duration(text)


@pytest.mark.parametrize("value", [15, 1.5, True, None, ["15s"], math.nan])
def test_a_duration_is_a_text(value: Any) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.25, "250ms"),
        (1.0, "1s"),
        (1.5, "1.5s"),
        (59.0, "59s"),
        (60.0, "1m"),
        (90.0, "1m30s"),
        (3600.0, "1h"),
        (5400.0, "1h30m"),
        (86400.0, "1d"),
        (90061.5, "1d1h1m1.5s"),
    ],
)
def test_a_duration_is_shown_in_the_shortest_way(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, 40 * 86400 * 1000))
def test_what_is_shown_can_be_read_again(milliseconds: int) -> None:
    seconds = milliseconds / 1000.0
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=1e-3)


@pytest.mark.parametrize(("value", "amount"), [("500m", 0.5), ("2Gi", 2.0**31), (3, 3.0), (0.25, 0.25), ("1e3", 1e3)])
def test_quantities_are_written_as_kubernetes_writes_them(value: Any, amount: float) -> None:
    quantity = decode_hook(Quantity, value)
    assert isinstance(quantity, Quantity)
    assert quantity == amount


@pytest.mark.parametrize("value", ["", "half", "12Q", True, None, "1 Gi"])
def test_what_is_no_quantity_is_refused(value: Any) -> None:
    with pytest.raises(QuantityError):
        decode_hook(Quantity, value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_quantity_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="expected a finite quantity"):
        decode_hook(Quantity, value)


def test_durations_become_durations() -> None:
    duration = decode_hook(Duration, "1m")
    assert isinstance(duration, Duration)
    assert duration == 60.0


def test_other_types_are_not_ours_to_read() -> None:
    with pytest.raises(NotImplementedError):
        decode_hook(complex, "1")
