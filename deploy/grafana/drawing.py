"""A dashboard as one SVG: the same panels in the same places, drawn from the answers to their own queries.

It is no Grafana; it shows what one will see there. Answers are those of Prometheus' `query_range`, per panel and query.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from deploy.grafana.panels import Dashboard

COLUMN, ROW, GAP = 50, 26, 4
"""Pixels of a column and of a row of the grid, and between panels."""
COLORS = ("#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#d7b600", "#1f9e89", "#8c6d46")
MOST_SERIES = 8
MOST_BARS = 10
UNITS = {"s": "s", "reqps": "/s", "ops": "/s", "percentunit": "%"}
STYLE = "text{font:11px sans-serif;fill:#444} .t{font-weight:bold;fill:#222} .h{font-size:14px} .v{font-size:22px}"


@dataclass(frozen=True)
class Line:
    """One series: how it is named, and its values over time."""

    name: str
    times: Sequence[float]
    values: Sequence[float]

    @property
    def last(self) -> float:
        """The newest value that is a number."""
        return next((value for value in reversed(self.values) if math.isfinite(value)), math.nan)


class Box(NamedTuple):
    """Where a panel is drawn, and how its numbers are meant."""

    width: int
    height: int
    field: Mapping[str, Any]


def lines(query: Mapping[str, Any], result: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The series of an answer, named as the panel's legend says."""
    found = []
    for series in result:
        name = " ".join(series["metric"].values()) if query["format"] == "table" else query["legendFormat"]
        for label, value in series["metric"].items():
            name = name.replace("{{" + label + "}}", value)
        times, values = zip(*series["values"], strict=True)
        found.append(Line(name, [float(time) for time in times], [float(value) for value in values]))
    return found


def drawn(dashboard: Dashboard, answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The picture; `answers` has the result of each query by its expression."""
    panels = dashboard.json()["panels"]
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) * ROW
    body = "\n".join(part for panel in panels for part in _panel(panel, answers))
    box = f'viewBox="0 0 {24 * COLUMN} {height}" width="{24 * COLUMN}" height="{height}"'
    background = f'<rect width="{24 * COLUMN}" height="{height}" fill="#f4f5f5"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{STYLE}</style>{background}\n{body}\n</svg>\n'


def _panel(panel: Mapping[str, Any], answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    where = panel["gridPos"]
    x, y = where["x"] * COLUMN, where["y"] * ROW
    width, height = where["w"] * COLUMN - GAP, where["h"] * ROW - GAP
    yield f'<g transform="translate({x} {y})">'
    if panel["type"] == "row":
        yield _text(4, 18, panel["title"], "t h")
    else:
        yield f'<rect width="{width}" height="{height}" rx="3" fill="#fff" stroke="#ddd"/>'
        yield _text(8, 16, panel["title"], "t")
        found = [line for query in panel["targets"] for line in lines(query, answers.get(query["expr"], ()))]
        shown = [line for line in found if math.isfinite(line.last)]
        if shown:
            yield from DRAW[panel["type"]](shown, Box(width, height, panel["fieldConfig"]["defaults"]))
        else:
            yield _text(width / 2 - 25, height / 2, "no data")
    yield "</g>"


def _curves(shown: Sequence[Line], box: Box) -> Iterator[str]:
    values = [value for line in shown for value in line.values if math.isfinite(value)]
    low, high = min([*values, box.field.get("min", math.inf)]), max(values)
    high = high if high > low else low + 1.0
    left, top, right, bottom = 52, 26, box.width - 8, box.height - 34
    first, last = min(line.times[0] for line in shown), max(line.times[-1] for line in shown)
    yield f'<path d="M{left} {top}H{right}M{left} {bottom}H{right}" stroke="#e5e5e5"/>'
    yield _text(6, top + 4, _amount(high, box.field["unit"]))
    yield _text(6, bottom + 4, _amount(low, box.field["unit"]))
    for number, line in enumerate(shown[:MOST_SERIES]):
        points = [
            f"{left + (time - first) / max(last - first, 1.0) * (right - left):.0f},"
            f"{bottom - (value - low) / (high - low) * (bottom - top):.1f}"
            for time, value in zip(line.times, line.values, strict=True)
            if math.isfinite(value)
        ]
        yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLORS[number]}" stroke-width="1.3"/>'
    yield from _legend([line.name for line in shown], box.width, box.height)


def _legend(names: Sequence[str], width: int, height: int) -> Iterator[str]:
    x = 10.0
    for number, name in enumerate(names[:MOST_SERIES]):
        if x + 6.2 * len(name) > width - 30:
            yield _text(x, height - 9, "...")
            return
        yield f'<rect x="{x:.0f}" y="{height - 16}" width="8" height="8" fill="{COLORS[number]}"/>'
        yield _text(x + 12, height - 9, name)
        x += 26 + 6.2 * len(name)


def _number(shown: Sequence[Line], box: Box) -> Iterator[str]:
    words = {value: each["text"] for mapping in box.field["mappings"] for value, each in mapping["options"].items()}
    last = shown[0].last
    yield _text(12, box.height / 2 + 14, words.get(f"{last:g}", _amount(last, box.field["unit"])), "v")
    if len(shown[0].name) > 5:
        yield _text(12, box.height - 8, shown[0].name)


def _bars(shown: Sequence[Line], box: Box) -> Iterator[str]:
    highest = sorted(shown, key=lambda line: -line.last)[:MOST_BARS]
    step = (box.height - 30) / len(highest)
    most = max([box.field.get("max", 0.0), *(line.last for line in highest)])
    for number, line in enumerate(highest):
        y, length = 24 + number * step, line.last / most * (box.width - 160)
        yield _text(8, y + step / 2 + 4, line.name)
        yield f'<rect x="100" y="{y + 2:.0f}" width="{length:.0f}" height="{step - 4:.1f}" fill="{COLORS[0]}"/>'
        yield _text(106 + length, y + step / 2 + 4, _amount(line.last, box.field["unit"]))


def _cells(shown: Sequence[Line], box: Box) -> Iterator[str]:
    """Buckets are cumulative: a cell is the difference to the one below."""
    rows = sorted(shown, key=lambda line: float(line.name))
    times = sorted({time for line in rows for time in line.times})
    by_time = [dict(zip(line.times, line.values, strict=True)) for line in rows]
    counts = [[by.get(time, 0.0) for time in times] for by in by_time]
    inside = [
        [max(here - below, 0.0) for here, below in zip(row, counts[n - 1] if n else [0.0] * len(times), strict=True)]
        for n, row in enumerate(counts)
    ]
    most = max(max(row) for row in inside) or 1.0
    tall, wide = (box.height - 34) / len(rows), (box.width - 60) / len(times)
    for number, row in enumerate(inside):
        y = box.height - 8 - (number + 1) * tall
        yield _text(4, y + tall / 2 + 4, _amount(float(rows[number].name), box.field["unit"]))
        for column, count in enumerate(row):
            if count > 0.0:
                cell = f'x="{52 + column * wide:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
                yield f'<rect {cell} fill="{COLORS[0]}" fill-opacity="{0.1 + 0.9 * count / most:.2f}"/>'


def _rows(shown: Sequence[Line], box: Box) -> Iterator[str]:
    """A row for each name, its values beside it."""
    cells: dict[str, list[str]] = {}
    for line in shown:
        cells.setdefault(line.name, []).append(f"{line.last:.3g}")
    for number, (name, values) in enumerate(list(cells.items())[: (box.height - 30) // 16]):
        yield _text(10, 36 + 16 * number, name)
        for column, value in enumerate(values):
            yield _text(box.width * (0.5 + 0.2 * column), 36 + 16 * number, value)


DRAW = {"timeseries": _curves, "stat": _number, "bargauge": _bars, "heatmap": _cells, "table": _rows}


def _amount(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "more"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit == "s" and 0 < abs(value) < 1:
        return f"{1000 * value:.3g} ms" if abs(value) >= 0.001 else f"{1e6 * value:.3g} µs"
    return f"{value:.3g} {UNITS.get(unit, '')}".strip()


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{style}>{escape(text)}</text>'
