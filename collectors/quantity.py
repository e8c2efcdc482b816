"""Kubernetes quantities: "250m", "156340345n", "1536Mi", "12e6" -> float in base units (cores, bytes).

quantity = sign? digits ("." digits)? suffix?
suffix   = n | u | m | "" | k | M | G | T | P | E | Ki | Mi | Gi | Ti | Pi | Ei | (e|E) sign? digits
"""

import re

from collectors.errors import QuantityError

_SUFFIXES: dict[str, float] = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
# The small suffixes are divided by, not multiplied with: 250 / 1000 is 0.25 to the last bit, 250 * 1e-3 is not always.
_DIVISORS: dict[str, float] = {"n": 1e9, "u": 1e6, "m": 1e3}
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)\Z", re.ASCII)


def parse_quantity(value: str | int | float) -> float:
    """The number that a quantity means, in base units. Numbers pass as they are."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(text=repr(value))
    if not isinstance(value, str):
        return _number(value)
    match = _FORM.match(value)
    if match is None:
        raise QuantityError(text=value)
    number, exponent, suffix = match.groups()
    if exponent is not None:
        return float(number + exponent)
    if suffix in _DIVISORS:
        return float(number) / _DIVISORS[suffix]
    return float(number) * _SUFFIXES[suffix or ""]


def _number(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise QuantityError(text=f"a number of {value.bit_length() if isinstance(value, int) else 0} bits") from error


def format_quantity(value: float, resource: str) -> str:
    """A value as a person writes it: millicores for cpu, binary units for memory, plain otherwise."""
    if resource == "cpu":
        return f"{round(value * 1000)}m"
    if resource == "memory":
        for suffix in ("Pi", "Ti", "Gi", "Mi", "Ki"):
            if abs(value) >= _SUFFIXES[suffix]:
                return f"{value / _SUFFIXES[suffix]:.4g}{suffix}"
    return f"{value:g}"
