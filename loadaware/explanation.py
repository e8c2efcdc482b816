"""Why did this pod land there? One sentence, the table behind it, and what another node lacked.

    node-7 won with 91: predicted cpu 46 % ± 9 after this pod; node-3 would have gone to 78 %; node-12 was rejected:
    mean cpu usage 83 % > 65 %

All numbers are those of the moment of the answer. Pure: decisions in, plain values out.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from loadaware.decision_report import instant, node_rows, wire_places
from loadaware.decisions import Decision
from loadaware.ladder import Rung
from loadaware.records import Filtered, Ranked

NODES_SHOWN = 50


def explain(
    filtering: Decision | None, ranking: Decision | None, node: str | None = None, nodes: int = NODES_SHOWN
) -> dict[str, Any]:
    """The explanation of a pod's last decisions, both settled; at least one there is. Raises LookupError for a node
    that was not asked about.
    """
    rejected = dict(filtering.record.rejected) if filtering and isinstance(filtering.record, Filtered) else {}
    decision = ranking or filtering
    if decision is None:
        raise LookupError("nothing was decided")
    record = decision.record
    told: dict[str, Any] = {
        "pod": decision.pod.key,
        "uid": decision.pod.uid,
        "profile": decision.profile,
        "time": instant(decision.time),
        "answered": not decision.aside,
        "dataAgeSeconds": decision.age_seconds,
        "generation": decision.generation,
        "nodesAsked": decision.asked,
        "chosen": decision.chosen,
        "firstChoice": decision.chosen_first,
    }
    if isinstance(record, Ranked) and len(record):
        return told | _Telling(decision, record, rejected, filtering).told(node, nodes)
    return told | _unranked(decision, rejected, node)


def _unranked(decision: Decision, rejected: Mapping[str, str], node: str | None) -> dict[str, Any]:
    """Only filter was asked, or nothing was left to rank."""
    if node is not None and node not in rejected:
        raise LookupError(f"{node} was not rejected, and nothing was ranked for {decision.pod.key}")
    filtering = decision.record
    passed = filtering.passed if isinstance(filtering, Filtered) else 0
    words = [f"{passed} of {decision.asked} nodes passed the filter, and we were not asked to rank them"]
    if not decision.asked:
        words = ["no node was asked about"]
    elif passed == 1:
        words = ["only one node passed the filter, so kube-scheduler asked no further"]
    elif not passed:
        words = [f"none of {decision.asked} nodes passed the filter"]
    words += _rejections({node: rejected[node]} if node else rejected)
    return {
        "sentence": "; ".join([*words, *_fate(decision, None)]),
        "toWin": None,
        "rejected": dict(rejected),
        "nodes": [],
    }


class _Telling:
    """One ranking in words."""

    def __init__(
        self, decision: Decision, ranking: Ranked, rejected: Mapping[str, str], filtering: Decision | None
    ) -> None:
        self._decision = decision
        self._ranking = ranking
        self._rejected = rejected
        self._relaxed = filtering is not None and isinstance(filtering.record, Filtered) and filtering.record.relaxed
        self._order = ranking.order().tolist()
        self._winner = self._order[0]
        self._places = wire_places(ranking)

    def told(self, node: str | None, nodes: int) -> dict[str, Any]:
        ranking, shown = self._ranking, self._order[:nodes]
        wanted = {name for name in (node, self._decision.chosen) if name is not None}
        shown = shown + [n for n in self._order[nodes:] if ranking.name(n) in wanted]
        return {
            "sentence": self._sentence(node),
            "toWin": self._to_win(node),
            "weights": {part.name: part.weight for part in ranking.parts},
            "skipped": dict(ranking.skipped),
            "rejected": dict(self._rejected),
            "nodes": node_rows(ranking, shown),
        }

    def _sentence(self, node: str | None) -> str:
        ranking = self._ranking
        if ranking.indifferent:
            words = ["the pod or its namespace opted out, so all nodes were equal to us"]
        elif len(ranking) == 1:
            words = [f"{self._name(self._winner)} was the only node asked about: {self._prediction(self._winner)}"]
        else:
            words = [self._first_words(), *self._loser(node)]
        if self._relaxed:
            words.append("load rules would have rejected every node, so the least loaded passed all the same")
        asked_about = {} if node is None or node not in self._rejected else {node: self._rejected[node]}
        words += _rejections(asked_about or self._rejected)
        words += [f"{scorer} had no say: {why}" for scorer, why in ranking.skipped.items()]
        return "; ".join([*words, *_fate(self._decision, self._behind())])

    def _first_words(self) -> str:
        tied = int((self._places == 1).sum())
        score = f"{self._ranking.scores[self._winner]:.0f}"
        if tied == len(self._ranking):
            return f"all {tied} nodes were equal to us, with {score}"
        would = "would have won" if self._decision.aside else "won"
        beside = f" (as good on the wire as {_count(tied - 1, 'other')})" if tied > 1 else ""
        return f"{self._name(self._winner)} {would} with {score}{beside}: {self._prediction(self._winner)}"

    def _loser(self, node: str | None) -> list[str]:
        """The node asked about, or the next best one."""
        loser = self._next_best() if node is None else self._position(node)
        if loser is None or self._places[loser] == 1:
            return []
        name, score = self._name(loser), self._ranking.scores[loser]
        column = self._worse_column(loser)
        if column is None:
            return [f"{name} had {score:.0f}: {self._prediction(loser)}"]
        resource = "" if column == self._column(self._winner) else f" of {self._ranking.resources[column]}"
        return [
            f"{name} would have gone to {_percent(self._ranking.load[loser, column])} %{resource}, with {score:.0f}"
        ]

    def _to_win(self, node: str | None) -> dict[str, Any] | None:
        """What the next best node (or the one asked about) lacked."""
        loser = self._next_best() if node is None else self._position(node)
        if loser is None or self._places[loser] == 1:
            return None
        ranking, winner = self._ranking, self._winner
        points = float(ranking.scores[winner] - ranking.scores[loser])
        steps = int(ranking.priorities[winner] - ranking.priorities[loser])
        lacking = {
            part.name: round(float(part.score[winner] - part.score[loser]), 3)
            for part in ranking.parts
            if part.score[winner] > part.score[loser]
        }
        words = f"{self._name(loser)} would have needed {points:.1f} points more ({_count(steps, 'step')} on the wire)"
        if len(ranking.parts) > 1 and lacking:
            words += f"; it lost most of them by {max(lacking, key=lambda name: lacking[name])}"
        column = self._worse_column(loser)
        if column is not None:
            there, here = ranking.load[loser, column], ranking.load[winner, column]
            words += f"; {ranking.resources[column]} {_percent(there)} % there, {_percent(here)} % on the winner"
        elif (steadier := self._steadier(loser)) is not None:
            words += f"; {steadier}"
        if ranking.rungs[loser] > Rung.FRESH:
            words += f"; its measurements are {Rung(int(ranking.rungs[loser])).name.lower()}"
        return {"node": self._name(loser), "points": round(points, 3), "steps": steps, "lost": lacking, "words": words}

    def _behind(self) -> str | None:
        """How far behind the node really chosen was; None if it was the first, or is not known."""
        chosen, rank = self._decision.chosen, self._decision.chosen_rank
        if chosen is None or rank is None or rank == 1:
            return None
        points = self._ranking.scores[self._winner] - self._ranking.scores[self._position(chosen)]
        return f"our {_ordinal(rank)}, {points:.0f} points behind"

    def _prediction(self, position: int) -> str:
        ranking, column = self._ranking, self._column(position)
        known = [
            f"{p.name} {p.raw[position]:g}" for p in ranking.parts if p.raw is not None and np.isfinite(p.raw[position])
        ]
        scorers = f" ({', '.join(known)})" if known else ""
        if column is None:
            rung = Rung(int(ranking.rungs[position])).name.lower()
            return f"not measured ({rung}), so it stands at the median{scorers}"
        load, deviation = ranking.load[position, column], ranking.deviation[position, column]
        spread = f" ± {_percent(deviation)}" if np.isfinite(deviation) else ""
        return f"predicted {ranking.resources[column]} {_percent(load)} %{spread} after this pod{scorers}"

    def _column(self, position: int) -> int | None:
        """The resource that is told of a node: CPU, unless only another one is measured."""
        known = np.flatnonzero(np.isfinite(self._ranking.load[position]))
        return int(known[0]) if len(known) else None

    def _worse_column(self, position: int) -> int | None:
        """The resource in which a node would be most above the winner; None if in none."""
        ranking = self._ranking
        above = ranking.load[position] - ranking.load[self._winner]
        above = np.where(np.isfinite(above), above, -np.inf)
        column = int(np.argmax(above)) if len(above) else 0
        return column if len(above) and above[column] >= 0.005 else None

    def _steadier(self, position: int) -> str | None:
        """That the winner varies less, if it does."""
        ranking, column = self._ranking, self._column(position)
        if column is None:
            return None
        there, here = ranking.deviation[position, column], ranking.deviation[self._winner, column]
        if not there - here >= 0.005:
            return None
        return f"{ranking.resources[column]} varies by ± {_percent(there)} there, by ± {_percent(here)} on the winner"

    def _next_best(self) -> int | None:
        """The first that was not as good on the wire as the winner; without such, the second."""
        behind = [n for n in self._order if self._places[n] > 1]
        return behind[0] if behind else None

    def _position(self, node: str) -> int:
        position = self._ranking.position(node)
        if position is not None:
            return position
        if node in self._rejected:
            return self._winner
        names = self._ranking.names()
        few = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise LookupError(f"kube-scheduler did not ask about {node} for {self._decision.pod.key}; it did about {few}")

    def _name(self, position: int) -> str:
        return self._ranking.name(position)


def _rejections(rejected: Mapping[str, str]) -> list[str]:
    """The first of them in words, the others counted."""
    if not rejected:
        return []
    node, reason = next(iter(rejected.items()))
    more = f" (and {_count(len(rejected) - 1, 'other')} as well)" if len(rejected) > 1 else ""
    return [f"{node} was rejected{more}: {reason}"]


def _fate(decision: Decision, behind: str | None) -> list[str]:
    """Where the pod went."""
    words = []
    if decision.aside:
        words.append("shadow mode: kube-scheduler was told nothing of this")
    if decision.chosen is None:
        words.append("the pod left before it was bound" if decision.gone else "it is not bound yet, as far as we know")
    elif behind is not None:
        why = "" if decision.aside else ": other plugins of kube-scheduler outweighed us"
        words.append(f"it went to {decision.chosen} ({behind}){why}")
    elif decision.chosen_first:
        words.append(f"it went to {decision.chosen}")
    else:
        words.append(f"it went to {decision.chosen}, about which we were not asked to rank")
    return words


def _percent(share: "np.floating[Any]") -> str:
    return f"{100.0 * float(share):.0f}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
