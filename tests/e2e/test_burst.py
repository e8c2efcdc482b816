"""Many pods at once, and a node that nobody has measured yet: everybody gets a share."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import pstdev

import pytest

from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import DEFAULT_PODS, NODES
from tests.parts.kwok import usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for
from tests.parts.wire_tap import WireTap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CORES = {f"wide-{number}": 0.5 + 0.3 * number for number in range(10)}
"""From 0.5 to 3.2 of 16 cores: there is a calmest node, and everybody would run there."""
SOURCES = ("MetricsServer", "Prometheus")
REPLICAS = 200
BOOKED = "loadaware_bookings"
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "annotations": usage_annotations("100m", "32Mi")}


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> Cluster:
    for name, cores in CORES.items():
        cluster.add_node(name, cpu="16", memory="64Gi", load=f"{cores:.1f}")
    return cluster


@pytest.fixture(scope="module")
def both(nodes: Cluster, run_folder: Path) -> Iterator[dict[str, LoadAware]]:
    """One for each source. They count for more than all in-tree plugins together: where they say is where pods go."""
    profile = {"scorers": [{"name": "EntropicRisk"}], "maxScore": 200}
    kubeconfig = nodes.control_plane.kubeconfig
    with ExitStack() as stack:
        running = {}
        for kind in SOURCES:
            config = {"source": nodes.source(kind), "interval": "1s", "profiles": [profile]}
            one = LoadAware(run_folder / f"burst-{kind}", config=config, kubeconfig=kubeconfig)
            running[kind] = stack.enter_context(one)
        for one in running.values():
            one.wait_until_usage(CORES)
        yield running


@pytest.fixture(params=SOURCES)
def loadaware(both: dict[str, LoadAware], request: pytest.FixtureRequest) -> LoadAware:
    return both[request.param]


@pytest.fixture(autouse=True)
def no_pods_left(nodes: Cluster) -> Iterator[None]:
    yield
    nodes.api.delete(DEFAULT_PODS)


def test_a_burst_of_200_replicas_created_at_once_spreads(nodes: Cluster, loadaware: LoadAware) -> None:
    """They all wait when kube-scheduler starts, so each is decided before any watch tells of the last."""
    pods = nodes.api.add_pods((f"replica-{number}" for number in range(REPLICAS)), **SMALL)
    booked: list[float] = []

    def all_placed() -> Counter[str]:
        booked.append(loadaware.metric(BOOKED))
        there = [pod["spec"].get("nodeName") for pod in nodes.api.get(DEFAULT_PODS)["items"]]
        if None in there:
            raise NotYetError(f"{there.count(None)} of {len(there)} unbound, {booked[-1]:.0f} booked")
        return Counter(there)

    with nodes.control_plane.start_scheduler(loadaware.schedule_config()):
        placed = wait_for(all_placed, f"{len(pods)} pods to be placed", loadaware.process)
    assert max(booked) > 1, f"booked at a time: {booked}"
    wait_for(lambda: loadaware.metric(BOOKED) == 0, "every booking to be settled", loadaware.process)
    assert len(placed) >= 0.8 * len(CORES), placed
    load = {name: cores + 0.1 * placed[name] for name, cores in CORES.items()}
    dealt_out_evenly = {name: cores + 0.1 * REPLICAS / len(CORES) for name, cores in CORES.items()}
    assert max(load.values()) <= max(dealt_out_evenly.values()) + 0.2, load
    assert pstdev(load.values()) < pstdev(dealt_out_evenly.values()), load


def test_a_new_node_without_metrics_gets_a_share_not_everything_and_not_nothing(
    nodes: Cluster, loadaware: LoadAware
) -> None:
    with unmeasured_node(nodes, "wide-new"), WireTap(loadaware.url) as tap:
        wait_for(lambda: "wide-new" in loadaware.usage(), "the new node", loadaware.process)
        with nodes.control_plane.start_scheduler(loadaware.schedule_config(url=tap.url)):
            pods = nodes.api.add_pods((f"share-{number}" for number in range(132)), **SMALL)
            placed = Counter(nodes.api.nodes_of(pods).values())
        asked = {each["Host"] for call in tap.of("prioritize") for each in call.answered}
        assert "wide-new" in asked
        assert loadaware.usage()["wide-new"] is None
    share = len(pods) / (len(CORES) + 1)
    assert share / 3 <= placed["wide-new"] <= 3 * share, placed


@contextmanager
def unmeasured_node(nodes: Cluster, name: str) -> Iterator[None]:
    """Up, and gone afterwards: neither is Prometheus told of it, nor metrics-server where to look."""
    nodes.kwok.add_node(name, cpu="16", memory="64Gi", measured=False)
    try:
        yield
    finally:
        nodes.api.delete(f"{NODES}/{name}")
