"""Where a pod goes in a replay: what is asked again, and what comes of the answer.

    where it really went     if the answer is the recorded one: whatever else decided then decides now
                             if our model of kube-scheduler gives that node the highest sum, too
                             if nothing was asked about it (it was there before, it is a DaemonSet's ...)
    where the sum of our priority and kube-scheduler's default plugins is highest     otherwise; ties by seeded dice

A choice is kept from the answer until its pod is bound.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
import numpy as np

from collectors.manifests import Pod
from loadaware.default_plugins import POINTS_PER_PRIORITY
from loadaware.replay.ordering import AskedRecord
from loadaware.replay.retelling import Retelling
from loadaware.replay.whereabouts import Whereabouts
from loadaware.simulation.default_scores import default_scores
from loadaware.simulation.noise import Ints
from loadaware.simulation.placements import Placements

STAYS = frozenset({"DaemonSet", "Node"})
"""Owners whose pods belong to their node."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Totals for the nodes that a pod may go to; `same`: our answer is the recorded one."""

    names: tuple[str, ...]
    totals: Ints
    same: bool

    def best(self) -> list[str]:
        """The nodes with the highest total."""
        return [self.names[position] for position in np.flatnonzero(self.totals == self.totals.max()).tolist()]


class Choosing:
    """Asks what was asked, and chooses when a pod is bound; `counts` are added to under the names of `Counts`."""

    def __init__(self, told: Retelling, where: Whereabouts, counts: Counter[str], seed: int) -> None:
        self._told, self._where, self._counts, self._seed = told, where, counts, seed
        self._passed: dict[str, tuple[str, ...]] = {}
        self._chosen: dict[str, Choice] = {}
        self.requests_recorded = True
        """Otherwise a pod is asked about when it is bound."""

    # -- What was asked ---------------------------------------------------------------------------------------------

    def filtered(self, asked: AskedRecord) -> None:
        """Filter again; nodes that pass are remembered where they are others than really passed."""
        pod, names = asked.request.pod, asked.request.node_names
        passed = self._told.filter(pod, names, asked.request.profile)
        verdicts = asked.answer.verdicts if asked.answer is not None and not asked.detail.aside else ()
        really = tuple(n for n, v in zip(names, verdicts, strict=True) if v is None) if verdicts else names
        if set(passed) == set(really):
            self._passed.pop(pod.identity, None)
        else:
            self._counts["filters_differing"] += 1
            self._passed[pod.identity] = tuple(passed)

    def ranked(self, asked: AskedRecord) -> None:
        """Rank again; the choice is kept."""
        pod, answer = asked.request.pod, asked.answer
        offered = self._passed.get(pod.identity, asked.request.node_names)
        names = self._where.still_fitting(pod, offered)
        counted = answer is not None and not asked.detail.aside
        recorded = answer.priorities if answer is not None and counted else ()
        choice = self._choose(pod, names, recorded if names == asked.request.node_names else (), asked.request.profile)
        if counted:
            self._counts["answers_recorded"] += 1
            self._counts["answers_differing"] += not choice.same
        self._chosen[pod.identity] = choice

    def forget(self, identity: str) -> None:
        """A pod is gone."""
        self._chosen.pop(identity, None)
        self._passed.pop(identity, None)

    def settled(self, identity: str) -> None:
        """A pod is where it was thought to be: the choice is used up."""
        self._chosen.pop(identity, None)

    # -- Where it goes ----------------------------------------------------------------------------------------------

    def node_ahead(self, pod: Pod) -> str:
        """Where a pod goes that was ranked just now and, as the record says further on, really went to `pod.node`."""
        self._passed.pop(pod.identity, None)
        return self._decide(self._chosen[pod.identity], pod)

    def node_for(self, pod: Pod, time: float) -> str:
        """Where a pod goes that is on no node yet, and was really bound to `pod.node`."""
        choice = self._chosen.pop(pod.identity, None)
        passed = self._passed.pop(pod.identity, None)
        if choice is None and (self._free(pod, time) or passed is not None):
            names = passed if passed is not None else self._where.open_to(pod)
            choice = self._choose(msgspec.structs.replace(pod, node=None, phase="Pending"), names, ())
        return _home(pod) if choice is None else self._decide(choice, pod)

    def _free(self, pod: Pod, time: float) -> bool:
        """Where no requests are recorded: whether the pod was placed in our time and may go elsewhere."""
        if self.requests_recorded or (pod.owner is not None and pod.owner.kind in STAYS):
            return False
        bound_at = pod.bound_at if pod.bound_at is not None else pod.created_at
        began = self._told.first_reading
        return began is not None and (time if bound_at is None else bound_at) >= began

    def _choose(self, pod: Pod, names: Sequence[str], recorded: tuple[int, ...], profile: str | None = None) -> Choice:
        self._counts["asked"] += 1
        priorities = self._told.rank(pod, names, profile) if names else np.zeros(0, dtype=np.int64)
        known = [name for name in names if self._where.knows(name)]
        same = bool(len(names)) and tuple(priorities.tolist()) == recorded
        if len(known) < len(names) or not names:
            return Choice(tuple(names), POINTS_PER_PRIORITY * priorities, same)
        where = cast("Placements", self._where)  # it has all that the scores look at
        total = default_scores(where, self._where.ask(pod), self._where.rows(names))
        return Choice(tuple(names), POINTS_PER_PRIORITY * priorities + total, same)

    def _decide(self, choice: Choice, pod: Pod) -> str:
        home = _home(pod)
        self._counts["placed"] += 1
        if not choice.names:
            self._counts["without_room"] += 1
            return home
        best = choice.best()
        if choice.same:
            self._counts["explainable"] += 1
            self._counts["explained"] += home in best
        if choice.same or home in best:
            return home
        dice = np.random.default_rng([self._seed, zlib.crc32(pod.identity.encode())])
        return best[int(dice.integers(len(best)))]


def _home(pod: Pod) -> str:
    """The node that it is on in reality."""
    return pod.node or ""
