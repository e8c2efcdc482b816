from pathlib import Path

import pytest

from collectors.errors import HistoryError
from loadaware import notebook

SHADOWED = """
profiles:
- scorers: [{name: EntropicRisk}]
- schedulerName: tuned
  shadow: true
  scorers: [{name: LowestUsage}]
"""


def test_the_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    one, same, other = (
        notebook.generated_history(tmp_path / name, nodes=4, hours=0.5, seed=seed)
        for name, seed in (("one", 1), ("same", 1), ("other", 2))
    )
    assert one.nodes().equals(same.nodes())
    assert not one.nodes().equals(other.nodes())
    assert one.summary()["nodes"] == 4


def test_it_can_be_replayed_and_nothing_was_asked() -> None:
    history = notebook.generated_history(nodes=4, hours=1.0)
    replays = notebook.replay(history, {"ours": history.config})
    assert replays.figures.placed.to_dict()["ours"] > 0
    assert history.decisions().empty


def test_a_folder_that_has_a_history_is_not_written_into(tmp_path: Path) -> None:
    notebook.generated_history(tmp_path / "one", nodes=2, hours=0.2)
    with pytest.raises(HistoryError, match="is not empty"):
        notebook.generated_history(tmp_path / "one", nodes=2, hours=0.2)


def test_reports_of_a_shadow_count_on() -> None:
    reports = notebook.generated_shadow(SHADOWED, nodes=4, hours=1.0, every_minutes=15)
    beside = [{c["with"]: c["requests"] for c in told["comparisons"]} for told in reports]
    requests = [counts.get("default-scheduler", 0) for counts in beside]
    assert len(reports) == 3
    assert requests == sorted(requests)
    assert requests[-1] > 10
    assert "kube-scheduler" in beside[-1]


def test_in_shadow_mode_profiles_are_compared_with_kube_scheduler_alone() -> None:
    reports = notebook.generated_shadow("mode: shadow" + SHADOWED, nodes=4, hours=0.5, every_minutes=25)
    assert {c["with"] for c in reports[-1]["comparisons"]} == {"kube-scheduler"}
    assert {c["profile"] for c in reports[-1]["comparisons"]} == {"default-scheduler", "tuned"}
