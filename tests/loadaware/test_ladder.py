import math

import numpy as np
import pytest

from loadaware.ladder import Rung, Staleness

LADDER = Staleness(fresh_seconds=300.0, expired_seconds=900.0)

RUNGS = [
    # age      rung with the pods known      without
    (-math.inf, Rung.FRESH, Rung.FRESH),  # never ages: a state file
    (-60.0, Rung.FRESH, Rung.FRESH),  # a clock that runs ahead of ours
    (0.0, Rung.FRESH, Rung.FRESH),
    (300.0, Rung.FRESH, Rung.FRESH),
    (300.1, Rung.AGEING, Rung.AGEING),
    (899.9, Rung.AGEING, Rung.AGEING),
    (900.0, Rung.EXPIRED, Rung.UNKNOWN),
    (1e9, Rung.EXPIRED, Rung.UNKNOWN),
    (math.inf, Rung.EXPIRED, Rung.UNKNOWN),  # never measured
]


@pytest.mark.parametrize(("age", "rung", "without_pods"), RUNGS)
def test_a_node_stands_on_the_rung_of_its_age(age: float, rung: Rung, without_pods: Rung) -> None:
    assert LADDER.rungs(np.array([age]), pods_known=True).tolist() == [rung]
    assert LADDER.rungs(np.array([age]), pods_known=False).tolist() == [without_pods]


def test_each_node_stands_by_itself() -> None:
    ages = np.array([0.0, 600.0, 1000.0, math.inf])
    expected = [Rung.FRESH, Rung.AGEING, Rung.EXPIRED, Rung.EXPIRED]
    assert LADDER.rungs(ages, pods_known=True).tolist() == expected
    assert LADDER.rungs(np.zeros(0), pods_known=True).tolist() == []


@pytest.mark.parametrize(
    ("ages", "pods_known", "rung"),
    [
        ([0.0, 5000.0, math.inf], True, Rung.FRESH),  # the youngest measurement of any node counts
        ([500.0, 5000.0], True, Rung.AGEING),
        ([1000.0, 5000.0], True, Rung.EXPIRED),
        ([math.inf], True, Rung.EXPIRED),
        ([1000.0, 5000.0], False, Rung.UNKNOWN),
        ([], True, Rung.UNKNOWN),  # no node at all
    ],
)
def test_the_source_stands_on_the_rung_of_its_youngest_measurement(
    ages: list[float], pods_known: bool, rung: Rung
) -> None:
    assert LADDER.source_rung(np.array(ages), pods_known=pods_known) is rung


def test_trust_and_rung_agree() -> None:
    ages = np.arange(0.0, 1200.0, 7.5)
    trust, rungs = LADDER.trust(ages), LADDER.rungs(ages, pods_known=True)
    assert (trust[rungs == Rung.FRESH] == 1.0).all()
    assert ((trust[rungs == Rung.AGEING] > 0.0) & (trust[rungs == Rung.AGEING] < 1.0)).all()
    assert (trust[rungs == Rung.EXPIRED] == 0.0).all()
    assert (np.diff(trust) <= 0.0).all()


def test_the_ladder_leads_down_from_all_is_well() -> None:
    assert sorted(Rung) == [Rung.FRESH, Rung.AGEING, Rung.EXPIRED, Rung.UNKNOWN]
