"""The demo on a terminal: bars per node for both clusters, the figures, the last decisions.

`render` turns a frame into something rich can draw, for any width from 40 columns up and any height: where not all
nodes fit, they stand in two columns, or only the hottest are shown. `LiveView` draws it on the alternate screen, so
that the terminal afterwards is as it was.
"""

import io
import math
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from loadaware.demo.frame import FIGURES, Frame, figure, value
from loadaware.demo.scheduler import Decision

FRAME_SECONDS = 0.25
WIDE = 110
"""From this width on, nodes may stand in two columns and the decisions beside the figures."""
MOST_DECISIONS = 6
LONGEST_BAR = 50
_EIGHTHS = " ▏▎▍▌▋▊▉"


def render(frame: Frame, width: int, height: int, *, ascii_only: bool = False) -> RenderableType:
    """The whole picture, at most `height` lines where that is possible at all."""
    wide = width >= WIDE
    figures = len(FIGURES) + 1
    fixed = 2 + (max(figures, MOST_DECISIONS + 1) if wide else figures) + 3
    decisions = MOST_DECISIONS if wide else max(1, min(MOST_DECISIONS, height - fixed - len(frame.nodes) - 2))
    room = height - fixed - (0 if wide else decisions + 1)
    parts: list[RenderableType] = [
        _header(frame, brief=width < 75),
        _nodes(frame, width, max(room, 3), ascii_only=ascii_only),
        Text(),
    ]
    if wide:
        foot = Table.grid(padding=(0, 4))
        foot.add_row(_figures(frame), _decisions(frame.decisions, decisions, width - 56))
        return Group(*parts, foot)
    return Group(*parts, _figures(frame), _decisions(frame.decisions, decisions, width))


def save_picture(frame: Frame, path: str, width: int = 120, height: int = 38) -> None:
    """The picture as an SVG file that needs nothing from another host: rich would fetch its font."""
    console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
    console.print(render(frame, width, height))
    drawn = console.export_svg(title="loadaware demo")
    drawn = re.sub(r"(?s)@font-face \{.*?\}|<!--.*?-->", "", drawn).replace("Fira Code,", "")
    Path(path).write_text(drawn.replace("Fira Code", "monospace"), encoding="utf-8")


def _header(frame: Frame, *, brief: bool) -> Text:
    extender = frame.extender
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("loadaware  ", style="bold")
    text.append(f"{frame.clock} {'' if brief else 'simulated, '}{frame.speed:g}x", style="cyan")
    text.append(f"  pods {frame.ours.running} placed {frame.placed} waiting {frame.ours.waiting}\n")
    text.append("open ", style="dim")
    text.append(extender.url, style="underline")
    if not math.isnan(extender.median_milliseconds):
        text.append(f"  {'' if brief else 'answers in '}{extender.median_milliseconds:.1f} ms", style="dim")
    if extender.failures:
        text.append(f"  {extender.failures} failed: {extender.last_failure}", style="red")
    else:
        text.append("  Ctrl-C stops", style="dim")
    return text


def _nodes(frame: Frame, width: int, room: int, *, ascii_only: bool) -> RenderableType:
    count, columns = len(frame.nodes), 1
    if count > room and width >= WIDE:
        columns = 2
    shown = list(range(count)) if count <= room * columns else _hottest(frame, room * columns - 1)
    tables = [_node_table(frame, part, width // columns - 2, ascii_only) for part in _split(shown, columns)]
    grid = Table.grid(padding=(0, 2))
    grid.add_row(*tables)
    hidden = count - len(shown)
    return Group(grid, Text(f"and {hidden} cooler nodes", style="dim")) if hidden else grid


def _hottest(frame: Frame, count: int) -> list[int]:
    hotter = np.fmax(frame.ours.utilization, frame.default.utilization)
    return sorted(np.argsort(-np.nan_to_num(hotter, nan=0.0), kind="stable")[: max(count, 1)].tolist())


def _split(numbers: list[int], columns: int) -> list[list[int]]:
    length = math.ceil(len(numbers) / columns)
    return [numbers[start : start + length] for start in range(0, len(numbers), length)]


def _node_table(frame: Frame, numbers: Sequence[int], width: int, ascii_only: bool) -> Table:
    names = max(len(name) for name in frame.nodes)
    length = min(max(4, (width - names - 3 - 2 * 5 - 5) // 2), LONGEST_BAR)
    table = Table.grid(padding=(0, 1))
    table.add_row(Text("node", "dim"), Text("", "dim"), *_titles("loadaware"), *_titles("default"))
    for number in numbers:
        table.add_row(
            Text(frame.nodes[number], no_wrap=True),
            Text(f"{frame.cores[number]:>3.0f}", "dim"),
            *_load(float(frame.ours.utilization[number]), length, ascii_only=ascii_only),
            *_load(float(frame.default.utilization[number]), length, ascii_only=ascii_only),
        )
    return table


def _titles(title: str) -> tuple[Text, Text]:
    return Text(title, "bold", no_wrap=True, overflow="crop"), Text("CPU".rjust(4), "dim")


def _load(utilization: float, width: int, *, ascii_only: bool) -> tuple[Text, Text]:
    if math.isnan(utilization):
        return Text("away".ljust(width)[:width], "dim", no_wrap=True), Text("   -", "dim")
    style = _colour(utilization)
    drawn = bar(utilization, width, ascii_only=ascii_only)
    return Text(drawn, style, no_wrap=True), Text(f"{utilization * 100:3.0f}%", style)


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar of that share of `width` columns, to an eighth of a column, padded with blanks."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        return ("#" * round(share * width)).ljust(width)
    full, eighths = divmod(round(share * width * 8), 8)
    return ("█" * full + (_EIGHTHS[eighths] if eighths else "")).ljust(width)


def _colour(utilization: float) -> str:
    if utilization > 0.9:
        return "bold red"
    if utilization > 0.8:
        return "dark_orange"
    return "yellow" if utilization > 0.6 else "green"


def _figures(frame: Frame) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(Text("so far", "dim"), Text("loadaware", "bold"), Text("default", "bold"), Text())
    for title, name, unit in FIGURES:
        ours, default = value(frame.ours, name), value(frame.default, name)
        style = "green" if ours < default else "red" if ours > default else ""
        table.add_row(
            Text(title, no_wrap=True),
            Text(figure(frame.ours, name).rjust(9), style),
            Text(figure(frame.default, name).rjust(7)),
            Text(unit, "dim"),
        )
    return table


def _decisions(decisions: Sequence[Decision], count: int, width: int) -> Table:
    shown = list(decisions)[-count:][::-1]
    nodes = max((len(decision.first) for decision in shown), default=5)
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(10, width - 3 * nodes - 10))
    table.add_row(*(Text(title, "dim") for title in ("last decisions", "first", "second", "default's")))
    for decision in shown:
        table.add_row(*_decision(decision))
    return table


def _decision(decision: Decision) -> tuple[Text, ...]:
    swayed = decision.default_choice != decision.first
    return (
        Text(decision.pod),
        Text(decision.first, "bold", no_wrap=True),
        Text(f"{decision.second} -{decision.lead}" if decision.second else "-", "dim", no_wrap=True),
        Text(decision.default_choice if swayed else "same", "magenta" if swayed else "dim", no_wrap=True),
    )


class LiveView:
    """Draws frames on the alternate screen until told to stop."""

    def __init__(self, frame: Callable[[], Frame], console: Console) -> None:
        self._frame = frame
        self._console = console

    def run(self, stopping: threading.Event) -> None:
        """Until told to stop; the terminal is as before afterwards."""
        with Live(self._draw(), console=self._console, screen=True, auto_refresh=False) as live:
            while not stopping.wait(FRAME_SECONDS):
                live.update(self._draw(), refresh=True)

    def _draw(self) -> RenderableType:
        width, height = self._console.size
        return render(self._frame(), width, height, ascii_only=self._console.options.ascii_only)
