"""A history gives back what was told, in order, while it is written and after accidents."""

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from collectors.cluster import (
    Event,
    Forbidden,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Relisted,
)
from collectors.errors import CollectorError, HistoryError
from collectors.history import (
    RECORD_KINDS,
    Answer,
    Checkpoint,
    Content,
    Gap,
    HistoryLimits,
    HistoryReader,
    HistoryWriter,
    Mark,
    Record,
    Request,
)
from collectors.history.schema import decode, encode, kind_of
from collectors.history.segments import OpenSegment, SegmentGoneError, list_segments
from collectors.manifests import Namespace, Node, Owner, Pod, shape_of
from collectors.reading import Measurements, Reading
from tests.collectors.recorded_histories import (
    START,
    GeneratedCluster,
    VirtualClock,
    assert_same,
    measured,
    record_readings,
    sequences,
    small_reading,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "history-format.md"
SHAPE = shape_of((((("cpu", 0.25),), (("cpu", 0.5),)),), overhead=(("cpu", 0.1),))
POD = Pod(
    namespace="shop",
    name="cart-1",
    uid="u-1",
    node="a",
    phase="Running",
    shape=SHAPE,
    owner=Owner("ReplicaSet", "cart"),
    labels={"app": "cart", "": "empty"},
    annotations={"note": "ä\n\x00"},
    images=("cart:1",),
    priority=-5,
    created_at=START - 10.123456789,
    bound_at=START - 9,
    nominated_node="b",
)
NODE = Node(name="a", labels={"zone": "1"}, capacity=(("cpu", 4.0),), addresses=("10.0.0.1",), ready=False)
EVENTS: tuple[Event, ...] = (
    NodeSeen(NODE),
    PodSeen(POD),
    NamespaceSeen(Namespace("shop", {"loadaware": "off"})),
    Relisted("pods", frozenset({"u-1", "u-2"})),
    Relisted("nodes", frozenset()),
    Forbidden("pods", "no in-flight pods"),
    PodGone("u-1"),
    NodeGone("a"),
    NamespaceGone("shop"),
)
READINGS = (
    small_reading(START),
    Reading("none", START, ("cpu",), Measurements.empty(1), Measurements.empty(1)),
    Reading(
        source="load-watcher",
        time=START,
        resources=("cpu", "memory", "nvidia.com/gpu"),
        nodes=measured(("x",), [[0.1, float("nan"), 0.3]], [START], [float("nan")]),
        pods=None,
        base="capacity",
        node_deviation=np.array([[0.01, 0.02, float("nan")]]),
        notes=("one series matched no node",),
    ),
    Reading(
        source="metrics-server",
        time=START,
        resources=("cpu", "memory"),
        nodes=measured(("a",), [[-0.0, 5e-324]], [START], [15.032]),
        pods=measured(("shop/cart-1", "shop/cart-2"), [[0.1, 1e9], [0.3, 2e9]], [START, START], [15.0, 16.0]),
    ),
)
CONTENTS: tuple[Content, ...] = (
    Checkpoint(b"state 1"),
    *EVENTS,
    *READINGS,
    Request("prioritize", "default", POD, ("a", "b", "c"), b"victims"),
    Answer(15, (30, 0, 12), (100.0, 0.1, 40.0), (), b"why"),
    Request("filter", "", Pod(), ()),
    Answer(17, (), (), (None, "too hot", None)),
    Mark("snapshot", b"\x00\xff"),
    Checkpoint(b"state 2"),
)


def written(folder: Path, contents: tuple[Content, ...], limits: HistoryLimits | None = None) -> list[Record]:
    """A history of these contents one second apart; the records as told."""
    clock = VirtualClock()
    told = []
    with HistoryWriter(folder, limits, clock) as writer:
        for content in contents:
            told.append(Record(writer.write(content), clock.now, content))
            clock.now += 1
    return told


def assert_all_same(recorded: list[Record], told: list[Record]) -> None:
    assert len(recorded) == len(told)
    for ours, theirs in zip(recorded, told, strict=True):
        assert_same(ours, theirs)


# -- What comes back ------------------------------------------------------------------------------------------------


def test_every_kind_of_record_comes_back_exactly_and_in_order(tmp_path: Path) -> None:
    told = written(tmp_path, CONTENTS)
    assert {kind_of(record.content) for record in told} == set(RECORD_KINDS)
    assert_all_same(list(HistoryReader(tmp_path).records()), told)


def test_records_come_back_the_same_from_parts_and_from_merged_segments(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, clock=clock, flush_on_write=False) as writer:
        told = []
        for content in CONTENTS:
            told.append(Record(writer.write(content), clock.now, content))
            writer.flush()
        assert len(list(tmp_path.glob("part-*"))) == len(CONTENTS)
        assert_all_same(list(HistoryReader(tmp_path).records()), told)
    assert len(list(tmp_path.glob("segment-*"))) == 1
    assert_all_same(list(HistoryReader(tmp_path).records()), told)


resource_names = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3, unique=True).map(tuple)
any_floats = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def any_rows(draw: st.DrawFn, resources: int) -> Measurements:
    names = draw(st.lists(st.text(max_size=12), max_size=5).map(tuple))
    arrays = [
        draw(st_numpy.arrays("f8", shape, elements=any_floats))
        for shape in ((len(names), resources), len(names), len(names))
    ]
    return Measurements(names, *arrays)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    resources = draw(resource_names)
    nodes = draw(any_rows(len(resources)))
    shape = nodes.usage.shape
    return Reading(
        source=draw(st.text(max_size=5)),
        time=draw(st.floats(allow_nan=False)),
        resources=resources,
        nodes=nodes,
        pods=draw(st.none() | any_rows(len(resources))),
        base=draw(st.sampled_from(("absolute", "capacity"))),
        node_deviation=draw(st.none() | st_numpy.arrays("f8", shape, elements=any_floats)),
        notes=draw(st.lists(st.text(max_size=5), max_size=2).map(tuple)),
    )


def through_tables(contents: list[Content]) -> tuple[list[Record], list[Record]]:
    """As told, and as it comes back from tables in small batches."""
    told = [Record(number, float(number), content) for number, content in enumerate(contents, start=1)]
    tables = encode(told)
    back = [r for k in RECORD_KINDS for r in decode(k, lambda t: iter(tables[t].to_batches(2) if t in tables else ()))]
    return told, sorted(back, key=lambda record: record.sequence)


@given(st.lists(readings(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_reading_comes_back_to_the_last_bit_not_measured_included(told_readings: list[Reading]) -> None:
    told, back = through_tables(list(told_readings))
    assert_all_same(back, told)


@given(st.lists(readings(), min_size=1, max_size=3))
@settings(max_examples=10, deadline=None)
def test_any_reading_comes_back_from_disk_whatever_the_others_measured(told_readings: list[Reading]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = written(Path(folder), tuple(told_readings), HistoryLimits(flush_seconds=0.5))
        assert_all_same(list(HistoryReader(folder).records()), told)


words = st.text(max_size=8)
texts = st.dictionaries(words, words, max_size=3)
# None below zero: a shape adds amounts up, and endless ones of both signs make NaN, which is not even equal to itself.
amounts = st.lists(st.tuples(words, st.floats(min_value=0.0)), max_size=3).map(tuple)
declared = st.lists(st.tuples(amounts, amounts), max_size=2).map(tuple)
moments = st.none() | st.floats(allow_nan=False)
pods = st.builds(
    Pod,
    namespace=words,
    name=words,
    uid=words,
    node=st.none() | words,
    phase=words,
    shape=st.builds(shape_of, declared, declared, amounts),
    owner=st.none() | st.builds(Owner, words, words),
    labels=texts,
    annotations=texts,
    images=st.lists(words, max_size=2).map(tuple),
    scheduler_name=words,
    priority=st.integers(-(2**31), 2**31 - 1),
    created_at=moments,
    bound_at=moments,
    deleted_at=moments,
    nominated_node=st.none() | words,
)
nodes = st.builds(
    Node,
    name=words,
    labels=texts,
    annotations=texts,
    capacity=amounts,
    allocatable=amounts,
    addresses=st.lists(words, max_size=2).map(tuple),
    unschedulable=st.booleans(),
    ready=st.booleans(),
    created_at=moments,
)


@given(st.lists(st.builds(PodSeen, pods) | st.builds(NodeSeen, nodes), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_pod_and_node_comes_back_exactly(events: list[Content]) -> None:
    told, back = through_tables(events)
    assert back == told


@given(
    st.lists(st.builds(Request, words, words, pods, st.lists(words, max_size=4).map(tuple), st.binary()), max_size=3)
)
@settings(max_examples=20, deadline=None)
def test_any_request_comes_back_exactly(asked: list[Content]) -> None:
    told, back = through_tables(asked)
    assert back == told


def test_replicas_share_one_shape_again_when_read() -> None:
    twin = msgspec.structs.replace(POD, name="cart-2", uid="u-2")
    _, back = through_tables([PodSeen(POD), PodSeen(twin), Request("filter", "", POD)])
    shapes = [record.content.pod.shape for record in back if isinstance(record.content, PodSeen | Request)]
    assert shapes[0] is shapes[1] is shapes[2]


def test_names_that_do_not_change_are_kept_once(tmp_path: Path) -> None:
    written(tmp_path, (small_reading(1.0), small_reading(2.0), small_reading(3.0, names=("a", "c"))))
    names = [r.content.nodes.names for r in HistoryReader(tmp_path).records() if isinstance(r.content, Reading)]
    assert names[0] is names[1]
    assert names[2] == ("a", "c")


# -- Which records are read -----------------------------------------------------------------------------------------


def test_records_are_chosen_by_time_from_since_to_before_until(tmp_path: Path) -> None:
    record_readings(tmp_path, [START + 60 * i for i in range(6)])
    chosen = HistoryReader(tmp_path).records(since=START + 60, until=START + 180)
    assert [record.time - START for record in chosen] == [60, 120]


def test_records_are_chosen_by_sequence_number_and_by_kind(tmp_path: Path) -> None:
    told = written(tmp_path, CONTENTS)
    assert [r.sequence for r in HistoryReader(tmp_path).records(after=18)] == [19, 20]
    events = list(HistoryReader(tmp_path).records(kinds=["events"]))
    assert [record.content for record in events] == list(EVENTS)
    both = HistoryReader(tmp_path).records(kinds=["marks", "answers"])
    assert [r.sequence for r in both] == [r.sequence for r in told if isinstance(r.content, Mark | Answer)]


def test_the_newest_checkpoint_before_a_time_is_found(tmp_path: Path) -> None:
    told = written(tmp_path, CONTENTS, HistoryLimits(flush_seconds=1, segment_seconds=5))
    reader = HistoryReader(tmp_path)
    assert reader.checkpoint() == told[-1]
    assert reader.checkpoint(before=told[-1].time - 0.5) == told[0]
    assert reader.checkpoint(before=START - 1) is None


def test_a_reader_holds_a_small_part_of_the_history(tmp_path: Path) -> None:
    cluster, clock = GeneratedCluster(nodes=10, pods=1000), VirtualClock()
    with HistoryWriter(tmp_path, HistoryLimits(segment_seconds=120), clock, flush_on_write=False) as writer:
        for _ in range(24):
            writer.write_reading(cluster.read(clock.now))
            clock.now += 60
            writer.flush()
    whole = sum(pq.read_table(file).nbytes for file in HistoryReader(tmp_path).files("pods"))
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in HistoryReader(tmp_path).records())
    assert most < whole / 3


# -- While it is written --------------------------------------------------------------------------------------------


def test_a_reader_sees_each_record_once_while_parts_are_merged_under_it(tmp_path: Path) -> None:
    clock = VirtualClock()
    with HistoryWriter(tmp_path, HistoryLimits(segment_seconds=30), clock, flush_on_write=False) as writer:
        for _ in range(5):
            writer.write_mark("before")
            writer.flush()
        records = HistoryReader(tmp_path).records()
        seen = [next(records).sequence, next(records).sequence]
        clock.now += 60
        for _ in range(3):
            writer.write_mark("after")
        writer.flush()
        assert [path.name[:7] for path in tmp_path.iterdir() if path.is_dir()] == ["segment"]
        seen += [record.sequence for record in records]
    assert seen == list(range(1, 9))


def test_a_reader_finishes_a_segment_that_is_deleted_under_it_and_goes_on(tmp_path: Path) -> None:
    clock = VirtualClock()
    limits = HistoryLimits(segment_seconds=60, max_age_seconds=100)
    with HistoryWriter(tmp_path, limits, clock, flush_on_write=False) as writer:
        for _ in range(2):
            writer.write_mark("old")
            writer.write_mark("old")
            clock.now += 60
            writer.flush()
        records = HistoryReader(tmp_path).records()
        assert next(records).sequence == 1
        clock.now += 1000
        writer.write_mark("new")
        writer.flush()
        assert sequences(tmp_path) == [3, 4, 5]
        assert [record.sequence for record in records] == [2, 3, 4, 5]


def test_a_segment_that_left_since_the_folder_was_listed_is_gone_not_damaged(tmp_path: Path) -> None:
    record_readings(tmp_path, [START])
    segment = list_segments(tmp_path)[0]
    shutil.rmtree(segment.path)
    with pytest.raises(SegmentGoneError):
        OpenSegment(segment)


def test_readers_never_miss_a_record_while_a_writer_flushes_and_merges(tmp_path: Path) -> None:
    clock = VirtualClock()
    limits = HistoryLimits(segment_seconds=4)
    with HistoryWriter(tmp_path, limits, clock, flush_on_write=False) as writer:
        writer.write_checkpoint(b"state")
        writer.flush()

        def write() -> None:
            for _ in range(40):
                writer.write_mark("told")
                clock.now += 1
                writer.flush()

        recorder = Thread(target=write)
        recorder.start()
        while recorder.is_alive():
            seen = sequences(tmp_path)
            assert seen == list(range(1, len(seen) + 1))
            assert HistoryReader(tmp_path).checkpoint() is not None
        recorder.join()
    assert sequences(tmp_path) == list(range(1, 42))


def test_what_is_not_flushed_is_not_seen(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        writer.write_mark("waiting")
        with pytest.raises(HistoryError, match="no finished segment: record first, or wait"):
            HistoryReader(tmp_path).records()
    assert sequences(tmp_path) == [1]


# -- Accidents ------------------------------------------------------------------------------------------------------


def segments_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("segment-*"))


def three_segments(folder: Path) -> list[Path]:
    record_readings(folder, [START + 60 * i for i in (1, 2, 3)], HistoryLimits(segment_seconds=30))
    found = segments_of(folder)
    assert len(found) == 3
    return found


def cut(path: Path, share: float = 0.5) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    file.write_text("")
    for path in (file, tmp_path / "missing"):
        with pytest.raises(HistoryError, match=rf"{path.name}: is not a folder"):
            HistoryReader(path)


@pytest.mark.parametrize("leftover", ["", ".writing-part-0000000000000001-0000000000000002", "notes"])
def test_a_folder_without_a_finished_segment_is_refused(tmp_path: Path, leftover: str) -> None:
    (tmp_path / leftover).mkdir(exist_ok=True)
    for ask in ("records", "summary", "span", "checkpoint"):
        with pytest.raises(CollectorError, match="holds no finished segment"):
            getattr(HistoryReader(tmp_path), ask)()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_newest_segment_is_left_out_with_a_note(tmp_path: Path, share: float) -> None:
    newest = three_segments(tmp_path)[-1]
    cut(newest / "nodes.parquet", share)
    reader = HistoryReader(tmp_path)
    assert [record.sequence for record in reader.records()] == [1, 2]
    assert len(reader.notes) == 1
    assert "nodes.parquet: cannot be read" in reader.notes[0]
    assert reader.summary().notes == reader.notes


def test_a_truncated_older_segment_is_refused_by_name_with_what_to_do(tmp_path: Path) -> None:
    segment = three_segments(tmp_path)[1]
    cut(segment / "readings.parquet")
    records = HistoryReader(tmp_path).records()
    assert next(records).sequence == 1
    with pytest.raises(HistoryError, match=rf"{segment.name}/readings.parquet: .* move {segment.name} out of"):
        next(records)


def test_all_damaged_segments_are_left_out_if_asked_for(tmp_path: Path) -> None:
    first, second, _ = three_segments(tmp_path)
    cut(first / "nodes.parquet")
    (second / "nodes.parquet").unlink()
    reader = HistoryReader(tmp_path, skip_damaged=True)
    assert [record.sequence for record in reader.records()] == [3]
    assert len(reader.notes) == 2
    assert "2 rows should be in it" in reader.notes[1]


def test_a_history_of_nothing_but_damage_is_refused(tmp_path: Path) -> None:
    record_readings(tmp_path, [START])
    cut(segments_of(tmp_path)[0] / "nodes.parquet")
    with pytest.raises(HistoryError, match="nothing in it can be read: left out"):
        HistoryReader(tmp_path).summary()


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    written(tmp_path, (Checkpoint(bytes(range(256)) * 40),))
    file = segments_of(tmp_path)[0] / "checkpoints.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    file.write_bytes(content)
    with pytest.raises(HistoryError, match=r"checkpoints.parquet: cannot be read"):
        list(HistoryReader(tmp_path).records())


def rewritten(file: Path, facts: bytes | None) -> None:
    table = pq.read_table(file)
    pq.write_table(table.replace_schema_metadata({b"loadaware.history": facts} if facts else None), file)


def test_another_format_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    record_readings(tmp_path, [START])
    for file in segments_of(tmp_path)[0].iterdir():
        rewritten(file, b'{"version": 99}')
    expected = "has format version 99, this release reads 1: read it with the release that wrote it"
    with pytest.raises(HistoryError, match=expected):
        list(HistoryReader(tmp_path).records())
    with pytest.raises(HistoryError, match=expected):
        HistoryWriter(tmp_path)


def test_a_parquet_file_of_something_else_is_refused(tmp_path: Path) -> None:
    record_readings(tmp_path, [START])
    rewritten(segments_of(tmp_path)[0] / "nodes.parquet", None)
    with pytest.raises(HistoryError, match="a Parquet file, but not of a history"):
        list(HistoryReader(tmp_path).records())


def test_rows_that_belong_to_another_reading_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    record_readings(one, [START])
    with HistoryWriter(two, clock=VirtualClock()) as writer:
        writer.write_reading(small_reading(START), sequence=5)
    other = pq.read_table(next(two.glob("segment-*")) / "nodes.parquet")
    mine = segments_of(one)[0] / "nodes.parquet"
    pq.write_table(other.replace_schema_metadata(pq.read_schema(mine).metadata), mine)
    with pytest.raises(HistoryError, match="rows of another reading where those of record 1 should be"):
        list(HistoryReader(one).records())


def test_two_histories_in_one_folder_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    record_readings(one, [START, START + 1])
    record_readings(two, [START, START + 1, START + 2])
    shutil.copytree(segments_of(two)[0], one / segments_of(two)[0].name)
    with pytest.raises(HistoryError, match="are these two histories"):
        list(HistoryReader(one).records())


def test_without_pyarrow_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for open_history in (HistoryReader, HistoryWriter):
        with pytest.raises(HistoryError, match=r"needs pyarrow: pip install 'loadaware\[history\]'"):
            open_history(tmp_path)


def test_naming_a_history_does_not_load_pyarrow() -> None:
    code = "import sys, collectors.replay; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- At a glance ----------------------------------------------------------------------------------------------------


def test_the_summary_counts_what_is_there(tmp_path: Path) -> None:
    written(tmp_path, CONTENTS)
    summary = HistoryReader(tmp_path).summary()
    assert (summary.earliest, summary.latest) == (START, START + len(CONTENTS) - 1)
    assert summary.records == {
        "events": 9, "readings": 4, "requests": 2, "answers": 2, "checkpoints": 2, "marks": 1,
    }  # fmt: skip
    assert sum(summary.verbs.values()) == 2
    assert (summary.nodes, summary.pods) == (3, 2)
    assert (summary.node_samples, summary.pod_samples) == (4, 2)
    assert summary.resources == ("cpu", "memory", "nvidia.com/gpu")
    assert summary.size == sum(file.stat().st_size for file in tmp_path.glob("*/*"))
    assert (summary.segments, summary.gaps, summary.missing_records, summary.clock_jumps) == (1, (), 0, 0)
    assert summary.notes == ()


def test_the_summary_tells_of_gaps_between_readings(tmp_path: Path) -> None:
    record_readings(tmp_path, [START, START + 60, START + 120, START + 1000, START + 1060])
    summary = HistoryReader(tmp_path).summary()
    assert summary.interval_seconds == 60
    assert summary.gaps == (Gap(START + 120, START + 1000),)


def test_a_clock_that_jumps_back_changes_no_order_and_is_told(tmp_path: Path) -> None:
    record_readings(tmp_path, [START, START + 60, START - 3600, START - 3540], HistoryLimits(segment_seconds=30))
    reader = HistoryReader(tmp_path)
    assert [record.sequence for record in reader.records()] == [1, 2, 3, 4]
    assert [record.sequence for record in reader.records(until=START)] == [3, 4]
    assert reader.summary().clock_jumps == 1
    assert (reader.span().earliest, reader.span().latest) == (START - 3600, START + 60)


def test_a_clock_that_was_ahead_for_a_while_does_not_lengthen_a_history(tmp_path: Path) -> None:
    record_readings(tmp_path, [START, START + 60, START + 1e6, START + 120, START + 180])
    span = HistoryReader(tmp_path).span()
    assert (span.latest, span.end) == (START + 1e6, START + 180)
    assert span.bounds(None, None) == (START, START + 180)
    assert span.bounds(START + 60, START + 500) == (START + 60, START + 180)


def damage_inside(folder: Path, table: str = "nodes") -> None:
    """Of the oldest segment: the file opens, its first page is not what it was."""
    file = min(folder.glob("segment-*")) / f"{table}.parquet"
    content = bytearray(file.read_bytes())
    content[60:70] = bytes(10)
    file.write_bytes(content)


def test_damage_inside_a_file_is_named_and_what_lies_behind_it_can_be_left_out(tmp_path: Path) -> None:
    record_readings(tmp_path, [START + 60 * i for i in range(4)])
    record_readings(tmp_path, [START + 600 + 60 * i for i in range(3)])
    damage_inside(tmp_path)
    with pytest.raises(HistoryError, match=r"nodes\.parquet: cannot be read"):
        list(HistoryReader(tmp_path).records())
    reader = HistoryReader(tmp_path, skip_damaged=True)
    assert [record.sequence for record in reader.records()] == [5, 6, 7]
    assert any("nodes.parquet" in note for note in reader.notes)


def test_a_summary_of_a_folder_with_damage_inside_leaves_that_segment_out(tmp_path: Path) -> None:
    record_readings(tmp_path, [START + 60 * i for i in range(4)])
    record_readings(tmp_path, [START + 600 + 60 * i for i in range(3)])
    damage_inside(tmp_path, "readings")
    with pytest.raises(HistoryError, match=r"readings\.parquet: cannot be read"):
        HistoryReader(tmp_path).summary()
    summary = HistoryReader(tmp_path, skip_damaged=True).summary()
    assert summary.records["readings"] == 3
    assert any("readings.parquet" in note for note in summary.notes)


def test_the_summary_counts_numbers_that_no_record_has(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path, clock=VirtualClock()) as writer:
        for sequence in (10, 11, 15):
            writer.write_mark("told", sequence=sequence)
    assert HistoryReader(tmp_path).summary().missing_records == 3


# -- Size and other tools -------------------------------------------------------------------------------------------


def test_a_pod_sample_takes_about_eleven_bytes(tmp_path: Path) -> None:
    cluster, clock = GeneratedCluster(nodes=50, pods=3000), VirtualClock()
    with HistoryWriter(tmp_path, clock=clock, flush_on_write=False) as writer:
        for _ in range(40):
            writer.write_reading(cluster.read(clock.now))
            clock.now += 60
    per_sample = sum(file.stat().st_size for file in HistoryReader(tmp_path).files("pods")) / (40 * 3000)
    assert 7 < per_sample < 12.5


def python_blocks() -> list[str]:
    text = DOCUMENT.read_text()
    return [block.split("```")[0] for block in text.split("```python\n")[1:]]


@pytest.mark.parametrize("block", python_blocks(), ids=lambda block: block.splitlines()[-1][:30])
def test_the_document_shows_code_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str) -> None:
    written(tmp_path / "history", CONTENTS)
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, str(DOCUMENT), "exec"), {})  # the example is the project's own
    assert printed.getvalue()


def test_the_document_names_every_table_and_column() -> None:
    text = DOCUMENT.read_text()
    tables = encode([Record(number, 0.0, content) for number, content in enumerate(CONTENTS, start=1)])
    for table, columns in tables.items():
        assert f"{table}.parquet`" in text
        for column in columns.column_names:
            assert f"`{column}`" in text or column.startswith(("usage_", "deviation_")), (table, column)
