"""Names to rows, and back: which row of the arrays a node has, for as long as anything refers to it.

A row is taken when a node is first mentioned (by itself or by a pod bound to it) and given back when the node is gone
and no pod refers to it any more, so arrays stay as large as the largest cluster seen and no row changes its owner
under a pod's feet.
"""


class Roster:
    """Rows by name. `hold` and `release` count references; a row is free again at zero."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._names: list[str | None] = []
        self._references: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """Rows ever needed at once: the length that arrays must have."""
        return len(self._names)

    def row(self, name: str) -> int | None:
        """The row of a name, if it has one."""
        return self._rows.get(name)

    def name(self, row: int) -> str:
        """The name that holds a row."""
        name = self._names[row]
        if name is None:
            raise LookupError(f"row {row} is free")
        return name

    def hold(self, name: str) -> int:
        """The row of a name, taken if need be, with one more reference."""
        row = self._rows.get(name)
        if row is None:
            row = self._take()
            self._rows[name] = row
            self._names[row] = name
        self._references[row] += 1
        return row

    def release(self, row: int) -> bool:
        """One reference less; whether the row is free now."""
        self._references[row] -= 1
        if self._references[row] > 0:
            return False
        del self._rows[self.name(row)]
        self._names[row] = None
        self._free.append(row)
        return True

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        self._names.append(None)
        self._references.append(0)
        return len(self._names) - 1
