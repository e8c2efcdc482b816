"""Reads node and pod usage from whatever speaks the Prometheus HTTP API.

The bargain: one reading is one instant. Every query of it is evaluated at the same time, and cpu and memory of the
nodes are both there or the reading fails; another resource that cannot be had is a column of NaN and a note; pods
that cannot be had are None and a note. Series are matched to the cluster's nodes as series_matching tells, and
`match_report` says what matched what. Nothing is kept between readings but the connection.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import repeat
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from collectors.errors import CollectorError, EmptyReadingError
from collectors.prometheus.match_report import MatchReport, QueryReport, notes_on, report_on
from collectors.prometheus.matched_answers import Match, MatchedAnswers
from collectors.prometheus.queries import Grid, Query
from collectors.prometheus.query_plan import MANDATORY, Answers, Ask, Plan, ask_all, choose
from collectors.prometheus.settings import PrometheusSettings
from collectors.reading import Measurements, NodeIdentity, Reading
from collectors.series_matching import NodeMatcher, match_nodes, match_pods

if TYPE_CHECKING:
    from collectors.prometheus.client import PrometheusClient

__all__ = ["MatchReport", "Prometheus", "PrometheusSettings", "QueryReport", "pieces"]

SOURCE = "prometheus"
MOST_POINTS = 10_000
"""Points per series in one range query; Prometheus refuses more than 11,000."""
MOST_SAMPLES = 500_000
"""Samples in one answer, some 15 MB: a long past of a large cluster comes in more pieces."""
PAST_STEP_SECONDS = 300.0
"""Between the readings of pods' past, at least."""
MOST_PAST_SAMPLES = 2_000_000
"""Samples per resource in the whole of pods' past, some 60 MB to read: more pods are read further apart."""
PODS_PER_NODE = 30
"""A guess, to size pieces of pod history; being wrong only makes them larger or smaller."""


class Prometheus:
    """A collector with a past. `nodes` gives the nodes that the cluster has now."""

    def __init__(
        self,
        settings: PrometheusSettings,
        nodes: Callable[[], Sequence[NodeIdentity]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._nodes = nodes
        self._clock = clock

    def read(self) -> Reading:
        """The cluster now, or raise CollectorError."""
        settings, now = self.settings, self._clock()
        identities = self._known_nodes()
        ask = self._asking_at(now)
        plan = choose(settings.questions("node"), ask)
        answers = ask_all(plan, ask)
        found = self._of_nodes(answers, identities)
        _demand_mandatory(found, identities)
        notes = [*plan.notes, *answers.notes, *_notes(found, identities)]
        pods = self._pods_now(ask, now, notes)
        nodes = found.at(now, settings.resources)
        return Reading(SOURCE, now, settings.resources, nodes, pods, notes=tuple(notes))

    def history(self, since: float) -> Iterator[Reading]:
        """Readings since that moment at the settings' step, oldest first. Read piece by piece while iterating."""
        return self.between(since, self._clock())

    def between(self, since: float, until: float) -> Iterator[Reading]:
        """The same of a part of the past, `until` included."""
        settings, now = self.settings, until
        identities = self._known_nodes()
        ask = self._asking_at(now)
        plan = choose(settings.questions("node"), ask)
        pod_plan = self._plan_or_first("pod", ask) if settings.pods and settings.history_pods else None
        rows = len(identities) * (PODS_PER_NODE if pod_plan else 1)
        for grid in pieces(since, now, settings.step_seconds, rows):
            yield from self._past(grid, identities, plan, pod_plan)

    def pod_history(self, since: float) -> Iterator[Reading]:
        """What pods used since that moment, oldest first and without nodes. Read piece by piece while iterating.

        A pod that is gone is among them under the name it had.
        """
        settings, now = self.settings, self._clock()
        if not settings.pods:
            return
        ask = self._asking_at(now)
        plan = choose(settings.questions("pod"), ask)
        pods = max((len(ask(query).series) for query in plan.queries if query.resource in MANDATORY), default=0)
        none = Measurements.empty(len(settings.resources))
        for grid in pieces(since, now, past_step(now - since, pods), pods):
            answers = ask_all(plan, partial(self._client.along, grid=grid))
            rows = self._of_pods(answers).along(grid, settings.resources)
            for at, of_pods in zip(grid.times, rows, strict=True):
                if of_pods.names:
                    yield Reading(SOURCE, float(at), settings.resources, none, of_pods)

    def match_report(self) -> MatchReport:
        """What matches what now. A query that fails is there with its error."""
        now = self._clock()
        identities = tuple(self._nodes())
        ask = self._asking_at(now)
        plan = self._plan_or_first("node", ask)
        pod_plan = self._plan_or_first("pod", ask) if self.settings.pods else Plan(())
        names = tuple(sorted(node.name for node in identities))
        nodes = [self._report(query, ask, identities, names) for query in plan.queries]
        pods = [self._report(query, ask, identities) for query in pod_plan.queries]
        return MatchReport(now, names, (*nodes, *pods), notes=(*plan.notes, *pod_plan.notes))

    def close(self) -> None:
        """Let the connection go; the next reading opens a new one."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def _client(self) -> "PrometheusClient":
        from collectors.prometheus.client import PrometheusClient

        settings = self.settings
        return PrometheusClient(settings.url, settings.access, settings.method)

    def _asking_at(self, now: float) -> Ask:
        """Asks everything about the same instant, and nothing twice."""
        return cache(lambda query: self._client.at(query, now))

    def _known_nodes(self) -> tuple[NodeIdentity, ...]:
        identities = tuple(self._nodes())
        if not identities:
            raise EmptyReadingError(source=self.settings.url, hint="the cluster's nodes are not known yet")
        return identities

    def _of_nodes(self, answers: Answers, identities: Sequence[NodeIdentity]) -> MatchedAnswers:
        matcher, rule = NodeMatcher(identities), self.settings.node_rule
        return MatchedAnswers(
            [
                Match(query, answered, match_nodes(answered.series, matcher, rule))
                for query, answered in answers.by_query.items()
            ]
        )

    def _of_pods(self, answers: Answers) -> MatchedAnswers:
        labels = self.settings.namespace_label, self.settings.pod_label
        return MatchedAnswers(
            [
                Match(query, answered, match_pods(answered.series, *labels))
                for query, answered in answers.by_query.items()
            ]
        )

    def _pods_now(self, ask: Ask, now: float, notes: list[str]) -> Measurements | None:
        """Pods, or None and a note: nodes are worth having without them."""
        if not self.settings.pods:
            return None
        try:
            plan = choose(self.settings.questions("pod"), ask)
            answers = ask_all(plan, ask)
        except CollectorError as error:
            notes.append(f"pods: not measured: {error}")
            return None
        found = self._of_pods(answers)
        notes += [*plan.notes, *answers.notes, *_notes(found)]
        if not found.names:
            notes.append("pods: not measured: no query gives a series that names a pod")
            return None
        return found.at(now, self.settings.resources)

    def _past(
        self, grid: Grid, identities: Sequence[NodeIdentity], plan: Plan, pod_plan: Plan | None
    ) -> Iterator[Reading]:
        resources = self.settings.resources
        answers = ask_all(plan, partial(self._client.along, grid=grid))
        nodes = self._of_nodes(answers, identities).along(grid, resources)
        notes = [*answers.notes]
        pods = self._past_pods(grid, pod_plan, notes)
        for at, of_nodes, of_pods in zip(grid.times, nodes, pods, strict=True):
            if of_nodes.names:
                yield Reading(SOURCE, float(at), resources, of_nodes, of_pods, notes=tuple(notes))

    def _past_pods(self, grid: Grid, plan: Plan | None, notes: list[str]) -> Iterator[Measurements | None]:
        if plan is None:
            return repeat(None, grid.count)
        try:
            answers = ask_all(plan, partial(self._client.along, grid=grid))
        except CollectorError as error:
            notes.append(f"pods: not measured: {error}")
            return repeat(None, grid.count)
        notes += answers.notes
        return self._of_pods(answers).along(grid, self.settings.resources)

    def _plan_or_first(self, kind: Literal["node", "pod"], ask: Ask) -> Plan:
        """The plan, or what would be asked first if the source cannot help to choose."""
        questions = self.settings.questions(kind)
        try:
            return choose(questions, ask)
        except CollectorError:
            return Plan((*questions.default_queries(questions.sets[0]), *questions.own_queries()))

    def _report(
        self, query: Query, ask: Ask, identities: Sequence[NodeIdentity], names: Sequence[str] = ()
    ) -> QueryReport:
        try:
            answers = Answers({query: ask(query)})
        except CollectorError as error:
            return QueryReport(query, without_series=tuple(names), error=str(error))
        found = self._of_nodes(answers, identities) if query.kind == "node" else self._of_pods(answers)
        return report_on(found.matches[0], names)


def pieces(since: float, until: float, step: float, rows: int) -> Iterator[Grid]:
    """The instants from since to until that are multiples of the step, in grids that one query can answer."""
    first, last = math.ceil(since / step), math.floor(until / step)
    longest = max(1, min(MOST_POINTS, MOST_SAMPLES // max(1, rows)))
    for start in range(first, last + 1, longest):
        yield Grid(start * step, step, min(longest, last + 1 - start))


def past_step(length: float, pods: int) -> float:
    """Seconds between readings of pods' past, in whole minutes: as many as stay within MOST_PAST_SAMPLES."""
    return max(PAST_STEP_SECONDS, 60.0 * math.ceil(length * pods / MOST_PAST_SAMPLES / 60.0))


def _demand_mandatory(found: MatchedAnswers, identities: Sequence[NodeIdentity]) -> None:
    """cpu and memory of at least one node each, or no reading."""
    for match in found.matches:
        if match.query.resource in MANDATORY and not match.matching.counts:
            raise EmptyReadingError(source=str(match.query), hint=_mismatch(match, identities))


def _mismatch(match: Match, identities: Sequence[NodeIdentity]) -> str:
    if not match.answered.series:
        return "it gives no series"
    node = identities[0]
    known = ", ".join((node.name, *node.addresses))
    examples = ", ".join(match.matching.unmatched_examples)
    return f"none of its {len(match.answered.series)} series, such as {examples}, names a node, such as {known}"


def _notes(found: MatchedAnswers, identities: Sequence[NodeIdentity] = ()) -> list[str]:
    names = [node.name for node in identities]
    return [note for match in found.matches for note in notes_on(report_on(match, names))]
