"""A placement race in a real cluster: the default scheduler against loadaware, on the same arrivals and the same usage.

The shipped generator says who comes, how long they stay and what they use at each moment; kwok's annotations play it.
Every pod is created twice, once for each of two pools of equal nodes: one is placed by kube-scheduler alone, the other
by kube-scheduler with loadaware, which knows nothing at the start and learns from what a real metrics-server measures.
Whoever races does so at the same time, on the same machine. The simulator is asked what it expects of both.

    hot-node time = share of (node, moment) pairs in which the pods on a node want more than HOT of its cores
    unserved      = share of what pods want that is beyond what their node has
"""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from collectors.manifests import Pod
from collectors.reading import Floats
from loadaware.default_plugins import SPREAD_KINDS
from loadaware.simulation.engine import EngineSettings
from loadaware.simulation.metering import Timing
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.settings import ArrivalSettings, MachineSettings, ScenarioSettings
from loadaware.simulation.stage import Setup, Stage, make_stage
from loadaware.simulation.trial import run_trial
from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import ApiError
from tests.parts.kwok import usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.objects import pod as pod_object
from tests.parts.processes import wait_for
from tests.parts.scheduler import PLAIN_SCHEDULER

HOT = 0.8
RACERS = {"default": "default-scheduler", "loadaware": "loadaware"}
"""Pool -> the schedulerName of its pods."""
POLICIES = {"default": "default", "loadaware": "EntropicRisk*3+default"}
"""Pool -> what the simulator calls it."""
MEASURED_SECONDS = 10.0
"""metrics-server's shortest resolution."""
TICK_SECONDS = 1.0
LOOK_SECONDS = 5.0
PLAYED_SECONDS = 30.0
"""How often what a pod uses is written on it anew: as often as it jumps in the generator."""


@dataclass(frozen=True)
class RaceSettings:
    """How long, how large, and who comes."""

    nodes: int = 20
    load: float = 0.6
    minutes: float = 10.0
    warm_up_minutes: float = 3.0
    """Raced, but not judged."""
    lifetime_median_seconds: float = 300.0
    """Short, so that placing goes on all the time."""
    seed: int = 1

    def stage(self) -> Stage:
        """What will happen. Nodes use nothing by themselves: kwok's do not."""
        warm_up = self.warm_up_minutes * 60
        scenario = ScenarioSettings(
            duration_seconds=self.minutes * 60 + warm_up,
            load=self.load,
            load_from_seconds=warm_up,
            machines=MachineSettings(nodes=self.nodes, overhead=(0.0, 0.0)),
            arrivals=ArrivalSettings(lifetime_median_seconds=self.lifetime_median_seconds, fill_seconds=60.0),
        )
        seconds = MEASURED_SECONDS
        timing = Timing(seconds, publish_seconds=seconds, late_seconds=seconds, start_seconds=(1.0, seconds))
        engine = EngineSettings(warm_up_seconds=warm_up, timing=timing)
        return make_stage(Setup(scenario, engine), None, self.seed)


def foretold(settings: RaceSettings) -> dict[str, float]:
    """Hot-node time as the simulator expects it."""
    stage = settings.stage()
    return {pool: run_trial(stage, policy).hot80 / 100.0 for pool, policy in POLICIES.items()}


@dataclass
class Tally:
    """What one racer's nodes went through."""

    moments: int = 0
    hot: int = 0
    utilizations: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    """Deviation of utilization across the nodes, at each moment."""
    wanted: float = 0.0
    missed: float = 0.0
    """Cores wanted, and those of them that were not there."""
    unplaced: list[int] = field(default_factory=list)
    """Pods that wait for a node, at each moment: who leaves many waiting has it easy."""

    def note(self, wanted: Floats, cores: Floats, unplaced: int = 0) -> None:
        """One moment: cores wanted of each node and those it has, and how many pods wait."""
        utilization = wanted / cores
        self.unplaced.append(unplaced)
        self.moments += len(utilization)
        self.hot += int((utilization > HOT).sum())
        self.utilizations += utilization.tolist()
        self.spreads.append(float(utilization.std()))
        self.wanted += float(wanted.sum())
        self.missed += float(np.maximum(wanted - cores, 0.0).sum())

    @property
    def hot_share(self) -> float:
        """Hot-node time."""
        return self.hot / max(self.moments, 1)

    @property
    def waiting(self) -> float:
        """Pods that waited for a node, on average."""
        return float(np.mean(self.unplaced)) if self.unplaced else 0.0

    @property
    def unserved(self) -> float:
        """Of what was wanted, what was not there."""
        return self.missed / self.wanted if self.wanted else 0.0

    @property
    def spread(self) -> float:
        """Of utilization across the nodes, on average."""
        return float(np.mean(self.spreads)) if self.spreads else 0.0

    @property
    def mean(self) -> float:
        return float(np.mean(self.utilizations)) if self.utilizations else 0.0

    def percentile(self, percent: float) -> float:
        return float(np.percentile(self.utilizations, percent)) if self.utilizations else 0.0


def race(folder: Path, settings: RaceSettings, say: Callable[[str], None]) -> dict[str, Tally]:
    """Run it to its end."""
    scenario = settings.stage().scenario
    with Cluster(folder / "cluster") as cluster:
        for pool in RACERS:
            for name, cores, size, zone in zip(*_machines(scenario), strict=True):
                labels = {"pool": pool, "topology.kubernetes.io/zone": f"zone-{zone}"}
                cluster.add_node(f"{pool}-{name}", cpu=f"{cores:g}", memory=f"{size:.0f}", pods="250", labels=labels)
        profile = {"schedulerName": "loadaware", "scorers": [{"name": "EntropicRisk"}]}
        config = {"source": cluster.source("MetricsServer"), "interval": "5s", "profiles": [profile]}
        kubeconfig = cluster.control_plane.kubeconfig
        with (
            LoadAware(folder / "loadaware", config=config, kubeconfig=kubeconfig, log_level="info") as loadaware,
            cluster.control_plane.start_scheduler(PLAIN_SCHEDULER),
            cluster.control_plane.start_scheduler(loadaware.schedule_config(timeout="2s")),
        ):
            wait_for(lambda: len(loadaware.usage()) == 2 * settings.nodes, "the nodes", loadaware.process)
            return _Player(cluster, scenario, settings, say).play()


def _machines(scenario: Scenario) -> tuple[Any, Any, Any, Any]:
    machines = scenario.machines
    return machines.names, machines.cores.tolist(), machines.bytes.tolist(), machines.zones.tolist()


class _Player:
    """Brings pods and takes them away, writes on them what they use, and looks where they are."""

    def __init__(
        self, cluster: Cluster, scenario: Scenario, settings: RaceSettings, say: Callable[[str], None]
    ) -> None:
        self._api = cluster.api
        self._scenario = scenario
        self._settings = settings
        self._say = say
        self._here: set[int] = set()
        self._played: dict[int, float] = {}
        self._tallies = {pool: Tally() for pool in RACERS}
        self._made: set[str] = set()
        """Namespaces and controllers that are there."""

    def play(self) -> dict[str, Tally]:
        settings, start = self._settings, time.monotonic()
        whole = (settings.minutes + settings.warm_up_minutes) * 60
        said = looked = 0.0
        while (passed := time.monotonic() - start) < whole:
            now = self._scenario.settings.start + passed
            self._come_and_go(now)
            self._use(now)
            if passed > max(settings.warm_up_minutes * 60, looked + LOOK_SECONDS):
                looked = passed
                self._look(now)
            if passed >= said:
                said += 60
                hot = {pool: f"{tally.hot_share:.1%}" for pool, tally in self._tallies.items()}
                self._say(f"{passed / 60:.0f} of {whole / 60:.0f} min, {len(self._here)} pods each, hot: {hot}")
            time.sleep(max(0.0, TICK_SECONDS - (time.monotonic() - start - passed)))
        return self._tallies

    def _come_and_go(self, now: float) -> None:
        arrivals = self._scenario.arrivals
        alive = set(np.flatnonzero((arrivals.arrival <= now) & (arrivals.departure > now)).tolist())
        for index in sorted(alive - self._here):
            for pool in RACERS:
                told = self._scenario.pod(index)
                self._prepare(pool, told)
                self._api.create(_pods(pool, told), self._pod(index, pool, told, now))
            self._played[index] = now
        for index in self._here - alive:
            for pool in RACERS:
                self._api.delete(self._path(pool, index))
        self._here = alive

    def _prepare(self, pool: str, pod: Pod) -> None:
        """Namespace and controller, by whose selector kube-scheduler spreads. Nobody acts for it: we bring the pods."""
        namespace, owner = _namespace(pool, pod), pod.owner
        self._make("/api/v1/namespaces", {"metadata": {"name": namespace}})
        if owner is not None and owner.kind in SPREAD_KINDS:
            template = {"metadata": {"labels": dict(pod.labels)}, "spec": pod_object("")["spec"]}
            spec = {"replicas": 0, "selector": {"matchLabels": dict(pod.labels)}, "template": template}
            more = {"serviceName": owner.name} if owner.kind == "StatefulSet" else {}
            path = f"/apis/apps/v1/namespaces/{namespace}/{owner.kind.lower()}s"
            self._make(path, {"metadata": {"name": owner.name}, "spec": spec | more})

    def _make(self, path: str, body: dict[str, Any]) -> None:
        key = f"{path}/{body['metadata']['name']}"
        if key not in self._made:
            self._made.add(key)
            self._api.create(path, body)

    def _pod(self, index: int, pool: str, told: Pod, now: float) -> dict[str, Any]:
        requests = {name: f"{amount:.3f}" for name, amount in told.shape.requests}
        spec = {"schedulerName": RACERS[pool], "nodeSelector": {"pool": pool}, "terminationGracePeriodSeconds": 0}
        usage, labels = self._usage(index, now), {**told.labels, "pool": pool}
        made = pod_object(_name(index), requests=requests, labels=labels, annotations=usage, spec=spec)
        made["spec"]["containers"][0]["image"] = told.images[0]
        if told.owner is not None:
            owner = {"apiVersion": "apps/v1", "kind": told.owner.kind, "name": told.owner.name, "uid": told.owner.name}
            made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        return made

    def _path(self, pool: str, index: int) -> str:
        return f"{_pods(pool, self._scenario.pod(index))}/{_name(index)}"

    def _usage(self, index: int, now: float) -> dict[str, str]:
        cores = float(self._scenario.usage(np.array([index]), now)[0])
        memory = float(self._scenario.memory(np.array([index]), now)[0])
        return usage_annotations(f"{max(round(1000 * cores), 1)}m", f"{memory:.0f}")

    def _use(self, now: float) -> None:
        """Those whose annotation is the oldest, as many as keep all of them young enough."""
        share = TICK_SECONDS / PLAYED_SECONDS
        oldest = sorted(self._here, key=lambda index: self._played[index])
        for index in oldest[: int(np.ceil(share * len(oldest)))]:
            body = {"metadata": {"annotations": self._usage(index, now)}}
            for pool in RACERS:
                try:
                    self._api.patch(self._path(pool, index), body)
                except ApiError as error:
                    if error.status != 404:
                        raise
            self._played[index] = now

    def _look(self, now: float) -> None:
        for pool, tally in self._tallies.items():
            on: dict[str, list[int]] = defaultdict(list)
            unplaced = 0
            for each in self._api.get("/api/v1/pods", resourceVersion="0", labelSelector=f"pool={pool}")["items"]:
                node = each["spec"].get("nodeName", "").removeprefix(f"{pool}-")
                if node:
                    on[node].append(int(each["metadata"]["name"].removeprefix("pod-")))
                else:
                    unplaced += 1
            machines = self._scenario.machines
            wanted = [
                float(self._scenario.usage(np.array(on[name]), now).sum()) if on[name] else 0.0
                for name in machines.names
            ]
            tally.note(np.array(wanted), machines.cores, unplaced)


def _pods(pool: str, pod: Pod) -> str:
    return f"/api/v1/namespaces/{_namespace(pool, pod)}/pods"


def _namespace(pool: str, pod: Pod) -> str:
    return f"{pool}-{pod.namespace}"


def _name(index: int) -> str:
    return f"pod-{index}"
