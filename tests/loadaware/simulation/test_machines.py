from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from loadaware.simulation.machines import Failure, Outages, draw_failures, draw_machines
from loadaware.simulation.settings import FailureSettings, MachineSettings

GIBIBYTE = 2**30


def test_node_sizes_come_in_exactly_the_stated_shares() -> None:
    machines = draw_machines(MachineSettings(nodes=100), np.random.default_rng(1))
    assert Counter(machines.cores.tolist()) == {8.0: 40, 16.0: 40, 32.0: 20}
    assert (machines.bytes == machines.cores * 4 * GIBIBYTE).all()


@pytest.mark.parametrize("nodes", [1, 2, 7, 20])
def test_any_number_of_nodes_can_be_had(nodes: int) -> None:
    machines = draw_machines(MachineSettings(nodes=nodes), np.random.default_rng(1))
    assert len(machines) == nodes
    assert len(set(machines.names)) == nodes


def test_every_node_has_an_overhead_of_one_to_six_percent() -> None:
    machines = draw_machines(MachineSettings(), np.random.default_rng(1))
    share = machines.overhead_cores / machines.cores
    assert 0.01 <= share.min() < 0.02
    assert 0.05 < share.max() <= 0.06


def test_a_node_is_told_with_hostname_zone_and_resources() -> None:
    machines = draw_machines(MachineSettings(nodes=10), np.random.default_rng(1))
    node = machines.node(4, created_at=7.0)
    assert node.name == "node-05"
    assert node.labels == {"kubernetes.io/hostname": "node-05", "topology.kubernetes.io/zone": "zone-1"}
    assert dict(node.allocatable) == {"cpu": machines.cores[4], "memory": machines.bytes[4]}
    assert node.addresses == ("10.0.0.5", "node-05")


def test_failures_come_about_as_often_as_asked_and_never_two_at_once() -> None:
    settings = FailureSettings(per_day=24.0, away_median_seconds=600.0)
    failures = draw_failures(settings, 10, 0.0, 10 * 86_400.0, np.random.default_rng(2))
    assert len(failures) == pytest.approx(240 * 60 / 71, rel=0.2)
    assert all(first.end <= second.start for first, second in pairwise(failures))


def test_no_failures_are_drawn_unless_asked_for() -> None:
    assert draw_failures(FailureSettings(), 10, 0.0, 86_400.0, np.random.default_rng(2)) == ()


def test_a_node_that_fails_and_returns_within_one_step_is_there_in_the_end() -> None:
    outages = Outages([Failure(3, 100.0, 110.0), Failure(3, 115.0, 300.0)])
    assert list(outages.until(99.0)) == []
    assert list(outages.until(120.0)) == [(3, True), (3, False), (3, True)]
    assert list(outages.until(300.0)) == [(3, False)]
