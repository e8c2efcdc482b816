"""Which queries to ask: the user's own where there are any, else the first default set that knows this cluster.

The bargain: cpu and memory are always in a plan, and a reading without either fails; any other resource that cannot
be had costs its own column and leaves a note.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from collectors.errors import CollectorError
from collectors.prometheus.default_queries import WINDOW, QuerySet
from collectors.prometheus.queries import Answered, Query
from collectors.reading import CPU, MEMORY

MANDATORY = (CPU, MEMORY)

Ask = Callable[[Query], Answered]


@dataclass(frozen=True)
class Questions:
    """What could be asked about nodes, or about pods: own queries by resource, and the sets for cpu and memory."""

    kind: Literal["node", "pod"]
    own: Mapping[str, str]
    sets: Sequence[QuerySet]
    window_seconds: float

    def default_queries(self, query_set: QuerySet) -> tuple[Query, ...]:
        """What a set has to add to the user's own."""
        templates = query_set.nodes if self.kind == "node" else query_set.pods
        wanted = [resource for resource in MANDATORY if resource not in self.own]
        return tuple(self._query(resource, templates[resource], query_set.name) for resource in wanted)

    def own_queries(self) -> tuple[Query, ...]:
        """The user's own, cpu and memory first."""
        ordered = sorted(self.own, key=lambda resource: (resource not in MANDATORY, resource != CPU))
        return tuple(self._query(resource, self.own[resource]) for resource in ordered)

    def _query(self, resource: str, template: str, origin: str = "") -> Query:
        seconds = self.window_seconds
        length = f"{seconds:.0f}s" if float(seconds).is_integer() else f"{seconds * 1000:.0f}ms"
        windowed = WINDOW in template
        return Query(
            self.kind,
            resource,
            template.replace(WINDOW, length),
            origin=origin,
            window_seconds=seconds if windowed else None,
        )


@dataclass(frozen=True)
class Plan:
    """The queries chosen, and what a person should know about the choice."""

    queries: tuple[Query, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Answers:
    """What was answered, by query; `notes` tell of optional queries that failed."""

    by_query: Mapping[Query, Answered]
    notes: tuple[str, ...] = ()


def choose(questions: Questions, ask: Ask) -> Plan:
    """The plan that suits what the source knows. Asks only where there is a choice. Raises CollectorError."""
    own = questions.own_queries()
    options = [questions.default_queries(query_set) for query_set in questions.sets]
    defaults = _with_most_series(options, ask) if len(options) > 1 else options[0]
    return Plan((*defaults, *own), _choice_notes(questions, options[0], defaults))


def _with_most_series(options: Sequence[tuple[Query, ...]], ask: Ask) -> tuple[Query, ...]:
    """The first option whose queries all give series, else the first of which any does, else the first."""
    answered: list[int] = []
    for queries in options:
        answered.append(sum(bool(ask(query).series) for query in queries))
        if answered[-1] == len(queries):
            return queries
    return options[answered.index(max(answered))]


def _choice_notes(questions: Questions, first: tuple[Query, ...], chosen: tuple[Query, ...]) -> tuple[str, ...]:
    if chosen == first:
        return ()
    resources = " and ".join(query.resource for query in chosen)
    return (f"{questions.kind} {resources}: no series of {first[0].origin}, read from {chosen[0].origin} instead",)


def ask_all(plan: Plan, ask: Ask) -> Answers:
    """Every answer of a plan. Raises CollectorError if cpu or memory cannot be had."""
    answers, notes = {}, []
    for query in plan.queries:
        try:
            answers[query] = ask(query)
        except CollectorError as error:
            if query.resource in MANDATORY:
                raise
            notes.append(f"{query.kind} {query.resource}: not measured: {error}")
    return Answers(answers, tuple(notes))
