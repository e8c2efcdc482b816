"""Writing is cheap, durable within seconds, bounded, and survives what happens to disks and processes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from collectors.errors import HistoryError
from collectors.history import HistoryLimits, HistoryReader, HistoryWriter, Request
from collectors.manifests import Pod
from collectors.reading import Reading
from tests.collectors.recorded_histories import START, VirtualClock, measured, record_readings, sequences, small_reading


def folders(folder: Path) -> list[str]:
    """Parts and segments by kind and numbers: part 1-3."""
    found = sorted(path.name.split("-") for path in folder.iterdir() if path.is_dir())
    return [f"{kind} {int(first)}-{int(last)}" for kind, first, last in found]


# -- When it is on disk ---------------------------------------------------------------------------------------------


def test_a_write_flushes_what_was_told_once_that_is_due(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, HistoryLimits(flush_seconds=5), clock) as writer:
        writer.write_mark("first")
        clock.now += 4.9
        writer.write_mark("second")
        assert folders(tmp_path) == []
        clock.now += 0.1
        writer.write_mark("third")
        assert folders(tmp_path) == ["part 1-3"]


def test_a_write_leaves_the_disk_alone_if_told_to(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, clock=clock, flush_on_write=False) as writer:
        writer.write_mark("first")
        clock.now += 1000
        writer.write_mark("second")
        assert folders(tmp_path) == []
        writer.flush()
        assert folders(tmp_path) == ["part 1-2"]


def test_more_than_may_be_buffered_is_flushed_at_once(tmp_path: Path) -> None:
    limits = HistoryLimits(buffered_bytes=10_000)
    with HistoryWriter(tmp_path, limits, VirtualClock(), flush_on_write=False) as writer:
        writer.write_checkpoint(bytes(4_000))
        assert folders(tmp_path) == []
        writer.write_checkpoint(bytes(6_000))
        assert folders(tmp_path) == ["part 1-2"]


def test_a_clock_that_jumps_back_does_not_stop_the_flushing(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, clock=clock) as writer:
        clock.now -= 86_400
        writer.write_mark("yesterday")
        assert sequences(tmp_path) == [1]


def test_a_flush_with_nothing_told_writes_nothing(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        writer.flush()
    assert folders(tmp_path) == []


# -- Rotation -------------------------------------------------------------------------------------------------------


def test_parts_are_merged_into_a_segment_once_they_are_old_enough(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, HistoryLimits(segment_seconds=3600), clock, flush_on_write=False) as writer:
        for _ in range(3):
            writer.write_reading(small_reading(clock.now))
            writer.flush()
            clock.now += 1200
        assert folders(tmp_path) == ["part 1-1", "part 2-2", "part 3-3"]
        writer.flush()
        assert folders(tmp_path) == ["segment 1-3"]


def test_parts_are_merged_into_a_segment_once_they_are_large_enough(tmp_path: Path) -> None:
    limits = HistoryLimits(segment_bytes=10_000)
    with HistoryWriter(tmp_path, limits, VirtualClock(), flush_on_write=False) as writer:
        for size in (4_000, 4_000, 4_000, 4_000):
            writer.write_checkpoint(bytes(size))
            writer.flush()
        assert folders(tmp_path) == ["part 4-4", "segment 1-3"]


def test_closing_merges_what_is_left(tmp_path: Path) -> None:
    record_readings(tmp_path, [START, START + 1])
    assert folders(tmp_path) == ["segment 1-2"]


def test_readings_of_different_resources_and_names_share_a_segment(tmp_path: Path) -> None:
    rows = measured(("z",), [[7.0]], [START], [1.0])
    with HistoryWriter(tmp_path, clock=VirtualClock(), flush_on_write=False) as writer:
        for reading in (small_reading(START), Reading("gpu", START, ("gpu",), rows), small_reading(START, 2.0)):
            writer.write_reading(reading)
            writer.flush()
    back = [record.content for record in HistoryReader(tmp_path).records()]
    usage = [reading.nodes.usage.tolist() for reading in back if isinstance(reading, Reading)]
    assert usage == [[[1.0, 1.0], [1.0, 1.0]], [[7.0]], [[2.0, 2.0], [2.0, 2.0]]]


# -- Bounds ---------------------------------------------------------------------------------------------------------


def test_the_oldest_segments_are_deleted_once_they_are_too_old(tmp_path: Path) -> None:
    limits = HistoryLimits(segment_seconds=60, max_age_seconds=200)
    record_readings(tmp_path, [START + 60 * i for i in range(8)], limits)
    assert sequences(tmp_path) == [5, 6, 7, 8]


def test_the_oldest_segments_are_deleted_once_the_whole_is_too_large(tmp_path: Path) -> None:
    clock = VirtualClock()
    limits = HistoryLimits(segment_seconds=60, max_bytes=120_000)
    with HistoryWriter(tmp_path, limits, clock, flush_on_write=False) as writer:
        for _ in range(12):
            writer.write_checkpoint(os.urandom(25_000))
            clock.now += 60
            writer.flush()
            assert sum(file.stat().st_size for file in tmp_path.glob("*/*")) <= 120_000
    assert sequences(tmp_path) == [9, 10, 11, 12]


def test_the_newest_checkpoint_and_all_after_it_outlive_the_bounds(tmp_path: Path) -> None:
    clock = VirtualClock()
    limits = HistoryLimits(segment_seconds=60, max_bytes=1, max_age_seconds=1)
    with HistoryWriter(tmp_path, limits, clock, flush_on_write=False) as writer:
        for step in range(8):
            clock.now += 60
            if step in (1, 4):
                writer.write_checkpoint(b"state")
            else:
                writer.write_mark("told")
            writer.flush()
    assert sequences(tmp_path) == [5, 6, 7, 8]


def test_a_clock_that_jumps_ahead_of_the_greatest_age_deletes_nothing(tmp_path: Path) -> None:
    limits = HistoryLimits(segment_seconds=60, max_age_seconds=6000)
    right = [START + 60 * i for i in range(6)]
    record_readings(tmp_path, [*right, START + 1e6, START + 1e6 + 60, START + 360, START + 420], limits)
    assert sequences(tmp_path) == list(range(1, 11))


def test_a_pause_makes_what_lies_before_it_older_by_a_tenth_of_the_greatest_age(tmp_path: Path) -> None:
    """Steps of 600 at most, of which ten make 6000: the oldest two of twelve are older than that."""
    limits = HistoryLimits(segment_seconds=60, max_age_seconds=6000)
    record_readings(tmp_path, [START + 5000 * i for i in range(13)], limits)
    assert sequences(tmp_path) == list(range(3, 14))


def test_without_any_checkpoint_the_newest_segment_is_kept(tmp_path: Path) -> None:
    record_readings(tmp_path, [START + 60 * i for i in range(4)], HistoryLimits(segment_seconds=60, max_bytes=1))
    assert sequences(tmp_path) == [4]


def test_a_checkpoint_is_wanted_once_per_segment(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, HistoryLimits(segment_seconds=60), clock, flush_on_write=False) as writer:
        wanted = [writer.checkpoint_wanted]
        writer.write_checkpoint(b"state")
        wanted.append(writer.checkpoint_wanted)
        clock.now += 60
        writer.flush()
        wanted.append(writer.checkpoint_wanted)
    assert wanted == [True, False, True]


# -- Order ----------------------------------------------------------------------------------------------------------


def test_numbers_are_given_in_order_unless_told(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        assert [writer.write_mark("a"), writer.write_mark("b", sequence=7), writer.write_mark("c")] == [1, 7, 8]
        assert writer.last_sequence == 8


def test_a_number_that_does_not_rise_is_refused(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        writer.write_mark("a", sequence=7)
        with pytest.raises(HistoryError, match="record 7 comes after record 7: sequence numbers must rise"):
            writer.write_mark("b", sequence=7)


def test_a_time_that_is_no_number_is_refused_and_uses_up_no_sequence_number(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        with pytest.raises(ValueError, match="must be a number of seconds"):
            writer.write_mark("a", time=float("nan"))
        assert writer.write_mark("b") == 1


def test_a_new_writer_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    record_readings(tmp_path, [START, START + 60])
    with HistoryWriter(tmp_path, clock=VirtualClock(START + 500)) as writer:
        assert writer.last_sequence == 2
        assert writer.write_mark("restarted") == 3
    assert sequences(tmp_path) == [1, 2, 3]


# -- Accidents ------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_held_off_until_the_first_one_closes(tmp_path: Path) -> None:
    with (
        HistoryWriter(tmp_path, clock=VirtualClock()),
        pytest.raises(HistoryError, match="is being written by another recorder"),
    ):
        HistoryWriter(tmp_path)
    HistoryWriter(tmp_path).close()


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path, clock=VirtualClock())
    writer.close()
    writer.close()
    with pytest.raises(HistoryError, match="was closed"):
        writer.flush()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="file: is no folder that can be written"):
        HistoryWriter(tmp_path / "file")


def test_a_killed_process_loses_only_what_was_not_flushed(tmp_path: Path) -> None:
    code = f"""
import os, signal
from collectors.history import HistoryWriter
writer = HistoryWriter({str(tmp_path)!r}, flush_on_write=False)
writer.write_mark("kept")
writer.write_checkpoint(b"kept too")
writer.flush()
writer.write_mark("lost")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert sequences(tmp_path) == [1, 2]
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        assert writer.write_mark("next") == 3
    assert sequences(tmp_path) == [1, 2, 3]


def test_half_written_and_half_deleted_segments_are_never_read_and_are_swept_up(tmp_path: Path) -> None:
    record_readings(tmp_path, [START])
    segment = next(tmp_path.glob("segment-*"))
    for leftover in (".writing-part-0000000000000002-0000000000000002", ".deleting-" + segment.name):
        shutil.copytree(segment, tmp_path / leftover)
    assert sequences(tmp_path) == [1]
    HistoryWriter(tmp_path, clock=VirtualClock()).close()
    assert folders(tmp_path) == ["segment 1-1"]


def test_parts_that_a_crash_left_beside_their_segment_are_not_read_twice(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, clock=clock, flush_on_write=False) as writer:
        for _ in range(3):
            writer.write_mark("told")
            writer.flush()
        shutil.copytree(tmp_path, tmp_path.with_name("copy"), ignore=shutil.ignore_patterns("segment-*"))
    for part in tmp_path.with_name("copy").glob("part-*"):
        shutil.copytree(part, tmp_path / part.name)
    assert sequences(tmp_path) == [1, 2, 3]
    HistoryWriter(tmp_path, clock=clock).close()
    assert folders(tmp_path) == ["segment 1-3"]


def test_a_damaged_segment_is_set_aside_by_the_next_writer_and_noted(tmp_path: Path) -> None:
    limits = HistoryLimits(segment_seconds=30)
    record_readings(tmp_path, [START + 60, START + 120], limits)
    newest = max(tmp_path.glob("segment-*"))
    (newest / "nodes.parquet").write_bytes(b"PAR1")
    with HistoryWriter(tmp_path, limits, VirtualClock(START + 180)) as writer:
        assert writer.write_reading(small_reading(START + 180)) == 3
    reader = HistoryReader(tmp_path)
    assert [record.sequence for record in reader.records()] == [1, 3]
    assert [path.name for path in (tmp_path / "damaged").iterdir()] == [newest.name]
    assert "set aside by the recorder" in reader.notes[0]


def test_a_part_damaged_before_it_is_merged_does_not_stop_the_others(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock(), flush_on_write=False) as writer:
        for _ in range(3):
            writer.write_reading(small_reading(START))
            writer.flush()
        (sorted(tmp_path.glob("part-*"))[1] / "nodes.parquet").write_bytes(b"")
    assert sequences(tmp_path) == [1, 3]


def test_what_the_disk_refuses_is_kept_and_written_when_it_can_be(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with HistoryWriter(folder, clock=VirtualClock(), flush_on_write=False) as writer:
        writer.write_mark("first")
        shutil.move(folder, tmp_path / "away")
        with pytest.raises(HistoryError, match="history: cannot be written: No such file or directory"):
            writer.flush()
        writer.write_mark("second")
        shutil.move(tmp_path / "away", folder)
    assert sequences(folder) == [1, 2]
    assert writer.dropped == 0


def test_what_the_disk_refuses_for_too_long_is_dropped_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    limits = HistoryLimits(buffered_bytes=10_000)
    with HistoryWriter(folder, limits, VirtualClock(), flush_on_write=False) as writer:
        shutil.move(folder, tmp_path / "away")
        writer.write_mark("small")
        with pytest.raises(HistoryError, match="cannot be written"):
            writer.write_checkpoint(bytes(20_000))
        shutil.move(tmp_path / "away", folder)
        writer.write_mark("later")
    assert writer.dropped == 2
    assert sequences(folder) == [3]


def test_a_record_that_no_column_can_hold_does_not_take_others_with_it(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        writer.write_mark("before")
        writer.write_request(Request("filter", "", Pod(), ("half of a character: \ud800",)))
        writer.write_mark("after")
    assert writer.dropped == 1
    assert sequences(tmp_path) == [1, 3]


def test_telling_and_flushing_at_the_same_time_loses_nothing(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock(), flush_on_write=False) as writer:
        tellers = [Thread(target=lambda: [writer.write_mark("told") for _ in range(500)]) for _ in range(3)]
        for teller in tellers:
            teller.start()
        while any(teller.is_alive() for teller in tellers):
            writer.flush()
        for teller in tellers:
            teller.join()
    assert sequences(tmp_path) == list(range(1, 1501))
