import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectors.manifests import Pod
from loadaware.errors import ConfigError
from loadaware.nodes import Nodes
from loadaware.plugins import make_scorer
from loadaware.scorers.network_cost import REGION, ZONE, Link, NetworkCost
from loadaware.snapshot import Applications, Snapshot
from tests.loadaware.builders import make_pod, snapshot_of

PLACES = {
    # node: zone, region
    "a1": ("a", "west"),
    "a2": ("a", "west"),
    "b1": ("b", "west"),
    "c1": ("c", "east"),
    "bare": (None, None),
}
NETWORK = NetworkCost()


def cluster(states: Mapping[str, Mapping[str, Any]] | None = None, **pods: str) -> Snapshot:
    """The nodes of PLACES; `pods` says on which of them the pods of each application are: db="a1 a1 c1"."""
    nodes = {
        name: {
            "labels": {label: v for label, v in ((ZONE, zone), (REGION, region)) if v},
            **(states or {}).get(name, {}),
        }
        for name, (zone, region) in PLACES.items()
    }
    index = {name: row for row, name in enumerate(nodes)}
    rows = [[index[node] for node in where.split()] for where in pods.values()]
    starts = np.cumsum([0, *(len(r) for r in rows)])
    flat = np.array([row for r in rows for row in r], dtype=np.intp)
    names = tuple(f"default/{name}" for name in pods)
    return replace(snapshot_of(nodes), applications=Applications(names, starts, flat))


def talks_to(names: str, **facts: Any) -> Pod:
    return make_pod("web", annotations={"loadaware.io/talks-to": names}, **facts)


def costs(snapshot: Snapshot, names: str = "db", scorer: NetworkCost = NETWORK) -> list[float]:
    return list(scorer.raw(Nodes.of(snapshot), talks_to(names)).tolist())


# -- Distance -------------------------------------------------------------------------------------------------------

COSTS = [
    # where the pods are      mean cost from a1, a2, b1, c1, bare: 0 same node, 1 zone, 10 region, 100 elsewhere
    ("a1", [0, 1, 10, 100, 100]),
    ("b1", [10, 10, 0, 100, 100]),
    ("bare", [100, 100, 100, 100, 0]),
    ("a1 a2", [0.5, 0.5, 10, 100, 100]),
    ("a1 a1 c1", [100 / 3, 102 / 3, 120 / 3, 200 / 3, 100]),
    ("a1 b1 c1 bare", [210 / 4, 211 / 4, 210 / 4, 300 / 4, 300 / 4]),
]


@pytest.mark.parametrize(("where", "expected"), COSTS)
def test_the_cost_is_the_mean_distance_to_the_pods_it_talks_to(where: str, expected: list[float]) -> None:
    assert costs(cluster(db=where)) == pytest.approx(expected)


def test_the_cheapest_node_gets_100_and_the_dearest_nothing() -> None:
    nodes = Nodes.of(cluster(db="a1"))
    scores = NETWORK.normalize(NETWORK.score(nodes, talks_to("db")))
    assert scores.tolist() == pytest.approx([100.0, 99.0, 90.0, 0.0, 0.0])


def test_only_some_of_the_nodes_may_be_asked_about() -> None:
    whole = Nodes.of(cluster(db="a1 c1"))
    rows = np.array([3, 0], dtype=np.intp)
    some = Nodes(whole.snapshot, rows, whole.requested_now, whole.limits_now, whole.pods_now)
    assert NETWORK.raw(some, talks_to("db")).tolist() == pytest.approx([50.0, 50.0])


def test_several_applications_count_by_their_pods() -> None:
    snapshot = cluster(db="a1", cache="c1 c1 c1")
    # from a1: (0 + 3 * 100) / 4, from c1: (100 + 0) / 4
    found = costs(snapshot, "db, cache")
    assert (found[0], found[3]) == pytest.approx((75.0, 25.0))


APPLICATIONS = [
    ("db", True),
    (" db ,", True),
    ("default/db", True),
    ("db,nobody", True),
    ("other/db", False),
    ("nobody", False),
    ("", False),
    (",,", False),
]


@pytest.mark.parametrize(("names", "known"), APPLICATIONS)
def test_applications_are_named_with_or_without_their_namespace(names: str, known: bool) -> None:
    found = costs(cluster(db="a1"), names)
    assert found == pytest.approx([0, 1, 10, 100, 100]) if known else np.isnan(found).all()


def test_a_name_without_a_namespace_is_meant_in_the_pods_own() -> None:
    pod = talks_to("db", namespace="shop")
    assert np.isnan(NETWORK.raw(Nodes.of(cluster(db="a1")), pod)).all()


def test_a_pod_that_names_nothing_leaves_every_node_unscored() -> None:
    nodes = Nodes.of(cluster(db="a1"))
    assert np.isnan(NETWORK.normalize(NETWORK.score(nodes, make_pod("web")))).all()


# -- Links ----------------------------------------------------------------------------------------------------------

LINKS = [
    # links      cost from a1, a2, b1, c1, bare to a pod on a1
    ([(("a", "b"), 3.0)], [0, 1, 3, 100, 100]),
    ([(("b", "a"), 3.0)], [0, 1, 3, 100, 100]),  # either way
    ([(("west", "east"), 40.0)], [0, 1, 10, 40, 100]),
    ([(("a", "c"), 7.0), (("west", "east"), 40.0)], [0, 1, 10, 7, 100]),  # zones before regions ...
    ([(("west", "east"), 40.0), (("a", "c"), 7.0)], [0, 1, 10, 7, 100]),  # ... in whatever order
    ([(("west", "west"), 5.0)], [0, 1, 5, 100, 100]),  # a region with itself: its other zones
    ([(("a", "a"), 2.0)], [0, 2, 10, 100, 100]),
    ([(("x", "y"), 2.0)], [0, 1, 10, 100, 100]),
]


@pytest.mark.parametrize(("links", "expected"), LINKS)
def test_links_say_what_it_costs_between_two_zones_or_regions(
    links: list[tuple[tuple[str, str], float]], expected: list[float]
) -> None:
    scorer = NetworkCost(links=tuple(Link(between, cost) for between, cost in links))
    assert costs(cluster(db="a1"), scorer=scorer) == pytest.approx(expected)


def test_general_costs_are_settings() -> None:
    scorer = NetworkCost(same_zone=2.0, same_region=3.0, elsewhere=4.0)
    assert costs(cluster(db="a1"), scorer=scorer) == [0.0, 2.0, 3.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"sameZone": -1}, "args.sameZone: Expected float >= 0"),
        ({"links": [{"between": ["a"], "cost": 1}]}, r"args.links\[0\].between"),
        ({"links": [{"between": ["a", "b"], "cost": -1}]}, r"args.links\[0\].cost"),
    ],
)
def test_args_out_of_range_are_refused_with_their_path(args: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_scorer("NetworkCost", args)


# -- Latency --------------------------------------------------------------------------------------------------------


def test_a_latency_metric_is_added_and_the_median_where_it_was_not_measured() -> None:
    told = {"a1": 30.0, "b1": 2.0, "c1": 4.0, "bare": 8.0}
    snapshot = cluster({name: {"metrics": {"latency": value}} for name, value in told.items()}, db="a1")
    scorer = NetworkCost(latency_metric="latency")
    # a2 was not measured: the median of 2, 4, 8, 30 is 6; missing is neither fast nor slow
    assert costs(snapshot, scorer=scorer) == pytest.approx([30.0, 7.0, 12.0, 104.0, 108.0])


def test_a_latency_metric_that_does_not_exist_adds_nothing() -> None:
    scorer = NetworkCost(latency_metric="latency")
    assert costs(cluster(db="a1"), scorer=scorer) == pytest.approx([0, 1, 10, 100, 100])


def test_latency_of_one_node_alone_is_that_among_all() -> None:
    snapshot = cluster({"b1": {"metrics": {"latency": 2.0}}, "c1": {"metrics": {"latency": 4.0}}}, db="a1")
    scorer = NetworkCost(latency_metric="latency")
    whole = Nodes.of(snapshot)
    for row, expected in enumerate(scorer.raw(whole, talks_to("db")).tolist()):
        rows = np.array([row], dtype=np.intp)
        one = Nodes(snapshot, rows, whole.requested_now, whole.limits_now, whole.pods_now)
        assert scorer.raw(one, talks_to("db")).tolist() == pytest.approx([expected])
    assert not math.isnan(expected)


def test_thousands_of_nodes_and_pods_are_reckoned_by_their_places() -> None:
    labels = [{ZONE: f"z{n % 6}", REGION: f"r{n % 6 // 3}"} for n in range(3000)]
    snapshot = snapshot_of({f"n{n}": {"labels": labels[n]} for n in range(3000)})
    rows = np.arange(0, 3000, 2, dtype=np.intp)
    snapshot = replace(snapshot, applications=Applications(("default/db",), np.array([0, len(rows)]), rows))
    found = NETWORK.raw(Nodes.of(snapshot), talks_to("db"))
    # 1500 pods on even nodes: 500 in each of z0, z2 (r0) and z4 (r1)
    assert found[0] == pytest.approx((499 * 1 + 500 * 10 + 500 * 100) / 1500)
    assert found[1] == pytest.approx((1000 * 10 + 500 * 100) / 1500)
    assert found[4] == pytest.approx((499 * 1 + 1000 * 100) / 1500)
