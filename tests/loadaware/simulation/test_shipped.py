"""Peers as they are shipped: their own rule for pods in flight, their own whole numbers, bindings known at once."""

from dataclasses import replace

import numpy as np
from msgspec import structs

from collectors.reading import Floats
from loadaware.nodes import Nodes
from loadaware.scorers import SCORERS
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from loadaware.simulation.cluster import SimulatedCluster
from loadaware.simulation.engine import EngineSettings, Run, VirtualClock
from loadaware.simulation.noise import Ints
from loadaware.simulation.scenario import Scenario
from loadaware.simulation.shipped import COUNT_IN_FLIGHT, SHIPPED, Own, Shipped
from loadaware.simulation.watch import News

SECONDS = 1800.0


class Looked:
    """A plugin, and what it answered."""

    def __init__(self, policy: Shipped) -> None:
        self.policy = policy
        self.asked: list[tuple[int, Ints]] = []
        self.numbers: list[tuple[Floats, Floats]] = []
        """What the peer's code would give, and what our scorer does."""
        self.unheard = 0

    def hear(self, news: tuple[News, ...]) -> None:
        self.policy.hear(news)

    def totals(self, cluster: SimulatedCluster, pod: int, nodes: Ints) -> Ints:
        totals = self.policy.totals(cluster, pod, nodes)
        ledger = self.policy._core.adviser.in_flight
        (weighted,) = next(iter(self.policy._core.adviser.settings.profiles.values())).scorers
        assert isinstance(weighted.scorer, Own)
        in_flight, scorer = ledger.usage_for(weighted.scorer, nodes), weighted.scorer.scorer
        shown = structs.replace(Nodes.of(self.policy._core.snapshot), rows=nodes, in_flight_usage=in_flight)
        self.numbers.append((scorer.raw(shown, cluster.pod(pod)), scorer.score(shown, cluster.pod(pod))))
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
    """Those that the peer's code gives: Koordinator's are cut, not rounded."""
    looked = driven(quiet, EstimatedLoad())
    answered = np.concatenate([totals for _, totals in looked.asked[-50:]])
    raw, own = (np.concatenate([both[number] for both in looked.numbers[-50:]]) for number in (0, 1))
    assert answered.tolist() == raw.tolist()
    assert answered.tolist() != np.rint(own).tolist()


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


def test_a_pod_that_is_gone_before_it_could_be_told_of_is_no_harm(quiet: Scenario) -> None:
    arrivals = quiet.arrivals
    soon = np.arange(len(arrivals)) % 3 == 0
    brief = replace(arrivals, departure=np.where(soon, arrivals.arrival + 20.0, arrivals.departure))
    looked = driven(replace(quiet, arrivals=brief), TargetLoadPacking())
    assert len(looked.asked) > 100
