"""Pictures of a search: SVG that needs nothing else, legible on light and dark pages.

history       the best so far, trial by trial
importance    a bar per parameter
front         two objectives against each other, with those that nothing beats
coordinates   a line per trial through its parameters, the best ones strong
before_after  each test pair as a line from before to after
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from loadaware.tuning.objective import front
from loadaware.tuning.search import BASE, Finished
from loadaware.tuning.verdict import Compared

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 48, 44
STRONG = 0.1
"""Share of the trials whose lines are strong."""

STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #3a4250; }
  .title { font-size: 15px; font-weight: 600; }
  .small { font-size: 11px; fill: #6b7482; }
  .grid { stroke: #8b949e; stroke-opacity: .28; }
  .dot { fill: #768390; fill-opacity: .55; }
  .bar, .best { fill: #2f81f7; } .base { fill: #e0653a; } .given-up { fill: none; stroke: #768390; stroke-opacity: .6; }
  .line { fill: none; stroke: #2f81f7; stroke-width: 2; }
  .faint { fill: none; stroke: #768390; stroke-opacity: .22; }
  .strong { fill: none; stroke: #2f81f7; stroke-opacity: .85; stroke-width: 1.6; }
  .better { stroke: #3fa45b; stroke-width: 1.6; } .worse { stroke: #e0653a; stroke-width: 1.6; }
  @media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .small { fill: #9aa4b0; } }
"""


def history(finished: Sequence[Finished], base: Finished, objective: str, place: int = 0) -> str:
    """Every trial's value, and the best up to it."""
    values = [(one.number, one.values[place], one.given_up) for one in finished]
    shown = [value for _, value, _ in values if math.isfinite(value)]
    y = _Axis(TOP, HEIGHT - BOTTOM, [*shown, base.values[place]], upwards=True)
    x = _Axis(LEFT, WIDTH - RIGHT, [0.0, float(max(len(values), 1))], upwards=False)
    parts = [*_vertical(y), _text(x.middle, HEIGHT - 8, "trial", "small", "middle")]
    best, points = base.values[place], [f"{x.at(0):.1f},{y.at(base.values[place]):.1f}"]
    for number, value, given_up in values:
        if not math.isfinite(value):
            continue
        parts.append(_dot(x.at(number + 1), y.at(value), "given-up" if given_up else "dot", 3))
        if not given_up:
            best = min(best, value)
        points.append(f"{x.at(number + 1):.1f},{y.at(best):.1f}")
    parts.append(f'<polyline class="line" points="{" ".join(points)}"/>')
    parts.append(_dot(x.at(0), y.at(base.values[place]), "base", 5))
    words = f"{objective}, %: blue the best so far, orange where it began, hollow what was given up"
    return _svg(f"The search: {objective}", [*parts, _text(LEFT, 40, words, "small")])


def importance(shares: Mapping[str, float]) -> str:
    """A bar per parameter."""
    row, margin = 26, 24 + 7.4 * max([4, *map(len, shares)])
    height = TOP + row * max(len(shares), 1) + 24
    room = WIDTH - margin - 70
    parts = []
    for number, (name, share) in enumerate(shares.items()):
        y = TOP + row * number
        parts.append(_text(margin - 10, y + 17, name, "name", "end"))
        parts.append(
            f'<rect class="bar" x="{margin:.1f}" y="{y + 4}" width="{max(room * share, 1):.1f}" height="16" rx="2"/>'
        )
        parts.append(_text(margin + room * share + 8, y + 17, f"{100 * share:.0f} %", "small"))
    if not shares:
        parts.append(_text(24, TOP + 18, "too few trials to tell", "small"))
    return _svg("What mattered: share of the variance of ranks explained", parts, height)


def pareto(finished: Sequence[Finished], base: Finished, objectives: Sequence[str], chosen: int) -> str:
    """The first two objectives against each other."""
    whole = [one for one in finished if not one.given_up and all(map(math.isfinite, one.values))]
    x = _Axis(LEFT, WIDTH - RIGHT, [*(one.values[0] for one in whole), base.values[0]], upwards=False)
    y = _Axis(TOP, HEIGHT - BOTTOM, [*(one.values[1] for one in whole), base.values[1]], upwards=True)
    best = sorted(front({one.number: one.values for one in [base, *whole]}))
    by_number = {one.number: one for one in [base, *whole]}
    edge = sorted((by_number[number].values for number in best), key=lambda values: values[0])
    points = " ".join(f"{x.at(v[0]):.1f},{y.at(v[1]):.1f}" for v in edge)
    parts = [*_vertical(y), *_horizontal(x), f'<polyline class="line" points="{points}"/>']
    for one in whole:
        style = "best" if one.number in best else "dot"
        parts.append(_dot(x.at(one.values[0]), y.at(one.values[1]), style, 6 if one.number == chosen else 3.5))
    parts.append(_dot(x.at(base.values[0]), y.at(base.values[1]), "base", 5))
    words = f"{objectives[0]} to the right, {objectives[1]} upwards, %; large: chosen; orange: where it began"
    return _svg("Pareto front", [*parts, _text(LEFT, 40, words, "small")])


def coordinates(finished: Sequence[Finished], names: Sequence[str], objective: str) -> str:
    """A line per trial through its parameters, which are in columns; a parameter that was not drawn is a gap."""
    names = [name for name in names if len({str(one.drawn.get(name)) for one in finished}) > 1]
    columns = [*names, objective]
    width = max(WIDTH, 60 + 96 * len(columns))
    height, foot = HEIGHT + 40, 96
    places = [50 + (width - 100) * n / max(len(columns) - 1, 1) for n in range(len(columns))]
    axes = [_column([one.drawn.get(name) for one in finished], height - foot) for name in names]
    axes.append(_column([one.values[0] for one in finished], height - foot))
    order = sorted(finished, key=lambda one: -one.values[0])
    strong = {one.number for one in order[-max(1, round(STRONG * len(order))) :]} if order else set()
    parts = []
    for one in order:
        path = _path([*(one.drawn.get(name) for name in names), one.values[0]], axes, places)
        parts.append(f'<path class="{"strong" if one.number in strong else "faint"}" d="{path}"/>')
    for place, name, axis in zip(places, columns, axes, strict=True):
        parts.append(f'<line class="grid" x1="{place:.1f}" y1="{TOP}" x2="{place:.1f}" y2="{height - foot}"/>')
        parts += [_text(place + 4, y, text, "small") for text, y in axis.ends]
        parts.append(
            f'<text class="small" transform="translate({place:.1f} {height - foot + 14}) rotate(24)">'
            f"{escape(name)}</text>"
        )
    return _svg("Parallel coordinates: strong, the best tenth", parts, height, width)


def before_after(compared: Sequence[Compared]) -> str:
    """A panel per figure: each pair a line, green if it fell."""
    panel, height = 150, HEIGHT
    width = max(WIDTH, 40 + panel * len(compared))
    parts = []
    for number, one in enumerate(compared):
        left = 56 + panel * number
        axis = _Axis(TOP + 16, height - BOTTOM, [0.0, *one.before.tolist(), *one.after.tolist()], upwards=True)
        parts.append(_text(left, TOP, one.figure, "title"))
        parts += [_text(left - 6, axis.at(tick) + 4, f"{tick:.4g}", "small", "end") for tick in axis.ticks]
        for was, now in zip(one.before.tolist(), one.after.tolist(), strict=True):
            style = "better" if now < was else "worse"
            ends = f'x1="{left}" y1="{axis.at(was):.1f}" x2="{left + 70}" y2="{axis.at(now):.1f}"'
            parts.append(f'<line class="{style}" stroke-opacity=".35" {ends}/>')
        before, after = float(one.before.mean()), float(one.after.mean())
        parts += [_dot(left, axis.at(before), "base", 5), _dot(left + 70, axis.at(after), "best", 5)]
        parts.append(_text(left, height - BOTTOM + 18, "before", "small", "middle"))
        parts.append(_text(left + 70, height - BOTTOM + 18, "after", "small", "middle"))
    return _svg("Before and after, on cases the search has not seen, %", parts, height, width)


class _Axis:
    """From values to pixels."""

    def __init__(self, begin: float, end: float, values: Sequence[float], *, upwards: bool) -> None:
        self._begin, self._end, self._upwards = begin, end, upwards
        low, high = min(values), max(values)
        room = (high - low) or max(abs(high), 1.0)
        step = 10.0 ** math.floor(math.log10(room / 4))
        step *= next(nice for nice in (1, 2, 5, 10, 20) if nice * step * 5 >= room)
        self._low = math.floor(low / step) * step
        self._high = max(math.ceil(high / step) * step, self._low + step)
        self.ticks = [self._low + n * step for n in range(round((self._high - self._low) / step) + 1)]

    def at(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return (
            self._end - share * (self._end - self._begin)
            if self._upwards
            else self._begin + share * (self._end - self._begin)
        )

    @property
    def middle(self) -> float:
        return (self._begin + self._end) / 2


class _column:  # noqa: N801 - made where others are functions
    """A vertical axis of parallel coordinates: numbers by their size, anything else by its name."""

    def __init__(self, values: Sequence[Any], bottom: float) -> None:
        told = [value for value in values if value is not None]
        self._bottom, self._height = bottom, bottom - TOP - 12
        self._numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in told)
        self._kinds = sorted({str(value) for value in told})
        numbers = [float(value) for value in told] if self._numbers else [0.0, len(self._kinds) - 1.0]
        self._low, self._high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

    def at(self, value: Any) -> float:
        number = float(value) if self._numbers else float(self._kinds.index(str(value)))
        return self._bottom - self._height * (number - self._low) / ((self._high - self._low) or 1.0)

    @property
    def ends(self) -> list[tuple[str, float]]:
        if self._numbers:
            return [(f"{number:.3g}", self.at(number) - 2) for number in (self._low, self._high)]
        return [(kind, self.at(kind) - 2) for kind in self._kinds]


def _path(values: Sequence[Any], axes: Sequence[_column], places: Sequence[float]) -> str:
    steps, lifted = [], True
    for value, axis, place in zip(values, axes, places, strict=True):
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            lifted = True
            continue
        steps.append(f"{'M' if lifted else 'L'}{place:.1f} {axis.at(value):.1f}")
        lifted = False
    return " ".join(steps)


def _vertical(y: _Axis) -> list[str]:
    lines = [
        f'<line class="grid" x1="{LEFT}" y1="{y.at(t):.1f}" x2="{WIDTH - RIGHT}" y2="{y.at(t):.1f}"/>' for t in y.ticks
    ]
    return [*lines, *(_text(LEFT - 8, y.at(tick) + 4, f"{tick:.4g}", "small", "end") for tick in y.ticks)]


def _horizontal(x: _Axis) -> list[str]:
    lines = [
        f'<line class="grid" x1="{x.at(t):.1f}" y1="{TOP}" x2="{x.at(t):.1f}" y2="{HEIGHT - BOTTOM}"/>' for t in x.ticks
    ]
    return [*lines, *(_text(x.at(tick), HEIGHT - BOTTOM + 16, f"{tick:.4g}", "small", "middle") for tick in x.ticks)]


def _dot(x: float, y: float, style: str, radius: float) -> str:
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _svg(title: str, parts: Sequence[str], height: float = HEIGHT, width: float = WIDTH) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", _text(16, 24, title, "title"), *parts, "</svg>\n"])


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


__all__ = ["BASE", "before_after", "coordinates", "history", "importance", "pareto"]
