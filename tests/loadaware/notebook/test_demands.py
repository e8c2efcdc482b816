from pathlib import Path

import pytest

from collectors.history import HistoryWriter
from loadaware import notebook
from loadaware.demand_format import encode
from loadaware.errors import ConfigError
from loadaware.notebook.demands import learned_from
from tests.loadaware.recorded_runs import packed_history


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("histories") / "packed"
    packed_history(made, minutes=240)
    return made


def test_what_a_history_teaches_is_a_row_per_workload_and_resource(folder: Path) -> None:
    demands = notebook.demand(notebook.open_history(folder))
    cpu = demands.of("cpu")
    assert cpu.requested.tolist() == [1.0]
    assert cpu["mean"].tolist() == pytest.approx([0.9])
    assert cpu.pods.tolist() == [4]
    assert demands.totals.loc["cpu", "requested"] == pytest.approx(4.0)


def test_change_is_what_all_pods_should_request_more(folder: Path) -> None:
    cpu = notebook.demand(notebook.open_history(folder)).of("cpu")
    judged = cpu.dropna(subset=["recommended"])
    assert len(judged)
    assert (judged.change - (judged.recommended - judged.requested) * judged.pods).abs().max() == pytest.approx(0.0)
    assert cpu.change.dropna().is_monotonic_increasing


def test_the_file_of_what_was_learned_tells_the_same(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "demand"
    file.write_bytes(encode(learned_from(folder)))
    ours, theirs = notebook.demand(file), notebook.demand(notebook.open_history(folder))
    assert ours.workloads.equals(theirs.workloads)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        notebook.demand(tmp_path / "nothing")


def test_a_history_without_pods_teaches_nothing(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "empty", flush_on_write=False) as writer:
        writer.write_mark("began", b"", time=1.0)
    assert notebook.demand(notebook.open_history(tmp_path / "empty")).workloads.empty
