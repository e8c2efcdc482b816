"""How much something uses over time, as a multiple of its own average.

Three patterns, as one sees them in clusters:

    stable   1 + 0.2 * wobble                              a level with slow noise: caches, databases, solvers
    wave     (1 + depth * cos(day)) * (1 + 0.1 * wobble)   a smooth daily rhythm: whatever people use
    spikes   floor + (1 - floor) * burst / its mean        mostly little, now and then a lot: workers, builds

Each averages 1 over a long time, so a curve says *when*, never *how much*. `Curves` is all that a scenario needs to
know: recorded traces can take the place of `GeneratedCurves`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from collectors.reading import Floats
from loadaware.simulation.noise import Ints, Words, uniform, wobble

DAY_SECONDS = 86_400.0
WOBBLE_SECONDS = 600.0
"""Slow noise takes about ten minutes from one height to the next."""
SPIKE_FLOOR = 0.35
"""What a spiky thing uses between its spikes, as a share of its average."""
SPIKE_SPREAD = 0.8
"""Spikes reach from 1 - spread to 1 + spread of their mean height."""


class Pattern(IntEnum):
    """The shape of a curve."""

    STABLE = 0
    WAVE = 1
    SPIKES = 2


class Curves(Protocol):
    """A library of curves, numbered from 0."""

    def level(self, curves: Ints, times: Floats) -> Floats:
        """The height of each curve at each time, averaging about 1. The two arguments are broadcast together."""
        ...


@dataclass(frozen=True, eq=False)
class GeneratedCurves:
    """Curves by formula. One row per curve; columns that a pattern does not use are ignored."""

    pattern: Ints
    seed: Words
    peak: Floats
    """Wave: the second of the day (UTC) at which it is highest."""
    depth: Floats
    """Wave: how far it swings, 0..1."""
    slot_seconds: Floats
    """Spikes: one spike in each slot of this length, at a random place in it."""
    busy: Floats
    """Spikes: the share of a slot that the spike lasts."""

    def level(self, curves: Ints, times: Floats) -> Floats:
        """The height of each curve at each time."""
        curves, times = np.broadcast_arrays(curves, times)
        rows, at = curves.ravel(), times.ravel()
        heights = np.empty(rows.shape)
        patterns = self.pattern[rows]
        for pattern, shape in ((0, self._stable), (1, self._wave), (2, self._spikes)):
            chosen = np.flatnonzero(patterns == pattern)
            heights[chosen] = shape(rows[chosen], at[chosen])
        return heights.reshape(curves.shape)

    def like(self, rows: Ints, seeds: Words, shift_seconds: Floats) -> "GeneratedCurves":
        """Relatives of these curves: the same parameters, other dice, peaks moved a little."""
        return GeneratedCurves(
            pattern=self.pattern[rows],
            seed=seeds,
            peak=self.peak[rows] + shift_seconds,
            depth=self.depth[rows],
            slot_seconds=self.slot_seconds[rows],
            busy=self.busy[rows],
        )

    def followed_by(self, other: "GeneratedCurves") -> "GeneratedCurves":
        """Both libraries as one: the other's numbers go on where these end."""
        return GeneratedCurves(
            pattern=np.concatenate([self.pattern, other.pattern]),
            seed=np.concatenate([self.seed, other.seed]),
            peak=np.concatenate([self.peak, other.peak]),
            depth=np.concatenate([self.depth, other.depth]),
            slot_seconds=np.concatenate([self.slot_seconds, other.slot_seconds]),
            busy=np.concatenate([self.busy, other.busy]),
        )

    def _stable(self, rows: Ints, times: Floats) -> Floats:
        return 1.0 + 0.2 * wobble(self.seed[rows], times, WOBBLE_SECONDS)

    def _wave(self, rows: Ints, times: Floats) -> Floats:
        angle = (times - self.peak[rows]) * (2.0 * np.pi / DAY_SECONDS)
        unrest = wobble(self.seed[rows], times, WOBBLE_SECONDS)
        return (1.0 + self.depth[rows] * np.cos(angle)) * (1.0 + 0.1 * unrest)

    def _spikes(self, rows: Ints, times: Floats) -> Floats:
        seed, busy = self.seed[rows], self.busy[rows]
        position = times / self.slot_seconds[rows]
        slot = np.floor(position).astype(np.int64)
        begin = uniform(seed, slot, 1) * (1.0 - busy)
        inside = position - slot
        active = (inside >= begin) & (inside < begin + busy)
        height = 1.0 + SPIKE_SPREAD * (2.0 * uniform(seed, slot, 2) - 1.0)
        return SPIKE_FLOOR + (1.0 - SPIKE_FLOOR) * active * height / busy
