from pathlib import Path

from collectors.history import HistoryReader
from loadaware.config import Config
from loadaware.replay.run import replay
from tests.benchmarks.generated_history import HistorySize, generate
from tests.benchmarks.measure_history import Cost, Measured, page

SMALL = HistorySize(nodes=5, pods=50, days=0.05, workloads=5, replaced=0.02)


def measured(days: float) -> Measured:
    cost = Cost(seconds=60.0 * days, cpu_seconds=60.0 * days, peak_mebibytes=300.0, base_mebibytes=50.0)
    return Measured(days, int(200e6 * days), {"write": cost, "read": cost, "replay": cost}, round(1000 * days))


def test_a_generated_history_is_as_large_as_asked_for_and_can_be_replayed(tmp_path: Path) -> None:
    generate(tmp_path, SMALL)
    summary = HistoryReader(tmp_path).summary()
    assert (summary.nodes, summary.records["readings"], summary.gaps) == (5, SMALL.readings, ())
    assert replay(tmp_path, Config()).counts.asked > 10


def test_the_page_says_which_row_was_not_measured() -> None:
    text = page(HistorySize(), [measured(0.5), measured(1.0)])
    assert "| 0.5 | 100 MB | 30 s | 30 s | 30 s | 30 s | 500 | 300, 300, 300 MiB |" in text
    assert "| *14* | *2,800 MB* | *14.0 min* |" in text
    assert "not measured" in text


def test_a_full_run_needs_no_such_row() -> None:
    assert "not measured" not in page(HistorySize(), [measured(14.0)])
