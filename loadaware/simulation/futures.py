"""What every pod will use in every step of its life: what only the references may know.

A pod works from its binding plus its start delay, rounded up to the next step, until the step in which it is gone.
Bound at once it works longest; that whole stretch is kept, and a pod that waited is shown from where it really begins.
Steps are not joined into longer ones: noise changes from step to step, and the peaks are what is looked for.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats
from loadaware.simulation.metering import Timing
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario

Singles = npt.NDArray[np.float32]

BLOCK_STEPS = 20
"""Asked for at a time: small tables stay in the processor's cache, and few pods come or go within one."""


class Stretch(NamedTuple):
    """Usage over some steps in a row."""

    first: int
    """The number of the first step."""
    usage: Singles
    """Cores in each."""

    @property
    def end(self) -> int:
        """The step after the last."""
        return self.first + len(self.usage)


@dataclass(frozen=True, eq=False)
class Futures:
    """Rows of different lengths in one array. Steps are numbered from the scenario's start."""

    start: float
    step_seconds: float
    steps: int
    """Of the whole scenario; nothing is foreseen beyond."""
    delays: Floats
    """Seconds from each pod's binding to its first work."""
    first: Ints
    """The step in which each pod begins to work if it is bound on arrival."""
    end: Ints
    """The first step in which it no longer does; not before `first`."""
    offsets: Ints
    """Where each pod's row begins in `values`, and where the last one ends."""
    values: Singles
    """Cores wanted."""

    def of(self, pod: int, bound_at: float | None = None) -> Stretch:
        """What the pod will use if it is bound at that time; on arrival unless told."""
        first = int(self.first[pod])
        begin = first if bound_at is None else self._begin(pod, bound_at)
        return Stretch(begin, self.values[self.offsets[pod] + begin - first : self.offsets[pod + 1]])

    def is_over(self, pod: int, time: float) -> bool:
        """Whether the pod will use nothing after that time."""
        return bool(self.start + self.end[pod] * self.step_seconds <= time)

    def _begin(self, pod: int, bound_at: float) -> int:
        step = int(np.ceil((bound_at + self.delays[pod] - self.start) / self.step_seconds))
        return min(max(step, int(self.first[pod])), int(self.end[pod]))

    def at(self, pods: Ints, step: int) -> Floats:
        """What these pods, all at work, use in one step."""
        return self.values[self.offsets[pods] + (step - self.first[pods])].astype(np.float64)


def foresee(scenario: Scenario, timing: Timing | None = None) -> Futures:
    """Every pod's future. The timing must be that of the run."""
    timing = timing or Timing()
    start, step = scenario.settings.start, timing.step_seconds
    steps = int((scenario.settings.end - start) / step)
    arrivals, delays = scenario.arrivals, scenario.start_delays(*timing.start_seconds)
    end = np.clip(_steps_until(arrivals.departure - start, step), 0, steps)
    first = np.minimum(_steps_until(arrivals.arrival + delays - start, step), end)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(end - first)])
    values = np.empty(offsets[-1], dtype=np.float32)
    for block in range(0, steps, BLOCK_STEPS):
        there = np.flatnonzero((first < block + BLOCK_STEPS) & (end > block))
        numbers = np.arange(block, min(block + BLOCK_STEPS, steps))
        table = scenario.usage(there[:, None], start + step * numbers[None, :].astype(np.float64))
        works = (numbers >= first[there, None]) & (numbers < end[there, None])
        places = (offsets[there] - first[there])[:, None] + numbers
        values[places[works]] = table[works]
    return Futures(start, step, steps, delays, first, end, offsets, values)


def _steps_until(seconds: Floats, step_seconds: float) -> Ints:
    return np.ceil(seconds / step_seconds).astype(np.int64)
