"""From answers whose series have owners to rows of usage. Pure numpy on what was asked and matched.

Several series of one owner in one answer: the highest value counts (see series_matching).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from collectors.prometheus.queries import Answered, Grid, Query
from collectors.reading import CPU, Floats, Measurements
from collectors.series_matching import Matching


@dataclass(frozen=True, eq=False)
class Match:
    """One query, its answer, and whom each series speaks of."""

    query: Query
    answered: Answered
    matching: Matching


@dataclass(frozen=True, eq=False)
class MatchedAnswers:
    """Everything answered about nodes, or about pods."""

    matches: Sequence[Match]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Whoever has a series in any answer, sorted."""
        return tuple(sorted({name for match in self.matches for name in match.matching.counts}))

    def at(self, time: float, resources: Sequence[str]) -> Measurements:
        """Rows for one instant, each with the time its samples carry."""
        usage = self._cube(resources, Grid(time))[:, :, 0]
        return Measurements(self.names, usage, self._times(time), self._windows(len(self.names)))

    def along(self, grid: Grid, resources: Sequence[str]) -> Iterator[Measurements]:
        """Rows for every instant of a grid; those without a value at that instant are left out."""
        names = np.array(self.names, dtype=object)
        cube = self._cube(resources, grid)
        present: npt.NDArray[np.bool_] = np.any(np.isfinite(cube), axis=1)
        for point, time in enumerate(grid.times):
            here = present[:, point]
            count = int(here.sum())
            usage = cube[here, :, point]
            yield Measurements(tuple(names[here]), usage, np.full(count, time), self._windows(count))

    @cached_property
    def _placed(self) -> "list[_Placed]":
        row_of = {name: row for row, name in enumerate(self.names)}
        return [_placed(match, row_of) for match in self.matches]

    def _cube(self, resources: Sequence[str], grid: Grid) -> Floats:
        """Usage on the axes (name, resource, instant)."""
        cube = np.full((len(self.names), len(resources), grid.count), np.nan)
        for placed in self._placed:
            column = cube[:, resources.index(placed.resource)]
            np.fmax.at(column, (placed.rows, grid.positions(placed.times)), placed.values)
        return cube

    def _times(self, otherwise: float) -> Floats:
        times = np.full(len(self.names), np.nan)
        for placed in self._placed:
            np.fmax.at(times, placed.rows, placed.times)
        return np.where(np.isfinite(times), times, otherwise)

    def _windows(self, count: int) -> Floats:
        """Of the cpu query, the one that takes a rate."""
        lengths = [match.query.window_seconds for match in self.matches if match.query.resource == CPU]
        return np.full(count, next((length for length in lengths if length is not None), np.nan))


@dataclass(frozen=True, eq=False)
class _Placed:
    """The samples of one answer that have an owner: parallel arrays."""

    resource: str
    rows: npt.NDArray[np.intp]
    times: Floats
    values: Floats


def _placed(match: Match, row_of: Mapping[str, int]) -> _Placed:
    of_series = np.array([row_of.get(owner or "", -1) for owner in match.matching.owners], dtype=np.intp)
    rows = of_series[match.answered.origins]
    owned = rows >= 0
    return _Placed(match.query.resource, rows[owned], match.answered.times[owned], match.answered.values[owned])
