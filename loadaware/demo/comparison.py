"""Both clusters of the demo side by side, as plain values for the live page. What is not known is None."""

import math
from typing import Any

import numpy as np

from loadaware.demo.frame import FIGURES, Frame, value
from loadaware.demo.side import SideView


def comparison(frame: Frame) -> dict[str, Any]:
    """Utilization per node in each, and the figures by which they are compared; the lower, the better."""
    return {
        "speed": frame.speed,
        "minutes": round(frame.ours.report.seconds / 60.0, 1),
        "placed": frame.placed,
        "names": frame.nodes,
        "cores": frame.cores.tolist(),
        "ours": _utilization(frame.ours),
        "default": _utilization(frame.default),
        "figures": [
            {"title": title, "unit": unit, "ours": _told(frame.ours, name), "default": _told(frame.default, name)}
            for title, name, unit in FIGURES
        ],
    }


def _utilization(side: SideView) -> list[float | None]:
    """Of each node; None for one that is away."""
    return [round(each, 4) if math.isfinite(each) else None for each in np.asarray(side.utilization).tolist()]


def _told(side: SideView, name: str) -> float | None:
    number = value(side, name)
    return round(number, 3) if math.isfinite(number) else None
