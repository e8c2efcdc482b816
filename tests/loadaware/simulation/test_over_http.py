"""The simulator's scores are those that go over the wire: manifest, HTTP, hot path, JSON, int, pod after pod."""

import json
from collections.abc import Callable
from dataclasses import replace

import httpx
import numpy as np
import pytest

from loadaware.changes import Change
from loadaware.plugins import make_scorer
from loadaware.scorers.scorer import Scorer
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run
from loadaware.simulation.manifest import manifest_of
from loadaware.simulation.noise import Ints
from loadaware.simulation.policies import Advised
from loadaware.simulation.scenario import Scenario
from loadaware.snapshot import Snapshot
from tests.loadaware.running_server import RunningServer, new_service

SECONDS = 1500.0


class OverHttp(Advised):
    """Asks its own core, and beside it a real server that is told the same.

    The server's clock stands still between two questions: it looks at bookings whenever it likes, in a thread of its
    own, and would find those expired that the simulated watch has yet to tell of.
    """

    def __init__(self, scorer: Scorer, clock: Callable[[], float]) -> None:
        super().__init__(scorer, clock)
        self.now = clock()
        self.service = new_service(self._adviser, lambda: self.now)
        self.server = RunningServer(self.service)
        self.client: httpx.Client
        self.asked = 0
        self.differences: list[tuple[list[int], list[int]]] = []
        receive = self._core.adviser.receive

        def both(message: Snapshot | Change) -> None:
            receive(message)
            told = message if isinstance(message, Snapshot) else (message,)
            self.server.inside(lambda: self.service.take(told))

        self._core.adviser.receive = both  # type: ignore[method-assign]

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        names = [cluster.scenario.machines.names[node] for node in nodes.tolist()]
        body = json.dumps({"Pod": manifest_of(cluster.pod(pod)), "Nodes": None, "NodeNames": names})
        self.now = self._clock()
        answer = self.client.post("/prioritize", content=body).raise_for_status().json()
        own = super().totals(cluster, pod, nodes)
        mine = (own - self._default.totals(cluster, pod, nodes)) // 10 if self._default else own
        theirs = [host["Score"] for host in answer]
        assert [host["Host"] for host in answer] == names
        if mine.tolist() != theirs:
            self.differences.append((mine.tolist(), theirs))
        self.asked += 1
        return own


SCORERS = (
    "EntropicRisk", "EstimatedLoad", "LoadVariationRiskBalancing", "LowRiskOverCommitment", "LowestUsage",
    "MultiWindowLoad", "NodeResourcesAllocatable", "Peaks", "PodState", "TargetLoadPacking",
)  # fmt: skip
"""All that judge the simulated nodes: they have no labels, zones or further metrics for the rest to read."""


@pytest.mark.parametrize("name", SCORERS)
def test_every_answer_over_http_is_the_one_in_process(quiet: Scenario, name: str) -> None:
    short = replace(quiet, settings=replace(quiet.settings, duration_seconds=SECONDS))
    policies: list[OverHttp] = []

    def make(clock: Callable[[], float]) -> OverHttp:
        policies.append(OverHttp(make_scorer(name, {}), clock))
        return policies[0]

    run = Run(short, make, EngineSettings(warm_up_seconds=600.0), seed=1)
    policy = policies[0]
    with policy.server, httpx.Client(base_url=policy.server.url, timeout=60.0) as policy.client:
        run.report()
    assert policy.differences == []
    assert policy.asked > 100
    assert policy.service.adviser.snapshot.expected is not None
    assert np.isfinite(policy.service.adviser.snapshot.expected.mean).all()
