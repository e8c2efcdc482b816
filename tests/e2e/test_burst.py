"""Many pods at once, and a node that nobody has measured yet: everybody gets a share."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import DEFAULT_PODS
from tests.parts.kwok import usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import wait_for
from tests.parts.wire_tap import WireTap

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

CORES = {f"wide-{number}": 0.5 + 0.3 * number for number in range(10)}
"""From 0.5 to 3.2 of 16 cores: there is a calmest node, and everybody would run there."""
REPLICAS = 200
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "annotations": usage_annotations("100m", "32Mi")}


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> Cluster:
    for name, cores in CORES.items():
        cluster.add_node(name, cpu="16", memory="64Gi", load=f"{cores:.1f}")
    return cluster


@pytest.fixture(scope="module")
def loadaware(nodes: Cluster, run_folder: Path) -> Iterator[LoadAware]:
    """It counts for more than all in-tree plugins together: where it says is where pods go."""
    profile = {"scorers": [{"name": "EntropicRisk"}], "maxScore": 200}
    config = {"source": nodes.source("Prometheus"), "interval": "1s", "profiles": [profile]}
    with LoadAware(run_folder / "burst", config=config, kubeconfig=nodes.control_plane.kubeconfig) as running:
        running.wait_until_usage(CORES, 120)
        yield running


@pytest.fixture(autouse=True)
def no_pods_left(nodes: Cluster) -> Iterator[None]:
    yield
    nodes.api.delete(DEFAULT_PODS)


def test_a_burst_of_200_replicas_created_at_once_spreads(nodes: Cluster, loadaware: LoadAware) -> None:
    """They all wait when kube-scheduler starts, so each is decided before any watch tells of the last."""
    pods = nodes.api.add_pods((f"replica-{number}" for number in range(REPLICAS)), **SMALL)
    with nodes.control_plane.start_scheduler(loadaware.schedule_config()):
        placed = Counter(nodes.api.nodes_of(pods, 90).values())
    wait_for(lambda: loadaware.metric("loadaware_bookings") == 0, 60, "every booking to be settled", loadaware.process)
    assert set(placed) == set(CORES), placed
    assert max(placed.values()) <= 2 * REPLICAS / len(CORES), placed
    load = {name: cores + 0.1 * placed[name] for name, cores in CORES.items()}
    assert max(load.values()) - min(load.values()) < max(CORES.values()) - min(CORES.values()), load


def test_a_new_node_without_metrics_gets_a_share_not_everything_and_not_nothing(
    nodes: Cluster, loadaware: LoadAware
) -> None:
    nodes.kwok.add_node("wide-new", cpu="16", memory="64Gi")  # Prometheus is not told of it
    with WireTap(loadaware.url) as tap:
        with nodes.control_plane.start_scheduler(loadaware.schedule_config(url=tap.url)):
            pods = nodes.api.add_pods((f"share-{number}" for number in range(66)), **SMALL)
            placed = Counter(nodes.api.nodes_of(pods, 90).values())
        asked = {each["Host"] for call in tap.of("prioritize") for each in call.answered}
    assert "wide-new" in asked
    assert loadaware.usage()["wide-new"] is None
    share = len(pods) / (len(CORES) + 1)
    assert share / 3 <= placed["wide-new"] <= 3 * share, placed
