"""Rows of a kept table that wait for their owner: a pod or a node that was known before we started.

What was kept is there before the cluster was listed. Each row is taken once, when its owner is told of; when the list
is complete, whoever was not in it is gone, and what was kept of it is dropped.
"""

from loadaware.demand_state import Table


class Awaited:
    """Rows by name. Of two for one name the newer counts."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Table, int]] = {}
        self._times: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, table: Table) -> None:
        """Keep a table's rows, except where a newer one waits."""
        for row, (name, time) in enumerate(zip(table.names, table.times.tolist(), strict=True)):
            if name not in self._rows or time > self._times[name]:
                self._rows[name] = table, row
                self._times[name] = time

    def take(self, name: str) -> tuple[Table, int] | None:
        """The table and the row of an owner that came; None if nothing waits for it."""
        self._times.pop(name, None)
        return self._rows.pop(name, None)

    def clear(self) -> None:
        """Nobody else will come."""
        self._rows.clear()
        self._times.clear()
