"""Numbers as people write them in YAML: quantities (500m, 2Gi), durations (15s, 1h30m), percentages (40%)."""

import math
import re
from typing import Any

from collectors.quantity import parse_quantity


class Quantity(float):
    """A Kubernetes quantity in base units; written "500m" or as a plain number."""


class Duration(float):
    """Seconds; written as Go does: "15s", "1m30s", "250ms", "2h"; days ("1d") too."""


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d))+\Z")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")


def parse_duration(text: Any) -> float:
    """Seconds. Raises ValueError for anything else than a duration such as 15s or 1h30m."""
    if text == "0":
        return 0.0
    if not isinstance(text, str) or not _DURATION.match(text):
        raise ValueError(f"expected a duration such as 15s, 2m30s or 1h, not {text!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """The shortest way to write it: 90 -> 1m30s, 0.25 -> 250ms."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms" if seconds else "0s"
    parts, rest = [], seconds
    for unit in ("d", "h", "m"):
        whole, rest = divmod(rest, _UNITS[unit])
        if whole:
            parts.append(f"{int(whole)}{unit}")
    if rest or not parts:
        parts.append(f"{rest:g}s")
    return "".join(parts)


def decode_hook(expected: type, value: Any) -> Any:
    """For msgspec: turn text into Quantity and Duration fields."""
    if expected is Quantity:
        quantity = Quantity(parse_quantity(value))
        if not math.isfinite(quantity):
            raise ValueError(f"expected a finite quantity, not {value!r}")
        return quantity
    if expected is Duration:
        return Duration(parse_duration(value))
    raise NotImplementedError(expected)
