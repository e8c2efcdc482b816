"""Randomness that can be asked for at any moment, in any order.

A pod's usage at 14:03:30 must be the same whichever policy placed it and whatever was asked before, or two policies
would not be judged on the same day. A stream of random numbers cannot give that; a mixing function of (seed, step)
can: the same question always has the same answer, and whole arrays are answered at once.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from collectors.reading import Floats

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def draw_seeds(random: np.random.Generator, count: int) -> Words:
    """One seed for each of `count` things."""
    return random.integers(0, 2**63, size=count, dtype=np.uint64)


def uniform(seeds: Words, steps: Ints, purpose: int = 0) -> Floats:
    """A number in [0, 1) for each (seed, step). Different purposes give unrelated numbers. One-dimensional."""
    words = seeds + (steps.astype(np.uint64) + np.uint64(purpose * 0x632BE5AB)) * _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: Floats = ((words ^ (words >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    return mixed


def wobble(seeds: Words, times: Floats, seconds: float, purpose: int = 0) -> Floats:
    """A smooth walk in [-1, 1]: a random height every `seconds`, straight lines between. One-dimensional."""
    knots = np.floor(times / seconds)
    before = knots.astype(np.int64)
    left, right = uniform(seeds, before, purpose), uniform(seeds, before + 1, purpose)
    return 2.0 * (left + (right - left) * (times / seconds - knots)) - 1.0
