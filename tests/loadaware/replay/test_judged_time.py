from pathlib import Path

import pytest

from collectors.cluster import NodeSeen
from collectors.errors import HistoryError
from collectors.history import HistoryReader, HistoryWriter
from loadaware.config import Config
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from tests.loadaware.recorded_runs import START, Recording, node, packed_history, pod

WHOLE = ReplaySettings(warm_up_seconds=0.0)


def test_what_is_judged_can_begin_in_the_middle(tmp_path: Path) -> None:
    packed_history(tmp_path)
    late = replay(tmp_path, Config(), ReplaySettings(since=START + 1800.0, warm_up_seconds=0.0))
    assert late.since == START + 1800.0
    assert late.recorded.hot80 == pytest.approx(50.0)
    early = replay(tmp_path, Config(), ReplaySettings(until=START + 240.0, warm_up_seconds=0.0))
    assert early.recorded.hot80 == 0.0


def test_a_history_without_readings_says_so(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path) as writer:
        writer.write_event(NodeSeen(node("a")), time=START)
    with pytest.raises(HistoryError, match="holds no reading"):
        replay(tmp_path, Config())


def test_a_time_that_the_history_does_not_have_is_refused(tmp_path: Path) -> None:
    packed_history(tmp_path, 5)
    with pytest.raises(HistoryError, match="nothing in that time"):
        replay(tmp_path, Config(), ReplaySettings(since=START + 1e6))


def test_a_history_whose_beginning_was_deleted_begins_at_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    told = Recording(folder)
    told.nodes("full", "idle")
    told.pods([pod("old", "full", bound_at=START - 600.0)])
    for minute in range(1, 30):
        told.now = START + 60.0 * minute
        if minute == 10:
            told.writer.checkpoint_wanted = True
            told.recorder.checkpoint(lambda: None, told.now)
            told.writer.flush()
        told.read({"full": 2.0, "idle": 0.1}, {"shop/old": 1.0})
    told.close()
    (checkpoint,) = HistoryReader(folder).records(kinds=["checkpoints"])
    cut = tmp_path / "cut"
    with HistoryWriter(cut) as writer:
        for record in HistoryReader(folder).records(after=checkpoint.sequence - 10):
            writer.write(record.content, record.sequence, record.time)
    outcome = replay(cut, Config(), WHOLE)
    assert outcome.recorded.utilization == pytest.approx(100 * (0.5 + 0.025) / 2)
