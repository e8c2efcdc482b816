"""kube-scheduler's cycle in small: filter, ask the extender, score, add up, bind.

    total = default plugins, weighted + Score * weight * 10

as kube-scheduler sums them; of equal totals one is picked at random. With one feasible node nobody is asked for
scores. All nodes are scored, as kube-scheduler does in clusters of up to 100 nodes. The same cycle without advice is
the default scheduler that the demo compares with.
"""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadaware.demo.extender_client import Advice
from loadaware.demo.side import Pending, Side
from loadaware.simulation.default_scores import best
from loadaware.simulation.noise import Ints

IDLE_SECONDS = 0.01


@dataclass(frozen=True)
class Decision:
    """Where a pod went, and what came second. `default_choice` is the default plugins' favourite."""

    pod: str
    cores: float
    first: str
    second: str | None
    lead: int
    """By how much the first choice's total was ahead."""
    default_choice: str


class Scheduler:
    """Places the pods of one side, one after the other."""

    def __init__(self, side: Side, advice: Advice, random: np.random.Generator) -> None:
        self._side = side
        self._advice = advice
        self._random = random
        self.placed = 0
        self.decisions: deque[Decision] = deque(maxlen=50)
        """The last ones, newest last."""

    def cycle(self) -> bool:
        """Try to place the pod whose turn it is. False if there was none."""
        pending = self._side.next_pending()
        if pending is None:
            return False
        nodes = self._advice.filter(pending.manifest, pending.nodes)
        if nodes:
            self._place(pending, nodes)
        else:
            self._side.set_aside(pending)
        return True

    def drain(self) -> None:
        """Place whoever can be placed now."""
        while self.cycle():
            pass

    def _place(self, pending: Pending, nodes: Sequence[str]) -> None:
        defaults = self._side.default_totals(pending, nodes)
        totals = defaults
        if len(nodes) > 1:
            totals = defaults + self._advice.prioritize(pending.manifest, nodes)
        first = best(totals, self._random)
        if self._side.bind(pending, nodes[first]):
            self.placed += 1
            self.decisions.append(_decision(pending, nodes, totals, defaults, first))


def _decision(pending: Pending, nodes: Sequence[str], totals: Ints, defaults: Ints, first: int) -> Decision:
    others = np.delete(np.arange(len(nodes)), first)
    second = int(others[np.argmax(totals[others])]) if len(others) else None
    favourite = first if defaults[first] == defaults.max() else int(np.argmax(defaults))
    return Decision(
        pod=pending.key,
        cores=pending.cores,
        first=nodes[first],
        second=None if second is None else nodes[second],
        lead=0 if second is None else int(totals[first] - totals[second]),
        default_choice=nodes[favourite],
    )


def run_schedulers(schedulers: Sequence[Scheduler], stopping: threading.Event) -> None:
    """Let them work in turns until told to stop: the body of the scheduling thread."""
    while not stopping.is_set():
        busy = [scheduler.cycle() for scheduler in schedulers]
        if not any(busy):
            stopping.wait(IDLE_SECONDS)
