"""What was asked and where pods went, row by row."""

from collections.abc import Iterator
from typing import Any

from collectors.history import HistoryReader


def decision_rows(reader: HistoryReader, since: float | None, until: float | None) -> Iterator[tuple[Any, ...]]:
    """Every request, with its answer."""
    from loadaware.replay.ordering import ASKED, pairs
    from loadaware.workload import workload_of

    for record, asked in pairs(reader.records(since, until, kinds=ASKED)):
        request, answer = asked.request, asked.answer
        priorities = () if answer is None else answer.priorities
        best = max(priorities, default=None)
        first = tuple(n for n, p in zip(request.node_names, priorities, strict=False) if p == best)
        rejected = 0 if answer is None else sum(verdict is not None for verdict in answer.verdicts)
        pod = request.pod
        yield (
            record.time, request.verb, request.profile, pod.key, workload_of(pod), len(request.node_names), rejected,
            best, first, asked.detail.aside,
        )  # fmt: skip


def placement_rows(reader: HistoryReader, since: float | None, until: float | None) -> Iterator[tuple[Any, ...]]:
    """Every pod when it was first seen on a node."""
    from collectors.cluster import PodSeen
    from loadaware.workload import workload_of

    seen: set[str] = set()
    for record in reader.records(since, until, kinds=["events"]):
        if isinstance(record.content, PodSeen) and (pod := record.content.pod).node and pod.identity not in seen:
            seen.add(pod.identity)
            shape = pod.shape
            yield record.time, pod.key, workload_of(pod), pod.node, shape.request("cpu"), shape.request("memory")
