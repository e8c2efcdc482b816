"""A profile in shadow beside whoever answered: how its choices differ, span by span. From ShadowReport."""

from typing import TYPE_CHECKING

from loadaware.plots.picture import BLUE, GREEN, GREY, ORANGE, Picture, panels, titled

if TYPE_CHECKING:
    from loadaware.notebook import ShadowReport


def shadow_spans(report: "ShadowReport", profile: str, beside: str) -> Picture:
    """Left: the load of its choices less that of the others', by span. Right: the mean with its interval."""
    spans = report.spans[(report.spans["profile"] == profile) & (report.spans["beside"] == beside)]
    rows = report.comparisons
    row = rows[(rows["profile"] == profile) & (rows["beside"] == beside)].iloc[0]
    figure, (left, right) = panels(1, 2, height=2.6, sharey=True, width_ratios=[5, 1])
    colours = [GREEN if points < 0 else ORANGE for points in spans["load_points"]]
    left.bar(spans["span"] + 1, spans["load_points"], color=colours, width=0.7)
    left.set_xlabel("span between two reports")
    left.set_ylabel("points of CPU")
    left.xaxis.get_major_locator().set_params(integer=True)
    titled(left, f"{profile}: how much emptier (below 0) its choice is than that of {beside}")
    right.errorbar(
        [0], [row["load_points"]], color=BLUE, fmt="o", capsize=6, linewidth=3, markersize=8,
        yerr=[[row["load_points"] - row["low"]], [row["high"] - row["load_points"]]],
    )  # fmt: skip
    right.set_xticks([0], ["mean, 95 %"])
    right.set_xlim(-0.6, 0.6)
    for axis in (left, right):
        axis.axhline(0, color=GREY, linewidth=1.2)
    return Picture(figure, f"Load difference of {profile} beside {beside} in {len(spans)} spans")
