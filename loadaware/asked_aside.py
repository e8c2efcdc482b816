"""The server's side of the record: each answer, when it is reduced and nobody waits for it, goes to the recorder.

A decision is numbered when it is made. What the server has heard of the record is noted with the number of the last
decision before it, so that the point from which an answer was made is known exactly, without a clock. What bind and
preempt answered is no decision: it waits for the last one before it, so that all is told in about its order. Another
thread sends; what comes faster than it can be sent is dropped and counted.
"""

import queue
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable

from msgspec import structs

from loadaware.decisions import Decision, Decisions
from loadaware.filtering import Filtering
from loadaware.ranking import Ranking
from loadaware.recorded import Asked, AskedBatch, Configured, Recorded

MOST_WAITING = 2_000
MOST_HEARD = 100_000
"""Publications that are remembered: an answer is told some seconds after it was given."""
BATCH = 1_000
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 2.0

Send = Callable[[AskedBatch | Configured], bool]


class AskedAside:
    """`take`, `note` and `heard` in the event loop's thread; a thread of its own calls `send`, which may wait."""

    def __init__(self, decisions: Decisions, send: Send) -> None:
        self._decisions = decisions
        self._send = send
        self._counts: deque[int] = deque(maxlen=MOST_HEARD)
        self._sequences: deque[int] = deque(maxlen=MOST_HEARD)
        self._taken = 0
        """The highest number of a decision that was taken."""
        self._beside: deque[Asked] = deque()
        """Waits for the decision of its number."""
        self._waiting: queue.Queue[Asked | Configured | None] = queue.Queue(MOST_WAITING)
        self._not_taken = 0
        """Answers that the queue had no room for: counted in the event loop's thread."""
        self._not_sent = 0
        """Those that could not be sent: counted in the thread that sends."""
        self._lost_told = 0
        self._thread = threading.Thread(target=self._run, name="asked-aside", daemon=True)
        decisions.on_settling.append(self.take)
        decisions.settle_each = True

    @property
    def lost(self) -> int:
        """How many answers the recorder never had, since the start."""
        return self._decisions.lost + self._not_taken + self._not_sent

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """Send what waits, for a moment, and end."""
        self._tell_beside(anyway=True)
        if self._thread.ident is not None:
            try:
                self._waiting.put(None, timeout=PATIENCE_SECONDS)
            except queue.Full:
                return
            self._thread.join(PATIENCE_SECONDS)

    def heard(self, recorded: Recorded) -> None:
        """What was published until here is in force now."""
        self._counts.append(self._decisions.counted)
        self._sequences.append(recorded.sequence)

    def configured(self, config: str, now: float) -> None:
        """Another configuration is in force now."""
        self._put(Configured(now, config, self._last_heard()))

    def note(self, asked: Asked) -> None:
        """An answer just given that is no decision; its number and what it was made from are filled in."""
        self._beside.append(structs.replace(asked, number=self._decisions.counted, heard=self._last_heard()))
        self._tell_beside()

    def take(self, decision: Decision) -> None:
        """A decision that is about to be reduced."""
        asked = asked_of(decision, self._heard_by(decision.number))
        if asked is not None:
            self._put(asked)
        self._taken = max(self._taken, decision.number)
        self._tell_beside()

    def _tell_beside(self, *, anyway: bool = False) -> None:
        waiting = self._beside
        while waiting and (anyway or waiting[0].number <= self._taken or len(waiting) > MOST_WAITING):
            self._put(waiting.popleft())

    def _last_heard(self) -> int:
        return self._sequences[-1] if self._sequences else 0

    def _heard_by(self, number: int) -> int:
        """The last publication before this decision: when it came, fewer decisions had been counted."""
        position = bisect_left(self._counts, number)
        return self._sequences[position - 1] if position else 0

    def _put(self, item: Asked | Configured) -> None:
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            self._not_taken += 1

    def _run(self) -> None:
        going = True
        while going:
            first = self._waiting.get()
            going = first is not None
            if first is not None:
                going = self._send_all([first, *self._more()])

    def _more(self) -> list[Asked | Configured | None]:
        threading.Event().wait(PAUSE_SECONDS)
        found: list[Asked | Configured | None] = []
        while len(found) < BATCH:
            try:
                found.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def _send_all(self, items: list[Asked | Configured | None]) -> bool:
        """Whether to go on."""
        answers = tuple(item for item in items if isinstance(item, Asked))
        lost = self.lost
        if answers and self._send(AskedBatch(answers, lost - self._lost_told)):
            self._lost_told = lost
        else:
            self._not_sent += len(answers)
        for item in items:
            if isinstance(item, Configured) and not self._send(item):
                self._not_sent += 1
        return None not in items


def asked_of(decision: Decision, heard: int) -> Asked | None:
    """A decision as it is recorded; None if it was reduced already."""
    answer, pod = decision.answer, decision.pod
    if isinstance(answer, Ranking):
        names, priorities = tuple(answer.names), tuple(answer.priorities.tolist())
        return Asked(
            decision.number, decision.time, decision.verb, answer.profile, pod, names, priorities,
            aside=decision.aside, heard=heard,
        )  # fmt: skip
    if isinstance(answer, Filtering):
        rejected = {**answer.failed, **answer.unresolvable}
        names = (*answer.passed, *rejected)
        verdicts = (*(None for _ in answer.passed), *rejected.values())
        return Asked(
            decision.number, decision.time, decision.verb, answer.profile, pod, names, verdicts=verdicts,
            aside=decision.aside, heard=heard,
        )  # fmt: skip
    return None
