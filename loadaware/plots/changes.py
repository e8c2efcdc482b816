"""Configurations beside what really was: paired differences with their intervals, and figures over time."""

from typing import TYPE_CHECKING

from loadaware.plots.picture import CYCLE, GREY, TEXT, Picture, clock, legend, panels, titled

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    "hot80": "time above 80 %",
    "hot90": "time above 90 %",
    "unserved": "CPU not had",
    "std": "spread",
    "p99": "99th percentile",
}


def changes(frame: "pd.DataFrame") -> Picture:
    """From Replays.changes: a panel per figure, a point with its interval per configuration. Left of zero is better."""
    figures, configs = list(dict.fromkeys(frame["figure"])), list(dict.fromkeys(frame["config"]))
    figure, axes = panels(1, len(figures), width=8.6, height=1.25 + 0.38 * len(configs), sharey=True, squeeze=False)
    for axis, name in zip(axes[0], figures, strict=True):
        rows = frame[frame["figure"] == name].set_index("config").reindex(configs)
        for place, config in enumerate(configs):
            colour = CYCLE[place % len(CYCLE)]
            axis.hlines(place, rows["low"][config], rows["high"][config], color=colour, linewidth=3, alpha=0.55)
            axis.scatter([rows["change"][config]], [place], color=colour, s=42, zorder=3)
        axis.axvline(0, color=GREY, linewidth=1.2)
        axis.set_yticks(range(len(configs)), configs)
        axis.set_ylim(len(configs) - 0.4, -0.6)
        axis.margins(x=0.15)
        axis.locator_params(axis="x", nbins=4)
        axis.set_xlabel("points")
        axis.set_title(WORDS.get(name, name), loc="left", fontsize=9.5, color=TEXT, fontweight="bold")
    figure.suptitle("Change from what really was, with 95 % intervals (left of 0: better)", x=0.01, ha="left",
                    fontsize=10.5, color=TEXT, fontweight="bold")  # fmt: skip
    return Picture(figure, f"Changes of {', '.join(configs)} from what was recorded")


def over_time(blocks: "pd.DataFrame", figure_name: str = "hot80") -> Picture:
    """From Replays.blocks: one figure, block by block, for each way to place pods."""
    figure, axis = panels(height=2.6)
    configs = list(dict.fromkeys(blocks["config"]))
    colours = dict(zip([c for c in configs if c != "recorded"], CYCLE, strict=False))
    for config in configs:
        rows = blocks[blocks["config"] == config]
        axis.plot(
            rows["time"], rows[figure_name], label=config, color=colours.get(config, GREY),
            linewidth=1.8 if config in colours else 2.6, drawstyle="steps-post",
        )  # fmt: skip
    clock(axis)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("%")
    titled(axis, f"{WORDS.get(figure_name, figure_name)}, block by block")
    legend(axis)
    return Picture(figure, f"{figure_name} over time for {', '.join(configs)}")
