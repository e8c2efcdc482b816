from pathlib import Path

import pandas as pd
import pytest

from collectors.errors import HistoryError
from loadaware import notebook
from loadaware.config import Config
from loadaware.errors import ConfigError
from loadaware.replay.outcome import ReplaySettings
from tests.loadaware.recorded_runs import GIBIBYTE, packed_history, record_demo

TLP = "profiles:\n- scorers: [{name: TargetLoadPacking}]\n"
POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "m", "resources": {"requests": {"cpu": "500m"}}}]}}


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
    record_demo(tmp_path / "demo", 1.0)
    frame = notebook.open_history(tmp_path / "demo").decisions()
    ranked = frame[frame.verb == "prioritize"]
    assert len(ranked) > 3
    assert (ranked["first"].map(len) >= 1).all()
    assert not frame.aside.any()


def test_the_configuration_that_was_recorded_is_there(history: notebook.History) -> None:
    assert history.config == Config()
    assert history.summary()["nodes"] == 2


def test_scores_of_a_frame_are_those_of_the_command(history: notebook.History) -> None:
    nodes = pd.DataFrame(
        {"cpu_capacity": [4, 8], "memory_capacity": [16 * GIBIBYTE] * 2, "cpu": [1.0, 7.0], "memory": [GIBIBYTE] * 2},
        index=["calm", "busy"],
    )
    frame = notebook.score(nodes, POD, TLP)
    assert list(frame.index) == ["calm", "busy"]
    assert {"score", "priority", "rejected", "TargetLoadPacking", "TargetLoadPacking raw"} == set(frame.columns)
    assert frame.score.to_dict()["calm"] > frame.score.to_dict()["busy"]


def test_a_frame_without_capacity_is_refused_with_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="has no column memory_capacity"):
        notebook.score(pd.DataFrame({"name": ["a"], "cpu_capacity": [4.0]}), POD)


def test_a_replay_comes_as_frames(history: notebook.History) -> None:
    replays = notebook.replay(history, {"ours": Config(), "tlp": TLP}, settings=ReplaySettings(warm_up_seconds=0.0))
    assert replays.figures.index.tolist() == ["recorded", "ours", "tlp"]
    hot = replays.figures.hot80.to_dict()
    assert hot["ours"] < hot["recorded"]
    changes = replays.changes.set_index(["config", "figure"]).high.to_dict()
    assert changes["ours", "hot80"] < 0
    assert set(replays.blocks.config) == {"recorded", "ours", "tlp"}
    assert set(replays.moves.recorded_node) == {"full"}
    assert replays.cannot_know
    assert replays.picture().startswith("<svg")


def test_a_configuration_is_a_value_a_file_or_its_text(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TLP, encoding="utf-8")
    assert notebook.configuration(TLP) == notebook.configuration(str(file)) == notebook.configuration(file)
    assert notebook.configuration(Config()) == Config()


def test_a_folder_without_a_history_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        notebook.open_history(tmp_path)
    with pytest.raises(ConfigError, match="names no configuration"):
        notebook.replay(tmp_path, {})
