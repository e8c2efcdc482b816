import json
import logging
import threading
from pathlib import Path

import pytest

from loadaware.decision_file import MOST_WAITING, DecisionFile
from loadaware.hindsight_settings import HindsightSettings
from tests.loadaware.decided import ask, bind
from tests.loadaware.running_server import frozen_service
from tests.parts.processes import PATIENCE_SECONDS


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_decisions_and_placements_are_lines_of_json(tmp_path: Path) -> None:
    service, path = frozen_service(), tmp_path / "decisions.jsonl"
    service.hindsight.configure(HindsightSettings(file=str(path)))
    ask(service, "filter", "idle", "near", "busy")
    ask(service, "prioritize", "idle", "near")
    bind(service, "near")
    service.hindsight.close()
    placement, filtered, ranked = lines_of(path)
    assert (placement["kind"], placement["chosen"], placement["chosenRank"]) == ("placement", "near", 2)
    assert (filtered["kind"], filtered["verb"], filtered["rejected"]) == ("decision", "filter", 1)
    assert (ranked["verb"], ranked["number"], placement["number"]) == ("prioritize", 2, 2)


def test_with_a_file_each_decision_is_written_even_if_it_is_dropped_at_once(tmp_path: Path) -> None:
    service, path = frozen_service(), tmp_path / "decisions.jsonl"
    service.hindsight.configure(HindsightSettings(kept=1, file=str(path)))
    for number in range(5):
        ask(service, "prioritize", "idle", "near", pod=f"web-{number}")
    service.hindsight.close()
    assert [line["number"] for line in lines_of(path)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("files", [1, 2, 3])
def test_files_are_bounded_in_size_and_number_and_the_newest_lines_are_kept(tmp_path: Path, files: int) -> None:
    path = tmp_path / "decisions.jsonl"
    file = DecisionFile(str(path), 1000, files)
    for number in range(200):
        file.put(lambda number=number: {"number": number, "text": "x" * 50})  # type: ignore[misc]
    file.close()
    names = ["decisions.jsonl", *(f"decisions.jsonl.{number}" for number in range(1, files))]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    assert all(each.stat().st_size <= 1000 for each in tmp_path.iterdir())
    kept = [line["number"] for name in reversed(names) for line in lines_of(tmp_path / name)]
    assert kept == list(range(200 - len(kept), 200))


def test_a_file_that_cannot_be_written_is_one_warning_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "later"
    file = DecisionFile(str(folder / "decisions.jsonl"), 1000, 2)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            file.put(dict)
        file.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"decisions are not written to {folder / 'decisions.jsonl'}: No such file or directory"
    ]
    assert file.dropped == 5
    folder.mkdir()
    file.put(lambda: {"number": 1})
    file.close()
    assert lines_of(folder / "decisions.jsonl") == [{"number": 1}]


def test_what_comes_faster_than_it_is_written_is_dropped_and_counted(tmp_path: Path) -> None:
    file, go = DecisionFile(str(tmp_path / "decisions.jsonl"), 10**6, 1), threading.Event()

    def slow() -> dict[str, int]:
        go.wait(PATIENCE_SECONDS)
        return {}

    for _ in range(MOST_WAITING + 10):
        file.put(slow)
    assert 9 <= file.dropped <= 10
    go.set()
    file.close()


def test_a_line_that_cannot_be_made_costs_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = DecisionFile(str(tmp_path / "decisions.jsonl"), 1000, 2)
    file.put(lambda: {"bad": object()})
    file.put(lambda: {"good": 1})
    file.close()
    assert lines_of(tmp_path / "decisions.jsonl") == [{"good": 1}]
    assert "could not be written" in caplog.text
