"""What a reading says about the source: how old it is, which nodes it covers. The same questions for every source."""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from collectors.manifests import Node
from collectors.reading import CPU, Floats, Reading
from loadaware.config import StalenessSection
from loadaware.doctor.finding import Finding, fail, ok, some, warn
from loadaware.quantities import format_duration
from loadaware.quarantine import FUTURE_SECONDS


def check_reading(
    reading: Reading, nodes: Sequence[Node], staleness: StalenessSection, stale_fix: str, missing_fix: str
) -> Iterator[Finding]:
    """Age and coverage of the nodes' measurements, and what the collector itself has to say."""
    what = reading.source
    yield judge_age(what, reading.nodes.times, reading.nodes.windows, staleness, stale_fix)
    yield judge_coverage(what, measured_names(reading), nodes, missing_fix)
    for note in reading.notes:
        yield warn(what, note, "see the source's own log; what is not measured counts as neither idle nor busy")


def measured_names(reading: Reading) -> set[str]:
    """Nodes with CPU usage."""
    column = reading.resources.index(CPU)
    usage = np.isfinite(reading.nodes.usage[:, column])
    return {name for name, finite in zip(reading.nodes.names, usage, strict=True) if finite}


def judge_age(what: str, times: Floats, windows: Floats, staleness: StalenessSection, fix: str) -> Finding:
    """By the oldest node: a node whose measurement is too old is placed as if it were not measured."""
    what = f"{what} freshness"
    ages = time.time() - times[np.isfinite(times)]
    if not len(ages):
        return warn(what, "the measurements carry no time", fix)
    if float(ages.min()) < -FUTURE_SECONDS:
        skew = seconds(-float(ages.min()))
        return fail(what, f"measurements are up to {skew} ahead of our clock", "keep the clocks right (NTP, chrony)")
    newest, oldest = max(float(ages.min()), 0.0), max(float(ages.max()), 0.0)
    detail = f"the newest measurement is {seconds(newest)} old, the oldest {seconds(oldest)}{_resolution(windows)}"
    if newest > staleness.expired:
        return fail(what, f"{detail}: too old to count (staleness.expired)", fix)
    if oldest > staleness.fresh:
        return warn(what, f"{detail}: some are doubted (staleness.fresh)", fix)
    return ok(what, detail)


def judge_coverage(what: str, measured: set[str], nodes: Sequence[Node], fix: str) -> Finding:
    """How many of the cluster's nodes are measured."""
    what = f"{what} coverage"
    if not nodes:
        return ok(what, f"{len(measured)} nodes measured; the cluster's own list is not known")
    missing = sorted(node.name for node in nodes if node.name not in measured)
    detail = f"{len(nodes) - len(missing)} of {len(nodes)} nodes measured"
    if not missing:
        return ok(what, detail)
    judge = fail if len(missing) == len(nodes) else warn
    return judge(what, f"{detail}; missing: {some(missing)}", fix)


def seconds(value: float) -> str:
    """A length of time, without fractions that nobody reads."""
    return format_duration(float(round(value)))


def _resolution(windows: Floats) -> str:
    told = windows[np.isfinite(windows)]
    return f", each over {seconds(float(np.median(told)))}" if len(told) else ""
