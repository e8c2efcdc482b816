import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collectors.errors import QuantityError
from collectors.quantity import format_quantity, parse_quantity

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip

digits = st.text("0123456789", min_size=1, max_size=12)
numbers = st.one_of(
    digits,
    st.tuples(digits, digits).map(".".join),
    digits.map(lambda d: f"{d}."),
    digits.map(lambda d: f".{d}"),
)
signs = st.sampled_from(["", "+", "-"])


def exact(number: str) -> Fraction:
    return Fraction(f"0{number}" if number.startswith(".") else number.removesuffix("."))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250m", 0.25),
        ("156340345n", 0.156340345),
        ("1536Mi", 1610612736.0),
        ("12e6", 12e6),
        ("12E6", 12e6),
        ("1E", 1e18),
        ("1Ei", 2.0**60),
        ("1e-3", 0.001),
        ("1e+3", 1000.0),
        ("0.1", 0.1),
        ("1.5Gi", 1610612736.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+5", 5.0),
        ("-5m", -0.005),
        ("100", 100.0),
        ("0", 0.0),
        ("100k", 1e5),
        ("7u", 7e-6),
    ],
)
def test_a_quantity_means_this_number(text: str, value: float) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(sign=signs, number=numbers)
def test_every_number_with_every_suffix_is_read(suffix: str, sign: str, number: str) -> None:
    expected = exact(number) * SUFFIXES[suffix] * (-1 if sign == "-" else 1)
    assert parse_quantity(sign + number + suffix) == pytest.approx(float(expected), rel=1e-15, abs=0)


@given(sign=signs, number=numbers, letter=st.sampled_from("eE"), exponent_sign=signs, exponent=st.integers(0, 20))
def test_every_number_with_a_decimal_exponent_is_read(
    sign: str, number: str, letter: str, exponent_sign: str, exponent: int
) -> None:
    power = -exponent if exponent_sign == "-" else exponent
    expected = exact(number) * Fraction(10) ** power * (-1 if sign == "-" else 1)
    text = f"{sign}{number}{letter}{exponent_sign}{exponent}"
    assert parse_quantity(text) == pytest.approx(float(expected), rel=1e-15, abs=0)


@given(st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_passes_as_it_is(value: float) -> None:
    assert parse_quantity(value) == value


@given(st.integers(0, 10**12))
def test_whole_small_units_are_exact_to_the_last_bit(number: int) -> None:
    assert parse_quantity(f"{number}m") == number / 1000
    assert parse_quantity(f"{number}n") == number / 10**9
    assert parse_quantity(f"{number}Ki") == number * 1024


@given(st.integers(0, 10**9))
def test_the_same_amount_in_other_units_is_the_same_number(number: int) -> None:
    assert parse_quantity(f"{number}Mi") == parse_quantity(f"{number * 1024}Ki")
    assert parse_quantity(f"{number}") == parse_quantity(f"{number * 1000}m")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ".", "+", "-", "m", "Ki", "e3", "1 ", " 1", "1 Gi", "1\n", "1K", "1ki", "1g", "1mi", "1kib", "1KiB",
        "1i", "1nn", "1m5", "1Mi5", "1e", "1e+", "1e1.5", "1e3Ki", "1e3m", "1.2.3", "--1", "+-1", "1-", "1,5", "1_000",
        "0x10", "NaN", "nan", "inf", "Infinity", "50%", "٣", "1٣", "½", "\uff11", "four", "1\x00", "µ", "1µ",
    ],
)  # fmt: skip
def test_what_kubernetes_does_not_accept_is_refused(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert caught.value.text == text
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [True, False, None, [], {}, b"1", object()])
def test_what_is_neither_text_nor_number_is_refused(value: Any) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value)


@given(st.text("0123456789.+-_ eEnumkMGTPKi٣½%", max_size=8))
def test_any_text_is_either_a_finite_number_or_refused(text: str) -> None:
    try:
        value = parse_quantity(text)
    except QuantityError:
        return
    assert not math.isnan(value)
    assume("e" not in text.lower())
    assert math.isfinite(value)


# -- For people -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "resource", "text"),
    [
        (0.25, "cpu", "250m"),
        (4.0, "cpu", "4000m"),
        (0.0, "cpu", "0m"),
        (1610612736.0, "memory", "1.5Gi"),
        (2.0**20, "memory", "1Mi"),
        (2048.0, "memory", "2Ki"),
        (512.0, "memory", "512"),
        (-(2.0**30), "memory", "-1Gi"),
        (3.0, "nvidia.com/gpu", "3"),
    ],
)
def test_a_value_is_written_as_a_person_would(value: float, resource: str, text: str) -> None:
    assert format_quantity(value, resource) == text


@given(st.integers(0, 10**7))
def test_millicores_survive_writing_and_reading(millicores: int) -> None:
    assert parse_quantity(format_quantity(millicores / 1000, "cpu")) == millicores / 1000


@given(st.floats(0, 9000 * 2.0**30))
def test_memory_survives_writing_and_reading_to_four_digits(value: float) -> None:
    assert parse_quantity(format_quantity(value, "memory")) == pytest.approx(value, rel=1e-3, abs=1e-300)


@given(st.floats(-1e12, 1e12))
def test_other_resources_survive_writing_and_reading_to_six_digits(value: float) -> None:
    assert parse_quantity(format_quantity(value, "disk")) == pytest.approx(value, rel=1e-5, abs=1e-300)
