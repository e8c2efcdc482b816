from pathlib import Path

import msgspec
import pytest

from collectors.cluster import NodeGone, NodeSeen
from collectors.errors import HistoryError
from loadaware import notebook
from loadaware.config import Config
from loadaware.errors import ConfigError
from tests.collectors.fake_prometheus import FakePrometheus
from tests.loadaware.recorded_runs import GIBIBYTE, START, Recording, node, packed_history, record_demo
from tests.loadaware.test_past_recording import cluster


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> notebook.History:
    folder = tmp_path_factory.mktemp("histories") / "packed"
    packed_history(folder)
    return notebook.open_history(folder)


def test_nodes_are_a_row_per_reading_and_node(history: notebook.History) -> None:
    frame = history.nodes()
    assert list(frame.columns) == ["time", "node", "cpu", "memory"]
    assert len(frame) == 120
    assert frame[frame.node == "full"].cpu.max() == pytest.approx(3.7)
    assert str(frame.time.dt.tz) == "UTC"


def test_a_frame_can_be_thinned_and_cut(history: notebook.History) -> None:
    assert len(history.nodes(every="10min")) == 12
    middle = history.nodes().time.iloc[60]
    assert len(history.nodes(since=middle)) == 60
    assert len(history.nodes(until=middle)) == 60


def test_pods_and_placements_tell_who_was_where(history: notebook.History) -> None:
    assert set(history.pods(every=None).pod) == {f"shop/web-{n}" for n in (5, 6, 7, 8)}
    placements = history.placements()
    assert placements.node.tolist() == ["full"] * 4
    assert placements.cpu.tolist() == [1.0] * 4


def test_a_part_without_anything_is_an_empty_frame_with_its_columns(history: notebook.History) -> None:
    assert list(history.pods(until=0.0).columns) == ["time", "pod"]
    assert history.decisions().empty


def test_decisions_tell_who_was_first(tmp_path: Path) -> None:
    record_demo(tmp_path / "demo")
    frame = notebook.open_history(tmp_path / "demo").decisions()
    ranked = frame[frame.verb == "prioritize"]
    assert len(ranked) > 3
    assert (ranked["first"].map(len) >= 1).all()
    assert not frame.aside.any()


def test_the_configuration_that_was_recorded_is_there(history: notebook.History) -> None:
    assert history.config == Config()
    assert history.summary()["nodes"] == 2


def test_a_folder_without_a_history_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        notebook.open_history(tmp_path)
    with pytest.raises(ConfigError, match="names no configuration"):
        notebook.replay(tmp_path, {})


def test_what_nodes_have_and_what_is_requested_of_them(history: notebook.History) -> None:
    assert history.sizes().loc["full"].to_dict() == {"cpu": 4.0, "memory": 16 * GIBIBYTE, "pods": 110.0}
    requested = history.requested()
    assert requested["cpu"].to_dict() == {"full": 4.0, "idle": 0.0}
    assert requested["pods"].to_dict() == {"full": 4, "idle": 0}


def test_what_is_requested_is_told_of_any_moment(history: notebook.History) -> None:
    assert history.requested(START + 6.5 * 60)["pods"].to_dict() == {"full": 2, "idle": 0}


def test_utilization_is_usage_by_size(history: notebook.History) -> None:
    frame = history.utilization()
    assert frame[frame.node == "full"].cpu.max() == pytest.approx(3.7 / 4.0)
    assert frame.memory.max() == pytest.approx(1.0 / 16.0)


def test_utilization_is_by_the_size_of_that_time_and_tells_of_nodes_that_left(tmp_path: Path) -> None:
    told = Recording(tmp_path)
    told.nodes("leaving", "growing")
    told.now += 60.0
    told.read({"leaving": 2.0, "growing": 2.0, "stranger": 1.0}, None)
    told.recorder.event(NodeGone("leaving"), told.now)
    grown = msgspec.structs.replace(node("growing"), allocatable=(("cpu", 8.0), ("memory", GIBIBYTE)))
    told.recorder.event(NodeSeen(grown), told.now)
    told.now += 60.0
    told.read({"growing": 2.0}, None)
    told.close()
    frame = notebook.open_history(tmp_path).utilization()
    cpu = [(str(name), value) for name, value in zip(frame.node, frame.cpu, strict=True)]
    assert cpu == [("leaving", 0.5), ("growing", 0.5), ("growing", 0.25)]


def test_the_state_of_a_moment_has_the_statistics_of_the_window_before_it(history: notebook.History) -> None:
    state = history.state(START + 8.5 * 60, window="3min")
    assert state.loc["full", "cpu"] == pytest.approx((1.9 + 2.8 + 3.7) / 3)
    assert state.cpu_latest.to_dict()["full"] == pytest.approx(3.7)
    assert state.cpu_maximum.to_dict()["full"] == pytest.approx(3.7)
    assert state.loc["idle", "cpu_deviation"] == pytest.approx(0.0)
    assert state.loc["full", "memory_capacity"] == 16 * GIBIBYTE


def test_a_state_is_what_score_takes(history: notebook.History) -> None:
    pod = {"metadata": {"name": "web"}, "spec": {"containers": []}}
    assert notebook.score(history.state(), pod).index.tolist() == ["idle", "full"]


def test_a_prometheus_becomes_a_history_that_goes_on_where_it_was(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        first = notebook.from_prometheus(fake.url, tmp_path / "past", since="10m")
        assert set(first.nodes().node) == {"a"}
        again = notebook.from_prometheus(fake.url, tmp_path / "past", since="10m")
    assert again.summary()["nodes"] == 1


def test_a_prometheus_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="longer than two steps"):
        notebook.from_prometheus("http://127.0.0.1:9", tmp_path / "past", since="1m")
