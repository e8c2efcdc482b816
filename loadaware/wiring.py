"""The only module that knows all others: from a configuration to running parts."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from collectors.cluster import Forbidden, Kind, Relisted
from collectors.errors import HistoryError, SourceUnreachableError
from collectors.history import HistoryWriter
from collectors.kubernetes_api import Credentials, KubernetesApi
from collectors.reading import Collector, HasHistory, NodeIdentity, Reading
from collectors.watch import Watch
from loadaware import __version__
from loadaware.adviser import Adviser
from loadaware.config import Config
from loadaware.demand_file import DemandFile, Keeping
from loadaware.demand_hand_over import ask_replica
from loadaware.demand_state import DemandState
from loadaware.extender.access import token_of
from loadaware.observer import Observer
from loadaware.observer_process import Order
from loadaware.profiles import adviser_settings, hindsight_settings, observer_settings, shown
from loadaware.queries import Query
from loadaware.recorded import AskedBatch, Configured, Recorded
from loadaware.recorder import Recorder, beginning_of, limits_of
from loadaware.refresh import Inbox, PastReading, ReadingFailed, Refresh, bring_past_pods, keep_reading
from loadaware.service import Message, Service
from loadaware.snapshot import Snapshot
from loadaware.sources import has_past, make_collector
from loadaware.standing_clock import StandingClock
from loadaware.telemetry import Telemetry
from loadaware.tracing import Spans

logger = logging.getLogger(__name__)

KINDS: tuple[Kind, ...] = ("nodes", "pods", "namespaces")
LISTS_FIRST_SECONDS = 30.0
"""How long the first reading waits for the lists of nodes and pods: without nodes its series match nothing, without
pods all that a node uses would count as its rest."""


def make_service(
    config: Config,
    file: str = "<config>",
    clock: Callable[[], float] = time.time,
    api: KubernetesApi | None = None,
) -> Service:
    """What the server serves, without anything that brings news yet. Raises ConfigError."""
    if config.history.folder:
        clock = StandingClock(clock)
    adviser = Adviser(adviser_settings(config, file), clock, time.perf_counter)
    telemetry = Telemetry(CollectorRegistry(), __version__)
    service = Service(adviser, telemetry, clock, config.server.readiness_grace, api)
    service.shown = shown(config)
    service.hindsight.configure(hindsight_settings(config))
    if config.telemetry.traces.endpoint:
        spans = Spans(file, config.telemetry.traces, __version__, pod_names=config.log.pod_names)
        service.hindsight.tell_of_each(spans.answered, spans.close)
    return service


@dataclass(frozen=True)
class Sources:
    """What brings news from one cluster: the watches and the metric source."""

    observer: Observer
    api: KubernetesApi
    watches: tuple[Watch, ...]
    collector: Collector
    warm_seconds: float
    """How much of the past to read first, if the source has one."""


def make_sources(order: Order) -> Sources:
    """Everything the observer's side needs; nothing is started, nothing is asked yet."""
    config = order.config
    observer = Observer(observer_settings(config))
    api = KubernetesApi(Credentials(order.kubeconfig, order.context))

    def identities() -> list[NodeIdentity]:
        return [NodeIdentity(node.name, node.addresses) for node in observer.nodes]

    collector = make_collector(config, api, identities)
    watches = tuple(Watch(api, kind) for kind in KINDS)
    return Sources(observer, api, watches, collector, config.window.length if has_past(config) else 0.0)


def observe(order: Order, publish: Callable[[Message], None], inbox: Inbox, recorder: Recorder | None = None) -> None:
    """The observer process' whole life: watch, read, publish, and answer what is put into the inbox.

    Without a recorder, one is made if the configuration names a folder for a history.
    """
    sources, demand = make_sources(order), order.config.demand
    recorder = recorder or _recorder_if_any(order.config, publish)
    learned = known_demand(order.config, time.time())
    learned_until = restore_demand(learned, sources.observer)
    if recorder is not None:
        recorder.began(time.time(), learned)
        recorder.start()
    refresh = Refresh(sources.observer, publish, time.time, resuming=order.resuming, recorder=recorder)
    for watch in sources.watches:
        _in_thread(f"watch-{watch.kind}", inbox, partial(watch.run, inbox.put))

    def read() -> None:
        refresh.nodes_listed.wait(LISTS_FIRST_SECONDS)
        refresh.pods_listed.wait(LISTS_FIRST_SECONDS)
        if sources.warm_seconds and demand.warm_up:
            since = max(time.time() - demand.warm_up, learned_until)
            bring_past_pods(sources.collector, inbox, since, time.time)
        keep_reading(sources.collector, inbox, order.config.interval, time.time, sources.warm_seconds)

    _in_thread("collector", inbox, read)
    keeping = keep_demand(order.config, sources.observer)
    refresh.run(inbox, keeping.tick if keeping else lambda: None)
    if keeping is not None:
        keeping.close()
    if recorder is not None:
        refresh.record_rest(inbox)
        recorder.close()


def make_recorder(
    config: Config, folder: str, publish: Callable[[Message], None] = lambda _: None, *, requests: bool
) -> Recorder:
    """Writes what is observed to that folder. Raises HistoryError if that cannot be."""
    writer = HistoryWriter(folder, limits_of(config.history), flush_on_write=False)
    beginning = beginning_of(config, requests=requests)
    return Recorder(writer, beginning, lambda number: publish(Recorded(number)), config.history.flush)


def _recorder_if_any(config: Config, publish: Callable[[Message], None]) -> Recorder | None:
    """A history that cannot be written is no reason not to observe."""
    if not config.history.folder:
        return None
    try:
        return make_recorder(config, config.history.folder, publish, requests=True)
    except HistoryError as error:
        logger.error("no history is written: %s", error)
        return None


def known_demand(config: Config, now: float) -> list[DemandState]:
    """What was learned before: kept in a file, known by a replica."""
    section, found = config.demand, []
    if section.state_file:
        found.append(DemandFile(section.state_file).load(now))
    if section.hand_over is not None:
        found.append(ask_replica(section.hand_over, config.server.port, now, token_of(config.people)))
    return [state for state in found if state is not None]


def restore_demand(learned: Sequence[DemandState], observer: Observer) -> float:
    """Give the observer what was learned before. Until when that goes (or -inf)."""
    for state in learned:
        observer.restore(state)
    return max((state.newest for state in learned), default=-math.inf)


def keep_demand(config: Config, observer: Observer) -> Keeping | None:
    """Saves what the observer learned, if the configuration names a file."""
    if not config.demand.state_file:
        return None

    def told() -> DemandState | None:
        return observer.export(time.time()) if observer.worth_keeping else None

    return Keeping(DemandFile(config.demand.state_file), config.demand.save_interval, told, time.time)


def observe_once(order: Order, patience_seconds: float = 60.0) -> Snapshot:
    """List the cluster, take one reading (and the past, if there is one), make one snapshot. Raises CollectorError."""
    sources = make_sources(order)
    inbox = Inbox()
    for watch in sources.watches:
        _in_thread(f"watch-{watch.kind}", inbox, partial(watch.run, inbox.put))
    try:
        _tell_until_listed(sources, inbox, patience_seconds)
    finally:
        inbox.stopping.set()
        for watch in sources.watches:
            watch.stop()
    now = time.time()
    if sources.warm_seconds and isinstance(sources.collector, HasHistory):
        for past in sources.collector.history(now - sources.warm_seconds):
            sources.observer.feed(past, now)
    sources.observer.feed(sources.collector.read(), now)
    return sources.observer.snapshot(now)


def _tell_until_listed(sources: Sources, inbox: Inbox, patience_seconds: float) -> None:
    """Until each kind was listed once, or is forbidden."""
    deadline = time.monotonic() + patience_seconds
    waiting: set[str] = set(KINDS)
    while waiting:
        batch = inbox.drain(max(deadline - time.monotonic(), 0.01))
        if not batch:
            problems = "; ".join(w.statistics.last_problem for w in sources.watches if w.statistics.last_problem)
            cause = problems or f"{', '.join(sorted(waiting))} not listed within {patience_seconds:g} s"
            raise SourceUnreachableError(sources.api.url, cause)
        for event, _ in batch:
            if isinstance(event, Relisted | Forbidden):
                waiting.discard(event.kind)
            if not isinstance(event, Reading | ReadingFailed | PastReading | Query | AskedBatch | Configured):
                sources.observer.tell(event, time.time())


def _in_thread(name: str, inbox: Inbox, target: Callable[[], None]) -> None:
    """If a thread ends in an unforeseen way all must: half an observer would go on telling half the truth."""

    def run() -> None:
        try:
            target()
        except Exception:
            logger.exception("thread %s ended in an unforeseen way", name)
            inbox.stopping.set()

    threading.Thread(target=run, name=name, daemon=True).start()
