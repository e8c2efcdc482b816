"""What scorers think of nodes: one by one, and weighed together."""

from typing import TYPE_CHECKING

from loadaware.plots.picture import CYCLE, TEXT, Picture, legend, panels, quiet, titled

if TYPE_CHECKING:
    import pandas as pd


def score_map(scores: "pd.DataFrame", load: "pd.Series[float] | None" = None) -> Picture:
    """A row per scorer (column of the frame), a column per node (its index), the score in each cell. `load`: a bar per
    node above them.
    """
    from matplotlib.colors import LinearSegmentedColormap

    figure, (above, axis) = panels(
        2, height=1.7 + 0.36 * scores.shape[1], sharex=True, height_ratios=[1.1, 0.36 * scores.shape[1]]
    )
    if load is not None:
        above.bar(range(len(scores)), 100 * load.reindex(scores.index), color=CYCLE[0], width=0.6)
    above.set_ylim(0, 100)
    above.set_ylabel("CPU, %")
    titled(above, "Nodes by load, and each scorer's opinion of them: 100 is best")
    colours = LinearSegmentedColormap.from_list("score", ["#6e7681", "#23904a"])
    axis.imshow(scores.T.to_numpy(), aspect="auto", cmap=colours, vmin=0, vmax=100)
    axis.grid(visible=False)
    for row, scorer in enumerate(scores.columns):
        for column, value in enumerate(scores[scorer]):
            axis.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8.5, color="white")
    axis.set_yticks(range(scores.shape[1]), list(scores.columns))
    axis.set_xticks(range(len(scores)), list(scores.index), rotation=60 if len(scores) > 8 else 0)
    return Picture(figure, f"Scores of {len(scores)} nodes by {scores.shape[1]} scorers")


def score_parts(scored: "pd.DataFrame", weights: "dict[str, float]") -> Picture:
    """From `score`: each node's total, the best first, as a stack of what each scorer brings."""
    total = sum(weights[name] for name in weights if name in scored.columns) or 1.0
    figure, axis = panels(height=3.0)
    places, bottom = range(len(scored)), 0.0 * scored["score"].to_numpy()
    for number, name in enumerate(weights):
        if weights[name] > 0 and name in scored.columns:
            part = (weights[name] / total * scored[name]).to_numpy()
            axis.bar(places, part, bottom=bottom, width=0.66, color=CYCLE[number % len(CYCLE)], label=name)
            bottom = bottom + part
    for place, (value, rejected) in enumerate(zip(scored["score"], scored["rejected"], strict=True)):
        note = f"{value:.0f}" if not isinstance(rejected, str) else "rejected"
        axis.text(place, value + 1.5, note, ha="center", fontsize=8.5, color=TEXT)
    axis.set_xticks(list(places), list(scored.index), rotation=60 if len(scored) > 8 else 0)
    axis.set_ylim(0, 108)
    axis.set_ylabel("score")
    quiet(axis)
    first = scored.index[0] if len(scored) else "nobody"
    titled(axis, f"Weighed together: the pod would go to {first}")
    legend(axis)
    return Picture(figure, f"Weighed scores of {len(scored)} nodes; first {first}")
