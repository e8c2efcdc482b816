"""A node that turns hot gets no pods until it cools; by what was learned, until the hot pod is gone or forgotten."""

from collections import Counter
from pathlib import Path

import pytest

from tests.parts.cluster import Cluster
from tests.parts.kubernetes_api import DEFAULT_PODS
from tests.parts.kwok import LOADS, usage_annotations
from tests.parts.loadaware_process import LoadAware
from tests.parts.processes import NotYetError, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CORES = {"turning": 2.0, "steady-1": 2.0, "steady-2": 2.0}
BY_WINDOW = {"schedulerName": "by-window", "scorers": [{"name": "LoadVariationRiskBalancing"}], "maxScore": 100}
BY_RISK = {"schedulerName": "by-risk", "scorers": [{"name": "EntropicRisk"}], "maxScore": 100}
PROFILES = ("by-window", "by-risk")
NEAR, FAR = 10, 20
"""Priorities behind the best node's, of 100: as good as any, and clearly worse."""


class Batches:
    """Pods in batches, each deleted once it was looked at: nobody is left over when nodes fill up."""

    def __init__(self, cluster: Cluster, loadaware: LoadAware) -> None:
        self._cluster = cluster
        self._loadaware = loadaware
        self._made = 0

    def placed(self, profile: str, size: int = 6) -> tuple[Counter[str], int, float]:
        """Where a new batch goes, by the profile that it asks for; how far the turning node was behind the best one for
        the first pod of it, and what share of its CPU was predicted to be used there.
        """
        self._made += 1
        usage = usage_annotations("50m", "20Mi")
        spec = {"schedulerName": profile}
        names = [f"{profile}-{self._made}-{number}" for number in range(size)]
        pods = self._cluster.api.add_pods(names, requests={"cpu": "50m"}, annotations=usage, spec=spec)
        placed = Counter(self._cluster.api.nodes_of(pods).values())
        nodes = {row["node"]: row for row in self._loadaware.explained(pods[0])["nodes"]}
        behind = max(row["priority"] for row in nodes.values()) - nodes["turning"]["priority"]
        for pod in pods:
            self._cluster.api.delete(f"{DEFAULT_PODS}/{pod}")
        return placed, behind, nodes["turning"]["predicted"]["cpu"]["utilization"]

    def gets_pods(self, profile: str) -> bool:
        """Whether one of a new batch went to the node that turns hot and cools, and it was as good as any."""
        placed, behind, _ = self.placed(profile)
        if "turning" not in placed or behind > NEAR:
            raise NotYetError(f"a batch of {profile} went to {dict(placed)}, turning is {behind} behind the best")
        return True

    def avoids_it(self, profile: str) -> float:
        """That none of a new batch goes there, since it is clearly worse; what it was predicted to use."""
        placed, behind, predicted = self.placed(profile)
        assert "turning" not in placed, (profile, placed)
        assert behind > FAR, profile
        return predicted


def test_a_node_that_turns_hot_gets_no_pods_until_it_has_cooled(cluster: Cluster, folder: Path) -> None:
    """By the window it has cooled when the window has. What pods were seen to use fades with a half-life of an hour: by
    that it is only less hot by then, and gets pods again when the hot one is gone.
    """
    for name, cores in CORES.items():
        cluster.add_node(name, load=f"{cores:g}")
    config = {
        "source": cluster.source("Prometheus"),
        "interval": "1s",
        "window": {"length": "1m"},
        "profiles": [BY_WINDOW, BY_RISK],
    }
    with LoadAware(folder, config=config, kubeconfig=cluster.control_plane.kubeconfig) as loadaware:
        loadaware.wait_until_usage(CORES)
        batches = Batches(cluster, loadaware)
        with cluster.control_plane.start_scheduler(loadaware.schedule_config()):
            for profile in PROFILES:
                wait_for(lambda: batches.gets_pods(profile), "pods while all are alike", loadaware.process)  # noqa: B023 - called at once

            cluster.kwok.set_load("turning", "7500m")
            wait_for(lambda: (loadaware.usage()["turning"] or 0) > 5, "heat to be seen", loadaware.process)
            batches.avoids_it("by-window")
            batches.avoids_it("by-risk")

            cluster.kwok.set_load("turning", "2")
            wait_for(lambda: (loadaware.usage()["turning"] or 9) < 4, "it to cool", loadaware.process)
            cooling = batches.avoids_it("by-risk")
            wait_for(lambda: batches.gets_pods("by-window"), "pods by the window", loadaware.process)
            assert batches.avoids_it("by-risk") < cooling

            cluster.api.delete(f"/api/v1/namespaces/{LOADS}/pods/on-turning")
            wait_for(lambda: batches.gets_pods("by-risk"), "pods by the risk", loadaware.process)
