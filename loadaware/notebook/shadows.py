"""From a shadow's figures to a decision: promote it, keep what is live, or wait for more.

`GET /shadow` counts from the start of the server. Several reports, taken some time apart, give figures for the spans
between them, and intervals are drawn over these spans:

    figure   = sum over spans of (requests * mean) / sum over spans of requests
    interval = that of drawing whole spans, wider because a span is like the next: simulation/blocks.py

One report alone has no interval. Single requests would give one that is far too narrow: pods that come within the same
hour meet the same cluster, and in simulated ones even an hour is like the next (r from 0.2 to 0.6 on four of them, 16
hours each). So spans should be long: an hour rather than a minute.

A shadow flatters. Two profiles, each in shadow of the other, should come to opposite differences. On six simulated
clusters (10 nodes, 14 hours, EntropicRisk and TargetLoadPacking) the two came to -0.6 to -6.1 points together, -2.6 in
the mean, each time in favour of the one in shadow: probably because whoever is live has filled the nodes it likes. So
emptier choices alone are no reason to promote: a replay must show the gain, too.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from collectors.reading import Floats
from loadaware.errors import ConfigError
from loadaware.shadow import KUBE_SCHEDULER
from loadaware.simulation.blocks import widened
from loadaware.simulation.statistics import DRAWS, Interval

if TYPE_CHECKING:
    import pandas as pd

LEAST_REQUESTS = 200
FEWEST_SPANS = 8
"""With fewer requests or spans nothing is decided."""
WORTH = 0.5
"""Points of CPU utilization: a difference that is surely smaller than this is not worth a change."""
MOST_DROPPED = 0.2
COLUMNS = (
    "profile", "beside", "requests", "spans", "agreement", "agreement_low", "agreement_high", "rank_correlation",
    "load_points", "low", "high",
)  # fmt: skip
SPAN_COLUMNS = ("profile", "beside", "span", "requests", "agreement", "load_points")

Decision = Literal["promote", "keep", "wait"]


@dataclass(frozen=True)
class Verdict:
    """What to do with a profile in shadow, and why."""

    decision: Decision
    profile: str
    beside: str
    reason: str
    caveats: tuple[str, ...]

    @property
    def command(self) -> str | None:
        """What to run next; None if there is nothing to do but wait."""
        if self.decision != "promote":
            return None
        return f"loadaware promote config.yaml --profile {self.profile} --keep-old --output config.yaml"

    def __str__(self) -> str:
        return f"{self.decision.upper()} {self.profile}: {self.reason}"


@dataclass(frozen=True, eq=False)
class ShadowReport:
    """What a running loadaware told of its profiles in shadow."""

    mode: str
    shadows: tuple[str, ...]
    dropped: int
    comparisons: "pd.DataFrame"
    """A row per profile and what it is compared with: agreement in percent; load_points, how much emptier (below zero)
    or fuller the node of its choice is predicted to be, in points of CPU utilization; each with its interval.
    """
    spans: "pd.DataFrame"
    """The same figures for each span between two reports."""

    def verdict(
        self, profile: str | None = None, beside: str | None = None, replayed: Sequence[float] | None = None
    ) -> Verdict:
        """What to do with a profile (the first in shadow), judged beside whoever answered (else kube-scheduler).

        `replayed` is what a replay says of hot80 under this profile less under the live one: change, low, high, as
        `Replays.between` has it.

        promote   its choices are emptier (the interval of load_points lies below 0) and the replay shows less hot80
        keep      its choices are fuller; or all of the interval is within half a point of 0; or the replay shows more
        wait      anything else, and whenever there are fewer than 200 requests or 8 spans

        Raises ConfigError if there is no such comparison.
        """
        row = self._row(profile, beside)
        change = Interval(float(row["load_points"]), float(row["low"]), float(row["high"]))
        told = None if replayed is None else Interval(*(float(value) for value in replayed))
        decision, reason = decide(int(row["requests"]), int(row["spans"]), change, told)
        return Verdict(decision, str(row["profile"]), str(row["beside"]), reason, self._caveats(row))

    def _row(self, profile: str | None, beside: str | None) -> Mapping[str, Any]:
        rows = self.comparisons
        if profile is None:
            profile = next(iter([*self.shadows, *rows["profile"]]), "")
        rows = rows[rows["profile"] == profile]
        if beside is not None:
            rows = rows[rows["beside"] == beside]
        if rows.empty:
            known = ", ".join(f"{p} beside {b}" for p, b in self.comparisons[["profile", "beside"]].to_numpy().tolist())
            raise ConfigError("shadow", "", f"nothing is known of {profile!r} yet", f"there are: {known or 'none'}")
        answered = rows[rows["beside"] != KUBE_SCHEDULER]
        best = (rows if answered.empty else answered).sort_values("requests", ascending=False)
        return {str(name): value for name, value in best.iloc[0].items()}

    def _caveats(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        said = [
            "The load is predicted at the moment of the choice, by loadaware itself; what it came to, a replay tells."
        ]
        requests = int(row["requests"])
        if self.dropped > MOST_DROPPED * (self.dropped + requests):
            said.append(f"{self.dropped} requests were left out because too many waited: it is a sample of busy times.")
        if float(row["agreement"]) < 50.0:
            said.append(
                f"Both agree on {row['agreement']:.0f} % of the pods only: the cluster will look different afterwards."
            )
        return tuple(said)


def decide(requests: int, spans: int, change: Interval, replayed: Interval | None = None) -> tuple[Decision, str]:
    """The decision and its reason, from a load difference in points, and a replay's difference of hot80."""
    points, low, high = change
    if math.isnan(points):
        return "wait", f"after {requests} requests no difference in load is known."
    found = f"its choice is predicted {abs(points):.2f} points {'emptier' if points < 0 else 'fuller'}"
    if spans < FEWEST_SPANS or requests < LEAST_REQUESTS:
        had = f"{requests} requests in {spans} spans"
        return "wait", f"{found}, but {had} decide nothing: {LEAST_REQUESTS} in {FEWEST_SPANS} spans are needed."
    found = f"{found} (95 % interval {low:+.2f} to {high:+.2f}, {requests} requests in {spans} spans)"
    if max(abs(low), abs(high)) < WORTH:
        return "keep", f"{found}: less than {WORTH} points, not worth a change."
    if low > 0:
        return "keep", f"{found}, although a shadow flatters."
    if high < 0:
        decision, why = _by_replay(replayed)
        return decision, f"{found}, {why}."
    more = spans * ((high - low) / 2.0 / max(abs(points), WORTH)) ** 2
    return "wait", f"{found}: it may be luck. Some {math.ceil(more)} spans in all should tell."


def _by_replay(replayed: Interval | None) -> tuple[Decision, str]:
    """What follows once its choices are emptier."""
    if replayed is None or math.isnan(replayed.value):
        return "wait", "but a shadow flatters: replay a history under both, notebook 03, before you promote"
    told = f"{replayed.value:+.2f} points of hot80 (95 % interval {replayed.low:+.2f} to {replayed.high:+.2f})"
    if replayed.high < 0:
        return "promote", f"and the replay agrees: {told}"
    if replayed.low > 0:
        return "keep", f"but the replay says more time on hot nodes: {told}"
    return "wait", f"but the replay shows no gain: {told}. Record and replay for longer"


def shadow(source: "str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]]") -> ShadowReport:
    """From what `loadaware shadow --output json` tells: a file with one report or several one after the other, the
    reports themselves, or the address of a running loadaware, which gives one.

    Raises ConfigError or CollectorError.
    """
    if isinstance(source, Mapping):
        return _report([source], "shadow")
    if not isinstance(source, str | Path):
        return _report(source, "shadow")
    if str(source).startswith(("http://", "https://")):
        from loadaware.asking import ask_server

        return _report([ask_server(str(source), "/shadow", {})], str(source))
    return _report(list(_read(source)), str(source))


def _read(file: str | Path) -> Iterator[Mapping[str, Any]]:
    """Every report of a file, however they are laid out."""
    try:
        text, decoder = Path(file).read_text(encoding="utf-8").strip(), json.JSONDecoder()
        while text:
            told, end = decoder.raw_decode(text)
            yield from told if isinstance(told, list) else [told]
            text = text[end:].lstrip()
    except (OSError, ValueError) as error:
        raise ConfigError(str(file), "", f"cannot be read: {error}") from error


def _report(reports: Sequence[Mapping[str, Any]], where: str) -> ShadowReport:
    import pandas as pd

    if not reports:
        raise ConfigError(where, "", "holds no report: write one with `loadaware shadow --output json`")
    try:
        counted = [_counts(one) for one in reports]
        correlations = {(c["profile"], c["with"]): c.get("rankCorrelation") for c in reports[-1]["comparisons"]}
        mode, shadows = str(reports[-1]["mode"]), tuple(reports[-1]["shadows"])
        dropped = int(reports[-1]["dropped"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"is not what `loadaware shadow --output json` writes: {type(error).__name__} {error}"
        raise ConfigError(where, "", problem) from error
    rows, spans = [], []
    for pair, correlation in correlations.items():
        each = spans_of([one.get(pair, NONE) for one in counted])
        rows.append((*pair, *_summary(each), math.nan if correlation is None else float(correlation), *_points(each)))
        spans += [
            (*pair, number, int(n), 100.0 * a / n, 100.0 * t / n) for number, (n, a, t) in enumerate(each.tolist())
        ]
    table = pd.DataFrame(spans, columns=list(SPAN_COLUMNS))
    return ShadowReport(mode, shadows, dropped, pd.DataFrame(rows, columns=list(COLUMNS)), table)


NONE = (0.0, 0.0, 0.0)


def _counts(told: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Requests, those that agreed, and the sum of load differences, by profile and what it is compared with."""
    counts = {}
    for one in told["comparisons"]:
        requests, difference = float(one["requests"]), one.get("loadDifference")
        total = math.nan if difference is None else requests * float(difference)
        counts[str(one["profile"]), str(one["with"])] = requests, float(one["agreed"]), total
    return counts


def spans_of(counts: Sequence[tuple[float, float, float]]) -> Floats:
    """What came between two counts, (span, figure); fewer than before means that counting began anew. Without requests
    there is no span.
    """
    each = [
        now if now[0] < before[0] else tuple(n - b for n, b in zip(now, before, strict=True))
        for before, now in pairwise([NONE, *counts])
    ]
    return np.array([span for span in each if span[0] > 0], dtype=np.float64).reshape(-1, 3)


def _summary(each: Floats) -> tuple[float, ...]:
    return int(each[:, 0].sum()), len(each), *(100.0 * value for value in ratio(each[:, 1], each[:, 0]))


def _points(each: Floats) -> tuple[float, ...]:
    return tuple(100.0 * value for value in ratio(each[:, 2], each[:, 0]))


def ratio(totals: Floats, counts: Floats, seed: int = 0) -> Interval:
    """A mean of spans, weighed by their counts, with the interval that drawing whole spans gives. NaN for one alone."""
    known = np.isfinite(totals)
    totals, counts = totals[known], counts[known]
    if not len(totals):
        return Interval(math.nan, math.nan, math.nan)
    value = float(totals.sum() / counts.sum())
    if len(totals) < 2:
        return Interval(value, math.nan, math.nan)
    drawn = np.random.default_rng(seed).integers(len(totals), size=(DRAWS, len(totals)))
    low, high = np.quantile(totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975])
    return widened(Interval(value, float(low), float(high)), totals / counts)
