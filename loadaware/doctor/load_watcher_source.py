"""Is the load-watcher service well, is it fresh, and does it know every node?"""

from collections.abc import Iterator, Sequence

from collectors.errors import CollectorError
from collectors.load_watcher import LoadWatcher
from collectors.manifests import Node
from loadaware.config import StalenessSection
from loadaware.doctor.finding import Finding, fail, ok
from loadaware.doctor.measured import check_reading

WHAT = "load-watcher"
_UNREACHABLE = "check source.url and that load-watcher runs: `kubectl get pods -A | grep load-watcher`"
_UNREADABLE = "see load-watcher's log: its own source (Prometheus, metrics-server) may not answer it"
_STALE = "see load-watcher's log: it reads its source once a minute, and seems to have stopped"
_MISSING = "load-watcher must name nodes as the cluster does; see what it is told by its own source"


def check_load_watcher(collector: LoadWatcher, nodes: Sequence[Node], staleness: StalenessSection) -> Iterator[Finding]:
    """Health first; a sick one may still answer, so it is read all the same."""
    try:
        collector.check_health()
        yield ok(WHAT, f"{collector.url} says that it is well")
    except CollectorError as error:
        yield fail(f"{WHAT} health", str(error), _UNREACHABLE)
    try:
        reading = collector.read()
    except CollectorError as error:
        yield fail(WHAT, str(error), _UNREADABLE)
        return
    yield from check_reading(reading, nodes, staleness, _STALE, _MISSING)
