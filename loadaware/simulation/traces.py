"""Recorded days of CPU use in place of generated curves.

A folder holds one file per day, NAME-DAY.npz, each with an array `cpu_percent`: one row per machine, columns evenly
spread over the day. Every workload and every pod follows the row of a machine drawn for it. Values between two columns
lie on a straight line, and the day wraps at midnight:

    level(curve, time) = percent of its machine at that time of day / 100

A recorded curve says *how much*, too: machines differ in their means, and that difference is part of what is to be
learned. The scenario's scale takes care of the load.
"""

import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collectors.reading import Floats
from loadaware.errors import LoadAwareError
from loadaware.simulation.curves import DAY_SECONDS
from loadaware.simulation.noise import Ints

MEMBER = "cpu_percent"
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    MemoryError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)
"""What a file that was cut off, changed on its way or packed in another manner can raise."""


@dataclass
class TracesError(LoadAwareError):
    """Traces that cannot be used: which file or folder, and why."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


@dataclass(frozen=True, eq=False)
class Traces:
    """One day of many machines. Axes (machine, column), 1.0 is the whole machine."""

    name: str
    levels: Floats

    def smoothed(self, columns: int) -> "Traces":
        """The same day seen through a running mean over that many columns, wrapping at midnight."""
        around = range(-(columns // 2), columns - columns // 2)
        return Traces(self.name, np.mean([np.roll(self.levels, shift, axis=1) for shift in around], axis=0))


@dataclass(frozen=True, eq=False)
class RecordedCurves:
    """Curves that follow machines of a recorded day."""

    traces: Traces
    machine: Ints
    """The machine that each curve follows."""

    def level(self, curves: Ints, times: Floats) -> Floats:
        """The height of each curve at each time."""
        columns = self.traces.levels.shape[1]
        position = np.asarray(times) * (columns / DAY_SECONDS) % columns
        before = np.floor(position).astype(np.int64)
        left = self.traces.levels[self.machine[curves], before % columns]
        right = self.traces.levels[self.machine[curves], (before + 1) % columns]
        return left + (right - left) * (position - before)


def load_traces(folder: str, dataset: str | None = None) -> tuple[Traces, ...]:
    """Every day of a folder (or of one data set in it: files whose name begins so), in order of name."""
    place = Path(folder)
    if not place.is_dir():
        raise TracesError(folder, "there is no such folder")
    files = sorted(place.glob("*.npz"))
    if not files:
        raise TracesError(folder, f"holds no traces: a file per day is expected, NAME-DAY.npz with an array {MEMBER}")
    chosen = [file for file in files if dataset is None or file.name.startswith(dataset)]
    if not chosen:
        known = ", ".join(sorted({file.stem.split("-")[0] for file in files}))
        raise TracesError(folder, f"holds no data set {dataset!r}; there are: {known}")
    return tuple(_load(file) for file in chosen)


def _load(file: Path) -> Traces:
    try:
        with file.open("rb") as opened:
            if not zipfile.is_zipfile(opened):
                raise TracesError(
                    str(file), "cannot be read as traces: not an .npz as numpy.savez makes it, or cut off"
                )
            opened.seek(0)
            with np.load(opened, allow_pickle=False) as members:
                if MEMBER not in members:
                    raise TracesError(str(file), f"has no array {MEMBER}")
                percent = np.asarray(members[MEMBER], dtype=np.float64)
    except UNREADABLE as error:
        raise TracesError(str(file), f"cannot be read as traces: {error}") from error
    return Traces(file.stem, _checked(percent, str(file)) / 100.0)


def _checked(percent: Floats, place: str) -> Floats:
    if percent.ndim != 2 or not percent.shape[0] or percent.shape[1] < 2:
        shape = " x ".join(map(str, percent.shape)) or "a single number"
        raise TracesError(place, f"{MEMBER} must be machines x times of the day, and is {shape}")
    if not np.isfinite(percent).all() or percent.min() < 0 or not percent.any():
        raise TracesError(place, f"{MEMBER} must hold percentages, not below 0, not all 0")
    return percent
