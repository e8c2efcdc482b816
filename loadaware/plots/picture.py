"""A picture that a notebook shows by itself, and the axes that all pictures share."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

TEXT = "#7d8590"
"""Of middle lightness: legible on white and on nearly black."""
GRID = "#7d859040"
BLUE, ORANGE, GREEN, GREY = "#2f81f7", "#e0653a", "#3fa45b", "#8b949e"
CYCLE = (BLUE, ORANGE, GREEN, "#a371f7", "#d29922", "#1f9fb5", "#d4619e", GREY)
DOTS_PER_INCH = 110
SHARPNESS = 2
"""Pixels per point shown: for screens with twice as many of them."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure without a background."""

    figure: Any
    words: str
    """What is seen, for those who do not see it."""

    def png(self) -> bytes:
        """As a file's content."""
        made = BytesIO()
        self.figure.savefig(made, format="png", dpi=DOTS_PER_INCH * SHARPNESS, transparent=True, bbox_inches="tight")
        return made.getvalue()

    def save(self, file: str | Path) -> None:
        """By the ending of its name: .png, .svg, .pdf."""
        self.figure.savefig(file, dpi=DOTS_PER_INCH * SHARPNESS, transparent=True, bbox_inches="tight")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """What Jupyter shows."""
        png = self.png()
        width, height = (int.from_bytes(png[at : at + 4], "big") // SHARPNESS for at in (16, 20))
        size = {"width": width, "height": height, "alt": self.words}
        return {"image/png": png, "text/plain": self.words}, {"image/png": size}


def panels(rows: int = 1, columns: int = 1, *, width: float = 8.2, height: float = 3.2, **more: Any) -> tuple[Any, Any]:
    """A figure and its axes (an array of them if there are several)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, **more)
    for axis in figure.axes:
        quiet(axis)
    return figure, axes


def quiet(axis: Any) -> None:
    """Neutral text, faint lines, no frame."""
    axis.set_facecolor("none")
    axis.tick_params(colors=TEXT, labelsize=9, length=0)
    for side, spine in axis.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(GRID)
    axis.grid(visible=True, color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    for label in (axis.xaxis.label, axis.yaxis.label):
        label.set_color(TEXT)
        label.set_fontsize(9)


def titled(axis: Any, title: str) -> None:
    """A title to the left, as text."""
    axis.set_title(title, loc="left", fontsize=10.5, color=TEXT, fontweight="bold")


def legend(axis: Any, **more: Any) -> None:
    """Beside the axes unless told otherwise."""
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} | more
    axis.legend(frameon=False, labelcolor=TEXT, fontsize=9, **place)


def clock(axis: Any) -> None:
    """Short labels for an axis of times."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=12)
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axis.xaxis.get_offset_text().set_color(TEXT)


def scale(name: str = "load") -> Any:
    """Colours from nothing to hot: faint while it is calm, blue, orange at 80 %, red when full."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0.0, "#7d859018"), (0.5, "#2f81f7a0"), (0.75, "#2f81f7ff"), (0.8, "#e08a3aff"), (1.0, "#d1332eff")]
    return LinearSegmentedColormap.from_list(name, stops)
