import dataclasses
import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadaware.beliefs import beliefs
from loadaware.ladder import Staleness
from loadaware.snapshot import Snapshot
from loadaware.window import Statistics
from tests.loadaware.builders import GIB, snapshot_of

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


def believed(snapshot: Snapshot, now: float = 1000.0) -> list[dict[str, Any]]:
    return beliefs(snapshot, snapshot.requested, snapshot.pod_counts, Staleness(), now)


def test_what_is_known_of_a_node_is_told_in_base_units() -> None:
    usage = {"mean": "50%", "deviation": "100m", "latest": "3", "maximum": "75%"}
    state = {"usage": {"cpu": usage}, "labels": {"zone": "a"}, "allocatable": {"cpu": "2", "memory": "8Gi"}}
    (entry,) = believed(snapshot_of({"a": state}))
    assert entry["name"] == "a"
    assert entry["capacity"] == {"cpu": 4.0, "memory": 16 * GIB}
    assert entry["allocatable"] == {"cpu": 2.0, "memory": 8 * GIB}
    assert entry["usage"]["cpu"] == {"mean": 2.0, "deviation": 0.1, "latest": 3.0, "maximum": 3.0, "utilization": 1.0}
    assert entry["labels"] == {"zone": "a"}


def test_what_is_not_known_is_none_and_never_zero() -> None:
    (entry,) = believed(snapshot_of({"a": {"capacity": {"cpu": "4"}}}))
    assert set(entry["usage"]["cpu"].values()) == {None}
    assert set(entry["usage"]["memory"].values()) == {None}
    assert entry["capacity"]["memory"] is None
    assert entry["quarantined"] is None


def test_a_state_that_never_ages_has_no_age() -> None:
    (entry,) = believed(snapshot_of({"a": {}}))
    assert entry["ageSeconds"] is None


def test_a_state_that_never_ages_is_fresh_and_a_node_that_was_never_measured_is_told_by_its_pods_at_most() -> None:
    snapshot = snapshot_of({"a": {"usage": {"cpu": {"mean": "50%"}}}, "b": {}})
    assert believed(snapshot)[0]["rung"] == "fresh"
    sampled_at = np.array([-np.inf, 700.0])
    blind = dataclasses.replace(snapshot, sampled_at=sampled_at, pods_known=False)
    sighted = dataclasses.replace(snapshot, sampled_at=sampled_at, pods_known=True)
    assert [entry["rung"] for entry in believed(blind, 1000.0)] == ["unknown", "fresh"]
    assert [entry["rung"] for entry in believed(sighted, 1001.0)] == ["expired", "ageing"]


def test_a_node_with_nothing_allocatable_has_no_utilization() -> None:
    state = {"allocatable": {"cpu": "0"}, "usage": {"cpu": {"mean": "1"}}}
    (entry,) = believed(snapshot_of({"a": state}))
    assert entry["usage"]["cpu"]["mean"] == 1.0
    assert entry["usage"]["cpu"]["utilization"] is None


def test_what_is_bound_and_booked_now_goes_before_what_the_snapshot_knew() -> None:
    snapshot = snapshot_of({"a": {}})
    (entry,) = beliefs(snapshot, np.array([[1.5, np.nan]]), np.array([2.3333333]), Staleness(), 0.0)
    assert entry["requested"] == {"cpu": 1.5, "memory": None}
    assert entry["pods"] == 2.333


@given(st.lists(ANY_FLOAT, min_size=10, max_size=10), st.lists(ANY_FLOAT, min_size=2, max_size=2), ANY_FLOAT)
def test_any_numbers_make_valid_json(numbers: list[float], times: list[float], now: float) -> None:
    cells = np.array(numbers).reshape(5, 2, 1)
    snapshot = Snapshot(
        time=0.0,
        names=("a", "b"),
        resources=("cpu",),
        capacity=cells[0],
        allocatable=cells[1],
        statistics=Statistics(mean=cells[2], deviation=cells[3], latest=cells[4], maximum=cells[4], percentiles={}),
        sampled_at=np.array(times),
        requested=cells[1],
        limits=cells[1],
        pod_counts=np.zeros(2),
    )
    with np.errstate(all="ignore"):
        entries = believed(snapshot, now)
    assert json.loads(msgspec.json.encode(entries), parse_constant=pytest.fail) == entries
