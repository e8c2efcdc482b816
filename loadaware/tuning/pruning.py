"""When a trial is given up: its first cases are clearly worse than those of the best so far, pair by pair.

Cases are judged in growing steps (2, 2, 4, 8, ... cases). After each step a trial is given up if, in every objective,

    ours > theirs in each case judged so far, and  mean(ours - theirs) > margin * mean(theirs),   margin = 0.3 / sqrt(n)

One case never decides: a short run of a small cluster may be upset by a single burst. Both had the same arrivals and
usage in each case. The best so far is that of the batches before, so it does not depend on who is finished first. A
trial that was given up is told to the sampler with its estimate: the best's values over all cases, plus the mean
difference. It is worse than the best by construction, so it never wins.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadaware.tuning.objective import Values, values_of
from loadaware.tuning.source import Judged

MARGIN = 0.3
FIRST_CASES = 2


@dataclass(frozen=True)
class Pruning:
    """The rule; switched off it gives nobody up."""

    on: bool = True
    margin: float = MARGIN

    def steps(self, cases: Sequence[str]) -> list[tuple[str, ...]]:
        """Cases in the order and the portions in which they are judged."""
        if not self.on:
            return [tuple(cases)]
        steps, done, size = [], 0, FIRST_CASES
        while done < len(cases):
            steps.append(tuple(cases[done : done + size]))
            done += size
            size = done
        return steps

    def gives_up(self, ours: Sequence[Judged], theirs: Sequence[Judged], objectives: Sequence[str]) -> bool:
        """Whether ours is clearly worse, on the same cases."""
        return self.on and all(self._worse(ours, theirs, name) for name in objectives)

    def _worse(self, ours: Sequence[Judged], theirs: Sequence[Judged], name: str) -> bool:
        pairs = [(a.figures.get(name), b.figures.get(name)) for a, b in zip(ours, theirs, strict=True)]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known or any(a <= b for a, b in known):
            return False
        margin = self.margin / math.sqrt(len(known)) * sum(b for _, b in known)
        return sum(a - b for a, b in known) > margin


def estimate(
    ours: Sequence[Judged], theirs: Sequence[Judged], all_theirs: Sequence[Judged], objectives: Sequence[str]
) -> Values:
    """What a trial that was given up would have come to."""
    whole, part, own = (values_of(judged, objectives) for judged in (all_theirs, theirs, ours))
    return tuple(w + o - p for w, o, p in zip(whole, own, part, strict=True))
