"""What the server serves: the adviser, its telemetry, and how it all goes. One thread: the event loop's.

The observer's messages arrive here (`take`); requests ask here. Nothing waits.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from collectors.kubernetes_api import KubernetesApi
from collectors.reading import CPU, Floats
from loadaware.adviser import Adviser
from loadaware.announcements import Announcements
from loadaware.beliefs import beliefs
from loadaware.changes import Change
from loadaware.demand_questions import DemandQuestions
from loadaware.ladder import Rung
from loadaware.queries import Piece, Reply
from loadaware.questions import Questions
from loadaware.snapshot import Snapshot
from loadaware.status import Status
from loadaware.telemetry import Telemetry
from loadaware.window import Bools

logger = logging.getLogger(__name__)

Message = Snapshot | Status | Reply | Piece | Sequence[Change]


class Service:
    """Adviser, telemetry and health."""

    def __init__(
        self,
        adviser: Adviser,
        telemetry: Telemetry,
        clock: Callable[[], float],
        readiness_grace_seconds: float,
        api: KubernetesApi | None = None,
    ) -> None:
        self.adviser = adviser
        self.telemetry = telemetry
        self.clock = clock
        self.status = Status()
        self._ready_at = clock() + readiness_grace_seconds
        self._measured = False
        self._rung = Rung.UNKNOWN
        self.questions = Questions()
        self.demand_questions = DemandQuestions()
        self.api = api
        self.announcements = Announcements(api, clock)
        self._counted_failures: Counter[tuple[str, str]] = Counter()

    def take(self, message: Message) -> None:
        """A message of the observer, in its order."""
        if isinstance(message, Status):
            self._take_status(message)
        elif isinstance(message, Reply):
            self.questions.take(message)
        elif isinstance(message, Piece):
            self.demand_questions.take(message)
        elif isinstance(message, Snapshot):
            self.adviser.receive(message)
            self._measured = self._measured or bool(_measured(message).any())
        else:
            for change in message:
                self.adviser.receive(change)
        self._note_rung()

    def _take_status(self, status: Status) -> None:
        before, telemetry = self.status, self.telemetry
        telemetry.readings.inc(_grown(status.readings, before.readings))
        telemetry.reading_failures.inc(_grown(status.failures, before.failures))
        telemetry.observer_restarts.inc(_grown(status.restarts, before.restarts))
        telemetry.reading_duration.set(status.reading_seconds)
        telemetry.pods.set(status.pods)
        self.status = status

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Ready after the first good reading or the grace; later loss shows, but never makes it unready."""
        self._note_rung()
        ready = self._measured or self.clock() >= self._ready_at
        snapshot = self.adviser.snapshot
        age = self._data_age()
        return ready, {
            "ready": ready,
            "measured": self._measured,
            "nodes": len(snapshot.names),
            "pods": self.status.pods,
            "dataAgeSeconds": age,
            "rung": self._source_rung().name.lower(),
            "nodesOnRung": self._nodes_on_rung(),
            "quarantined": dict(snapshot.quarantined),
            "podsKnown": snapshot.pods_known,
            "switchedOff": self.adviser.breaker.switched_off(),
            "source": {
                "readings": self.status.readings,
                "failures": self.status.failures,
                "consecutiveFailures": self.status.consecutive_failures,
                "lastError": self.status.last_error,
                "notes": list(self.status.notes),
                "forbidden": list(self.status.forbidden),
            },
        }

    def believed(self) -> Callable[[], list[dict[str, Any]]]:
        """What is believed about each node now, as work for any thread: it looks at nothing that changes."""
        ledger = self.adviser.in_flight
        staleness = self.adviser.settings.staleness
        live = ledger.requested.copy(), ledger.pods.copy()
        return partial(beliefs, self.adviser.snapshot, *live, staleness, self.clock())

    def nodes(self) -> list[dict[str, Any]]:
        """What is believed about each node now."""
        return self.believed()()

    def update_gauges(self) -> None:
        """Bring the gauges up to date, before they are shown."""
        snapshot, telemetry = self.adviser.snapshot, self.telemetry
        self._note_rung()
        self.adviser.in_flight.expire(self.clock())
        telemetry.bookings.set(len(self.adviser.in_flight))
        telemetry.nodes.set(len(snapshot.names))
        telemetry.unmeasured_nodes.set(int((~_measured(snapshot)[:, snapshot.resource_index[CPU]]).sum()))
        telemetry.data_age.set(np.nan if (age := self._data_age()) is None else age)
        telemetry.quarantined_nodes.clear()
        for reason in snapshot.quarantined.values():
            telemetry.quarantined_nodes.labels(reason).inc()
        for rung, count in self._nodes_on_rung().items():
            telemetry.nodes_on_rung.labels(rung).set(count)
        failures = self.adviser.breaker.failures
        for (plugin, kind), more in (failures - self._counted_failures).items():
            telemetry.plugin_failures.labels(plugin, kind).inc(more)
        self._counted_failures = failures.copy()

    def _ages(self) -> Floats:
        return self.clock() - self.adviser.snapshot.sampled_at

    def _source_rung(self) -> Rung:
        staleness, pods_known = self.adviser.settings.staleness, self.adviser.snapshot.pods_known
        return staleness.source_rung(self._ages(), pods_known=pods_known)

    def _nodes_on_rung(self) -> dict[str, int]:
        staleness, pods_known = self.adviser.settings.staleness, self.adviser.snapshot.pods_known
        counts = np.bincount(staleness.rungs(self._ages(), pods_known=pods_known), minlength=len(Rung)).tolist()
        return {rung.name.lower(): counts[rung] for rung in Rung}

    def _note_rung(self) -> None:
        """One log line per change of the source's rung."""
        rung = self._source_rung()
        if rung != self._rung:
            level = logging.INFO if rung < self._rung else logging.WARNING
            logger.log(level, "the metric source is %s now, it was %s", rung.name.lower(), self._rung.name.lower())
            self._rung = rung

    def _data_age(self) -> float | None:
        newest = float(self.adviser.snapshot.sampled_at.max(initial=-np.inf))
        return max(self.clock() - newest, 0.0) if np.isfinite(newest) else None


def _measured(snapshot: Snapshot) -> Bools:
    """What is known of each node and resource; some sources tell no mean, others nothing else."""
    return np.isfinite(snapshot.statistics.mean) | np.isfinite(snapshot.statistics.latest)


def _grown(now: int, before: int) -> int:
    """How much a count grew; one that fell began anew, with another observer."""
    return now - before if now >= before else now
