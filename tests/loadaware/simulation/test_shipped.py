"""Peers as they are shipped: their own rule for pods in flight, their own whole numbers, bindings known at once."""

from dataclasses import replace

import numpy as np

from loadaware.scorers import SCORERS
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run, VirtualClock
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.shipped import COUNT_IN_FLIGHT, SHIPPED, Shipped
from loadaware.simulation.watch import News

SECONDS = 1800.0


class Looked:
    """A plugin, and what it answered."""

    def __init__(self, policy: Shipped) -> None:
        self.policy = policy
        self.asked: list[tuple[int, Ints]] = []
        self.unheard = 0

    def hear(self, news: tuple[News, ...]) -> None:
        self.policy.hear(news)

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        totals = self.policy.totals(cluster, pod, nodes)
        ledger = self.policy._core.adviser.in_flight
        bound = np.bincount(cluster.placements.node_of[cluster.placements.node_of >= 0], minlength=len(ledger.pods))
        self.unheard += int(np.maximum(bound - ledger.pods, 0).sum())
        self.asked.append((pod, totals))
        return totals


def driven(quiet: Scenario, scorer: Scorer, *, beside_default: bool = False) -> Looked:
    """At the end of a run."""
    short = replace(quiet, settings=replace(quiet.settings, duration_seconds=SECONDS))
    made: list[Looked] = []

    def policy(clock: VirtualClock) -> Looked:
        made.append(Looked(Shipped(scorer, clock, 1.0, beside_default=beside_default)))
        return made[0]

    Run(short, policy, EngineSettings(), seed=1).report()
    return made[0]


def test_every_shipped_plugin_has_its_formula_among_our_scorers() -> None:
    assert set(SHIPPED.values()) <= set(SCORERS)
    assert set(SHIPPED.values()) >= COUNT_IN_FLIGHT


def test_alone_a_plugin_gives_its_own_whole_numbers(quiet: Scenario) -> None:
    looked = driven(quiet, TargetLoadPacking())
    totals = np.concatenate([totals for _, totals in looked.asked])
    assert totals.dtype == np.int64
    assert totals.min() >= 0
    assert totals.max() <= 100


def test_what_it_bound_is_known_before_the_next_pod_is_asked_for(quiet: Scenario) -> None:
    """Though the watch is late: of hundreds of questions none finds a pod missing on its node."""
    looked = driven(quiet, TargetLoadPacking(), beside_default=True)
    assert len(looked.asked) > 100
    assert looked.unheard == 0


def test_who_counts_nobody_in_flight_answers_alike_for_the_replicas_of_a_burst(quiet: Scenario) -> None:
    looked = driven(quiet, LoadVariationRiskBalancing())
    counted = driven(quiet, TargetLoadPacking())
    assert repeated(looked) > 0.5 > repeated(counted)


def repeated(looked: Looked) -> float:
    """The share of questions that were answered as the one before, of those about as many nodes."""
    pairs = [
        np.array_equal(one, two)
        for (_, one), (_, two) in zip(looked.asked, looked.asked[1:], strict=False)
        if len(one) == len(two)
    ]
    return float(np.mean(pairs))
