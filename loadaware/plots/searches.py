"""A search: how it went, what mattered, and what the winner is worth on what it has not seen. From TuneResult."""

import math
from typing import TYPE_CHECKING

from loadaware.plots.picture import BLUE, GREEN, GREY, ORANGE, TEXT, Picture, legend, panels, titled

if TYPE_CHECKING:
    from loadaware.tuning import TuneResult

MOST_BARS = 12


def search(result: "TuneResult") -> Picture:
    """Every trial's objective, and the best so far."""
    objective, frame = result.objectives[0], result.trials
    whole, given_up = frame[~frame["given_up"].astype(bool)], frame[frame["given_up"].astype(bool)]
    begun = result.base.values[0]
    figure, axis = panels(height=2.6)
    axis.scatter(whole.index + 1, whole[objective], s=26, color=GREY, label="trial")
    if len(given_up):
        axis.scatter(
            given_up.index + 1, given_up[objective], s=26, facecolors="none", edgecolors=GREY, label="given up"
        )
    best = [
        begun,
        *frame[objective].where(~frame["given_up"].astype(bool)).cummin().ffill().clip(upper=begun).fillna(begun),
    ]
    axis.plot(range(len(best)), best, color=BLUE, linewidth=2.2, drawstyle="steps-post", label="best so far")
    axis.scatter([0], [begun], s=52, color=ORANGE, zorder=3, label="where it began")
    axis.set_xlabel("trial")
    axis.set_ylabel(f"{objective}, %")
    titled(axis, "The search, on the part it may look at")
    legend(axis)
    return Picture(figure, f"{len(frame)} trials; {objective} from {begun:.3g} to {best[-1]:.3g} %")


def importance(result: "TuneResult") -> Picture:
    """How much each parameter mattered, the most on top."""
    shares = dict(list(result.importance.items())[:MOST_BARS])
    figure, axis = panels(height=0.9 + 0.28 * max(len(shares), 1))
    names = list(shares)
    axis.barh(range(len(names)), [100 * shares[name] for name in names], color=BLUE, height=0.62)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("share of the differences between trials that it explains, %")
    titled(axis, "What mattered" if names else "What mattered: too few trials to tell")
    return Picture(figure, f"What mattered most: {', '.join(names[:3]) or 'not known'}")


def before_after(result: "TuneResult", figures: tuple[str, ...] = ("hot80", "hot90", "unserved", "std")) -> Picture:
    """On the part that the search has not seen: each pair a line from before to after, green if it fell."""
    compared = [one for name in figures if (one := result.of(name)) is not None]
    figure, axes = panels(1, max(len(compared), 1), height=2.8, squeeze=False)
    for axis, one in zip(axes[0], compared, strict=False):
        for was, now in zip(one.before.tolist(), one.after.tolist(), strict=True):
            colour = GREEN if now < was else ORANGE if now > was else GREY
            axis.plot([0, 1], [was, now], color=colour, alpha=0.35, linewidth=1.2)
        axis.plot([0, 1], [one.before.mean(), one.after.mean()], color=TEXT, linewidth=2.6, marker="o", zorder=3)
        axis.set_xticks([0, 1], ["before", "after"])
        axis.set_xlim(-0.25, 1.25)
        axis.set_ylim(bottom=0)
        gain = "" if math.isnan(one.gain.value) else f", {-one.gain.value:+.0f} %"
        axis.set_title(f"{one.figure}{gain}", loc="left", fontsize=10, color=TEXT, fontweight="bold")
    figure.suptitle("Before and after, on time that the search has not seen (%; thick: the mean)", x=0.01, ha="left",
                    fontsize=10.5, color=TEXT, fontweight="bold")  # fmt: skip
    return Picture(figure, f"Before and after: {', '.join(one.figure for one in compared) or 'nothing was tested'}")
