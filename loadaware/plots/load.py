"""How loaded the nodes are: over time, and beside what their pods request."""

from typing import TYPE_CHECKING

from loadaware.plots.picture import BLUE, GREY, ORANGE, TEXT, Picture, clock, legend, panels, scale, titled

if TYPE_CHECKING:
    import pandas as pd

HOT = 0.8
MOST_ROWS = 60
"""Nodes that are drawn; of more, the hottest."""


def load_map(utilization: "pd.DataFrame", resource: str = "cpu") -> Picture:
    """A row per node, the hottest on top; time to the right; colour is utilization. From History.utilization."""
    from matplotlib.dates import date2num

    wide = utilization.pivot_table(index="node", columns="time", values=resource, observed=True)
    wide = wide.loc[(wide > HOT).mean(axis=1).add(wide.mean(axis=1) / 100).sort_values(ascending=False).index]
    wide = wide.iloc[:MOST_ROWS]
    figure, axis = panels(height=1.1 + 0.22 * len(wide))
    begin, end = date2num(wide.columns[0]), date2num(wide.columns[-1])
    extent = (begin, end if end > begin else begin + 1e-3, len(wide) - 0.5, -0.5)
    image = axis.imshow(
        wide.to_numpy(), aspect="auto", interpolation="nearest", cmap=scale(), vmin=0, vmax=1, extent=extent
    )
    axis.grid(visible=False)
    axis.set_yticks(range(len(wide)), list(wide.index))
    axis.xaxis_date("UTC")
    clock(axis)
    titled(axis, f"{resource} utilization by node, the hottest on top; orange and red: above 80 %")
    bar = figure.colorbar(image, ax=axis, ticks=[0, 0.25, 0.5, 0.8, 1], pad=0.01, fraction=0.03)
    bar.ax.set_yticklabels(["0", "25", "50", "80", "100 %"], color=TEXT, fontsize=8)
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    return Picture(figure, f"{resource} utilization of {len(wide)} nodes over time")


def node_loads(utilization: "pd.DataFrame", requested: "pd.DataFrame", sizes: "pd.DataFrame") -> Picture:
    """By node: the mean and the 99th percentile of CPU utilization, and what is requested of it."""
    grouped = utilization.groupby("node", observed=True)["cpu"]
    mean, peak = 100 * grouped.mean(), 100 * grouped.quantile(0.99)
    order = mean.sort_values(ascending=False).index[:MOST_ROWS]
    asked = (100 * requested["cpu"] / sizes["cpu"]).reindex(order)
    figure, axis = panels(height=3.0)
    places = range(len(order))
    axis.bar(places, mean[order], color=BLUE, width=0.62, label="used, mean")
    axis.vlines(places, mean[order], peak[order], color=BLUE, linewidth=1.4, alpha=0.7)
    axis.scatter(places, peak[order], color=BLUE, s=16, label="used, 99 % of the time less than")
    axis.scatter(places, asked, color=ORANGE, marker="_", s=190, linewidth=2.4, label="requested by its pods, now")
    axis.axhline(100 * HOT, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    axis.set_xticks(list(places), list(order), rotation=60 if len(order) > 8 else 0)
    axis.set_ylabel("% of the node's CPU")
    axis.set_ylim(0, max(105.0, float(peak.max()) + 5))
    titled(axis, "What nodes use, and what their pods request")
    legend(axis, loc="lower left", bbox_to_anchor=(0.0, 1.08), ncols=3)
    return Picture(figure, f"Mean and peak CPU utilization of {len(order)} nodes beside what is requested")
