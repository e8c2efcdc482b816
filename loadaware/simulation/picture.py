"""A comparison as a picture: one SVG file that needs nothing else, legible on light and dark pages.

Two panels, hot80 and unserved; a row per policy, the best on top. Every run is a faint dot, the mean a strong one, its
95 % interval a bar. Both panels begin at 0: lengths can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.policy_names import DEFAULT, REFERENCES
from loadaware.simulation.summary import PolicySummary

PANELS = (("hot80", "node-time above 80 % of capacity"), ("unserved", "CPU wanted and not had"))
ROW, PANEL, GAP, TOP, FOOT, NUMBER = 30, 250, 34, 74, 46, 46
LETTER = 7.4
"""Width of a letter of a policy's name, at most."""

STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #3a4250; }
  .title { font-size: 15px; font-weight: 600; }
  .panel { font-weight: 600; }
  .small { font-size: 11px; fill: #6b7482; }
  .number { font-size: 12px; font-variant-numeric: tabular-nums; }
  .grid { stroke: #8b949e; stroke-opacity: .28; }
  .ours { fill: #2f81f7; stroke: #2f81f7; } .ours-text { fill: #1f6feb; font-weight: 600; }
  .peer { fill: #768390; stroke: #768390; }
  .default { fill: #e0653a; stroke: #e0653a; }
  .reference { fill: #3fa45b; stroke: #3fa45b; }
  .run { fill-opacity: .35; stroke: none; }
  .interval { stroke-width: 5; stroke-linecap: round; stroke-opacity: .45; }
  @media (prefers-color-scheme: dark) {
    text { fill: #d0d7de; } .small { fill: #9aa4b0; } .ours-text { fill: #6cb0ff; }
  }
"""


@dataclass(frozen=True)
class Scale:
    """From a figure to a place in a panel: 0 at its left edge, the last tick at its right."""

    left: float
    step: float
    ticks: int

    def x(self, value: float) -> float:
        """In pixels."""
        return self.left + PANEL * value / (self.step * self.ticks)


def draw(policies: Mapping[str, PolicySummary], title: str, each: str = "single runs") -> str:
    """The picture. At least one policy. `each` is what a faint dot stands for."""
    names = sorted(policies, key=lambda name: policies[name].mean(PANELS[0][0]))
    margin = 24 + LETTER * max(map(len, names))
    width = margin + len(PANELS) * (PANEL + NUMBER) + (len(PANELS) - 1) * GAP + 16
    height = TOP + ROW * len(names) + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" aria-label="{escape(title, quote=True)}">',
        f"<style>{STYLE}</style>",
        _text(16, 26, title, "title"),
        *(_name(name, margin, row) for row, name in enumerate(names)),
    ]
    for number, (figure, meaning) in enumerate(PANELS):
        left = margin + number * (PANEL + NUMBER + GAP)
        parts += _panel([policies[name] for name in names], names, figure, meaning, left)
    words = f"faint dots: {each}; strong dot: their mean, with its 95 % interval; lower is better"
    return "\n".join([*parts, _text(16, height - 10, words, "small"), "</svg>\n"])


def _panel(rows: Sequence[PolicySummary], names: Sequence[str], figure: str, meaning: str, left: float) -> list[str]:
    scale = _scale(left, np.concatenate([row.each[figure] for row in rows]))
    bottom = TOP + ROW * len(rows)
    parts = [_text(left, TOP - 22, figure, "panel"), _text(left + 9 * len(figure), TOP - 22, f"{meaning}, %", "small")]
    for tick in range(scale.ticks + 1):
        x = scale.x(tick * scale.step)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 10}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 15, f"{tick * scale.step:.6g}", "small", "middle"))
    for row, (name, summary) in enumerate(zip(names, rows, strict=True)):
        parts += _row(summary, figure, _kind(name), scale, TOP + ROW * (row + 0.5))
    return parts


def _row(summary: PolicySummary, figure: str, kind: str, scale: Scale, y: float) -> list[str]:
    mean, low, high = summary.interval(figure)
    dots = [f'<circle class="{kind} run" cx="{scale.x(v):.1f}" cy="{y}" r="3"/>' for v in summary.each[figure].tolist()]
    return [
        *dots,
        f'<line class="{kind} interval" x1="{scale.x(low):.1f}" y1="{y}" x2="{scale.x(high):.1f}" y2="{y}"/>',
        f'<circle class="{kind}" cx="{scale.x(mean):.1f}" cy="{y}" r="5"/>',
        _text(scale.left + PANEL + 12, y + 4, _number(mean), "number"),
    ]


def _name(name: str, margin: float, row: int) -> str:
    style = "ours-text" if _kind(name) == "ours" else "name"
    return _text(margin - 12, TOP + ROW * (row + 0.5) + 4, name, style, "end")


def _number(value: float) -> str:
    """Three digits that say something, but none beyond the third decimal."""
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _kind(name: str) -> str:
    """Which colour a policy has."""
    if name in {DEFAULT, *REFERENCES}:
        return "default" if name == DEFAULT else "reference"
    return "ours" if name.startswith("EntropicRisk") else "peer"


def _scale(left: float, values: Floats) -> Scale:
    """At most six steps of 1, 2 or 5 times a power of ten that hold all values."""
    most = max(float(values.max()), 1e-6)
    power = 10.0 ** np.floor(np.log10(most / 6.0))
    step = next(float(nice * power) for nice in (1, 2, 5, 10, 20) if nice * power * 6 >= most)
    return Scale(left, step, int(np.ceil(most / step - 1e-9)))


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
