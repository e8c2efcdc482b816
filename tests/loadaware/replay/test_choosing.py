"""Where pods go in a replay, where nothing was asked about them: as a Prometheus tells."""

from pathlib import Path

import pytest

from loadaware.config import Config
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from tests.loadaware.recorded_runs import START, Recording, packed_history, pod

WHOLE = ReplaySettings(warm_up_seconds=0.0)


def test_pods_that_were_packed_are_spread_and_the_hot_node_is_relieved(tmp_path: Path) -> None:
    packed_history(tmp_path)
    outcome = replay(tmp_path, Config(), WHOLE)
    assert (outcome.counts.asked, outcome.counts.placed) == (4, 4)
    assert outcome.counts.elsewhere >= 1
    # 3.7 of 4 cores from the 8th of 60 minutes on, on one of two nodes
    assert outcome.recorded.hot80 == pytest.approx(100 * 53 / 118, abs=2)
    assert outcome.replayed.hot80 == 0.0
    assert outcome.recorded.utilization == pytest.approx(outcome.replayed.utilization)
    assert {move.recorded_node for move in outcome.moves} == {"full"}
    assert outcome.moves[0].relief_core_hours == pytest.approx(0.9 * 53 / 60, rel=0.05)


def test_pods_there_before_the_first_reading_and_daemons_stay_where_they_are(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("full", "idle")
    told.pods([pod("old", "full", bound_at=START - 600.0)])
    for minute in range(1, 10):
        told.now = START + 60.0 * minute
        if minute == 3:
            told.pods([pod("agent-1", "full", bound_at=told.now, kind="DaemonSet")])
        told.read({"full": 3.5, "idle": 0.1}, {"shop/old": 2.0, "shop/agent-1": 1.0})
    told.close()
    assert replay(tmp_path, Config(), WHOLE).counts.asked == 0


def test_a_pod_that_fits_nowhere_stays_where_it_was(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("full", "idle")
    for minute in range(1, 6):
        told.now = START + 60.0 * minute
        if minute == 3:
            told.pods([pod("huge-1", "full", cpu=8.0, bound_at=told.now)])
        told.read({"full": 1.0, "idle": 0.1}, {})
    told.close()
    counts = replay(tmp_path, Config(), WHOLE).counts
    assert (counts.without_room, counts.elsewhere) == (1, 0)
