"""What the demo shows at one moment, as a frozen value: the views draw it and know nothing else."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from collectors.reading import Floats
from loadaware.demo.scheduler import Decision
from loadaware.demo.side import SideView


@dataclass(frozen=True)
class ExtenderView:
    """How the extender does, seen from the scheduler."""

    url: str
    """The page to open."""
    median_milliseconds: float
    failures: int
    last_failure: str


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment. `ours` is placed with the extender's help, `default` by kube-scheduler's own scores alone."""

    time: float
    speed: float
    nodes: tuple[str, ...]
    cores: Floats
    ours: SideView
    default: SideView
    placed: int
    decisions: tuple[Decision, ...]
    """Newest last."""
    extender: ExtenderView

    @property
    def clock(self) -> str:
        """The simulated time as people write it."""
        return datetime.fromtimestamp(self.time, UTC).strftime("%a %H:%M:%S")


FIGURES: tuple[tuple[str, str, str], ...] = (
    ("nodes above 80 % now", "hot_now", ""),
    ("node-time above 80 %", "hot80", "%"),
    ("node-time above 90 %", "hot90", "%"),
    ("CPU wanted, not served", "unserved", "%"),
    ("spread across nodes", "spread", "points"),
)
"""What the two are compared by: title, name, unit. All but the first since the comparison began; lower is better."""

_DECIMALS = {"hot_now": 0, "unserved": 2}


def value(view: SideView, name: str) -> float:
    """One figure; NaN before there is one."""
    return float(view.hot_now if name == "hot_now" else getattr(view.report, name))


def figure(view: SideView, name: str) -> str:
    """The same as text, a dash for NaN."""
    number = value(view, name)
    return "-" if math.isnan(number) else f"{number:.{_DECIMALS.get(name, 1)}f}"
