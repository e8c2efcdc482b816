import pandas as pd
import pytest

from loadaware import notebook
from loadaware.errors import ConfigError
from tests.loadaware.recorded_runs import GIBIBYTE

TLP = "profiles:\n- scorers: [{name: TargetLoadPacking}]\n"
POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "m", "resources": {"requests": {"cpu": "500m"}}}]}}


def test_scores_of_a_frame_are_those_of_the_command() -> None:
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
