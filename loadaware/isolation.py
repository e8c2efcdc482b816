"""A plugin in a process of its own, with a deadline: even one that hangs harms nobody.

    profiles: [{scorers: [{name: Theirs, isolated: true}]}]

Each call sends the nodes asked about (a small snapshot of their own) and the pod to the worker and waits at most
`deadline_seconds`. A worker that is late is ended and started anew; until it is there again its plugin is skipped, as
the breaker does with any plugin that fails. What crosses the border is pickled, both ways, between our own processes.
"""

import contextlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any

from collectors.manifests import Pod, Shape
from collectors.reading import Floats
from loadaware.errors import LoadAwareError
from loadaware.filters.filter import Filter
from loadaware.nodes import Nodes
from loadaware.profile import Profile
from loadaware.scorers.scorer import CountsInFlight, Scorer
from loadaware.window import Bools

Plugin = Scorer | Filter
READY = "ready"
START_SECONDS = 20.0


class WorkerError(LoadAwareError):
    """The worker is late, gone, or not there yet; or the plugin raised in it."""


class Worker:
    """One process that holds one plugin."""

    def __init__(self, plugin: Plugin, deadline_seconds: float) -> None:
        self._plugin = plugin
        self._deadline_seconds = deadline_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._starting: threading.Thread | None = None

    def start(self) -> None:
        """Start the process; it gets ready in the background. Until then calls raise WorkerError."""
        ours, theirs = socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "loadaware.isolated", str(theirs.fileno())], pass_fds=(theirs.fileno(),)
            )
        with self._lock:
            self._process = process
        self._starting = threading.Thread(target=self._greet, args=(process, Connection(ours.detach())), daemon=True)
        self._starting.start()

    def call(self, method: str, *arguments: object) -> Any:
        """What the plugin's method gives. Raises WorkerError when it is late, or raised itself."""
        connection = self._connection
        if connection is None:
            if self._starting is not None and not self._starting.is_alive():
                self._restart()
            raise WorkerError("its worker is not ready")
        try:
            connection.send_bytes(pickle.dumps((method, arguments), protocol=5))
            if not connection.poll(self._deadline_seconds):
                self._restart()
                raise WorkerError(
                    f"no answer within {self._deadline_seconds * 1000:.0f} ms; its worker is started anew"
                )
            good, value = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own child
        except (OSError, EOFError) as error:
            self._restart()
            raise WorkerError("its worker ended; it is started anew") from error
        if not good:
            raise WorkerError(str(value))
        return value

    def wait_until_ready(self) -> bool:
        """For those who have time: whether it is ready now."""
        starting = self._starting
        if starting is not None:
            starting.join(timeout=START_SECONDS)
        return self._connection is not None

    def close(self) -> None:
        """End the worker, even one that is just being started."""
        with self._lock:
            connection, self._connection = self._connection, None
            process, self._process = self._process, None
        self._starting = None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def _restart(self) -> None:
        self.close()
        self.start()

    def _greet(self, process: "subprocess.Popen[bytes]", connection: Connection) -> None:
        """Hand the plugin over and wait until it is there; of no use if the worker was closed meanwhile."""
        ready = False
        with contextlib.suppress(OSError, EOFError):
            connection.send_bytes(pickle.dumps(self._plugin, protocol=5))
            ready = connection.poll(START_SECONDS) and pickle.loads(connection.recv_bytes()) == READY  # noqa: S301
        with self._lock:
            if ready and self._process is process:
                self._connection = connection
                return
        connection.close()


class IsolatedScorer(Scorer, frozen=True, kw_only=True):
    """A scorer that lives in a worker."""

    worker: Worker

    def score(self, nodes: Nodes, pod: Pod) -> Floats:
        """In the worker, normalized there: one journey."""
        scores: Floats = self.worker.call("normalized_score", nodes.detached(), pod)
        return scores

    def raw(self, nodes: Nodes, pod: Pod) -> Floats:
        """In the worker."""
        numbers: Floats = self.worker.call("raw", nodes.detached(), pod)
        return numbers


class IsolatedCountingScorer(IsolatedScorer, frozen=True, kw_only=True):
    """One that wants pods in flight counted; its prices are asked for in this process, they are only arithmetic."""

    plugin: Any

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the plugin expects of a pod."""
        prices: Mapping[str, float] = self.plugin.demand(shape)
        return prices

    @property
    def in_flight_rule(self) -> str | None:
        """The plugin's own way to count them, if it has one."""
        return getattr(self.plugin, "in_flight_rule", None)


class IsolatedFilter(Filter, frozen=True, kw_only=True):
    """A filter that lives in a worker."""

    worker: Worker
    load_rule: bool = False  # type: ignore[misc]  # of the class for others, of the instance here
    unresolvable: bool = False  # type: ignore[misc]  # the same

    def pre_filter(self, pod: Pod) -> str | None:
        """In the worker."""
        reason: str | None = self.worker.call("pre_filter", pod)
        return reason

    def rejects(self, nodes: Nodes, pod: Pod) -> Bools:
        """In the worker."""
        rejected: Bools = self.worker.call("rejects", nodes.detached(), pod)
        return rejected

    def reasons(self, nodes: Nodes, pod: Pod) -> list[str]:
        """In the worker."""
        reasons: list[str] = self.worker.call("reasons", nodes.detached(), pod)
        return reasons


class IsolatedCountingFilter(IsolatedFilter, frozen=True, kw_only=True):
    """One that wants pods in flight counted, as with scorers."""

    plugin: Any

    def demand(self, shape: Shape) -> Mapping[str, float]:
        """What the plugin expects of a pod."""
        prices: Mapping[str, float] = self.plugin.demand(shape)
        return prices

    @property
    def in_flight_rule(self) -> str | None:
        """The plugin's own way to count them, if it has one."""
        return getattr(self.plugin, "in_flight_rule", None)


def workers_of(profiles: Iterable[Profile]) -> list[Worker]:
    """The workers of all isolated plugins: to be started when they are put to use, and closed afterwards."""
    plugins = [plugin for p in profiles for plugin in (*(s.scorer for s in p.scorers), *(f.filter for f in p.filters))]
    return [plugin.worker for plugin in plugins if isinstance(plugin, IsolatedScorer | IsolatedFilter)]


@contextlib.contextmanager
def working(profiles: Iterable[Profile]) -> Iterator[None]:
    """The workers of all isolated plugins ready, and closed afterwards. For those who have time to wait."""
    workers = workers_of(profiles)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.wait_until_ready()
        yield
    finally:
        for worker in workers:
            worker.close()


def isolate_scorer(scorer: Scorer, deadline_seconds: float) -> Scorer:
    """The same scorer, in a worker."""
    worker = Worker(scorer, deadline_seconds)
    if isinstance(scorer, CountsInFlight):
        return IsolatedCountingScorer(worker=worker, plugin=scorer)
    return IsolatedScorer(worker=worker)


def isolate_filter(rule: Filter, deadline_seconds: float) -> Filter:
    """The same filter, in a worker."""
    worker = Worker(rule, deadline_seconds)
    if isinstance(rule, CountsInFlight):
        return IsolatedCountingFilter(
            worker=worker, load_rule=rule.load_rule, unresolvable=rule.unresolvable, plugin=rule
        )
    return IsolatedFilter(worker=worker, load_rule=rule.load_rule, unresolvable=rule.unresolvable)
