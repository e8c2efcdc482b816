"""Each circumstance changes what it says, and nothing else."""

from dataclasses import asdict
from typing import Any

import pytest

from loadaware.errors import ConfigError
from loadaware.simulation.sensitivity import CIRCUMSTANCES, ROBUSTNESS, SENSITIVITY, apply
from loadaware.simulation.stage import Setup

CHANGES: dict[str, dict[str, Any]] = {
    "all-new": {"scenario.arrivals.new_share": 1.0},
    "none-new": {"scenario.arrivals.new_share": 0.0},
    "low-churn": {"scenario.arrivals.lifetime_median_seconds": 16_200.0},
    "high-churn": {"scenario.arrivals.lifetime_median_seconds": 1_800.0},
    "uncorrelated": {"scenario.workloads.shared": 0.0},
    "smoothed": {"smoothing_seconds": 3600.0},
    "20-nodes": {"scenario.machines.nodes": 20, "scenario.arrivals.largest_burst": 1.0},
    "tight": {"scenario.arrivals.requests": 0.88},
    "small-pods": {
        "scenario.workloads.request_median_cores": 0.2,
        "scenario.workloads.request_least_cores": 0.05,
        "scenario.workloads.request_most_cores": 2.0,
    },
    "stale": {"engine.timing.late_seconds": 300.0},
    "fresh": {"engine.timing.late_seconds": 30.0, "engine.timing.publish_seconds": 30.0},
    "restart": {"engine.restart.after_seconds": 6 * 3600.0, "engine.restart.keep_learned": True},
    "amnesia": {"engine.restart.after_seconds": 6 * 3600.0, "engine.restart.keep_learned": False},
    "blind-third": {"engine.blind.nodes": pytest.approx(1 / 3)},
    "no-pod-metrics": {"engine.blind.pods": True},
    "nameless": {"engine.demand.names": False},
    "hungry-memory": {"scenario.machines.gibibytes_per_core": 2.5, "scenario.workloads.memory_scale": 1.6},
    "late-watch": {"engine.timing.watch_seconds": 2.0},
    "failing-nodes": {"scenario.failures.per_day": 24.0},
    "prototype": {
        "scenario.arrivals.even_bursts": True,
        "scenario.workloads.jobs": False,
        "scenario.load_before_limits": True,
    },
}


def flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every number of a setup by its path."""
    found: dict[str, Any] = {}
    for name, part in value.items():
        found |= flat(part, f"{prefix}{name}.") if isinstance(part, dict) else {prefix + name: part}
    return found


@pytest.mark.parametrize("name", sorted(CIRCUMSTANCES))
def test_a_circumstance_changes_what_it_says_and_nothing_else(name: str) -> None:
    before, after = flat(asdict(Setup())), flat(asdict(apply(Setup(), [name])))
    assert {path: value for path, value in after.items() if value != before.get(path)} == CHANGES[name]
    assert CIRCUMSTANCES[name].meaning


def test_circumstances_add_up() -> None:
    both = apply(Setup(), ["20-nodes", "tight"])
    assert both.scenario.machines.nodes == 20
    assert both.scenario.arrivals.requests == 0.88


def test_without_any_nothing_changes() -> None:
    assert apply(Setup(), []) == Setup()


def test_an_unknown_one_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"--setting: there is no setting called 'tigt'; did you mean 'tight'\?"):
        apply(Setup(), ["tigt"])


def test_all_that_the_headline_needs_are_there() -> None:
    assert len(SENSITIVITY) == 11
    assert not set(SENSITIVITY) & set(ROBUSTNESS)
