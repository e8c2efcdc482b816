"""Names of nodes that a snapshot knows, as rows of its table: read once from a request, never looked up again.

The bargain: it is a sequence of names like any other, made of the table's own strings when somebody looks. Who has the
same table (the snapshot that the request is answered from) takes the rows instead.
"""

from collections.abc import Iterator, Sequence
from typing import overload

from loadaware.window import Ints


class KnownNames(Sequence[str]):
    """`table[row]` for each of the rows."""

    __slots__ = ("rows", "table")

    def __init__(self, table: Sequence[str], rows: Ints) -> None:
        self.table = table
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return map(self.table.__getitem__, self.rows.tolist())

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> "KnownNames": ...
    def __getitem__(self, position: int | slice) -> "str | KnownNames":
        if isinstance(position, slice):
            return KnownNames(self.table, self.rows[position])
        return self.table[self.rows[position]]
