"""What was learned, as a value: tables of named columns, to be kept on disk, handed over, or looked at.

    cluster     one row             sums (row, resource, power 0..2), cubes (row, resource: power 3), thirds (row,
                                    resource: what is usual of a workload, see demand.py), times
    workloads   by name             sums, cubes, times, bases (what one pod is taken to request), requests (what one
                                    pod of it requested when last seen, 0 for nothing), inferred (how many of the
                                    samples are guesses), word_<trait> (row number + 1, 0 for none)
    words       by trait=word       effects (row, resource): see prior.py
    pods        by identity         sums, cubes, times, bases (what the ratios are of), requests, workloads (row number)
    rest        by node             counts (row, resource), sums, times

Bargain: the first axis of a column is the row, the second, if there is one, the resource. A column called `times` is
in seconds since 1970, -inf for never. Whoever reads a table takes the columns it knows and leaves the others, so a
newer minor version may add tables and columns; one that changes the meaning of any is a new major version.

Sums are kept with the time of their last sample, not faded to the moment of saving: forgetting goes on by itself over
however long the value lay around.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats
from loadaware.window import Ints

Column = npt.NDArray[np.float64] | npt.NDArray[np.intp]
TIMES = "times"


@dataclass(frozen=True, eq=False)
class Table:
    """Named rows and named columns."""

    names: tuple[str, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)

    def floats(self, name: str, *shape: int) -> Floats:
        """A column of numbers, one such shape per row; zeros if there is none."""
        found = self.columns.get(name)
        whole = (len(self.names), *shape)
        return np.zeros(whole) if found is None or found.shape != whole else found.astype(np.float64, copy=False)

    def numbers(self, name: str) -> Ints:
        """A column of row numbers of another table; -1 if there is none."""
        found = self.columns.get(name)
        return np.full(len(self.names), -1, dtype=np.intp) if found is None else found.astype(np.intp, copy=False)

    def row(self, position: int) -> "Table":
        """One row."""
        columns = {name: column[position : position + 1] for name, column in self.columns.items()}
        return Table(self.names[position : position + 1], columns)

    @property
    def times(self) -> Floats:
        """When each row learned last; -inf for never."""
        found = self.columns.get(TIMES)
        return np.full(len(self.names), -np.inf) if found is None else found.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class DemandState:
    """Everything learned at one moment."""

    resources: tuple[str, ...]
    time: float
    """When it was told."""
    tables: Mapping[str, Table]
    settings: Mapping[str, float] = field(default_factory=dict)
    """By what it was learned: half-lives in seconds, priors in samples."""

    def table(self, name: str) -> Table:
        """A table; empty if there is none."""
        return self.tables.get(name, Table())

    @property
    def newest(self) -> float:
        """When anything was last learned of a pod; -inf for never."""
        return float(self.table("cluster").times.max(initial=-np.inf))

    def of_resources(self, resources: Sequence[str]) -> "DemandState":
        """The same in another order of resources; of those that it does not have, nothing is known (zero)."""
        if tuple(resources) == self.resources:
            return self
        tables = {name: self._reordered(table, resources) for name, table in self.tables.items()}
        return replace(self, resources=tuple(resources), tables=tables)

    def not_after(self, now: float) -> "DemandState":
        """The same, with nothing from the future: a clock that was ahead must not keep us from learning."""
        tables = {name: _not_after(table, now) for name, table in self.tables.items()}
        return replace(self, time=min(self.time, now), tables=tables)

    def _reordered(self, table: Table, resources: Sequence[str]) -> Table:
        columns = {name: self._column(column, resources) for name, column in table.columns.items()}
        return replace(table, columns=columns)

    def _column(self, column: Column, resources: Sequence[str]) -> Column:
        if column.ndim < 2:
            return column
        ours = np.zeros((len(column), len(resources), *column.shape[2:]), dtype=column.dtype)
        for position, resource in enumerate(resources):
            if resource in self.resources:
                ours[:, position] = column[:, self.resources.index(resource)]
        return ours


def _not_after(table: Table, now: float) -> Table:
    if TIMES not in table.columns:
        return table
    return replace(table, columns={**table.columns, TIMES: np.minimum(table.times, now)})
