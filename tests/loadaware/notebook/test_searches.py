from pathlib import Path

import pytest

from collectors.errors import HistoryError
from loadaware import notebook
from loadaware.config import Config, load
from loadaware.errors import ConfigError
from tests.loadaware.recorded_runs import packed_history

SPACE = """
scorers:
- name: EntropicRisk
- name: LowestUsage
  weight: {from: 0.5, to: 2}
"""


def test_a_history_is_tuned_and_the_winner_is_a_file_that_loads(tmp_path: Path) -> None:
    packed_history(tmp_path / "history")
    history = notebook.open_history(tmp_path / "history")
    result = notebook.tune(history, trials=2, space=SPACE, seed=1)
    assert len(result.trials) == 2
    assert result.base_config == Config()
    written = notebook.export(result, tmp_path / "best.yaml")
    assert written[0] == tmp_path / "best.yaml"
    assert load(written[0]).profiles == result.config.profiles


def test_what_is_wrong_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        notebook.tune(tmp_path, trials=2)
    packed_history(tmp_path / "history")
    with pytest.raises(ConfigError, match="wieght"):
        notebook.tune(tmp_path / "history", trials=2, space="scorers:\n- {name: EntropicRisk, wieght: 1}\n")
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        notebook.tune(tmp_path / "history", trials=2, space="nowhere.yaml")
