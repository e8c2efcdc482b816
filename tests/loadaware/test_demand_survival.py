"""What was learned outlives the process that learned it: through its file, and through another replica."""

import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest
from click.testing import CliRunner

from loadaware.cli import cli
from loadaware.demand_file import DemandFile
from loadaware.demand_format import decode
from loadaware.observer_process import ObserverProcess, Order
from loadaware.service import Message
from loadaware.snapshot import Snapshot
from tests.collectors.fake_api_server import FakeApiServer
from tests.collectors.fake_prometheus import FakePrometheus, Seen
from tests.loadaware.fake_cluster import USAGE_OF_NODES, USAGE_OF_PODS, quick_config, serve_cluster, serve_usage
from tests.loadaware.learned import rows_of
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for

PODS = {"web-1": "a", "web-2": "b", "db-1": "b"}
CORES = {"web-1": "100m", "web-2": "300m", "db-1": "900m"}


def serve_pod_usage(server: FakeApiServer, cores: dict[str, str]) -> None:
    """Answer with this usage of pods from now on, measured now and never again."""
    now = datetime.fromtimestamp(time.time(), UTC).isoformat()
    items = [
        {
            "metadata": {"name": name, "namespace": "shop"},
            "timestamp": now,
            "window": "15s",
            "containers": [{"name": "main", "usage": {"cpu": used, "memory": "100Mi"}}],
        }
        for name, used in cores.items()
    ]
    server.answer(USAGE_OF_PODS, {"kind": "PodMetricsList", "items": items})
    server.take_answer(USAGE_OF_PODS)  # the one before is no answer any more


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        serve_cluster(server, {"a": "500m", "b": "2"}, PODS)
        serve_pod_usage(server, CORES)
        yield server


class Observing:
    """An observer process while inside `with`, and the last snapshot that it delivered."""

    def __init__(self, order: Order) -> None:
        self.snapshot: Snapshot | None = None
        self.snapshots = 0
        self.process = ObserverProcess(order, self._take, restart_seconds=(0.1,))

    def _take(self, message: Message) -> None:
        if isinstance(message, Snapshot):
            self.snapshot = message
            self.snapshots += 1

    def expected(self) -> list[Any]:
        """What placements are decided by, once anything is learned."""
        if self.snapshot is None or self.snapshot.expected is None:
            raise NotYetError("nothing is learned")
        expected = self.snapshot.expected
        ratios = expected.workload_ratios
        learned = (ratios.mean.tolist(), ratios.variance.tolist(), ratios.third.tolist())
        return [*sorted(zip(expected.workloads, *learned, strict=True)), *expected.cumulants.ravel().tolist()]

    def __enter__(self) -> Self:
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()


def numbers(told: list[Any]) -> list[float]:
    flat: list[float] = []
    for part in told:
        flat += numbers(list(part)) if isinstance(part, list | tuple) else [part] if isinstance(part, float) else []
    return flat


def order(server: FakeApiServer, folder: Path, **demand: Any) -> Order:
    return Order(quick_config(demand=demand), server.kubeconfig(folder))


def test_an_observer_that_is_stopped_and_started_again_expects_the_same_of_every_node_and_workload(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """The last life sees nothing that the one before has not seen: all it knows beyond that is from the file."""
    keeping = order(server, tmp_path, stateFile=str(tmp_path / "demand"))
    with Observing(keeping) as first:
        wait_for(first.expected, "something learned")
    serve_usage(server, {"a": "600m", "b": "2300m"})
    server.take_answer(USAGE_OF_NODES)
    serve_pod_usage(server, {"web-1": "200m", "web-2": "600m", "db-1": "900m"})
    with Observing(keeping) as second:
        before = wait_for(second.expected, "what was learned before")
    saved = DemandFile(tmp_path / "demand").load(time.time())
    assert saved is not None
    assert set(rows_of(saved)["pods"]) == {f"uid-{name}" for name in PODS}
    with Observing(keeping) as third:
        after = wait_for(third.expected, "what was learned before")
    assert numbers(after) == pytest.approx(numbers(before), rel=1e-9)
    with Observing(order(server, tmp_path)) as forgetful:
        anew = wait_for(forgetful.expected, "something learned")
    assert numbers(anew) != pytest.approx(numbers(before), rel=1e-2)


def test_an_observer_that_is_killed_loses_only_what_it_learned_since_the_last_saving(
    server: FakeApiServer, tmp_path: Path
) -> None:
    file = tmp_path / "demand"
    with Observing(order(server, tmp_path, stateFile=str(file))) as first:
        wait_for(first.expected, "something learned")
    content = file.read_bytes()
    with Observing(order(server, tmp_path, stateFile=str(file), saveInterval="1h")) as second:
        wait_for(second.expected, "what was learned before")
        child = second.process.process_id
        assert child is not None
        os.kill(child, signal.SIGKILL)
        wait_for(lambda: second.process.process_id != child, "another child")
        count = second.snapshots
        wait_for(lambda: second.snapshots > count, "a snapshot of the next child")
        assert second.expected()
        assert file.read_bytes() == content


def test_a_broken_file_does_not_keep_an_observer_from_starting(server: FakeApiServer, tmp_path: Path) -> None:
    file = tmp_path / "demand"
    file.write_bytes(b"broken")
    with Observing(order(server, tmp_path, stateFile=str(file))) as observing:
        wait_for(observing.expected, "something learned")
    assert len(list(tmp_path.glob("demand.broken-*"))) == 1
    decode(file.read_bytes())


def test_a_folder_that_is_not_there_does_not_keep_an_observer_from_working_or_ending(
    server: FakeApiServer, tmp_path: Path
) -> None:
    with Observing(order(server, tmp_path, stateFile=str(tmp_path / "nowhere" / "demand"))) as observing:
        wait_for(observing.expected, "something learned")
    assert not (tmp_path / "nowhere").exists()


def test_beside_a_prometheus_an_observer_begins_with_what_pods_used_in_the_past_hours(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """And what it has from its file it does not read again."""
    with FakePrometheus() as prometheus:
        for kind, owners in (("node", [{"node": "a"}, {"node": "b"}]), ("pod", [pod_labels(name) for name in PODS])):
            prometheus.gives(f"{kind}_cpu", *((labels, 0.25) for labels in owners))
            prometheus.gives(f"{kind}_memory", *((labels, 1e9) for labels in owners))
        queries = {f"{kind}Queries": {name: f"{kind}_{name}" for name in ("cpu", "memory")} for kind in ("node", "pod")}
        source = {"type": "Prometheus", "url": prometheus.url, **queries}
        demand = {"stateFile": str(tmp_path / "demand"), "warmUp": "3h"}
        config = quick_config(interval="10m", source=source, demand=demand)
        with Observing(Order(config, server.kubeconfig(tmp_path))) as observing:
            wait_for(observing.expected, "something learned")
        saved = DemandFile(tmp_path / "demand").load(time.time())
        assert saved is not None
        samples = saved.table("pods").floats("sums", 2, 3)[:, 0, 0]
        # 36 instants 5 minutes apart with a half-life of an hour: sum of 0.5 ** (n / 12), and one reading
        assert samples.min() == pytest.approx(15.0, abs=2.0)
        asked = len(past_of_pods(prometheus))
        assert asked > 0
        with Observing(Order(config, server.kubeconfig(tmp_path))) as again:
            wait_for(again.expected, "what was learned before")
        starts = [float(seen.fields["start"]) for seen in past_of_pods(prometheus)[asked:]]
        assert all(start >= saved.newest for start in starts)


def pod_labels(name: str) -> dict[str, str]:
    return {"namespace": "shop", "pod": name}


def past_of_pods(prometheus: FakePrometheus) -> list[Seen]:
    """Questions about it that were asked."""
    ranges = [seen for seen in prometheus.requests if seen.path.endswith("query_range")]
    return [seen for seen in ranges if seen.fields["query"].startswith("pod_")]


# -- Whole processes, over HTTP -------------------------------------------------------------------------------------


def told(running: LoadAware, path: str = "/demand") -> dict[str, Any]:
    """What is told of demand, once each workload has its pods and was measured."""
    answer = running.get(path)
    workloads = answer.json()["workloads"] if answer.status_code == 200 else []
    known = [entry["pods"] > 0 and entry["resources"]["cpu"]["mean"] is not None for entry in workloads]
    if not known or not all(known):
        raise NotYetError(answer.text)
    return dict(answer.json())


def told_all(running: LoadAware) -> bytes:
    answer = running.get("/demand/state")
    if answer.status_code != 200:
        raise NotYetError(answer.text)
    return answer.content


def test_a_new_replica_is_handed_over_what_a_running_one_has_learned_and_people_can_read_it(
    server: FakeApiServer, tmp_path: Path
) -> None:
    kubeconfig = Path(server.kubeconfig(tmp_path))
    with LoadAware(tmp_path / "first", config={"interval": "1s"}, kubeconfig=kubeconfig) as first:
        known = wait_for(lambda: told(first), "something learned", first.process)
        state = wait_for(lambda: told_all(first), "the state", first.process)
        serve_pod_usage(server, {})
        config = {"interval": "1s", "demand": {"handOver": {"url": first.url, "timeout": "1m"}}}
        with LoadAware(tmp_path / "second", config=config, kubeconfig=kubeconfig) as second:
            handed = wait_for(lambda: told(second), "what was handed over", second.process)
            again = wait_for(lambda: told_all(second), "the state", second.process)
            check_bad_questions(second)
        assert handed["total"] == known["total"] == 2
        assert rows_of(decode(again))["workloads"] == rows_of(decode(state))["workloads"]
        pods = rows_of(decode(again))["pods"]
        assert pods == rows_of(decode(state))["pods"]
        assert pods["uid-db-1"]["sums"][0][:2] == [1.0, 0.9]  # type: ignore[index]
        check_command(first.url, known)


def check_bad_questions(running: LoadAware) -> None:
    assert running.get("/demand?sort=disk").json() == {"error": "sort is name, pods or one of: cpu, memory; not disk"}
    assert running.get("/demand?sort=disk").status_code == 400
    assert running.get("/demand?limit=many").status_code == 400
    assert running.get("/demand?limit=1").json()["shown"] == 1
    assert running.get("/demand?namespace=nowhere").json()["total"] == 0


def check_command(url: str, known: dict[str, Any]) -> None:
    result = CliRunner().invoke(cli, ["demand", "--server", url, "--sort", "name", "--output", "json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert [entry["workload"] for entry in printed["workloads"]] == ["shop/Pod/db", "shop/Pod/web"]
    assert printed["totals"]["cpu"]["requested"] == known["totals"]["cpu"]["requested"] == 3.0
    table = CliRunner().invoke(cli, ["demand", "--server", url])
    assert table.exit_code == 0
    assert "shop/Pod/web" in table.stdout
    assert "2 workloads" in table.stdout


def test_a_replica_that_cannot_be_asked_does_not_keep_another_from_starting(
    server: FakeApiServer, tmp_path: Path
) -> None:
    config = {"interval": "1s", "demand": {"handOver": {"url": "http://127.0.0.1:1", "timeout": "1s"}}}
    kubeconfig = Path(server.kubeconfig(tmp_path))
    with LoadAware(tmp_path / "only", config=config, kubeconfig=kubeconfig) as running:
        wait_for(lambda: told(running), "something learned", running.process)
        assert running.process.log.read_text().count("no replica handed over") == 1


def test_a_server_of_a_frozen_state_has_learned_nothing_and_says_so(tmp_path: Path) -> None:
    state = {"nodes": [{"name": "a", "capacity": {"cpu": "4", "memory": "16Gi"}}]}
    with LoadAware(tmp_path, state=state) as frozen:
        for path in ("/demand", "/demand/state"):
            assert frozen.get(path).status_code == 503
            assert "nothing is learned yet" in frozen.get(path).json()["error"]
        result = CliRunner().invoke(cli, ["demand", "--server", frozen.url])
        assert result.exit_code == 2
        assert "nothing is learned yet" in result.output
