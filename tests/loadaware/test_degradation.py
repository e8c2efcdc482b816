"""The ladder under virtual time, from readings to scores: every rung entered and left, by node and by source."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from collectors.cluster import Forbidden, NodeSeen, PodSeen, Relisted
from collectors.reading import Measurements, Reading
from loadaware.adviser import AdviserSettings
from loadaware.core import Core
from loadaware.filters.usage_threshold import UsageThreshold
from loadaware.ladder import Rung, Staleness
from loadaware.ranking import NEUTRAL
from loadaware.scorers.entropic_risk import EntropicRisk
from loadaware.scorers.estimated_load import EstimatedLoad
from loadaware.scorers.load_variation_risk_balancing import LoadVariationRiskBalancing
from loadaware.scorers.low_risk_over_commitment import LowRiskOverCommitment
from loadaware.scorers.lowest_usage import LowestUsage
from loadaware.scorers.metric_rank import MetricRank
from loadaware.scorers.multi_window_load import MultiWindowLoad
from loadaware.scorers.peaks import Peaks, PowerModel
from loadaware.scorers.scorer import Scorer
from loadaware.scorers.target_load_packing import TargetLoadPacking
from tests.loadaware.builders import GIB, Clock, make_node, make_pod, make_profile, make_reading, make_settings

STALENESS = Staleness(fresh_seconds=300.0, expired_seconds=900.0)
CORES, MEMORY = 4.0, 16 * GIB
LOAD = {"idle": 0.05, "mid-1": 0.5, "mid-2": 0.5, "mid-3": 0.5, "busy": 0.9}
DEVIATION = 0.1
INTERVAL = 15.0
WITH_PODS = ("idle", "busy")
"""On these a pod requests three of the four cores."""
POD = make_pod("web")

FRESH, AGEING, EXPIRED, UNKNOWN = Rung.FRESH, Rung.AGEING, Rung.EXPIRED, Rung.UNKNOWN


# -- Readings as the collectors give them ---------------------------------------------------------------------------

Shares = Mapping[str, float]


def of_metrics_server(shares: Shares, time: float) -> Reading:
    """Absolute, with pods."""
    pods = Measurements(
        tuple(f"default/old-{name}" for name in WITH_PODS),
        np.array([[0.1, GIB]] * len(WITH_PODS)),
        np.full(len(WITH_PODS), time),
        np.full(len(WITH_PODS), 15.0),
    )
    return replace(make_reading({n: (s * CORES, s * MEMORY) for n, s in shares.items()}, time), pods=pods)


def of_prometheus(shares: Shares, time: float) -> Reading:
    """Absolute, with a metric that nobody asked for between the others."""
    rows = {name: (share * CORES, 70.0, share * MEMORY) for name, share in shares.items()}
    return make_reading(rows, time, resources=("cpu", "temperature", "memory"))


def of_load_watcher(shares: Shares, time: float) -> Reading:
    """Shares of capacity, with a deviation of its own."""
    deviation = [[DEVIATION, DEVIATION]] * len(shares)
    return make_reading({n: (s, s) for n, s in shares.items()}, time, base="capacity", deviation=deviation)


def of_replay(shares: Shares, time: float) -> Reading:
    """Absolute, with a deviation that was recorded."""
    deviation = [[DEVIATION * CORES, DEVIATION * MEMORY]] * len(shares)
    return make_reading({n: (s * CORES, s * MEMORY) for n, s in shares.items()}, time, deviation=deviation)


Told = Callable[[Shares, float], Reading]
COLLECTORS: list[tuple[Told, float]] = [
    (of_metrics_server, 0.0),
    (of_prometheus, 0.0),
    (of_load_watcher, DEVIATION),
    (of_replay, DEVIATION),
]
"""With the deviation that follows from a load that never changes, or that the source reports."""


class Cluster:
    """Five nodes, a source that can be silenced node by node, and a clock."""

    def __init__(self, told: Told = of_metrics_server, scorer: Scorer | None = None) -> None:
        self.clock = Clock(100_000.0)
        self.told = told
        profile = make_profile(scorer or LoadVariationRiskBalancing(), "x", UsageThreshold())
        settings: AdviserSettings = make_settings(profile, staleness=STALENESS)
        self.core = Core(settings, self.clock)
        self.core.tell(*(NodeSeen(make_node(name, CORES, MEMORY)) for name in LOAD))
        for name in WITH_PODS:
            self.core.tell(PodSeen(make_pod(f"old-{name}", cpu=3.0, node=name, bound_at=0.0)))
        self.silent: set[str] = set()
        self.read()

    def read(self) -> None:
        shares = {name: share for name, share in LOAD.items() if name not in self.silent}
        self.core.feed(self.told(shares, self.clock()))

    def live(self, seconds: float) -> None:
        """Let time pass with a reading now and then, the last one at its end."""
        readings = min(round(seconds / INTERVAL), 12)
        for _ in range(readings):
            self.clock.advance(seconds / readings)
            self.read()

    def die(self, seconds: float) -> None:
        """Let time pass without any reading."""
        self.clock.advance(seconds)
        self.core.refresh()

    def forbid_pods(self) -> None:
        self.core.tell(Forbidden("pods", "pods cannot be watched"))
        self.core.refresh()

    def allow_pods(self) -> None:
        self.core.tell(Relisted("pods", frozenset(f"uid-old-{name}" for name in WITH_PODS)))
        self.core.refresh()

    def scores(self) -> dict[str, float]:
        ranking = self.core.rank(POD, book=False)
        assert ranking.skipped == {}
        return dict(zip(ranking.names, ranking.scores.tolist(), strict=True))

    def rungs(self) -> dict[str, Rung]:
        snapshot = self.core.snapshot
        rungs = STALENESS.rungs(self.clock() - snapshot.sampled_at, pods_known=snapshot.pods_known).tolist()
        return dict(zip(snapshot.names, map(Rung, rungs), strict=True))

    def source(self) -> Rung:
        snapshot = self.core.snapshot
        return STALENESS.source_rung(self.clock() - snapshot.sampled_at, pods_known=snapshot.pods_known)

    def passes(self, name: str) -> bool:
        return name in self.core.filter(POD, book=False).passed


def balanced(mu: float, sigma: float = 0.0) -> float:
    return 100.0 * (1.0 - (mu + sigma) / 2.0)


# -- By node --------------------------------------------------------------------------------------------------------

BY_NODE = [
    # seconds of silence, trust, rung
    (0.0, 1.0, FRESH),
    (300.0, 1.0, FRESH),
    (315.0, 0.975, AGEING),  # 1 - 15 / 600
    (600.0, 0.5, AGEING),
    (885.0, 0.025, AGEING),
]


@pytest.mark.parametrize(("told", "deviation"), COLLECTORS)
@pytest.mark.parametrize(("seconds", "trust", "rung"), BY_NODE)
def test_a_node_that_falls_silent_fades_towards_the_median(
    told: Told, deviation: float, seconds: float, trust: float, rung: Rung
) -> None:
    cluster = Cluster(told)
    cluster.silent = {"idle"}
    cluster.live(seconds)
    median = balanced(0.5, deviation)
    assert cluster.rungs() == {name: rung if name == "idle" else FRESH for name in LOAD}
    assert cluster.source() is FRESH
    scores = cluster.scores()
    assert scores["idle"] == pytest.approx(median + trust * (balanced(0.05, deviation) - median))
    assert scores["mid-1"] == pytest.approx(median)
    assert scores["busy"] == pytest.approx(balanced(0.9, deviation))


@pytest.mark.parametrize(("told", "deviation"), COLLECTORS)
def test_requests_stand_in_when_its_data_has_expired_but_never_for_more_than_the_median(
    told: Told, deviation: float
) -> None:
    cluster = Cluster(told)
    cluster.silent = {"idle", "mid-1"}
    cluster.live(900.0)
    assert cluster.rungs()["idle"] is cluster.rungs()["mid-1"] is EXPIRED
    median = balanced(0.5, deviation)  # of mid-2, mid-3 and busy
    scores = cluster.scores()
    assert scores["idle"] == pytest.approx(min(median, balanced(0.75)))  # 3 of 4 requested
    assert scores["mid-1"] == pytest.approx(median)  # nothing requested: no better than the median
    assert scores["busy"] == pytest.approx(balanced(0.9, deviation))


@pytest.mark.parametrize(("told", "deviation"), COLLECTORS)
def test_without_its_pods_nothing_is_known_of_it_and_it_gets_the_median(told: Told, deviation: float) -> None:
    cluster = Cluster(told)
    cluster.silent = {"idle"}
    cluster.live(900.0)
    cluster.forbid_pods()
    assert cluster.rungs() == {name: UNKNOWN if name == "idle" else FRESH for name in LOAD}
    assert cluster.scores()["idle"] == pytest.approx(balanced(0.5, deviation))
    cluster.allow_pods()
    assert cluster.rungs()["idle"] is EXPIRED


@pytest.mark.parametrize("seconds", [315.0, 600.0, 900.0, 3600.0])
@pytest.mark.parametrize(("told", "deviation"), COLLECTORS)
def test_one_good_sample_brings_it_back_from_every_rung(told: Told, deviation: float, seconds: float) -> None:
    cluster = Cluster(told)
    before = cluster.scores()
    cluster.silent = {"idle"}
    cluster.live(seconds)
    if seconds > 900.0:
        cluster.forbid_pods()
    assert cluster.scores()["idle"] < before["idle"]
    cluster.silent = set()
    cluster.live(INTERVAL)
    assert set(cluster.rungs().values()) == {FRESH}
    assert cluster.scores() == pytest.approx(before)
    assert before["idle"] == pytest.approx(balanced(0.05, deviation))


def test_a_new_node_waits_at_the_median_until_it_is_measured() -> None:
    cluster = Cluster()
    cluster.core.tell(NodeSeen(make_node("new", CORES, MEMORY)))
    assert cluster.rungs()["new"] is EXPIRED
    assert cluster.scores()["new"] == pytest.approx(balanced(0.5))
    cluster.core.feed(of_metrics_server({**LOAD, "new": 0.0}, cluster.clock.advance(INTERVAL)))
    assert cluster.rungs()["new"] is FRESH
    assert cluster.scores()["new"] == 100.0


SICK: list[tuple[str, Callable[[float, float], tuple[float, float, float]]]] = [
    # reason, what is told of it at which time: cpu, memory, timestamp
    ("frozen", lambda now, start: (0.2, GIB, start)),
    ("nan", lambda now, start: (math.nan, math.nan, now)),
    ("negative", lambda now, start: (-1.0, -1.0, now)),
    ("absurd", lambda now, start: (99.0, 1e15, now)),
    ("future", lambda now, start: (0.2, GIB, now + 3600.0)),
]


@pytest.mark.parametrize(("reason", "ill"), SICK, ids=[row[0] for row in SICK])
def test_a_node_whose_measurements_are_not_believed_ages_like_a_silent_one_and_comes_back_by_itself(
    reason: str, ill: Callable[[float, float], tuple[float, float, float]]
) -> None:
    cluster = Cluster()
    start = cluster.clock()
    rungs = []
    for n in range(1, 61):
        now = cluster.clock.advance(INTERVAL)
        cpu, memory, time = ill(now, start)
        usage = {name: (share * CORES, share * MEMORY) for name, share in LOAD.items()}
        usage["idle"] = (cpu, memory)
        times = [time if name == "idle" else now for name in usage]
        cluster.core.feed(make_reading(usage, now, times=times))
        if n in (20, 40, 60):
            rungs.append(cluster.rungs()["idle"])
            assert cluster.core.snapshot.quarantined == {"idle": reason}
    assert rungs == [FRESH, AGEING, EXPIRED]  # after five, ten and fifteen minutes
    cluster.live(INTERVAL)
    assert cluster.rungs()["idle"] is FRESH
    assert cluster.core.snapshot.quarantined == {}
    assert cluster.scores()["idle"] == pytest.approx(balanced(0.05))


# -- By source ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "deviation"), COLLECTORS)
def test_a_source_that_dies_goes_down_every_rung_and_up_again(told: Told, deviation: float) -> None:
    cluster = Cluster(told)
    before = cluster.scores()
    median = balanced(0.5, deviation)
    assert cluster.source() is FRESH

    cluster.die(600.0)
    assert cluster.source() is AGEING
    assert set(cluster.rungs().values()) == {AGEING}
    halfway = {name: median + 0.5 * (score - median) for name, score in before.items()}
    assert cluster.scores() == pytest.approx(halfway)

    cluster.die(300.0)
    assert cluster.source() is EXPIRED
    requested = {name: balanced(0.75) if name in WITH_PODS else 100.0 for name in LOAD}
    assert cluster.scores() == pytest.approx(requested)

    cluster.forbid_pods()
    assert cluster.source() is UNKNOWN
    assert cluster.scores() == dict.fromkeys(LOAD, NEUTRAL)

    cluster.allow_pods()
    assert cluster.source() is EXPIRED
    assert cluster.scores() == pytest.approx(requested)

    cluster.live(INTERVAL)
    assert cluster.source() is FRESH
    assert cluster.scores() == pytest.approx(before)


def test_a_source_that_never_worked_leaves_requests_to_decide() -> None:
    cluster = Cluster(lambda shares, time: make_reading({}, time))
    assert cluster.source() is EXPIRED
    assert cluster.scores() == pytest.approx({name: balanced(0.75) if name in WITH_PODS else 100.0 for name in LOAD})


def test_while_one_node_is_measured_the_source_is_well() -> None:
    cluster = Cluster()
    cluster.silent = set(LOAD) - {"busy"}
    cluster.live(3600.0)
    assert cluster.source() is FRESH
    assert cluster.rungs() == {name: FRESH if name == "busy" else EXPIRED for name in LOAD}
    scores = cluster.scores()
    assert all(score <= scores["busy"] + 1e-9 for score in scores.values())  # the only one measured is the median


def test_pods_bound_while_the_source_is_dead_count_at_once() -> None:
    cluster = Cluster()
    cluster.die(1000.0)
    assert cluster.scores()["mid-1"] == 100.0
    cluster.core.tell(PodSeen(make_pod("new", cpu=2.0, node="mid-1", bound_at=cluster.clock())))
    assert cluster.scores()["mid-1"] == pytest.approx(balanced(0.5))


def test_load_rules_reject_while_data_is_believed_and_nobody_when_it_has_expired() -> None:
    cluster = Cluster()
    seen = [cluster.passes("busy")]
    for seconds in (600.0, 299.0, 1.0):
        cluster.die(seconds)
        seen.append(cluster.passes("busy"))
    cluster.live(INTERVAL)
    seen.append(cluster.passes("busy"))
    assert seen == [False, False, False, True, False]  # fresh, ageing, ageing, expired, fresh again


# -- Every scorer that looks at usage -------------------------------------------------------------------------------

SCORERS: list[Scorer] = [
    EntropicRisk(),
    EstimatedLoad(),
    LoadVariationRiskBalancing(),
    LowRiskOverCommitment(),
    LowestUsage(),
    MetricRank(metric="cpu"),
    MultiWindowLoad(),
    Peaks(node_power_model={"*": PowerModel(470.0, -91.5, -0.07)}),
    TargetLoadPacking(),
]


def median_of_others(scores: Mapping[str, float], left_out: str) -> float:
    return float(np.median([score for name, score in scores.items() if name != left_out]))


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
@pytest.mark.parametrize("silent", ["idle", "busy"])
def test_whatever_the_formula_a_silent_node_fades_is_never_above_the_median_and_comes_back(
    scorer: Scorer, silent: str
) -> None:
    cluster = Cluster(scorer=scorer)
    cluster.live(15 * INTERVAL)
    before = cluster.scores()
    cluster.silent = {silent}
    distance = []
    for _ in range(4):
        cluster.live(285.0)
        scores = cluster.scores()
        assert all(0.0 <= score <= 100.0 for score in scores.values())
        distance.append(abs(scores[silent] - float(np.median(list(scores.values())))))
    assert cluster.rungs()[silent] is EXPIRED
    assert scores[silent] <= median_of_others(scores, silent) + 1e-9
    assert distance[1] <= distance[0] + 1e-9
    assert distance[2] <= distance[1] + 1e-9
    cluster.forbid_pods()
    scores = cluster.scores()
    assert scores[silent] == pytest.approx(median_of_others(scores, silent))
    cluster.silent = set()
    cluster.allow_pods()
    cluster.live(INTERVAL)
    assert cluster.scores() == pytest.approx(before, abs=0.5)


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
def test_whatever_the_formula_a_dead_source_ends_in_neutral_scores(scorer: Scorer) -> None:
    cluster = Cluster(scorer=scorer)
    cluster.die(1000.0)
    assert all(0.0 <= score <= 100.0 for score in cluster.scores().values())
    cluster.forbid_pods()
    assert cluster.scores() == dict.fromkeys(LOAD, NEUTRAL)
