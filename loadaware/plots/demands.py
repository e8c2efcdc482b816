"""Who requests too much, and who too little. From Demands."""

from typing import TYPE_CHECKING

from loadaware.plots.picture import BLUE, CYCLE, GREY, ORANGE, Picture, legend, panels, titled

if TYPE_CHECKING:
    import pandas as pd

UNITS = {"cpu": (1.0, "cores"), "memory": (2.0**30, "GiB")}
MOST_BARS = 9


def requests_and_usage(workloads: "pd.DataFrame", resource: str = "cpu") -> Picture:
    """From Demands.of: a dot per workload, what a pod requests to the right and what it uses upwards, both on scales of
    factors. On the line usage is the request; above it pods use more than they asked for.
    """
    unit, word = UNITS[resource]
    known = workloads.dropna(subset=["requested", "mean"])
    known = known[(known["requested"] > 0) & (known["mean"] > 0)]
    figure, axis = panels(height=4.2, width=7.6)
    teams = known.groupby("namespace")["pods"].sum().sort_values(ascending=False).index
    for number, team in enumerate(teams):
        rows = known[known["namespace"] == team]
        sizes = 18 + 9 * rows["pods"].clip(upper=40)
        colour = CYCLE[min(number, len(CYCLE) - 1)]
        axis.scatter(
            rows["requested"] / unit, rows["mean"] / unit, s=sizes, color=colour, alpha=0.65, linewidth=0, label=team
        )
    ends = [min(known["requested"].min(), known["mean"].min()) / unit, known["requested"].max() / unit]
    axis.plot(ends, ends, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xlabel(f"requested by one pod, {word}")
    axis.set_ylabel(f"used by one pod, mean, {word}")
    titled(axis, "Above the line: uses more than it asked for; below: less")
    legend(axis, title=None)
    return Picture(figure, f"Requests and usage of {len(known)} workloads")


def savings(workloads: "pd.DataFrame", resource: str = "cpu") -> Picture:
    """From Demands.of: the workloads whose requests should change most, all their pods together."""
    unit, word = UNITS[resource]
    change = (workloads["change"].dropna() / unit).sort_values()
    shown = change[change.abs().sort_values(ascending=False).index[: 2 * MOST_BARS]].sort_values()
    figure, axis = panels(height=0.9 + 0.24 * max(len(shown), 1))
    places = range(len(shown))
    axis.barh(places, shown, color=[BLUE if value < 0 else ORANGE for value in shown], height=0.66)
    axis.axvline(0, color=GREY, linewidth=1.2)
    axis.set_yticks(list(places), [str(name) for name in shown.index])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlabel(f"{word}, all pods of the workload together")
    titled(axis, "Could give back (blue), lacks (orange)")
    return Picture(figure, f"The {len(shown)} workloads whose requests should change most")
