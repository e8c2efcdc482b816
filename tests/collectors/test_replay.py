"""A replay plays what was recorded at any speed, under a clock that only moves by waiting."""

import math
from itertools import islice
from pathlib import Path

import pytest

from collectors.cluster import Event, NodeSeen, PodSeen, Relisted
from collectors.errors import CollectorError, HistoryError
from collectors.history import Answer, Checkpoint, HistoryLimits, HistoryWriter, Mark, Request
from collectors.manifests import Node, Pod
from collectors.reading import Collector, HasHistory, Reading
from collectors.replay import Replay
from tests.collectors.recorded_histories import START, VirtualClock, assert_same_reading, record_readings, small_reading

NOW = START + 1_000_000.0
MINUTES = [START + 60 * i for i in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five readings, a minute apart."""
    made = tmp_path_factory.mktemp("readings")
    record_readings(made, MINUTES, HistoryLimits(segment_seconds=90))
    return made


def replay(folder: Path, clock: VirtualClock, speed: float = 1.0, **options: object) -> Replay:
    return Replay(folder, speed, clock, clock.wait, **options)  # type: ignore[arg-type] # passed on as they are


# -- Readings -------------------------------------------------------------------------------------------------------


def test_it_is_a_collector_with_a_past(folder: Path) -> None:
    played = Replay(folder)
    assert isinstance(played, Collector)
    assert isinstance(played, HasHistory)


@pytest.mark.parametrize(("speed", "step"), [(1.0, 60.0), (60.0, 1.0), (0.5, 120.0)])
def test_readings_come_at_the_speed_asked_for(folder: Path, speed: float, step: float) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, speed)
    arrivals = []
    for _ in MINUTES:
        played.read()
        arrivals.append(clock.now - NOW)
    assert arrivals == pytest.approx([0, step, 2 * step, 3 * step, 4 * step])
    assert played.skipped == 0


def test_at_infinite_speed_the_next_reading_is_there_at_every_call(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, math.inf, keep_times=True)
    assert [played.read().time for _ in MINUTES] == MINUTES
    assert clock.waits == []


def test_whoever_asks_late_gets_the_newest_reading_that_is_due(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, keep_times=True)
    played.read()
    clock.now += 200
    assert played.read().time == MINUTES[3]
    assert played.skipped == 2
    assert clock.waits == []
    assert played.read().time == MINUTES[4]
    assert clock.now == NOW + 240


def test_the_end_is_an_error_that_says_so_every_time(folder: Path) -> None:
    played = replay(folder, VirtualClock(), math.inf)
    for _ in MINUTES:
        played.read()
    for _ in range(2):
        with pytest.raises(CollectorError, match="has ended: every reading was played"):
            played.read()


def test_kept_times_are_exactly_those_recorded(folder: Path) -> None:
    played = replay(folder, VirtualClock(NOW), 60, keep_times=True)
    assert_same_reading(played.read(), small_reading(START))


def test_times_are_moved_to_the_present(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock)
    played.read()
    reading = played.read()
    assert reading.time == clock.now == NOW + 60
    assert reading.nodes.times.tolist() == [NOW + 59, NOW + 59]
    assert reading.nodes.windows.tolist() == [30, 30]
    assert reading.nodes.usage.tolist() == small_reading(START).nodes.usage.tolist()


def test_at_sixty_times_the_speed_sample_windows_are_a_sixtieth(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, 60)
    played.read()
    reading = played.read()
    assert reading.time == clock.now == NOW + 1
    assert reading.nodes.times.tolist() == pytest.approx([NOW + 1 - 1 / 60] * 2)
    assert reading.nodes.windows.tolist() == [0.5, 0.5]


def test_at_infinite_speed_every_reading_is_now_and_its_samples_keep_their_age(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, math.inf)
    played.read()
    clock.now += 7
    reading = played.read()
    assert reading.time == NOW + 7
    assert reading.nodes.times.tolist() == [NOW + 6, NOW + 6]


def test_a_loop_begins_again_and_its_times_go_on(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, loop=True)
    times = [played.read().time - NOW for _ in range(12)]
    assert times == pytest.approx([60 * i for i in range(12)], abs=1e-3)


def test_a_loop_at_infinite_speed_begins_again(folder: Path) -> None:
    played = replay(folder, VirtualClock(NOW), math.inf, loop=True)
    assert len([played.read() for _ in range(12)]) == 12


def test_only_the_span_asked_for_is_played(folder: Path) -> None:
    played = replay(folder, VirtualClock(NOW), math.inf, keep_times=True, since=MINUTES[1], until=MINUTES[3])
    assert [played.read().time for _ in range(2)] == MINUTES[1:3]
    with pytest.raises(HistoryError, match="has ended"):
        played.read()


def test_what_was_recorded_before_the_span_fills_a_window(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, since=MINUTES[3])
    assert [reading.time - NOW for reading in played.history(NOW - 130)] == [-120, -60]
    assert played.read().time == NOW
    kept = replay(folder, clock, math.inf, keep_times=True, since=MINUTES[3])
    assert [reading.time for reading in kept.history(MINUTES[2])] == [MINUTES[2]]
    fast = replay(folder, clock, math.inf, since=MINUTES[3])
    assert [reading.time - clock.now for reading in fast.history(clock.now - 60)] == [-60]


def test_a_replay_from_the_beginning_has_no_past(folder: Path) -> None:
    assert list(replay(folder, VirtualClock(NOW)).history(0.0)) == []


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan])
def test_a_speed_that_never_gets_there_is_refused(folder: Path, speed: float) -> None:
    with pytest.raises(ValueError, match="speed must be above 0"):
        Replay(folder, speed)


def test_a_loop_with_kept_times_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="a loop cannot keep its times"):
        Replay(folder, loop=True, keep_times=True)


def test_a_span_without_records_and_a_folder_without_history_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="has nothing from"):
        Replay(folder, since=MINUTES[4] + 1)
    with pytest.raises(HistoryError, match="is not a folder"):
        Replay(tmp_path / "missing")


def test_now_is_the_recorded_moment_that_is_being_played(folder: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(folder, clock, 60, keep_times=True)
    for moment in MINUTES:
        played.read()
        assert played.now() == pytest.approx(moment)
    fast = replay(folder, clock, math.inf, keep_times=True)
    assert fast.now() == START
    assert [(fast.read().time, fast.now()) for _ in MINUTES] == [(moment, moment) for moment in MINUTES]


# -- Everything the core is told ------------------------------------------------------------------------------------

POD = Pod(name="cart", created_at=START + 1, bound_at=START + 5, deleted_at=None)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node, a pod, a request and its answer, a checkpoint and a reading, ten seconds apart."""
    made, clock = tmp_path_factory.mktemp("told"), VirtualClock()
    with HistoryWriter(made, clock=clock) as writer:
        for content in (
            NodeSeen(Node(name="a", created_at=START - 100)),
            PodSeen(POD),
            Request("prioritize", "", POD, ("a",)),
            Answer(3, (30,)),
            Checkpoint(b"state"),
            Mark("snapshot"),
            small_reading(START + 60),
        ):
            writer.write(content)
            clock.now += 10
    return made


def test_every_record_is_played_in_order_and_in_time(told: Path) -> None:
    clock = VirtualClock(NOW)
    played = [(record.sequence, round(clock.now - NOW)) for record in replay(told, clock, keep_times=True).records()]
    assert played == [(1, 0), (2, 10), (3, 20), (4, 30), (5, 40), (6, 50), (7, 60)]


def test_records_at_infinite_speed_are_exactly_those_told(told: Path) -> None:
    records = list(replay(told, VirtualClock(NOW), math.inf, keep_times=True).records())
    assert [record.time - START for record in records] == [0, 10, 20, 30, 40, 50, 60]
    assert records[1].content == PodSeen(POD)
    assert records[2].content == Request("prioritize", "", POD, ("a",))
    assert records[3].content == Answer(3, (30,))
    assert isinstance(records[6].content, Reading)


def test_pods_and_nodes_move_to_the_present_with_the_records(told: Path) -> None:
    contents = [record.content for record in replay(told, VirtualClock(NOW)).records()]
    moved = Pod(name="cart", created_at=NOW + 1, bound_at=NOW + 5)
    assert contents[0] == NodeSeen(Node(name="a", created_at=NOW - 100))
    assert contents[1] == PodSeen(moved)
    assert contents[2] == Request("prioritize", "", moved, ("a",))
    assert contents[4] == Checkpoint(b"state")


def test_events_are_those_of_the_cluster_alone_on_the_time_of_the_readings(told: Path) -> None:
    clock = VirtualClock(NOW)
    played = replay(told, clock, keep_times=True)
    assert list(played.events()) == [NodeSeen(Node(name="a", created_at=START - 100)), PodSeen(POD)]
    assert clock.now == NOW + 10
    assert played.read().time == START + 60
    assert clock.now == NOW + 60


def test_a_loop_of_events_begins_by_forgetting_everything(told: Path) -> None:
    events: list[Event] = list(islice(replay(told, VirtualClock(NOW), math.inf, loop=True).events(), 7))
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["NodeSeen", "PodSeen", "Relisted", "Relisted", "Relisted", "NodeSeen", "PodSeen"]
    forgotten = [event for event in events if isinstance(event, Relisted)]
    assert {event.kind for event in forgotten} == {"nodes", "pods", "namespaces"}
    assert all(event.present == frozenset() for event in forgotten)


def test_a_loop_over_a_history_without_events_ends_instead_of_spinning(folder: Path) -> None:
    assert list(replay(folder, VirtualClock(NOW), math.inf, loop=True).events()) == []
