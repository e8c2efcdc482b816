"""How much each parameter mattered in a search: the share of the objective's variance that its value explains.

    groups  = the values of a choice, or quarters of a number's range as it was drawn
    between = sum over groups of n * (mean of the group - mean)^2,   total = sum of (value - mean)^2
    share   = (between - (g - 1) * within variance) / total, at least 0     what luck alone would give is taken off

over the trials in which the parameter was drawn. Values are ranks: one hopeless trial does not decide. Trials crowd
where the search found it good, so this says what mattered on the way, not what would matter everywhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from collectors.reading import Floats
from loadaware.tuning.search import Finished

GROUPS = 4
FEWEST_TRIALS = 8


def importances(finished: Sequence[Finished], names: Sequence[str], objective: int = 0) -> dict[str, float]:
    """Shares in 0..1 by parameter, the largest first. Those drawn too seldom are left out."""
    shares = {}
    for name in names:
        drawn = [one for one in finished if name in one.drawn]
        if len(drawn) >= FEWEST_TRIALS:
            ranks = _ranks(np.array([one.values[objective] for one in drawn]))
            shares[name] = _explained(_groups([one.drawn[name] for one in drawn]), ranks)
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def _explained(groups: Floats, ranks: Floats) -> float:
    kinds = np.unique(groups)
    total = float(((ranks - ranks.mean()) ** 2).sum())
    if len(kinds) < 2 or len(ranks) <= len(kinds) or total == 0:
        return 0.0
    within = sum(float(((ranks[groups == kind] - ranks[groups == kind].mean()) ** 2).sum()) for kind in kinds)
    chance = (len(kinds) - 1) * within / (len(ranks) - len(kinds))
    return min(max((total - within - chance) / total, 0.0), 1.0)


def _groups(values: Sequence[Any]) -> Floats:
    """The number of each value's group."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values) and len(set(numbers)) > GROUPS:
        array = np.array(numbers, dtype=np.float64)
        edges = np.quantile(array, np.linspace(0, 1, GROUPS + 1)[1:-1])
        return np.searchsorted(edges, array, side="right").astype(np.float64)
    kinds = sorted({str(value) for value in values})
    return np.array([float(kinds.index(str(value))) for value in values])


def _ranks(values: Floats) -> Floats:
    """From 1 on; equals share theirs."""
    ordered = np.sort(values)
    below, upto = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((below + 1 + upto) / 2.0)
