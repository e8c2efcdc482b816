"""A history is built from a real Prometheus alone, goes on where it was, and is replayed.

Two hours of three nodes are backfilled as kube-state-metrics and cAdvisor label them. All pods but one DaemonSet's are
packed onto node-1, which is hot; a placement by load would have spread them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from collectors.cluster import NodeSeen, PodGone, PodSeen
from collectors.history import HistoryReader, Mark
from collectors.prometheus import PrometheusSettings
from collectors.reading import Reading
from loadaware.config import Config
from loadaware.past_recording import COLLECTED, PastSettings, record_past
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from tests.parts.prometheus_server import PrometheusServer

pytestmark = pytest.mark.integration

START = 1_750_003_200.0
LENGTH = 2 * 3600.0
STEP = 30.0
GIBIBYTE = 2.0**30
NODES = ("node-1", "node-2", "node-3")


@dataclass(frozen=True)
class Life:
    """A pod: where, from when to when, and its cores."""

    name: str
    node: str
    begin: float
    end: float
    cores: float
    owner: tuple[str, str] = ("ReplicaSet", "web-7d4b9c6f5d")

    @property
    def uid(self) -> str:
        return f"uid-of-{self.name}"


PODS = (
    *(Life(f"agent-{n}", f"node-{n}", 0.0, LENGTH, 0.1, ("DaemonSet", "agent")) for n in (1, 2, 3)),
    *(Life(f"web-7d4b9c6f5d-x7k2{n}", "node-1", 1800.0 + 60.0 * n, LENGTH, 0.6) for n in range(2, 8)),
    Life("backup-1", "node-2", 2400.0, 4200.0, 0.5, ("Job", "backup")),
)


def labelled(name: str, labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inner}}}"


def series() -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """Family, series and samples (seconds after the start, value)."""
    times = [STEP * n for n in range(int(LENGTH / STEP) + 1)]
    for node in NODES:
        for resource, amount in (("cpu", 4.0), ("memory", 16 * GIBIBYTE), ("pods", 110.0)):
            for family in ("kube_node_status_allocatable", "kube_node_status_capacity"):
                told = labelled(family, {"node": node, "resource": resource, "unit": "core"})
                yield family, told, [(t, amount) for t in times]
        zone = {"node": node, "label_topology_kubernetes_io_zone": f"zone-{node[-1]}"}
        yield "kube_node_labels", labelled("kube_node_labels", zone), [(t, 1.0) for t in times]
        machine = {"node": node, "instance": node, "id": "/"}
        work = [(t, sum(p.cores * max(min(t, p.end) - p.begin, 0.0) for p in PODS if p.node == node)) for t in times]
        yield "container_cpu_usage_seconds_total", labelled("container_cpu_usage_seconds_total", machine), work
        memory = labelled("container_memory_working_set_bytes", machine)
        yield "container_memory_working_set_bytes", memory, [(t, 4 * GIBIBYTE) for t in times]
    for pod in PODS:
        yield from of_pod(pod, [t for t in times if pod.begin <= t <= pod.end])


def of_pod(pod: Life, times: list[float]) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    name = {"namespace": "shop", "pod": pod.name, "uid": pod.uid}
    kind, owner = pod.owner
    facts: list[tuple[str, Mapping[str, str], float]] = [
        ("kube_pod_info", {**name, "node": pod.node, "created_by_kind": kind, "created_by_name": owner}, 1.0),
        ("kube_pod_owner", {**name, "owner_kind": kind, "owner_name": owner, "owner_is_controller": "true"}, 1.0),
        ("kube_pod_created", name, START + pod.begin - 1.0),
        ("kube_pod_start_time", name, START + pod.begin),
    ]
    for resource, amount in (("cpu", 0.5), ("memory", GIBIBYTE)):
        requests = {**name, "container": "main", "node": pod.node, "resource": resource, "unit": "core"}
        facts.append(("kube_pod_container_resource_requests", requests, amount))
    if kind == "ReplicaSet":
        owned = {"namespace": "shop", "replicaset": owner, "owner_kind": "Deployment", "owner_name": "web"}
        if pod.name.endswith("2"):
            facts.append(("kube_replicaset_owner", owned, 1.0))
    for family, labels, value in facts:
        yield family, labelled(family, labels), [(t, value) for t in times]
    used = {"namespace": "shop", "pod": pod.name, "container": "main", "image": "shop/web:1", "node": pod.node}
    cpu, memory = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
    yield cpu, labelled(cpu, {**used, "id": f"/pods/{pod.name}"}), [(t, pod.cores * (t - pod.begin)) for t in times]
    yield memory, labelled(memory, {**used, "id": f"/pods/{pod.name}"}), [(t, GIBIBYTE) for t in times]


def openmetrics() -> str:
    families: dict[str, list[str]] = {}
    for family, told, samples in series():
        lines = families.setdefault(family, [])
        lines += [f"{told} {value} {START + t:.3f}" for t, value in samples]
    return "\n".join(f"# TYPE {family} unknown\n" + "\n".join(lines) for family, lines in families.items()) + "\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = PrometheusServer(tmp_path_factory.mktemp("prometheus"))
    server.backfill(openmetrics())
    with server:
        yield server.url


def collect(url: str, folder: Path, until: float = LENGTH) -> int:
    past = PastSettings(START, START + until, step_seconds=60.0, pause_seconds=0.0)
    return record_past(PrometheusSettings(url=url), str(folder), past, wait=lambda _: None).readings


@pytest.fixture(scope="module")
def history(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories") / "past"
    assert collect(url, folder) > 100
    return folder


def test_the_history_tells_of_nodes_pods_their_owners_and_when_they_were_bound(history: Path) -> None:
    contents = [(record.time, record.content) for record in HistoryReader(history).records(kinds=["events"])]
    nodes = {event.node.name: event.node for _, event in contents if isinstance(event, NodeSeen)}
    pods = {event.pod.name: (time, event.pod) for time, event in contents if isinstance(event, PodSeen)}
    gone = {event.identity: time for time, event in contents if isinstance(event, PodGone)}
    assert set(nodes) == set(NODES)
    assert dict(nodes["node-1"].allocatable)["cpu"] == 4.0
    assert nodes["node-1"].labels["topology.kubernetes.io/zone"] == "zone-1"
    time, web = pods["web-7d4b9c6f5d-x7k23"]
    assert time == web.bound_at == START + 1980.0
    assert web.shape.request("cpu") == 0.5
    assert web.labels == {"pod-template-hash": "7d4b9c6f5d"}
    assert gone.keys() == {"uid-of-backup-1"}
    assert START + 4200 <= gone["uid-of-backup-1"] <= START + 4320


def test_the_history_has_the_usage_of_nodes_and_pods(history: Path) -> None:
    readings = [r.content for r in HistoryReader(history).records(kinds=["readings"]) if isinstance(r.content, Reading)]
    last = readings[-1]
    assert last.pods is not None
    usage = dict(zip(last.nodes.names, last.nodes.usage[:, 0].tolist(), strict=True))
    assert usage["node-1"] == pytest.approx(0.1 + 6 * 0.6, rel=0.02)
    of_pods = dict(zip(last.pods.names, last.pods.usage[:, 0].tolist(), strict=True))
    assert of_pods["shop/web-7d4b9c6f5d-x7k23"] == pytest.approx(0.6, rel=0.02)


def test_a_second_run_goes_on_where_the_first_ended_and_tells_nothing_twice(url: str, tmp_path: Path) -> None:
    first = collect(url, tmp_path, LENGTH / 2)
    second = collect(url, tmp_path, LENGTH)
    third = collect(url, tmp_path, LENGTH)
    times = [record.time for record in HistoryReader(tmp_path).records(kinds=["readings"])]
    assert (third, len(times)) == (0, first + second)
    assert times == sorted(set(times))
    marks = [r.content.name for r in HistoryReader(tmp_path).records(kinds=["marks"]) if isinstance(r.content, Mark)]
    assert marks.count(COLLECTED) >= 2
    assert marks.count("began") == 1


def test_a_replay_of_it_spreads_what_was_packed_and_leaves_daemons_alone(history: Path) -> None:
    outcome = replay(history, Config(), ReplaySettings(warm_up_seconds=0.0))
    assert not outcome.requests_recorded
    assert outcome.recorded.hot80 > 10.0
    assert outcome.replayed.hot80 < outcome.recorded.hot80 / 2
    assert outcome.counts.elsewhere >= 3
    assert all(move.pod.startswith(("shop/web", "shop/backup")) for move in outcome.moves)
    assert outcome.moves[0].relief_core_hours > 0
