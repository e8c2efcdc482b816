"""What the server serves: the adviser, its telemetry, and how it all goes. One thread: the event loop's.

The observer's messages arrive here (`take`); requests ask here. Nothing waits.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from collectors.kubernetes_api import KubernetesApi
from collectors.manifests import Pod
from collectors.reading import CPU, Floats
from loadaware.adviser import Adviser
from loadaware.announcements import Announcements
from loadaware.beliefs import beliefs
from loadaware.calibration import calibration
from loadaware.changes import Change
from loadaware.demand_questions import DemandQuestions
from loadaware.hindsight import Hindsight
from loadaware.ladder import Rung
from loadaware.node_series import NodeFacts, Shown
from loadaware.queries import Piece, Reply
from loadaware.questions import Questions
from loadaware.recorded import Asked, Recorded
from loadaware.snapshot import Snapshot
from loadaware.status import Status
from loadaware.telemetry import BUSY_ABOVE, Telemetry
from loadaware.window import Bools

logger = logging.getLogger(__name__)

Message = Snapshot | Status | Reply | Piece | Recorded | Sequence[Change]
MOST_SOURCES = 8
"""Sources whose age is told; a configuration has two."""


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
        self.leaving = False
        self._rung = Rung.UNKNOWN
        self.questions = Questions()
        self.demand_questions = DemandQuestions()
        self.api = api
        self.announcements = Announcements(api, clock)
        self.shown = Shown()
        self.hindsight = Hindsight(adviser, telemetry, clock, self.announcements)
        self._counted_failures: Counter[tuple[str, str]] = Counter()
        self._counted_spent: dict[str, tuple[int, float]] = {}
        self._sources: dict[str, float] = {}
        self.beside: Callable[[], Mapping[str, Any]] | None = None
        """What else there is to show beside this cluster: the demo has a second one."""
        self.on_recorded: Callable[[Recorded], None] = lambda _: None
        """Called when what the recorder announced is in force."""
        self._announced: Recorded | None = None
        self.on_asked: Callable[[Asked], None] = lambda _: None
        """Called with what bind and preempt were asked and answered."""
        self.answers_lost: Callable[[], int] = lambda: 0
        """How many answers were not handed to the recorder, since the start."""
        self._counted_lost = (0, 0, 0)

    def take(self, message: Message) -> None:
        """A message of the observer, in its order."""
        if isinstance(message, Status):
            self._take_status(message)
        elif isinstance(message, Reply):
            self.questions.take(message)
        elif isinstance(message, Piece):
            self.demand_questions.take(message)
        elif isinstance(message, Recorded):
            self._announced = message
            return
        elif isinstance(message, Snapshot):
            self._compare(self.adviser.snapshot, message)
            self.adviser.receive(message)
            self._measured = self._measured or bool(_measured(message).any())
        else:
            for change in message:
                self.adviser.receive(change)
                self.hindsight.change(change)
        if self._announced is not None and not isinstance(message, Status | Reply | Piece):
            self.on_recorded(self._announced)
            self._announced = None
        self._note_rung()

    def _compare(self, before: Snapshot, after: Snapshot) -> None:
        """Count what was expected beside what is measured now."""
        compared = calibration(before, after)
        if len(compared.error):
            self.telemetry.calibration_error.observe(compared.error)
            self.telemetry.calibration_deviations.observe(compared.deviations)

    def _take_status(self, status: Status) -> None:
        before, telemetry = self.status, self.telemetry
        telemetry.readings.inc(_grown(status.readings, before.readings))
        telemetry.reading_failures.inc(_grown(status.failures, before.failures))
        telemetry.observer_restarts.inc(_grown(status.restarts, before.restarts))
        telemetry.history_lost.labels("not_written").inc(_grown(status.history_lost, before.history_lost))
        telemetry.reading_duration.set(status.reading_seconds)
        telemetry.pods.set(status.pods)
        if status.last_success is not None and (status.source in self._sources or len(self._sources) < MOST_SOURCES):
            self._sources[status.source] = status.last_success
        self.status = status

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Ready after the first good reading or the grace; later loss shows, but only leaving makes it unready."""
        self._note_rung()
        ready = not self.leaving and (self._measured or self.clock() >= self._ready_at)
        snapshot = self.adviser.snapshot
        age = self._data_age()
        return ready, {
            "ready": ready,
            "leaving": self.leaving,
            "measured": self._measured,
            "mode": self.hindsight.mode,
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

    def source_ages(self) -> dict[str, float]:
        """Seconds since the last good reading of each source."""
        return {source: max(self.clock() - last, 0.0) for source, last in self._sources.items()}

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
        telemetry.source_rung.set(self._source_rung())
        for source, age in self.source_ages().items():
            telemetry.source_age.labels(source).set(age)
        self._update_plugins()
        self._update_lost()
        self._update_cluster(snapshot)
        self._update_in_flight(snapshot)

    def _update_plugins(self) -> None:
        telemetry, breaker = self.telemetry, self.adviser.breaker
        for (plugin, kind), more in (breaker.failures - self._counted_failures).items():
            telemetry.plugin_failures.labels(plugin, kind).inc(more)
        self._counted_failures = breaker.failures.copy()
        for plugin, spent in breaker.spent.items():
            runs, seconds = self._counted_spent.get(plugin, (0, 0.0))
            telemetry.plugin_runs.labels(plugin).inc(spent.runs - runs)
            telemetry.plugin_seconds.labels(plugin).inc(max(spent.seconds - seconds, 0.0))
            self._counted_spent[plugin] = spent.runs, spent.seconds

    def _update_lost(self) -> None:
        """What was left out since the last time: answers of the history, lines of the file, shadows."""
        telemetry, hindsight = self.telemetry, self.hindsight
        counters = (
            telemetry.history_lost.labels("not_handed_over"),
            telemetry.decisions_unwritten,
            telemetry.shadow_dropped,
        )
        lost = self.answers_lost(), hindsight.unwritten, hindsight.shadow.dropped
        for counter, now, before in zip(counters, lost, self._counted_lost, strict=True):
            counter.inc(now - before)
        self._counted_lost = lost

    def _update_cluster(self, snapshot: Snapshot) -> None:
        """Over the nodes that are measured."""
        mean, latest = snapshot.statistics.mean, snapshot.statistics.latest
        usage = np.where(np.isnan(mean), latest, mean)
        for column, resource in enumerate(snapshot.resources):
            used, there = usage[:, column], snapshot.allocatable[:, column]
            measured = np.isfinite(used) & (there > 0)
            utilization = used[measured] / there[measured]
            whole = float(used[measured].sum() / there[measured].sum()) if len(utilization) else np.nan
            self.telemetry.cluster_utilization.labels(resource).set(whole)
            self.telemetry.cluster_imbalance.labels(resource).set(utilization.std() if len(utilization) else np.nan)
            for bound in BUSY_ABOVE:
                self.telemetry.busy_nodes.labels(resource, f"{bound:g}").set(int((utilization > bound).sum()))

    def _update_in_flight(self, snapshot: Snapshot) -> None:
        """Pods bound after their node's newest sample, and what came since the snapshot, less what left."""
        ledger, placed, cpu = self.adviser.in_flight, snapshot.placed, snapshot.resource_index[CPU]
        newest = snapshot.sampled_at[placed.rows]
        unseen = np.isfinite(newest) & (placed.bound_at > newest)
        shapes = np.bincount(placed.shapes[unseen])
        cores = sum(int(shapes[each]) * snapshot.shapes[each].request(CPU) for each in np.flatnonzero(shapes).tolist())
        more_pods = float(np.maximum(ledger.pods - snapshot.pod_counts, 0.0).sum())
        more_cores = float(np.maximum(ledger.requested[:, cpu] - snapshot.requested[:, cpu], 0.0).sum())
        self.telemetry.in_flight_pods.set(round(int(unseen.sum()) + more_pods, 6))
        self.telemetry.in_flight_cores.set(round(cores + more_cores, 6))
        learned = snapshot.expected
        self.telemetry.learned_workloads.set(0 if learned is None else len(learned.workloads))

    @contextmanager
    def adviser_unnoticed(self) -> Iterator[Adviser]:
        """The adviser for a question of people: what its plugins do meanwhile is not counted, nor held against them."""
        adviser = self.adviser
        before, adviser.breaker = adviser.breaker, adviser.breaker.aside()
        try:
            yield adviser
        finally:
            adviser.breaker = before

    def node_facts(self) -> NodeFacts:
        """What series per node are made of, as of now."""
        adviser = self.adviser
        snapshot, expectations = adviser.snapshot, adviser.in_flight.expectations
        mean = expectations.mean.copy() if expectations.known else None
        variance = expectations.variance.copy() if expectations.known else None
        return NodeFacts(snapshot, mean, variance, self._reference_scores(), adviser.settings.default_profile)

    def _reference_scores(self) -> Floats:
        """Of the reference pod on every node; empty if that cannot be told, which must not cost the other metrics."""
        adviser = self.adviser
        pod = Pod(namespace="", name="reference", shape=self.shown.reference)
        try:
            return adviser.rank(pod, adviser.snapshot.names, adviser.settings.default_profile, book=False).scores
        except Exception:
            logger.exception("the reference pod cannot be scored")
            return np.zeros(0)

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
