from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from collectors.cluster import NodeSeen, PodSeen
from loadaware.core import Core
from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.quantities import Duration
from loadaware.scorers.multi_window_load import HotCount, MultiWindowLoad, Term
from tests.loadaware.builders import (
    GIB,
    Clock,
    make_node,
    make_pod,
    make_profile,
    make_reading,
    make_settings,
    nodes_of,
)

CRANE = MultiWindowLoad()
POD = make_pod("web", cpu=1.0)

Shares = tuple[float | None, float | None, float | None]


def windows(shares: Shares) -> dict[str, dict[str, str]]:
    """Percent of the mean over 5 minutes, of the maxima over an hour and a day."""
    told = {"5m": ("mean", shares[0]), "1h": ("maximum", shares[1]), "1d": ("maximum", shares[2])}
    return {window: {name: f"{share}%"} for window, (name, share) in told.items() if share is not None}


def node(cpu: Shares, memory: Shares = (None, None, None), **state: Any) -> Nodes:
    return nodes_of({"node": {"windows": {"cpu": windows(cpu), "memory": windows(memory)}, **state}})


# -- Load -----------------------------------------------------------------------------------------------------------

LOAD = [
    # cpu 5m, 1h, 1d      memory 5m, 1h, 1d      sum((1 - u) * weight * 100) / sum(weight)
    ((0, 0, 0), (0, 0, 0), 100.0),
    ((100, 100, 100), (100, 100, 100), 0.0),
    ((10, 20, 40), (50, 50, 50), 61.0),  # (18 + 24 + 30 + 10 + 15 + 25) / 2
    ((50, 50, 50), (None, None, None), 50.0),
    ((10, 20, 40), (None, None, None), 72.0),  # 90 * .2 + 80 * .3 + 60 * .5 = 18 + 24 + 30
    ((10, None, 40), (None, None, None), 48 / 0.7),  # (18 + 30) / (.2 + .5)
    ((None, None, None), (30, None, None), 70.0),
]


@pytest.mark.parametrize(("cpu", "memory", "score"), LOAD)
def test_three_windows_of_cpu_and_memory_are_weighted(cpu: Shares, memory: Shares, score: float) -> None:
    nodes = node(cpu, memory)
    assert CRANE.score(nodes, POD).tolist() == pytest.approx([score])
    assert CRANE.raw(nodes, POD).tolist() == [int(score + 1e-9)]


def test_a_node_without_any_of_the_windows_has_no_score() -> None:
    nodes = node((None, None, None), usage={"cpu": {"mean": "50%"}})
    assert np.isnan(CRANE.score(nodes, POD)).all()
    assert np.isnan(CRANE.raw(nodes, POD)).all()


def test_usage_above_the_capacity_scores_nothing_and_not_less() -> None:
    assert CRANE.score(node((150, 150, 150)), POD).tolist() == [0.0]


def test_a_node_without_cpu_is_scored_by_the_rest() -> None:
    nodes = node((None, None, None), (50, 50, 50), capacity={"cpu": 0, "memory": "1Gi"})
    zero = {"cpu": {"5m": {"mean": "0"}, "1h": {"maximum": "1"}}, "memory": windows((50, 50, 50))}
    both = nodes_of({"node": {"capacity": {"cpu": 0, "memory": "1Gi"}, "windows": zero}})
    assert CRANE.score(nodes, POD).tolist() == CRANE.score(both, POD).tolist() == pytest.approx([50.0])


def test_raw_is_cut_to_a_whole_number_but_not_for_a_lost_bit() -> None:
    for percent in range(101):
        for cores in (1.0, 3.0, 7.0, 96.0):
            nodes = node((percent, percent, percent), capacity={"cpu": cores})
            assert CRANE.raw(nodes, POD).tolist() == [100.0 - percent]
    assert CRANE.raw(node((30.5, 30.5, 30.5)), POD).tolist() == [69.0]


def test_terms_are_settings() -> None:
    scorer = MultiWindowLoad(
        priority=(Term("cpu", "mean", Duration(3600.0), 2.0), Term("memory", "maximum", Duration(600.0), 1.0))
    )
    state = {"windows": {"cpu": {"1h": {"mean": "30%"}}, "memory": {"10m": {"maximum": "60%"}}}}
    assert scorer.score(nodes_of({"node": state}), POD).tolist() == pytest.approx([(2 * 70 + 40) / 3])


def test_args_are_read_as_people_write_them() -> None:
    term = {"resource": "cpu", "statistic": "mean", "window": "5m", "weight": 0.2}
    made = make_scorer("MultiWindowLoad", {"priority": [term], "hotValue": [{"timeRange": "1m", "count": 2}]})
    assert made == MultiWindowLoad(
        priority=(Term("cpu", "mean", Duration(300.0), 0.2),), hot_value=(HotCount(Duration(60.0), 2),)
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"hotValue": [{"timeRange": "1m", "count": 0}]}, r"args.hotValue\[0\].count: Expected int >= 1"),
        ({"priority": [{"resource": "cpu", "statistic": "p95", "window": "5m", "weight": 1}]}, "statistic"),
        ({"priority": [{"resource": "cpu", "statistic": "mean", "window": 5, "weight": 1}]}, "expected a duration"),
    ],
)
def test_args_out_of_range_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_scorer("MultiWindowLoad", args)


# -- Heat -----------------------------------------------------------------------------------------------------------


def core_of(clock: Clock) -> Core:
    core = Core(make_settings(make_profile(CRANE)), clock)
    core.tell(NodeSeen(make_node("node")), NodeSeen(make_node("other")))
    core.feed(make_reading({"node": (0.4, 1.6 * GIB), "other": (0.4, 1.6 * GIB)}, clock()))
    return core


HEAT = [
    # seconds since each binding      floor(within 5 minutes / 5) + floor(within 1 minute / 2)
    ([], 0),
    ([10], 0),
    ([10, 20], 1),  # 0 + 1
    ([10, 20, 30], 1),
    ([10, 20, 30, 40], 2),  # 0 + 2
    ([10, 20, 30, 40, 50], 3),  # 1 + 2
    ([100, 110, 120, 130], 0),
    ([100, 110, 120, 130, 140], 1),  # 1 + 0
    ([10, 20, 110, 120, 130], 2),  # 1 + 1
    ([400, 500, 600, 700, 800], 0),  # longer ago
]


@pytest.mark.parametrize(("ages", "hot"), HEAT)
def test_recent_bindings_make_a_node_hot_and_each_degree_costs_ten(ages: list[float], hot: int) -> None:
    clock = Clock(10_000.0)
    core = core_of(clock)
    for n, age in enumerate(ages):
        core.tell(PodSeen(make_pod(f"p{n}", node="node", bound_at=clock() - age)))
    for _ in ("told since the snapshot", "in the snapshot"):
        own = core.rank(POD, book=False).parts[0].own
        assert own.tolist() == pytest.approx([90.0 - 10.0 * hot, 90.0])
        core.refresh()


def test_a_very_hot_node_gets_nothing_and_not_less() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock)
    core.tell(*(PodSeen(make_pod(f"p{n}", node="node", bound_at=clock())) for n in range(40)))
    assert core.rank(POD, book=False).parts[0].own.tolist() == pytest.approx([0.0, 90.0])


def test_a_pod_that_was_ranked_heats_the_node_before_any_watch_tells() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock)
    for n in range(2):
        core.rank(make_pod(f"p{n}", cpu=1.0), ["node"])
    assert core.rank(POD, book=False).parts[0].own.tolist() == pytest.approx([80.0, 90.0])


def test_heat_cools_with_time() -> None:
    clock = Clock(10_000.0)
    core = core_of(clock)
    core.tell(*(PodSeen(make_pod(f"p{n}", node="node", bound_at=clock())) for n in range(5)))
    heat = []
    for _ in range(4):
        heat.append(round((90.0 - float(core.rank(POD, book=False).parts[0].own[0])) / 10.0))
        clock.advance(120.0)
        core.feed(make_reading({"node": (0.4, 1.6 * GIB), "other": (0.4, 1.6 * GIB)}, clock()))
    assert heat == [3, 1, 1, 0]  # at once, after two, four and six minutes


def test_the_defaults_are_the_peers() -> None:
    assert [(t.resource, t.statistic, t.window, t.weight) for t in CRANE.priority] == [
        ("cpu", "mean", 300.0, 0.2),
        ("cpu", "maximum", 3600.0, 0.3),
        ("cpu", "maximum", 86400.0, 0.5),
        ("memory", "mean", 300.0, 0.2),
        ("memory", "maximum", 3600.0, 0.3),
        ("memory", "maximum", 86400.0, 0.5),
    ]
    assert [(h.time_range, h.count) for h in CRANE.hot_value] == [(300.0, 5), (60.0, 2)]
