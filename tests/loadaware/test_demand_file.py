"""Learned demand on disk: replaced whole, read back, set aside if it cannot be; and never a reason to stop."""

import logging
import os
import threading
from pathlib import Path

import pytest

from loadaware.demand_file import MOST_BROKEN, DemandFile, Keeping
from loadaware.demand_format import encode
from loadaware.demand_state import DemandState
from loadaware.observer import Observer
from tests.loadaware.builders import GIB, Clock
from tests.loadaware.learned import observer_of, reading_of, rows_of, running_pod
from tests.parts.processes import PATIENCE_SECONDS

NOW = 2000.0


def learned(cores: float = 2.0, pods: int = 1) -> DemandState:
    observer = observer_of(*(running_pod(f"web-{number}") for number in range(pods)))
    observer.feed(reading_of({f"web-{number}": (cores, GIB) for number in range(pods)}, 1000.0), 1000.0)
    return observer.export(NOW)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "demand"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_was_saved_is_loaded(path: Path) -> None:
    assert DemandFile(path).save(learned())
    state = DemandFile(path).load(NOW)
    assert state is not None
    assert rows_of(state) == rows_of(learned())
    assert path.read_bytes().startswith(b"loadaware-demand 1.1 ")
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_not_there_yet_is_no_trouble(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert DemandFile(path).load(NOW) is None
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is no file of learned demand"),
        (b"{}", "it is no file of learned demand"),
        (encode(learned())[:-7], "it was cut off"),
        (encode(learned())[:-1] + b"~", "its checksum is wrong: it was damaged"),
        (encode(learned()).replace(b" 1.1 ", b" 2.3 ", 1), "it is of version 2.3; this loadaware reads 1.x"),
    ],
    ids=["empty", "foreign", "cut off", "damaged", "newer"],
)
def test_a_file_that_cannot_be_read_is_set_aside_with_one_warning_and_a_new_one_takes_its_place(
    path: Path, caplog: pytest.LogCaptureFixture, content: bytes, problem: str
) -> None:
    path.write_bytes(content)
    file = DemandFile(path)
    assert file.load(NOW) is None
    (warning,) = warnings(caplog)
    assert problem in warning
    assert warning.endswith("it is set aside as demand.broken-19700101T003320")
    assert (path.parent / "demand.broken-19700101T003320").read_bytes() == content
    assert file.save(learned())
    assert file.load(NOW) is not None


def test_of_files_set_aside_the_newest_few_are_kept(path: Path) -> None:
    for number in range(MOST_BROKEN + 3):
        path.write_bytes(b"broken")
        DemandFile(path).load(NOW + number)
    kept = sorted(other.name for other in path.parent.iterdir())
    assert kept == [f"demand.broken-19700101T00332{number}" for number in range(3, MOST_BROKEN + 3)]


def test_a_file_of_absurd_size_is_not_even_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("loadaware.demand_file.LARGEST_BYTES", 10)
    path.write_bytes(encode(learned()))
    assert DemandFile(path).load(NOW) is None
    assert "it is larger than 10 bytes" in warnings(caplog)[0]


@pytest.mark.parametrize("place", ["nowhere/demand", "a-file/demand", "a-folder"])
def test_where_nothing_can_be_written_or_read_there_is_one_warning_and_no_end(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "a-folder" / "something").touch()
    file = DemandFile(tmp_path / place)
    assert file.load(NOW) is None
    caplog.clear()
    assert not file.save(learned())
    assert not file.save(learned())
    (warning,) = warnings(caplog)
    assert warning.startswith(f"learned demand is not saved: {tmp_path / place}: ")
    assert not list(tmp_path.glob("**/*.tmp"))


def test_when_saving_works_again_it_is_said_and_the_next_trouble_is_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "volume"
    file = DemandFile(folder / "demand")
    with caplog.at_level(logging.INFO):
        assert not file.save(learned())
        folder.mkdir()
        assert file.save(learned())
        assert file.save(learned())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_however_many_save_at_once_the_file_is_always_a_whole_one(path: Path) -> None:
    states = [learned(pods=count) for count in (1, 40)]
    file, done = DemandFile(path), threading.Event()
    file.save(states[0])

    def save(state: DemandState) -> None:
        while not done.is_set():
            file.save(state)

    threads = [threading.Thread(target=save, args=(state,)) for state in states * 2]
    for thread in threads:
        thread.start()
    try:
        seen = [DemandFile(path).load(NOW) for _ in range(200)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert {len(state.table("pods").names) if state else 0 for state in seen} <= {1, 40}
    assert list(path.parent.iterdir()) == [path]


def test_what_a_killed_process_left_half_written_is_removed_once_it_is_old(path: Path) -> None:
    old, young = path.parent / ".demand.abc.tmp", path.parent / ".demand.def.tmp"
    for begun, time in ((old, 1000.0), (young, 9000.0)):
        begun.touch()
        os.utime(begun, (time, time))
    DemandFile(path).load(10_000.0)
    assert not old.exists()
    assert young.exists()


# -- When it is saved -----------------------------------------------------------------------------------------------


def keeping(path: Path, clock: Clock, states: list[DemandState | None]) -> Keeping:
    return Keeping(DemandFile(path), 300.0, lambda: states[-1], clock)


def test_it_is_saved_at_each_interval_and_not_between(path: Path) -> None:
    clock = Clock()
    keep = keeping(path, clock, [learned()])
    clock.advance(299.0)
    keep.tick()
    assert not path.exists()
    clock.advance(1.0)
    keep.tick()
    keep.close()
    path.unlink()
    clock.advance(299.0)
    keep.tick()
    assert not path.exists()


def test_at_the_end_it_is_saved_as_it_is_then(path: Path) -> None:
    states: list[DemandState | None] = [learned(pods=1)]
    keep = keeping(path, Clock(), states)
    states.append(learned(pods=3))
    keep.close()
    saved = DemandFile(path).load(NOW)
    assert saved is not None
    assert len(saved.table("pods").names) == 3


def test_what_is_not_worth_keeping_does_not_replace_what_is_there(path: Path) -> None:
    DemandFile(path).save(learned())
    before, clock = path.read_bytes(), Clock()
    keep = keeping(path, clock, [None])
    clock.advance(1000.0)
    keep.tick()
    keep.close()
    assert path.read_bytes() == before
    assert not Observer().worth_keeping


def test_a_slow_disk_delays_the_next_saving_and_not_the_caller(path: Path) -> None:
    entered, release = threading.Semaphore(0), threading.Event()

    class Slow(DemandFile):
        def save(self, state: DemandState) -> bool:
            entered.release()
            return release.wait(PATIENCE_SECONDS)

    clock = Clock()
    keep = Keeping(Slow(path), 300.0, learned, clock)
    for _ in range(3):
        clock.advance(300.0)
        keep.tick()
    assert entered.acquire(timeout=PATIENCE_SECONDS)
    assert not entered.acquire(blocking=False)
    release.set()
    keep.close()
    assert entered.acquire(blocking=False)
