"""Two sources, one reading: the second takes over while the first fails, and is compared with it while it works.

Every `compare_every` readings the second is read too; the median difference of CPU usage between them, as a share of
the larger, is told with the reading when it is above `margin`. A second source that fails is worth a note, no more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from collectors.errors import CollectorError
from collectors.reading import CPU, Collector, HasHistory, HasPodHistory, Reading


class Failover:
    """A collector over two others."""

    def __init__(self, first: Collector, second: Collector, margin: float = 0.2, compare_every: int = 10) -> None:
        self._first = first
        self._second = second
        self._margin = margin
        self._compare_every = compare_every
        self._readings = 0

    def read(self) -> Reading:
        """The first source's reading, else the second's; both failing raises the first's error."""
        try:
            reading = self._first.read()
        except CollectorError as error:
            return self._stand_in(error)
        self._readings += 1
        if (self._readings - 1) % self._compare_every:
            return reading
        return _with_notes(reading, self._compare(reading))

    def history(self, since: float) -> Iterable[Reading]:
        """The past of the first source, else of the second: of those that have one, the first that can tell it."""
        past = [source for source in (self._first, self._second) if isinstance(source, HasHistory)]
        if len(past) > 1:
            try:
                return list(past[0].history(since))
            except CollectorError:
                return past[1].history(since)
        return past[0].history(since) if past else ()

    def pod_history(self, since: float) -> Iterator[Reading]:
        """What pods used, from the first source that can tell; one that breaks off in the middle is not begun anew."""
        past = [source for source in (self._first, self._second) if isinstance(source, HasPodHistory)]
        for number, source in enumerate(past):
            begun = False
            try:
                for reading in source.pod_history(since):
                    begun = True
                    yield reading
            except CollectorError:
                if begun or number == len(past) - 1:
                    raise
            else:
                return

    def _stand_in(self, error: CollectorError) -> Reading:
        try:
            reading = self._second.read()
        except CollectorError as second_error:
            error.add_note(f"the second source failed too: {second_error}")
            raise error from second_error
        return _with_notes(reading, [f"the second source stands in, because the first failed: {error}"])

    def _compare(self, reading: Reading) -> list[str]:
        try:
            difference = disagreement(reading, self._second.read())
        except CollectorError as error:
            return [f"the second source cannot be compared: {error}"]
        if difference is None or difference <= self._margin:
            return []
        return [f"the two sources disagree: CPU usage differs by {difference:.0%} at the median node"]


def disagreement(one: Reading, other: Reading) -> float | None:
    """The median over common nodes of |a - b| / max(a, b) of CPU usage; None if nothing can be compared."""
    if one.base != other.base:
        return None
    column = other.resources.index(CPU)
    theirs = dict(zip(other.nodes.names, other.nodes.usage[:, column].tolist(), strict=True))
    ours = one.nodes.usage[:, one.resources.index(CPU)]
    pairs = np.array([(a, theirs.get(name, np.nan)) for name, a in zip(one.nodes.names, ours, strict=True)])
    pairs = pairs.reshape(-1, 2)
    pairs = pairs[~np.isnan(pairs).any(axis=1) & (pairs.max(axis=1, initial=0.0) > 0)]
    if not len(pairs):
        return None
    return float(np.median(np.abs(pairs[:, 0] - pairs[:, 1]) / pairs.max(axis=1)))


def _with_notes(reading: Reading, notes: list[str]) -> Reading:
    return replace(reading, notes=(*notes, *reading.notes)) if notes else reading
