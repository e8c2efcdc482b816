"""A PromQL question and its answer as arrays: the vocabulary between a Prometheus and a reading. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

LONGEST_QUERY_QUOTE = 200


@dataclass(frozen=True)
class Query:
    """A question about one resource of nodes or of pods."""

    kind: Literal["node", "pod"]
    resource: str
    expression: str
    origin: str = ""
    """The name of the query set that it is from; empty for the user's own."""
    window_seconds: float | None = None
    """The length over which it takes rates, if it tells."""

    def __str__(self) -> str:
        text = " ".join(self.expression.split())
        shown = text if len(text) <= LONGEST_QUERY_QUOTE else text[: LONGEST_QUERY_QUOTE - 3] + "..."
        return f"{self.kind} {self.resource} query `{shown}`"


@dataclass(frozen=True)
class Grid:
    """The instants of a range query: `count` of them, `step` seconds apart."""

    start: float
    step: float = 1.0
    count: int = 1

    @property
    def times(self) -> Floats:
        """All of them."""
        return self.start + self.step * np.arange(self.count, dtype=np.float64)

    def positions(self, times: Floats) -> npt.NDArray[np.intp]:
        """Where on the grid these times are; whatever a source rounds stays on it."""
        places = np.rint((times - self.start) / self.step)
        return np.clip(places, 0, self.count - 1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Answered:
    """What came back. The three arrays are parallel: one row per sample, series by series."""

    series: Sequence[Mapping[str, str]]
    """The labels of each."""
    origins: npt.NDArray[np.intp]
    """The series that each sample belongs to."""
    times: Floats
    values: Floats
    """Infinities are no measurements: they are NaN here."""
    warnings: tuple[str, ...] = ()
    """What the source itself says is wrong with the answer, such as a store that did not respond."""
