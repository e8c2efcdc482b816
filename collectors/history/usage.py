"""Usage as rows and back: one row per reading and name, one float64 column per resource.

These two tables are nearly all of a history's bytes. Rows stand in the order of the readings, so a reading is read
back as "the next n rows" without search or sort, and names that come in the same order each time compress to almost
nothing. A resource that only some readings of a file have is NaN in the others' rows.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from collectors.history.arrow import arrow
from collectors.reading import Floats, Measurements, Reading

MEASURED = ("nodes", "pods")
Batches = Iterator[Any]
"""Arrow record batches, in order."""


def measured_tables(readings: Sequence[tuple[int, Reading]]) -> dict[str, Any]:
    """Tables `nodes` and `pods` of these readings (sequence, reading); one without rows is left out."""
    resources = tuple(dict.fromkeys(chain.from_iterable(reading.resources for _, reading in readings)))
    rows: dict[str, list[tuple[int, tuple[str, ...], Any, Any]]] = {
        "nodes": [(s, r.resources, r.nodes, r.node_deviation) for s, r in readings],
        "pods": [(s, r.resources, r.pods, None) for s, r in readings if r.pods is not None],
    }
    tables = {name: _measured_table(resources, measured) for name, measured in rows.items() if measured}
    return {name: table for name, table in tables.items() if table.num_rows}


def _measured_table(resources: tuple[str, ...], measured: Sequence[tuple[int, tuple[str, ...], Any, Any]]) -> Any:
    pa = arrow()
    counts = [len(rows.names) for _, _, rows, _ in measured]
    names = pa.chunked_array([pa.array(rows.names, pa.string()) for _, _, rows, _ in measured])
    columns = {
        "sequence": np.repeat(np.array([sequence for sequence, *_ in measured], dtype=np.int64), counts),
        "name": names.combine_chunks().dictionary_encode(),
        "time": np.concatenate([rows.times for _, _, rows, _ in measured]),
        "window": np.concatenate([rows.windows for _, _, rows, _ in measured]),
    }
    for resource in resources:
        usage = [_usage(of, rows.usage, resource, len(rows.names)) for _, of, rows, _ in measured]
        columns[f"usage_{resource}"] = np.concatenate(usage)
    if any(deviation is not None for *_, deviation in measured):
        for resource in resources:
            spread = [_usage(of, values, resource, len(rows.names)) for _, of, rows, values in measured]
            columns[f"deviation_{resource}"] = np.concatenate(spread)
    return pa.table(columns)


def _usage(resources: tuple[str, ...], values: Floats | None, resource: str, count: int) -> Floats:
    """One resource's column; NaN where this reading did not ask for it."""
    if values is None or resource not in resources:
        return np.full(count, np.nan)
    column: Floats = values[:, resources.index(resource)]
    return column


class MeasuredRows:
    """The rows of `nodes` or `pods`, handed out reading by reading."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._rest: Any = None
        self._dictionary: Any = None
        self._words: list[str] = []
        self._names: tuple[str, ...] = ()

    def take(
        self, sequence: int, count: int, resources: tuple[str, ...], deviation: bool = False
    ) -> tuple[Measurements, Floats | None]:
        """The next `count` rows, and their deviation if it was told."""
        slices = list(self._slices(count))
        if any((piece.column("sequence").to_numpy() != sequence).any() for piece in slices):
            raise ValueError(f"rows of another reading where those of record {sequence} should be")
        measurements = Measurements(
            names=self._names_of(slices),
            usage=_matrix(slices, "usage", resources),
            times=_values(slices, "time"),
            windows=_values(slices, "window"),
        )
        return measurements, _matrix(slices, "deviation", resources) if deviation else None

    def _slices(self, count: int) -> Iterator[Any]:
        while count > 0:
            if self._rest is None or self._rest.num_rows == 0:
                self._rest = next(self._batches, None)
            if self._rest is None:
                raise ValueError(f"{count} rows are missing")
            piece = self._rest.slice(0, count)
            self._rest = self._rest.slice(piece.num_rows)
            count -= piece.num_rows
            yield piece

    def _names_of(self, slices: Sequence[Any]) -> tuple[str, ...]:
        """The same tuple as last time if nothing came or went: 15,000 names are kept once."""
        names = tuple(chain.from_iterable(map(self._piece_names, slices)))
        if names != self._names:
            self._names = names
        return self._names

    def _piece_names(self, piece: Any) -> Iterator[str]:
        column = piece.column("name")
        if self._dictionary is None or not column.dictionary.equals(self._dictionary):
            self._dictionary = column.dictionary
            self._words = column.dictionary.to_pylist()
        return map(self._words.__getitem__, column.indices.to_numpy().tolist())


def _values(slices: Sequence[Any], column: str) -> Floats:
    pieces = [piece.column(column).to_numpy(zero_copy_only=False) for piece in slices]
    return np.concatenate(pieces) if pieces else np.empty(0)


def _matrix(slices: Sequence[Any], prefix: str, resources: tuple[str, ...]) -> Floats:
    count = sum(piece.num_rows for piece in slices)
    columns = [_values(slices, f"{prefix}_{resource}") for resource in resources]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))
