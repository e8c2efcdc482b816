"""The last samples per node: the only mutable array of the core. Axes: (node, resource, sample).

Two kinds of memory, both of fixed size per node:

    samples   the last S samples as they came, for windows up to `length_seconds` (a quarter of an hour)
    buckets   per longer window (an hour, a day) 60 buckets holding count, sum, sum of squares and maximum

so that with R resources and L longer windows nothing ever grows with time and a row costs, to the byte,

    8 * (S * (R + 1) + 1 + L * (60 * (4 * R + 1) + R))          10,144 for R = 2, S = 61, L = 2

Rows grow by doubling, so there may be twice as many as nodes. Timestamps are the source's own, irregular, one per
node; a timestamp that does not advance adds nothing. NaN is not measured: it is left out of every statistic, never
counted as zero. A window ends at the node's own newest sample.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

T = TypeVar("T", bound=np.generic)

BUCKETS = 60


@dataclass(frozen=True, eq=False)
class Statistics:
    """What a window says. All (node, resource), usage in base units, NaN where nothing was measured.

    `deviation` is the population's (divided by n), as Prometheus' stddev_over_time.
    """

    mean: Floats
    deviation: Floats
    latest: Floats
    maximum: Floats
    percentiles: dict[float, Floats]

    @classmethod
    def unmeasured(cls, nodes: int, resources: int) -> "Statistics":
        """Statistics of nothing."""
        nothing = np.full((nodes, resources), np.nan)
        return cls(nothing, nothing, nothing, nothing, {})

    def only(self, rows: Ints) -> "Statistics":
        """Of some of the nodes."""
        percentiles = {percent: values[rows] for percent, values in self.percentiles.items()}
        return Statistics(self.mean[rows], self.deviation[rows], self.latest[rows], self.maximum[rows], percentiles)


class Window:
    """Samples of every node, by row. Rows are given out by the owner; they grow by doubling and are reused."""

    def __init__(
        self, resources: int, length_seconds: float, samples: int, longer_seconds: tuple[float, ...] = ()
    ) -> None:
        self.length_seconds = length_seconds
        self._values: Floats = np.full((0, resources, samples), np.nan)
        self._times: Floats = np.full((0, samples), -np.inf)
        self._next: Ints = np.zeros(0, dtype=np.intp)
        self._buckets = {length: _Buckets(resources, length) for length in longer_seconds}

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        samples = self._values.nbytes + self._times.nbytes + self._next.nbytes
        return samples + sum(b.nbytes for b in self._buckets.values())

    @property
    def longer_seconds(self) -> tuple[float, ...]:
        """Lengths of the windows kept as buckets."""
        return tuple(self._buckets)

    def reserve(self, rows: int) -> None:
        """Make room for rows 0 .. rows-1."""
        if rows <= len(self._times):
            return
        rows = max(rows, 2 * len(self._times), 64)
        self._values = _grown(self._values, rows, np.nan)
        self._times = _grown(self._times, rows, -np.inf)
        self._next = _grown(self._next, rows, 0)
        for buckets in self._buckets.values():
            buckets.reserve(rows)

    def forget(self, row: int) -> None:
        """Empty a row, for its next owner."""
        if row < len(self._times):
            self._values[row] = np.nan
            self._times[row] = -np.inf
            self._next[row] = 0
            for buckets in self._buckets.values():
                buckets.forget(row)

    def newest(self, rows: Ints) -> Floats:
        """Time of the newest sample of each row, -inf if there is none."""
        newest: Floats = self._times[rows].max(axis=1, initial=-np.inf)
        return newest

    def oldest(self, rows: Ints) -> Floats:
        """Time of the oldest sample still inside the window of each row, +inf if there is none."""
        times = self._times[rows]
        oldest: Floats = np.where(self._inside(times), times, np.inf).min(axis=1, initial=np.inf)
        return oldest

    def samples(self, row: int) -> tuple[Floats, Floats]:
        """Times of one row's samples inside the window, oldest first, and their values (resource, sample)."""
        times = self._times[row]
        inside = np.flatnonzero(self._inside(times[None, :])[0])
        order = inside[np.argsort(times[inside])]
        return times[order], self._values[row][:, order]

    def append(self, rows: Ints, usage: Floats, times: Floats) -> Bools:
        """Add one sample per row where its time advances; tell which were added. Rows must be unique."""
        fresh: Bools = times > self.newest(rows)
        rows, usage, times = rows[fresh], usage[fresh], times[fresh]
        slots = self._next[rows]
        self._values[rows, :, slots] = usage
        self._times[rows, slots] = times
        self._next[rows] = (slots + 1) % self._times.shape[1]
        for buckets in self._buckets.values():
            buckets.append(rows, usage, times)
        return fresh

    def statistics_of(self, length_seconds: float, rows: Ints) -> Statistics:
        """Statistics of a window of that length: from the samples if they reach so far, else from its buckets."""
        if length_seconds <= self.length_seconds:
            return self.statistics(rows, length_seconds=length_seconds)
        return self._buckets[length_seconds].statistics(rows)

    def statistics(
        self, rows: Ints, percentiles: tuple[float, ...] = (), length_seconds: float | None = None
    ) -> Statistics:
        """Statistics of (newest - length, newest] for each row; the main window's length if none is given."""
        times = self._times[rows]
        inside = self._inside(times, length_seconds)
        values = np.where(inside[:, None, :], self._values[rows], np.nan)
        measured = ~np.isnan(values)
        count = measured.sum(axis=2)
        mean = _divide(np.where(measured, values, 0.0).sum(axis=2), count)
        squares = np.where(measured, values - mean[:, :, None], 0.0) ** 2
        newest = np.where(inside, times, -np.inf).argmax(axis=1) if times.size else np.zeros(len(rows), np.intp)
        latest = np.take_along_axis(values, newest[:, None, None], axis=2)[:, :, 0] if times.size else mean
        maximum = np.where(measured, values, -np.inf).max(axis=2, initial=-np.inf)
        return Statistics(
            mean=mean,
            deviation=np.sqrt(_divide(squares.sum(axis=2), count)),
            latest=latest,
            maximum=np.where(count > 0, maximum, np.nan),
            percentiles=_percentiles(values, count, percentiles),
        )

    def _inside(self, times: Floats, length_seconds: float | None = None) -> Bools:
        newest = times.max(axis=1, initial=-np.inf, keepdims=True)
        length = self.length_seconds if length_seconds is None else length_seconds
        inside: Bools = (times > newest - length) & np.isfinite(times)
        return inside


class _Buckets:
    """One longer window: BUCKETS buckets, each `length / BUCKETS` seconds wide."""

    def __init__(self, resources: int, length_seconds: float) -> None:
        self._width = length_seconds / BUCKETS
        shape = (0, resources, BUCKETS)
        self._number: Floats = np.full((0, BUCKETS), -np.inf)
        self._count: Floats = np.zeros(shape)
        self._sum: Floats = np.zeros(shape)
        self._squares: Floats = np.zeros(shape)
        self._maximum: Floats = np.full(shape, -np.inf)
        self._latest: Floats = np.full((0, resources), np.nan)

    @property
    def nbytes(self) -> int:
        return self._number.nbytes + 4 * self._sum.nbytes + self._latest.nbytes

    def reserve(self, rows: int) -> None:
        self._number = _grown(self._number, rows, -np.inf)
        self._count = _grown(self._count, rows, 0.0)
        self._sum = _grown(self._sum, rows, 0.0)
        self._squares = _grown(self._squares, rows, 0.0)
        self._maximum = _grown(self._maximum, rows, -np.inf)
        self._latest = _grown(self._latest, rows, np.nan)

    def forget(self, row: int) -> None:
        self._number[row] = -np.inf
        self._latest[row] = np.nan

    def append(self, rows: Ints, usage: Floats, times: Floats) -> None:
        number = np.floor(times / self._width)
        slots = (number % BUCKETS).astype(np.intp)
        self._open(rows, slots, number)
        measured = ~np.isnan(usage)
        amount = np.where(measured, usage, 0.0)
        self._count[rows, :, slots] += measured
        self._sum[rows, :, slots] += amount
        self._squares[rows, :, slots] += amount * amount
        before = self._maximum[rows, :, slots]
        self._maximum[rows, :, slots] = np.where(measured, np.maximum(before, usage), before)
        self._latest[rows] = usage

    def _open(self, rows: Ints, slots: Ints, number: Floats) -> None:
        """Empty the buckets that are about to be used for a new stretch of time."""
        new = self._number[rows, slots] != number
        rows, slots = rows[new], slots[new]
        self._number[rows, slots] = number[new]
        self._count[rows, :, slots] = 0.0
        self._sum[rows, :, slots] = 0.0
        self._squares[rows, :, slots] = 0.0
        self._maximum[rows, :, slots] = -np.inf

    def statistics(self, rows: Ints) -> Statistics:
        number = self._number[rows]
        newest = number.max(axis=1, initial=-np.inf, keepdims=True)
        inside = ((number > newest - BUCKETS) & np.isfinite(number))[:, None, :]
        count = np.where(inside, self._count[rows], 0.0).sum(axis=2)
        mean = _divide(np.where(inside, self._sum[rows], 0.0).sum(axis=2), count)
        squares = _divide(np.where(inside, self._squares[rows], 0.0).sum(axis=2), count)
        maximum = np.where(inside, self._maximum[rows], -np.inf).max(axis=2, initial=-np.inf)
        return Statistics(
            mean=mean,
            deviation=np.sqrt(np.maximum(squares - mean * mean, 0.0)),
            latest=self._latest[rows],
            maximum=np.where(count > 0, maximum, np.nan),
            percentiles={},
        )


def _divide(total: Floats, count: Ints | Floats) -> Floats:
    """total / count, NaN where there is nothing to divide by."""
    quotient: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return quotient


def _percentiles(values: Floats, count: Ints, wanted: tuple[float, ...]) -> dict[float, Floats]:
    """Percentiles along the last axis, interpolated linearly as numpy and pandas do. NaN sorts last."""
    if not wanted:
        return {}
    ordered = np.sort(values, axis=2)
    return {percent: _percentile(ordered, count, percent) for percent in wanted}


def _percentile(ordered: Floats, count: Ints, percent: float) -> Floats:
    position = np.maximum(count - 1, 0) * (percent / 100.0)
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    low = np.take_along_axis(ordered, below[:, :, None], axis=2)[:, :, 0]
    high = np.take_along_axis(ordered, above[:, :, None], axis=2)[:, :, 0]
    return low + (high - low) * (position - below)


def _grown(array: npt.NDArray[T], rows: int, fill: float) -> npt.NDArray[T]:
    more = np.full((rows - len(array), *array.shape[1:]), fill, dtype=array.dtype)
    return np.concatenate([array, more])
