"""Where a request's time goes inside: each stage's own share, without the stages that it calls.

A timer stands around each function of `STAGES` while some thousand requests are answered in this process, without a
socket. What HTTP, the event loop and the kernel take is not in it.
"""

import pkgutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.benchmarks import hot_path_counts
from tests.benchmarks.wire_requests import Requests, by_name

STAGES = {
    "decode, names to rows": ("loadaware.extender.protocol.decode_known",),
    "which rows, how fresh": ("loadaware.question.Question.__init__",),
    "expected load": ("loadaware.question.Question.nodes", "loadaware.nodes.Nodes.expected"),
    "formula": (
        "loadaware.scorers.entropic_risk.EntropicRisk.score",
        "loadaware.scorers.entropic_risk.EntropicRisk.normalize",
    ),
    "checks, ladder, ints": ("loadaware.adviser.rank",),
    "encode": ("loadaware.extender.protocol.encode_priorities",),
    "keep and count": ("loadaware.hindsight.Hindsight.ranked", "loadaware.extender.answers.Answers._count"),
    "the rest of the answer": ("loadaware.extender.answers.Answers.answer",),
    "foresee (after the answer)": ("loadaware.adviser.likely",),
    "book (after the answer)": ("loadaware.adviser.Adviser.settle",),
}
"""The functions of each; the last of answer and settle hold what none of the others does."""


class OwnTimes:
    """Seconds by stage; a stage that is entered within another is taken from it."""

    def __init__(self, stopwatch: Callable[[], float] = time.perf_counter) -> None:
        self._stopwatch = stopwatch
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._within: list[float] = []

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its own time added to its stage."""

        def run(*arguments: Any, **named: Any) -> Any:
            self._within.append(0.0)
            began = self._stopwatch()
            try:
                return function(*arguments, **named)
            finally:
                took = self._stopwatch() - began
                self.seconds[stage] += took - self._within.pop()
                if self._within:
                    self._within[-1] += took

        return run


def stage_microseconds(names: int, nodes: int, requests: int = 2000) -> dict[str, float]:
    """By stage, per request; the median over ten parts of the requests."""
    answers = hot_path_counts.answers(nodes)
    asked = Requests(by_name(names, nodes, 64))
    parts = []
    with _watched() as times:
        for part in range(11):
            times.seconds = dict.fromkeys(STAGES, 0.0)
            for _ in range(requests // 10):
                answers.answer("prioritize", bytes(next(asked)).partition(b"\r\n\r\n")[2], None)
                answers.settle()
            if part:  # the first one warms up
                parts.append(list(times.seconds.values()))
    medians = np.median(parts, axis=0) * 1e6 / (requests // 10)
    return dict(zip(STAGES, medians.tolist(), strict=True))


@contextmanager
def _watched() -> Iterator[OwnTimes]:
    times = OwnTimes()
    with ExitStack() as stack:
        for stage, paths in STAGES.items():
            for path in paths:
                owner, _, name = path.rpartition(".")
                function = getattr(pkgutil.resolve_name(owner), name)
                stack.enter_context(patch(path, times.timed(stage, function)))
        yield times
