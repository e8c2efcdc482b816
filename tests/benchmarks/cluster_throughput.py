"""How many pods a stock kube-scheduler binds in a second: alone, with us on names, with us on whole nodes.

Everything is real but the kubelets: etcd, kube-apiserver, kube-scheduler, loadaware. kube-scheduler limits its own
calls to the API server; it is measured as it comes, and with that limit lifted, where all parts fight for the cores of
one machine. All pods wait when kube-scheduler starts. The rate is taken between the first tenth and the last pod, by
its own count. The ways take turns, so that what disturbs the machine disturbs all of them.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from tests.parts.control_plane import ControlPlane
from tests.parts.kubernetes_api import DEFAULT_PODS
from tests.parts.load_watcher_server import LoadWatcherServer
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import wait_for
from tests.parts.scheduler import PLAIN_SCHEDULER, Scheduler

BARE, NAMES, WHOLE_NODES = "bare", "names", "whole nodes"
AS_IT_COMES, LIFTED = "as it comes", "limit lifted"
WAYS = tuple((limit, extender) for limit in (AS_IT_COMES, LIFTED) for extender in (BARE, NAMES, WHOLE_NODES))
"""The limit on kube-scheduler's calls, and the extender."""
Way = tuple[str, str]
COUNTER = "scheduler_schedule_attempts_total{"
LONGEST_SECONDS = 900.0
POLL_SECONDS = 0.02


def measure(folder: Path, nodes: int, pods: int, rounds: int, say: Callable[[str], None]) -> Mapping[Way, list[float]]:
    """Pods per second of each way, a figure per round."""
    figures: dict[Way, list[float]] = {way: [] for way in WAYS}
    names = [f"node-{number:04}" for number in range(nodes)]
    with ControlPlane(folder / "control-plane") as control_plane:
        for name in names:
            control_plane.api.add_ready_node(name, cpu="32", memory="128Gi", pods="250")
        say(f"{nodes} nodes are there")
        load = {name: 10.0 + number % 50 for number, name in enumerate(names)}
        with LoadWatcherServer(load) as watcher:
            config = {"source": {"type": "LoadWatcher", "url": watcher.url}}
            kubeconfig = control_plane.kubeconfig
            with LoadAware(folder / "loadaware", config=config, kubeconfig=kubeconfig, log_level="info") as loadaware:
                loadaware.wait_until_measured(set(names), 300)
                configs = {
                    BARE: PLAIN_SCHEDULER,
                    NAMES: loadaware.schedule_config(timeout="2s"),
                    WHOLE_NODES: loadaware.schedule_config("--whole-nodes", timeout="2s"),
                }
                for turn in range(rounds):
                    for limit, extender in WAYS:
                        printed = configs[extender]
                        rate = _one(control_plane, unlimited(printed) if limit == LIFTED else printed, pods)
                        figures[limit, extender].append(rate)
                        say(f"round {turn + 1}, {limit}, {extender}: {rate:.0f} pods per second")
    return figures


def ratios(figures: Mapping[Way, list[float]]) -> dict[Way, float]:
    """Each way beside the bare one: the median of the rounds' own ratios."""
    return {
        way: statistics.median(rate / bare for rate, bare in zip(rates, figures[way[0], BARE], strict=True))
        for way, rates in figures.items()
    }


def unlimited(config: str) -> str:
    """The same, with no limit on how fast kube-scheduler may call the API server."""
    content = yaml.safe_load(config)
    content.setdefault("clientConnection", {}).update(qps=10_000, burst=10_000)
    return yaml.safe_dump(content)


def _one(control_plane: ControlPlane, config: str, pods: int) -> float:
    api = control_plane.api
    names = api.add_pods((f"pod-{number}" for number in range(pods)), requests={"cpu": "10m", "memory": "16Mi"})
    try:
        with control_plane.start_scheduler(config) as scheduler:
            rate = _rate(scheduler, pods)
        api.nodes_of(names, LONGEST_SECONDS)
    finally:
        api.delete(DEFAULT_PODS)
        wait_for(lambda: not api.get(DEFAULT_PODS)["items"], "the pods to be gone")
    return rate


def _rate(scheduler: Scheduler, pods: int) -> float:
    """By the counter of pods that were scheduled."""
    begun_at, begun = 0.0, 0.0
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        done, now = scheduled(scheduler.metrics()), time.monotonic()
        if not begun and done >= pods / 10:
            begun_at, begun = now, done
        if done >= pods:
            return (done - begun) / (now - begun_at)
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"{done:.0f} of {pods} pods were scheduled in {LONGEST_SECONDS:.0f} s")


def scheduled(metrics: str) -> float:
    """How many pods a kube-scheduler has scheduled so far."""
    lines = [line for line in metrics.splitlines() if line.startswith(COUNTER) and 'result="scheduled"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
