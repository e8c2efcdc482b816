"""What matched what, in words and numbers: for the notes of a reading and for a person who sets a source up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from collectors.prometheus.matched_answers import Match
from collectors.prometheus.queries import Query

EXAMPLES = 3


@dataclass(frozen=True)
class QueryReport:
    """What one query gave."""

    query: Query
    series: int = 0
    label: str | None = None
    """The label that names the node (or the pod)."""
    matched: tuple[str, ...] = ()
    """Nodes (or pods) that have a series."""
    without_series: tuple[str, ...] = ()
    """Nodes of the cluster that have none. Always empty for pods."""
    unmatched: int = 0
    """Series that name no node of the cluster."""
    unmatched_examples: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    """Nodes with more than one series: the highest value counts."""
    warnings: tuple[str, ...] = ()
    error: str | None = None
    """Why there is no answer at all."""


@dataclass(frozen=True)
class MatchReport:
    """What every query gave, at one instant."""

    time: float
    nodes: tuple[str, ...]
    queries: tuple[QueryReport, ...]
    notes: tuple[str, ...] = field(default=())


def report_on(match: Match, node_names: Sequence[str] = ()) -> QueryReport:
    """The report on a query that was answered."""
    matching = match.matching
    return QueryReport(
        query=match.query,
        series=len(matching.owners),
        label=matching.label,
        matched=tuple(sorted(matching.counts)),
        without_series=tuple(sorted(set(node_names).difference(matching.counts))),
        unmatched=matching.unmatched,
        unmatched_examples=matching.unmatched_examples,
        repeated=matching.repeated,
        warnings=match.answered.warnings,
    )


def notes_on(report: QueryReport) -> Iterator[str]:
    """What a person should know about an answer."""
    about = f"{report.query.kind} {report.query.resource}"
    if report.unmatched:
        examples = ", ".join(report.unmatched_examples)
        yield f"{about}: {report.unmatched} of {report.series} series match no {report.query.kind}: {examples}"
    if report.without_series:
        total = len(report.without_series) + len(report.matched)
        yield f"{about}: no series for {len(report.without_series)} of {total} nodes: {_few(report.without_series)}"
    if report.repeated:
        yield f"{about}: more than one series for {_few(report.repeated)}: the highest counts"
    for warning in report.warnings:
        yield f"{about}: the source warns: {warning}"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:EXAMPLES])
    return shown if len(names) <= EXAMPLES else f"{shown} and {len(names) - EXAMPLES} more"
