"""Every notebook, from top to bottom, in a kernel of its own: on generated data, and pointed at one's own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from loadaware import notebook
from loadaware.config import load
from tests.collectors.fake_prometheus import FakePrometheus
from tests.loadaware.test_past_recording import cluster

pytestmark = [
    pytest.mark.notebooks,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),  # other people's libraries carry the messages of a kernel
]
FOLDER = Path(__file__).parents[2] / "notebooks"
LIVE = "profiles:\n- scorers: [{name: TargetLoadPacking}]\n"
SHADOWED = LIVE + "- schedulerName: tuned\n  shadow: true\n  scorers: [{name: EntropicRisk}]\n"
TIMEOUT_SECONDS = 240


def executed(name: str, folder: Path, own: dict[str, Any] | None = None) -> Any:
    """The notebook with its outputs; `own` is what somebody writes into the cell for it. A failing cell raises."""
    import nbformat
    from nbclient import NotebookClient

    (file,) = FOLDER.glob(f"{name}-*.ipynb")
    book = nbformat.read(file, as_version=4)
    first = next(cell for cell in book.cells if cell.cell_type == "code")
    for key, value in (own or {}).items():
        lines = first.source.split("\n")
        (place,) = [n for n, line in enumerate(lines) if line.startswith(f"{key} = ")]
        lines[place] = f"{key} = {value!r}"
        first.source = "\n".join(lines)
    NotebookClient(book, timeout=TIMEOUT_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    return book


def printed(book: Any) -> str:
    """Everything that cells printed or showed as text."""
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def warned(book: Any) -> list[str]:
    """What went to standard error."""
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.text for output in outputs if output.get("name") == "stderr"]


def pictures(book: Any) -> int:
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, f"{pattern} is not in what was printed:\n{text}"
    return float(found.group(1))


@pytest.fixture(scope="module")
def own_history(tmp_path_factory: pytest.TempPathFactory) -> notebook.History:
    return notebook.generated_history(tmp_path_factory.mktemp("own") / "history", nodes=6, hours=3.0, load=0.6, seed=11)


def test_01_tells_how_hot_the_generated_cluster_is(tmp_path: Path) -> None:
    book = executed("01", tmp_path)
    text = printed(book)
    assert not warned(book)
    assert pictures(book) == 2
    assert "12 nodes" in text
    usage = notebook.generated_history().utilization(every="5min")["cpu"]
    assert number(r"hot80: ([\d.]+) % of the node-time", text) == pytest.approx(100 * (usage > 0.8).mean(), abs=0.06)
    assert -1.0 <= number(r"correlation of requested and used: ([-+][\d.]+)", text) <= 1.0


def test_01_on_a_history_of_ones_own(tmp_path: Path, own_history: notebook.History) -> None:
    assert "6 nodes" in printed(executed("01", tmp_path, {"HISTORY": str(own_history.folder)}))


def test_01_reads_the_past_of_a_prometheus(tmp_path: Path) -> None:
    with cluster(FakePrometheus()) as fake:
        text = printed(executed("01", tmp_path, {"PROMETHEUS": fake.url, "SINCE": "30m"}))
    assert "1 nodes, 1 pods, 0.5 hours" in text
    assert "hot80: 0.0 % of the node-time" in text
    assert (tmp_path / "past").is_dir()


def test_02_shows_every_scorer_and_the_profile_of_the_sliders(tmp_path: Path) -> None:
    book = executed("02", tmp_path)
    text = printed(book)
    assert not warned(book)
    for scorer in ("EntropicRisk", "TargetLoadPacking", "LoadVariationRiskBalancing", "EstimatedLoad", "LowestUsage"):
        assert re.search(rf"{scorer}: node-\d+", text)
    assert "- {name: TargetLoadPacking, weight: 0.5}" in text
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in outputs)


def test_02_at_a_moment_of_a_history_of_ones_own(tmp_path: Path, own_history: notebook.History) -> None:
    moment = str(own_history.nodes(every="1h").time.iloc[-1])
    text = printed(executed("02", tmp_path, {"HISTORY": str(own_history.folder), "MOMENT": moment}))
    assert "first choice:" in text


def test_03_compares_both_configurations_and_says_what_it_cannot_know(tmp_path: Path) -> None:
    book = executed("03", tmp_path)
    text = printed(book)
    assert not warned(book)
    assert pictures(book) == 2
    for figure in ("hot80", "hot90", "unserved", "std", "p99"):
        shown = re.search(rf"{figure}: \S+ points \((\S+) to (\S+)\): (.*)", text)
        assert shown is not None
        low, high = float(shown[1]), float(shown[2])
        expected = "B is better" if high < 0 else "B is worse" if low > 0 else "no difference is shown"
        assert shown[3] == expected or 0.0 in (low, high)
    assert "A pod uses elsewhere what it used where it was" in text


def test_03_on_files_of_ones_own(tmp_path: Path, own_history: notebook.History) -> None:
    files = {"CONFIG_A": tmp_path / "a.yaml", "CONFIG_B": tmp_path / "b.yaml"}
    for file in files.values():
        file.write_text(LIVE, encoding="utf-8")
    own = {name: str(file) for name, file in files.items()} | {"HISTORY": str(own_history.folder)}
    text = printed(executed("03", tmp_path, own))
    assert "hot80: +0.00 points (+0.00 to +0.00): no difference is shown" in text


def test_04_exports_a_configuration_and_says_what_it_is_worth(tmp_path: Path) -> None:
    book = executed("04", tmp_path)
    text = printed(book)
    assert not warned(book)
    assert pictures(book) == 3
    assert re.search(r"on cases it has not seen: hot80 [\d.]+ -> [\d.]+ %, \d+ % (less|more), interval", text)
    best = load(tmp_path / "best.yaml")
    assert f"maxScore: {best.profiles[0].max_score}" in text
    assert "shadow: true" in text
    assert (tmp_path / "best-report" / "report.html").exists()


def test_04_begins_with_ones_own_configuration_and_keeps_its_comments(
    tmp_path: Path, own_history: notebook.History
) -> None:
    live = tmp_path / "live.yaml"
    live.write_text("# ours\n" + LIVE, encoding="utf-8")
    text = printed(executed("04", tmp_path, {"HISTORY": str(own_history.folder), "LIVE": str(live), "TRIALS": 2}))
    assert "# ours\n" in text
    assert "# ours\n" in (tmp_path / "best.yaml").read_text(encoding="utf-8")
    load(tmp_path / "best.yaml")


def test_05_adds_up_who_asks_for_too_much(tmp_path: Path) -> None:
    book = executed("05", tmp_path)
    text = printed(book)
    assert not warned(book)
    assert pictures(book) == 3
    totals = notebook.demand(notebook.generated_history()).totals.loc["cpu"]
    assert number(r"CPU requested: (\d+) cores", text) == round(totals["requested"])
    assert number(r"could be given back: (\d+) cores", text) == round(totals["giveBack"])
    assert number(r"lacking: (\d+) cores", text) == round(totals["lacks"])


def test_05_on_a_history_of_ones_own(tmp_path: Path, own_history: notebook.History) -> None:
    text = printed(executed("05", tmp_path, {"HISTORY": str(own_history.folder)}))
    known = len(notebook.demand(own_history).of("cpu"))
    assert f"{known} workloads are known" in text


def test_06_says_what_to_do_and_how_sure_that_is(tmp_path: Path) -> None:
    book = executed("06", tmp_path)
    text = printed(book)
    assert not warned(book)
    assert pictures(book) == 2
    last = re.findall(r"^(PROMOTE|KEEP|WAIT) tuned: .*95 % interval (\S+) to (\S+),", text, re.MULTILINE)[-1]
    assert float(last[1]) < float(last[2])
    assert "points of hot80 (95 % interval" in text or last[0] == "KEEP"
    assert ("next: loadaware promote" in text) == (last[0] == "PROMOTE")
    assert "what was live is now in shadow, as tuned" in text


def test_06_on_reports_of_ones_own_waits_for_more(tmp_path: Path, own_history: notebook.History) -> None:
    reports = notebook.generated_shadow(SHADOWED, nodes=4, hours=1.0, every_minutes=20)
    (tmp_path / "shadow.json").write_text("\n".join(map(json.dumps, reports)), encoding="utf-8")
    (tmp_path / "live.yaml").write_text(SHADOWED, encoding="utf-8")
    own = {"SHADOW": "shadow.json", "CONFIG": str(tmp_path / "live.yaml"), "HISTORY": str(own_history.folder)}
    text = printed(executed("06", tmp_path, own))
    assert "WAIT tuned" in text
    assert "200 in 8 spans are needed" in text
