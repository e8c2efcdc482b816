from pathlib import Path

import pytest

from loadaware import notebook
from loadaware.config import Config
from loadaware.errors import ConfigError
from loadaware.replay.outcome import ReplaySettings
from tests.loadaware.recorded_runs import packed_history

TLP = "profiles:\n- scorers: [{name: TargetLoadPacking}]\n"


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> notebook.Replays:
    folder = tmp_path_factory.mktemp("histories") / "packed"
    packed_history(folder)
    configs: dict[str, notebook.Configuration] = {"ours": Config(), "tlp": TLP}
    return notebook.replay(notebook.open_history(folder), configs, settings=ReplaySettings(warm_up_seconds=0.0))


def test_a_replay_comes_as_frames(replays: notebook.Replays) -> None:
    assert replays.figures.index.tolist() == ["recorded", "ours", "tlp"]
    hot = replays.figures.hot80.to_dict()
    assert hot["ours"] < hot["recorded"]
    changes = replays.changes.set_index(["config", "figure"]).high.to_dict()
    assert changes["ours", "hot80"] < 0
    assert set(replays.blocks.config) == {"recorded", "ours", "tlp"}
    assert set(replays.moves.recorded_node) == {"full"}
    assert replays.cannot_know
    assert replays.picture().startswith("<svg")


def test_two_configurations_are_compared_with_each_other(replays: notebook.Replays) -> None:
    assert (replays.between("ours", "ours")["change"] == 0.0).all()
    there, back = replays.between("ours", "recorded"), replays.between("recorded", "ours")
    assert there.high.to_dict()["hot80"] < 0
    assert there["change"].tolist() == pytest.approx((-back["change"]).tolist())


def test_a_configuration_that_was_not_replayed_is_named(replays: notebook.Replays) -> None:
    with pytest.raises(ConfigError, match="there is no 'other'"):
        replays.between("ours", "other")


def test_a_replay_without_configurations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names no configuration"):
        notebook.replay(tmp_path, {})
