"""A node that turns hot gets no pods until it cools."""

from collections import Counter
from pathlib import Path

import pytest

from tests.parts.cluster import Cluster
from tests.parts.kwok import LOADS, usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CORES = {"turning": 2.0, "steady-1": 2.0, "steady-2": 2.0}
BY_WINDOW = {"schedulerName": "by-window", "scorers": [{"name": "LoadVariationRiskBalancing"}], "maxScore": 100}
BY_RISK = {"schedulerName": "by-risk", "scorers": [{"name": "EntropicRisk"}], "maxScore": 100}
PROFILES = ("by-window", "by-risk")


class Batches:
    """Pods in batches, one after the other; where each batch went."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._made = 0

    def placed(self, profile: str, size: int = 6) -> Counter[str]:
        """Where a new batch goes, by the profile that it asks for."""
        self._made += 1
        usage = usage_annotations("50m", "20Mi")
        spec = {"schedulerName": profile}
        names = [f"{profile}-{self._made}-{number}" for number in range(size)]
        pods = self._cluster.api.add_pods(names, requests={"cpu": "50m"}, annotations=usage, spec=spec)
        return Counter(self._cluster.api.nodes_of(pods).values())

    def gets_pods(self, profile: str) -> bool:
        """Whether one of a new batch went to the node that turns hot and cools."""
        placed = self.placed(profile)
        if "turning" not in placed:
            raise NotYetError(f"a batch of {profile} went to {dict(placed)}")
        return True


def test_a_node_that_turns_hot_gets_no_pods_until_it_has_cooled(cluster: Cluster, folder: Path) -> None:
    """By the window it has cooled when the window has. By what pods were seen to use, when the hot one is gone."""
    for name, cores in CORES.items():
        cluster.add_node(name, load=f"{cores:g}")
    config = {
        "source": cluster.source("Prometheus"),
        "interval": "1s",
        "window": {"length": "1m"},
        "profiles": [BY_WINDOW, BY_RISK],
    }
    batches = Batches(cluster)
    with LoadAware(folder, config=config, kubeconfig=cluster.control_plane.kubeconfig) as loadaware:
        loadaware.wait_until_usage(CORES)
        with cluster.control_plane.start_scheduler(loadaware.schedule_config()):
            for profile in PROFILES:
                wait_for(lambda: batches.gets_pods(profile), 60, "pods while all are alike", loadaware.process)  # noqa: B023 - called at once

            cluster.kwok.set_load("turning", "7500m")
            wait_for(lambda: (loadaware.usage()["turning"] or 0) > 5, 90, "heat to be seen", loadaware.process)
            for profile in PROFILES:
                assert "turning" not in batches.placed(profile), profile

            cluster.kwok.set_load("turning", "2")
            wait_for(lambda: (loadaware.usage()["turning"] or 9) < 4, 120, "it to cool", loadaware.process)
            wait_for(lambda: batches.gets_pods("by-window"), 60, "pods by the window", loadaware.process)

            cluster.api.delete(f"/api/v1/namespaces/{LOADS}/pods/on-turning")
            wait_for(lambda: batches.gets_pods("by-risk"), 60, "pods by the risk", loadaware.process)
