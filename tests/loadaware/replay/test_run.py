from dataclasses import replace
from pathlib import Path

import pytest

from collectors.cluster import NodeGone, PodGone
from collectors.errors import HistoryError
from collectors.history import HistoryReader, HistoryWriter
from loadaware.config import Config, parse
from loadaware.replay.outcome import ReplaySettings
from loadaware.replay.run import replay
from tests.collectors.recorded_histories import record_readings
from tests.loadaware.recorded_runs import START, Recording, packed_history, pod, record_demo

WHOLE = ReplaySettings(warm_up_seconds=0.0)
OTHER = parse("profiles: [{scorers: [{name: TargetLoadPacking}]}]")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Config]:
    folder = tmp_path_factory.mktemp("histories") / "demo"
    return folder, record_demo(folder)


def test_a_recorded_demo_is_reproduced_to_the_last_decision(demo: tuple[Path, Config]) -> None:
    folder, config = demo
    outcome = replay(folder, config, WHOLE)
    counts = outcome.counts
    assert counts.answers_recorded > 20
    assert (counts.answers_differing, counts.filters_differing, counts.elsewhere, counts.late) == (0, 0, 0, 0)
    assert outcome.replayed == outcome.recorded
    assert outcome.moves == ()


def test_every_request_that_was_recorded_is_asked_again_with_its_answer_beside_it(demo: tuple[Path, Config]) -> None:
    folder, config = demo
    verbs = [record.content.verb for record in HistoryReader(folder).records(kinds=["requests"])]  # type: ignore[union-attr]
    counts = replay(folder, config, WHOLE).counts
    assert counts.asked == counts.answers_recorded == verbs.count("prioritize")


def test_another_configuration_answers_otherwise_and_places_elsewhere(demo: tuple[Path, Config]) -> None:
    outcome = replay(demo[0], OTHER, WHOLE)
    assert outcome.counts.answers_differing > 0
    assert outcome.counts.elsewhere > 0
    assert outcome.replayed != outcome.recorded


def test_a_replay_is_settled_by_history_configuration_and_seed(demo: tuple[Path, Config]) -> None:
    first, second = (replace(replay(demo[0], OTHER, WHOLE), seconds=0.0) for _ in range(2))
    assert first == second


def test_a_config_with_filters_recorded_with_them_is_reproduced_too(tmp_path: Path) -> None:
    rule = "{name: UsageThreshold, args: {thresholds: {cpu: 60}}}"
    filtering = parse(f"profiles: [{{scorers: [{{name: EntropicRisk}}], filters: [{rule}]}}]")
    config = record_demo(tmp_path / "history", config=filtering)
    counts = replay(tmp_path / "history", config, WHOLE).counts
    assert counts.answers_recorded > 5
    assert (counts.answers_differing, counts.filters_differing, counts.elsewhere) == (0, 0, 0)


# -- Without requests, as a Prometheus tells ---------------------------------------------------------------------------


def test_a_moved_pod_goes_home_when_its_new_node_goes_away(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("full", "idle")
    for minute in range(1, 20):
        told.now = START + 60.0 * minute
        if minute == 3:
            told.pods([pod("web-1", "full", bound_at=told.now)])
        if minute == 10:
            told.recorder.event(NodeGone("idle"), told.now)
            told.recorder.snapshot(told.now)
        gone = {} if minute >= 10 else {"idle": 0.1}
        told.read({"full": 3.9, **gone}, {"shop/web-1": 1.0} if minute >= 4 else {})
    told.close()
    counts = replay(tmp_path, Config(), WHOLE).counts
    assert (counts.elsewhere, counts.returned) == (1, 1)


def test_without_pod_metrics_a_moved_pod_counts_as_its_request(tmp_path: Path) -> None:
    packed_history(tmp_path, pods_measured=False)
    outcome = replay(tmp_path, Config(), WHOLE)
    assert not outcome.counts.pods_measured
    assert outcome.counts.elsewhere >= 1


# -- Histories that are not as they should be --------------------------------------------------------------------------


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="holds no finished segment: record first"):
        replay(tmp_path, Config())


def test_a_history_of_unknown_nodes_says_that_there_is_nothing_to_judge(tmp_path: Path) -> None:
    record_readings(tmp_path, [START + 60.0 * n for n in range(5)])
    with pytest.raises(HistoryError, match="no two readings of known nodes"):
        replay(tmp_path, Config())


def test_a_gap_is_not_judged(tmp_path: Path) -> None:
    packed_history(tmp_path, 60, range(20, 50))
    outcome = replay(tmp_path, Config(), WHOLE)
    assert outcome.counts.gaps == 1
    assert outcome.recorded.seconds == pytest.approx(29 * 60.0)


def test_a_clock_that_jumps_back_is_counted_and_the_rest_is_judged(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("full", "idle")
    for minute in (1, 2, 3, 4, 2, 3, 4, 5, 6):
        told.now = START + 60.0 * minute
        told.read({"full": 1.0, "idle": 0.1}, {})
    told.close()
    outcome = replay(tmp_path, Config(), WHOLE)
    assert outcome.counts.clock_jumps == 1
    assert outcome.recorded.seconds == pytest.approx(7 * 60.0)


def test_a_clock_that_was_ahead_for_a_while_spoils_neither_the_blocks_nor_the_judged_time(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("full", "idle")
    for minute in (1, 2, 3, 4, 100_000, 100_001, 5, 6, 7):
        told.now = START + 60.0 * minute
        told.read({"full": 1.0, "idle": 0.1}, {})
    told.close()
    outcome = replay(tmp_path, Config(), WHOLE)
    assert outcome.until == START + 7 * 60.0
    assert sorted(outcome.recorded_blocks) == [0, 1]
    assert outcome.recorded.seconds == pytest.approx(6 * 60.0)


def test_a_renamed_node_is_another_node_and_its_unknown_name_is_counted(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("old", "idle")
    for minute in range(1, 10):
        told.now = START + 60.0 * minute
        if minute == 5:
            told.recorder.event(NodeGone("old"), told.now)
            told.recorder.snapshot(told.now)
        if minute == 7:
            told.nodes("new")
        told.read({"old" if minute < 5 else "new": 1.0, "idle": 0.1}, {})
    told.close()
    outcome = replay(tmp_path, Config(), WHOLE)
    assert outcome.counts.unknown_nodes == 1
    assert outcome.recorded.utilization == pytest.approx(100 * (6 * 0.25 + 8 * 0.025) / 14, rel=0.1)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def test_a_truncated_file_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    packed_history(tmp_path, 30)
    with HistoryWriter(tmp_path) as writer:
        writer.write_mark("later", time=START + 3600.0)
    truncate(min(tmp_path.glob("segment-*")) / "readings.parquet")
    with pytest.raises(HistoryError, match=r"readings\.parquet: cannot be read"):
        replay(tmp_path, Config())
    with pytest.raises(HistoryError, match="holds no reading"):
        replay(tmp_path, Config(), ReplaySettings(skip_damaged=True))


def test_a_truncated_newest_segment_costs_only_itself(tmp_path: Path) -> None:
    packed_history(tmp_path, 30)
    told = HistoryWriter(tmp_path)
    told.write_event(PodGone("uid-web-5"), time=START + 2000.0)
    told.close()
    truncate(max(tmp_path.glob("segment-*")) / "events.parquet")
    outcome = replay(tmp_path, Config(), WHOLE)
    assert outcome.counts.readings == 30
    assert any("left out" in note for note in outcome.notes)


def test_a_history_of_other_tools_without_marks_is_told_as_a_library_is_told(tmp_path: Path) -> None:
    packed_history(tmp_path / "marked")
    with HistoryWriter(tmp_path / "bare") as writer:
        for record in HistoryReader(tmp_path / "marked").records(kinds=["events", "readings"]):
            writer.write(record.content, time=record.time)
    bare, marked = (replay(tmp_path / name, Config(), WHOLE) for name in ("bare", "marked"))
    assert bare.recorded == marked.recorded
    assert bare.counts.elsewhere == 0, "requests may be recorded by whoever wrote it: nobody is asked about"
