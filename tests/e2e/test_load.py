"""Real load, as metrics-server and as Prometheus measure it, and a stock kube-scheduler: who lands where, and why."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import DEFAULT_PODS
from tests.parts.kwok import usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.scheduler import PLAIN_SCHEDULER
from tests.parts.wire_tap import WireTap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

LOADS = {"calm-1": "800m", "calm-2": "1", "calm-3": "1200m", "hot-1": "7200m", "hot-2": "7600m"}
CORES = {"calm-1": 0.8, "calm-2": 1.0, "calm-3": 1.2, "hot-1": 7.2, "hot-2": 7.6}
SOURCES = ("MetricsServer", "Prometheus")
HOT = {"hot-1", "hot-2"}
WEB = {"requests": {"cpu": "200m", "memory": "100Mi"}, "annotations": usage_annotations("150m", "50Mi")}


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> Cluster:
    """Three calm nodes and two hot ones, of which only who measures knows: nothing is requested there."""
    for name, load in LOADS.items():
        cluster.add_node(name, load=load)
    return cluster


@pytest.fixture(scope="module")
def both(nodes: Cluster, run_folder: Path) -> Iterator[dict[str, LoadAware]]:
    """One for each source, with the defaults otherwise; what is measured is what the nodes use."""
    kubeconfig = nodes.control_plane.kubeconfig
    with ExitStack() as stack:
        running = {
            kind: stack.enter_context(
                LoadAware(
                    run_folder / f"from-{kind}",
                    config={"source": nodes.source(kind), "interval": "1s"},
                    kubeconfig=kubeconfig,
                )
            )
            for kind in SOURCES
        }
        for loadaware in running.values():
            loadaware.wait_until_usage(CORES)
        yield running


@pytest.fixture(params=SOURCES)
def loadaware(both: dict[str, LoadAware], request: pytest.FixtureRequest) -> LoadAware:
    return both[request.param]


@pytest.fixture(autouse=True)
def no_pods_left(nodes: Cluster) -> Iterator[None]:
    yield
    nodes.api.delete(DEFAULT_PODS)


def priorities(answer: Any) -> dict[str, int]:
    return {each["Host"]: each["Score"] for each in answer}


@pytest.mark.parametrize("option", ["--node-cache-capable", "--whole-nodes"])
def test_pods_avoid_hot_nodes_and_the_scores_on_the_wire_are_those_that_explain_tells(
    nodes: Cluster, loadaware: LoadAware, option: str
) -> None:
    with WireTap(loadaware.url) as tap:
        with nodes.control_plane.start_scheduler(loadaware.schedule_config(option, url=tap.url)):
            pods = nodes.api.add_pods((f"web-{number}" for number in range(9)), **WEB)
            placed = nodes.api.nodes_of(pods)
        assert not HOT & set(placed.values()), placed
        asked = {call.pod: call for call in tap.of("prioritize")}
        assert set(asked) == set(pods)
        for pod, call in asked.items():
            by_names = option == "--node-cache-capable"
            assert (call.asked["NodeNames"] is not None, call.asked["Nodes"] is not None) == (by_names, not by_names)
            told = loadaware.explained(pod)
            assert told["chosen"] == placed[pod]
            assert {node["node"]: node["priority"] for node in told["nodes"]} == priorities(call.answered)
            assert set(priorities(call.answered)) == set(LOADS)


def test_a_default_scheduler_alone_sees_none_of_it(nodes: Cluster) -> None:
    """What the test above shows is loadaware's doing."""
    with nodes.control_plane.start_scheduler(PLAIN_SCHEDULER):
        pods = nodes.api.add_pods((f"blind-{number}" for number in range(10)), **WEB)
        placed = nodes.api.nodes_of(pods)
    assert set(placed.values()) >= HOT, Counter(placed.values())
