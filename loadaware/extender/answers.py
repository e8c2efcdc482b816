"""The answers to filter and prioritize: a body in, a status and a body out. Both ways (app.py, hot_path.py) end here.

It fails open. A plugin that fails is skipped by the core, which is logged and counted here. Whatever else goes wrong
after a pod and its nodes were read is logged and counted, too, and the answer is the one that changes nothing: every
node passes, all nodes are equal. Anything but 200 from filter would keep the pod from being scheduled at all.

More than `MOST_NODES` nodes are not looked at one by one: the answer changes nothing, and is soon made. (To prioritize
it is the empty list, for a host left out counts as 0.)
"""

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from prometheus_client import Counter

from collectors.manifests import Pod
from loadaware.decisions import Decision
from loadaware.errors import LoadAwareError, RequestError
from loadaware.extender import protocol
from loadaware.extender.large_bodies import MOST_NODES
from loadaware.filtering import Filtering
from loadaware.quick_histogram import Observed
from loadaware.service import Service

logger = logging.getLogger(__name__)

FAILED = "%s failed for pod %s: answered neutrally"


class Answer(NamedTuple):
    """An HTTP status and a body of JSON."""

    status: int
    content: bytes


class Counts(NamedTuple):
    """Where the requests of one verb and profile are counted."""

    requests: Counter
    nodes: Observed
    duration: Observed


class Answers:
    """Reads, asks the adviser, counts. One thread: the event loop's."""

    def __init__(self, service: Service, body_limit_bytes: int) -> None:
        self.service = service
        self.body_limit_bytes = body_limit_bytes
        self._skipped: dict[tuple[str, str], dict[str, str]] = {}
        self._counts: dict[tuple[str, str], Counts] = {}
        self._counted: Counts | None = None
        self._decided: Decision | None = None

    def answer(self, verb: str, body: bytes, profile: str | None, trace: str | None = None) -> Answer:
        """The answer to a whole body, at once. Raises nothing. `trace` is the `traceparent` that came with it."""
        started, self._counted, self._decided = time.perf_counter(), None, None
        try:
            arguments = self._read(verb, body)
            content = self.content(verb, arguments, profile)
        except LoadAwareError as error:
            return self.failed(verb, error)
        except Exception:
            logger.exception("%s failed before its pod was read", verb)
            return self.refused(verb, "internal", "an internal error; the log tells more", 500)
        self._took(verb, started, trace)
        return Answer(200, content)

    def _read(self, verb: str, body: bytes) -> protocol.Arguments:
        """A filter's answer names nodes again, so it wants names; to prioritize their rows will do."""
        if verb == "filter":
            return protocol.decode_arguments(body, keep_nodes=True)
        return protocol.decode_known(body, self.service.adviser.snapshot.names)

    def _took(self, verb: str, started: float, trace: str | None) -> None:
        ended = time.perf_counter()
        self.service.hindsight.pace.answered(verb, started, ended)
        seconds = ended - started
        if self._counted is not None:
            self._counted.duration.observe(seconds)
        if self._decided is not None:
            self._decided.took_seconds, self._decided.trace = seconds, trace

    def settle(self) -> None:
        """Book the pod that was ranked last: after its answer has gone, or before the next question is looked at."""
        try:
            self.service.adviser.settle()
        except Exception:
            logger.exception("the pod that was ranked last cannot be booked")
            self.service.telemetry.errors.labels("prioritize", "internal").inc()

    def content(self, verb: str, arguments: protocol.Arguments, profile: str | None) -> bytes:
        """The body of an answer, or of the neutral one if working it out fails. Raises UnknownProfileError."""
        self.settle()
        try:
            if verb == "filter":
                return protocol.encode_filtering(self._filter(arguments, profile), arguments.whole_nodes)
            return self._prioritize(arguments, profile)
        except LoadAwareError:
            raise
        except Exception:
            logger.exception(FAILED, verb, arguments.pod.key)
            self.service.telemetry.errors.labels(verb, "internal").inc()
            return neutral(verb, arguments)

    def filtering(self, arguments: protocol.Arguments, profile: str | None) -> Filtering:
        """Which nodes pass; all if working it out fails. Raises UnknownProfileError."""
        self.settle()
        try:
            return self._filter(arguments, profile)
        except LoadAwareError:
            raise
        except Exception:
            logger.exception(FAILED, "filter", arguments.pod.key)
            self.service.telemetry.errors.labels("filter", "internal").inc()
            return Filtering("", tuple(arguments.names), {}, {})

    def too_many(self, verb: str, pod: Pod, nodes: int, doubts: Sequence[str], profile: str | None) -> bytes:
        """Count a request about too many nodes; the answer, if it is one to prioritize. Raises UnknownProfileError."""
        self._count(verb, self.service.adviser.profile_for(pod, profile).name, nodes, doubts)
        self.service.telemetry.errors.labels(verb, "too_many_nodes").inc()
        return b"[]"

    def failed(self, verb: str, error: LoadAwareError) -> Answer:
        """What is answered when there is nothing to answer with."""
        if isinstance(error, RequestError):
            return self.refused(verb, error.reason, str(error), error.status)
        return self.refused(verb, "unknown_profile", str(error), 404)

    def refused(self, verb: str, reason: str, problem: str, status: int) -> Answer:
        """A refusal, counted."""
        self.service.telemetry.errors.labels(verb, reason).inc()
        return Answer(status, msgspec.json.encode({"error": problem}))

    def disconnected(self, verb: str) -> Answer:
        """Nobody reads this one."""
        return self.refused(verb, "disconnected", "the client went away", 400)

    def _filter(self, arguments: protocol.Arguments, profile: str | None) -> Filtering:
        if len(arguments.names) > MOST_NODES:
            self.too_many("filter", arguments.pod, len(arguments.names), arguments.doubts, profile)
            return Filtering("", tuple(arguments.names), {}, {})
        if self.service.hindsight.mode == "shadow":
            return Filtering(self._only_think("filter", arguments, profile), tuple(arguments.names), {}, {})
        filtering = self.service.adviser.filter(arguments.pod, arguments.names, profile)
        self._decided = self.service.hindsight.filtered(arguments.pod, filtering, len(arguments.names))
        telemetry = self.service.telemetry
        for rule, count in filtering.rejections.items():
            telemetry.rejected.labels(filtering.profile, rule).inc(count)
        if filtering.relaxed:
            telemetry.relaxed.labels(filtering.profile).inc()
            self.service.announcements.announce(arguments.pod, "LoadRulesRelaxed", _relaxed(filtering))
        self._count("filter", filtering.profile, len(arguments.names), arguments.doubts)
        self._note_skipped("filter", filtering.profile, filtering.skipped)
        return filtering

    def _prioritize(self, arguments: protocol.Arguments, profile: str | None) -> bytes:
        if len(arguments.names) > MOST_NODES:
            return self.too_many("prioritize", arguments.pod, len(arguments.names), arguments.doubts, profile)
        if self.service.hindsight.mode == "shadow":
            self._only_think("prioritize", arguments, profile)
            return protocol.encode_all_equal(arguments)
        ranking = self.service.adviser.rank(arguments.pod, arguments.names, profile)
        self.service.telemetry.ranked(ranking.profile, ranking.scores)
        self._decided = self.service.hindsight.ranked(arguments.pod, ranking, len(arguments.names))
        self._count("prioritize", ranking.profile, len(arguments.names), arguments.doubts)
        self._note_skipped("prioritize", ranking.profile, ranking.skipped)
        return protocol.encode_priorities(ranking)

    def _only_think(self, verb: str, arguments: protocol.Arguments, profile: str | None) -> str:
        """In shadow mode: count the request, and think about it later. Its profile; raises UnknownProfileError."""
        name = self.service.adviser.profile_for(arguments.pod, profile).name
        self.service.hindsight.think(verb, arguments.pod, arguments.names, profile)
        self._count(verb, name, len(arguments.names), arguments.doubts)
        return name

    def _count(self, verb: str, profile: str, nodes: int, doubts: Sequence[str]) -> None:
        counts = self._counted = self._counts.get((verb, profile)) or self._begin(verb, profile)
        counts.requests.inc()
        counts.nodes.observe(nodes)
        for doubt in doubts:
            self.service.telemetry.errors.labels(verb, doubt.partition(":")[0]).inc()

    def _begin(self, verb: str, profile: str) -> Counts:
        of = verb, profile
        telemetry = self.service.telemetry
        counts = Counts(
            telemetry.requests.labels(*of), telemetry.nodes_asked.labels(*of), telemetry.duration.labels(*of)
        )
        self._counts[of] = counts
        return counts

    def _note_skipped(self, verb: str, profile: str, skipped: dict[str, str]) -> None:
        """Count answers without some plugin; log when it begins and what becomes of it, not each one."""
        if skipped:
            self.service.telemetry.errors.labels(verb, "skipped_plugin").inc()
        if skipped != self._skipped.get((verb, profile), {}):
            self._skipped[verb, profile] = skipped
            without = "; ".join(f"without {plugin} ({why})" for plugin, why in skipped.items())
            logger.warning("%s of profile %s goes on %s", verb, profile, without or "with all its plugins again")


def neutral(verb: str, arguments: protocol.Arguments) -> bytes:
    """The answer that changes nothing."""
    return protocol.encode_all_passing(arguments) if verb == "filter" else protocol.encode_all_equal(arguments)


def _relaxed(filtering: Filtering) -> str:
    return f"load rules would reject every node; the {len(filtering.passed)} least loaded pass all the same"
