"""What is made once for a table of node names: how a request's names are read as rows, and how an answer is written.

Of the work per node on the hot path nothing is left to Python. Reading: msgspec looks each name up in a table of its
own while it parses, so that a request of 5,000 names makes no string at all. It has no type for "one of these names,
as its number", but it has enumerations, and reads a member by its value from the class's own map of them: here that map
is filled with numbers, because 5,000 real members would take 30 ms to make. Writing: the part of each host is copied
from rows of bytes of one width by numpy.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt

from loadaware.window import Ints

SCORE_WIDTH = 5
_encoder = msgspec.json.Encoder()


class NodeTable:
    """The names of a snapshot. They are another object after each reading, but seldom other names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        begins = [b'{"Host":%b,"Score":' % _encoder.encode(name) for name in names]
        width = max(map(len, begins), default=0) + SCORE_WIDTH
        self._hosts = _matrix([begin.ljust(width) for begin in begins], width)
        self.fit = width * len(names) <= 2 * sum(map(len, begins)) + SCORE_WIDTH * len(names)
        """Whether rows of one width are not much longer than the names are."""
        self.row = _row_type(names) if names else int
        """What msgspec reads one of these names as, straight into its row; it refuses any other name."""

    def knows(self, names: Sequence[str]) -> bool:
        """Whether it is of these names."""
        if self.names is not names and self.names == names:
            self.names = names
        return self.names is names

    def encode(self, rows: Ints, priorities: npt.NDArray[np.int64]) -> bytes:
        """HostPriorityList of these rows, with priorities of at most three digits, of at least one node."""
        answer = self._hosts.take(rows, axis=0)
        answer[:, -SCORE_WIDTH:] = _scores.take(priorities, axis=0)
        answer[-1, -1] = ord("]")
        return b"[" + answer.tobytes()


def _row_type(names: Sequence[str]) -> type:
    class Row(Enum):
        """No members of its own: see above."""

    cast("Any", Row)._value2member_map_ = {name: number for number, name in enumerate(names)}
    return Row


def _matrix(rows: Sequence[bytes], width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), width)


_scores = _matrix([b"%3d}," % score for score in range(1000)], SCORE_WIDTH)
MOST_SCORE = len(_scores) - 1
