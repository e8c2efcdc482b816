"""200 replicas asked for one by one between two refreshes; the watch tells of each only after the next five."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from collectors.manifests import Pod
from collectors.reading import Measurements
from loadaware.core import Core
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.low_risk_over_commitment import LowRiskOverCommitment
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.multi_window_load import MultiWindowLoad
from loadaware.scorers.peaks import Peaks, PowerModel
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings

REPLICAS = 200
NODES = tuple(f"node-{n}" for n in range(20))
LAG = 5
FAIR = REPLICAS / len(NODES)

SPREADING: list[Scorer] = [
    EntropicRisk(),
    EstimatedLoad(),
    LoadVariationRiskBalancing(),
    LowestUsage(),
    MultiWindowLoad(),
]


def quiet_cluster(scorer: Scorer, clock: Clock, dice: random.Random, max_score: int, requested: float) -> Core:
    """Twenty nodes of eight cores, used by some 5 %, on each a measured pod that requests so much; a full window."""
    core = Core(make_settings(make_profile(scorer, max_score=max_score)), clock)
    core.tell(*(NodeSeen(make_node(name, cpu=8.0, memory=64 * GIB)) for name in NODES))
    if requested:
        old = (make_pod(f"old-{name}", cpu=requested, memory=4 * GIB, node=name, bound_at=0.0) for name in NODES)
        core.tell(*(PodSeen(pod) for pod in old))
    for _ in range(16):
        clock.advance(60.0)
        reading = make_reading({name: (0.4 + 0.02 * dice.random(), 2 * GIB) for name in NODES}, clock())
        core.feed(replace(reading, pods=usage_of_old_pods(clock())) if requested else reading)
    return core


def usage_of_old_pods(now: float) -> Measurements:
    names = tuple(f"default/old-{name}" for name in NODES)
    count = len(names)
    return Measurements(names, np.array([[0.3, GIB]] * count), np.full(count, now), np.full(count, 15.0))


def burst(
    scorer: Scorer,
    replicas: int = REPLICAS,
    *,
    seed: int = 7,
    max_score: int = 30,
    cpu_limit: float = 0.0,
    requested: float = 0.0,
) -> list[int]:
    """How many replicas each node got, most first. Of nodes with equal priority the scheduler takes any."""
    clock, dice = Clock(), random.Random(seed)
    core = quiet_cluster(scorer, clock, dice, max_score, requested)
    placed: list[Pod] = []
    for n in range(replicas):
        clock.advance(0.02)
        declared = {"cpu": 0.25, "memory": 0.5 * GIB, "cpu_limit": cpu_limit}
        ranking = core.rank(make_pod(f"web-{n}", **declared))
        assert ranking.skipped == {}
        best = np.flatnonzero(ranking.priorities == ranking.priorities.max()).tolist()
        node = ranking.names[dice.choice(best)]
        placed.append(make_pod(f"web-{n}", node=node, bound_at=clock(), **declared))
        if n >= LAG:
            core.tell(PodSeen(placed[n - LAG]))
    counts = Counter(str(pod.node) for pod in placed)
    return sorted((counts[name] for name in NODES), reverse=True)


# -- Scorers that spread --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_score", "seed"), [(30, 1), (30, 7), (1000, 7)])
@pytest.mark.parametrize("scorer", SPREADING, ids=lambda scorer: type(scorer).__name__)
def test_no_node_gets_more_than_half_again_its_fair_share(scorer: Scorer, max_score: int, seed: int) -> None:
    counts = burst(scorer, max_score=max_score, seed=seed)
    assert sum(counts) == REPLICAS
    assert counts[0] <= 1.5 * FAIR


@pytest.mark.parametrize("scorer", SPREADING, ids=lambda scorer: type(scorer).__name__)
def test_nor_where_pods_are_measured_and_their_demand_is_learned(scorer: Scorer) -> None:
    counts = burst(scorer, requested=1.0)
    assert sum(counts) == REPLICAS
    assert counts[0] <= 1.5 * FAIR


def test_the_least_loaded_alone_without_pods_in_flight_herds() -> None:
    counts = burst(LowestUsage(count_in_flight=False))
    assert counts[0] > 5 * FAIR
    assert sum(count > 0 for count in counts) <= 4


# -- The risk of over-commitment: it looks at promises --------------------------------------------------------------


@pytest.mark.parametrize("cpu_limit", [2.0, 8.0])
def test_limits_above_what_nodes_have_are_spread(cpu_limit: float) -> None:
    # A few such replicas promise more than a node's eight cores, and each further one raises the risk.
    counts = burst(LowRiskOverCommitment(), cpu_limit=cpu_limit, requested=1.0, max_score=1000)
    assert counts[0] <= 1.5 * FAIR


def test_without_promises_above_what_nodes_have_all_nodes_are_alike_to_it() -> None:
    # Requests cover the load and limits are requests: no risk anywhere, so the scheduler's dice decide.
    counts = burst(LowRiskOverCommitment(), requested=1.0)
    assert counts[0] <= 2 * FAIR
    assert counts[-1] > 0


def test_load_that_nobody_requested_draws_pods_to_where_requests_begin_to_cover_it() -> None:
    # On a node that uses 0.4 cores and requests none, load is above what is requested: each replica that comes makes
    # that likelier to be covered, so the next one is drawn there until the node is full. The formula wants it so.
    counts = burst(LowRiskOverCommitment())
    assert counts[0] >= 3 * FAIR
    assert counts[0] * 0.25 <= 8.0 * 1.2


# -- Scorers that pack by design ------------------------------------------------------------------------------------


def test_target_load_packing_fills_nodes_to_its_target_one_after_the_other() -> None:
    # A node idles at some 5 % and a replica is taken for 1.5 * 250m of 8 cores, 4.7 %: seven fit below 40 %.
    counts = burst(TargetLoadPacking(), 70)
    assert counts[0] <= 8  # what is not told yet may let one more slip in
    assert sum(count >= 7 for count in counts) >= 5
    assert sum(count > 0 for count in counts) <= 16


def test_target_load_packing_spreads_once_all_nodes_are_at_the_target() -> None:
    counts = burst(TargetLoadPacking())
    assert counts[-1] >= 7  # 140 of the 200 fill all nodes to the target
    assert counts[0] <= 1.5 * FAIR


def test_peaks_fills_one_node_before_it_begins_the_next() -> None:
    # Power rises steeply on an idle node and hardly on a busy one; 5 % and thirty replicas of 3.125 % make 99 %.
    scorer = Peaks(node_power_model={"*": PowerModel(k0=471.7, k1=-91.5, k2=-0.0719)})
    counts = burst(scorer)
    assert counts[:6] == [30] * 6
    assert sum(count > 0 for count in counts) <= 9
